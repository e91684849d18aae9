#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "die.h"

enum { MARK_DIGITS = 10 };

/* A distinct request while the file is being read. */
struct text {
    char *bytes; /* owns */
    size_t size;
};

static void *allocate(size_t count, size_t size)
{
    void *block = calloc(count ? count : 1, size);
    if (!block)
        die("no memory for the requests");
    return block;
}

static struct text read_text(FILE *file, size_t size)
{
    struct text text = {allocate(size, 1), size};
    errno = 0;
    if (fread(text.bytes, 1, size, file) != size)
        die("the file of requests ends too early");
    return text;
}

static size_t find_mark(struct text text)
{
    char pattern[MARK_DIGITS];
    memset(pattern, '#', sizeof(pattern));
    char *mark = memmem(text.bytes, text.size, pattern, sizeof(pattern));
    return mark ? (size_t)(mark - text.bytes) : PLAN_NO_MARK;
}

static struct text *read_requests(struct plan *plan, FILE *file)
{
    struct text *texts = allocate(plan->count, sizeof(*texts));
    plan->expected = allocate(plan->count, sizeof(*plan->expected));
    plan->marks = allocate(plan->count, sizeof(*plan->marks));
    for (size_t i = 0; i < plan->count; i++) {
        struct expected *expected = &plan->expected[i];
        size_t size;
        long body;
        if (fscanf(file, " %zu %d %ld", &size, &expected->status, &body) != 3 ||
            fgetc(file) != '\n')
            die("the file of requests is not as it should be");
        texts[i] = read_text(file, size);
        plan->marks[i] = find_mark(texts[i]);
        if (body >= 0) {
            struct text text = read_text(file, (size_t)body);
            expected->body = text.bytes;
            expected->body_size = text.size;
        }
    }
    return texts;
}

static void read_order(struct plan *plan, FILE *file, const struct text *texts)
{
    size_t total = 0;
    plan->order = allocate(plan->length, sizeof(*plan->order));
    plan->offsets = allocate(plan->length + 1, sizeof(*plan->offsets));
    for (size_t i = 0; i < plan->length; i++) {
        if (fscanf(file, "%u", &plan->order[i]) != 1 || plan->order[i] >= plan->count)
            die("the order of requests is not as it should be");
        total += texts[plan->order[i]].size;
        plan->offsets[i + 1] = total;
    }
    plan->bytes = allocate(total, 1);
    for (size_t i = 0; i < plan->length; i++) {
        struct text text = texts[plan->order[i]];
        memcpy(plan->bytes + plan->offsets[i], text.bytes, text.size);
    }
}

void plan_read(struct plan *plan, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        die(path);
    errno = 0;
    if (fscanf(file, "%zu %zu", &plan->count, &plan->length) != 2 || !plan->count || !plan->length)
        die("there are no requests in the file");
    struct text *texts = read_requests(plan, file);
    read_order(plan, file, texts);
    fclose(file);
    for (size_t i = 0; i < plan->count; i++)
        free(texts[i].bytes);
    free(texts);
}

static void number(struct plan *plan, size_t position)
{
    size_t mark = plan->marks[plan->order[position]];
    if (mark == PLAN_NO_MARK)
        return;
    char digits[24];
    snprintf(digits, sizeof(digits), "%0*llu", MARK_DIGITS, (unsigned long long)plan->serial++);
    memcpy(plan->bytes + plan->offsets[position] + mark, digits, MARK_DIGITS);
}

struct batch plan_take(struct plan *plan, size_t depth)
{
    if (plan->next + depth > plan->length)
        plan->next = 0;
    size_t first = plan->next, begin = plan->offsets[first];
    plan->next += depth;
    for (size_t i = 0; i < depth; i++)
        number(plan, first + i);
    return (struct batch){first, plan->bytes + begin, plan->offsets[plan->next] - begin};
}
