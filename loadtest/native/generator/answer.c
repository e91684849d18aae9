#include "answer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "die.h"

static const char DATE[] = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";
enum { NAME = 6, VALUE = 29 }; /* bytes of "Date: " and of the date */

/* The header section of an answer. */
struct head {
    size_t size; /* including the empty line */
    int status;
    size_t length; /* of the body */
    size_t date;   /* offset of its value; 0 without a Date */
};

static void read_field(struct head *head, const char *bytes, const char *line, const char *end)
{
    size_t size = (size_t)(end - line);
    if (size > 15 && strncasecmp(line, "content-length:", 15) == 0)
        head->length = strtoul(line + 15, NULL, 10);
    else if (size == sizeof(DATE) - 1 && strncasecmp(line, DATE, NAME) == 0)
        head->date = (size_t)(line - bytes) + NAME;
}

/* Return false while the header section is incomplete. */
static bool read_head(struct head *head, const char *bytes, size_t have)
{
    static const size_t NONE = (size_t)-1;
    const char *end = memmem(bytes, have, "\r\n\r\n", 4);
    if (!end)
        return false;
    errno = 0;
    if (strncmp(bytes, "HTTP/1.1 ", 9) != 0)
        die("an answer is no HTTP/1.1");
    *head = (struct head){.size = (size_t)(end - bytes) + 4, .length = NONE};
    head->status = atoi(bytes + 9);
    const char *line = (char *)memchr(bytes, '\n', head->size) + 1;
    while (line < end) {
        const char *next = (char *)memchr(line, '\n', head->size) + 1;
        read_field(head, bytes, line, next);
        line = next;
    }
    if (head->status == 204 || head->status == 304)
        head->length = 0;
    else if (head->length == NONE)
        die("an answer has no Content-Length");
    return true;
}

static void remember(struct expected *expected, const char *bytes, size_t size, size_t date)
{
    char *seen = realloc(expected->seen, size);
    if (!seen)
        die("no memory for answers");
    memcpy(seen, bytes, size);
    expected->seen = seen;
    expected->seen_size = size;
    expected->date = date;
}

static bool is_seen(const struct expected *expected, const char *bytes)
{
    const char *seen = expected->seen;
    size_t date = expected->date, rest = date ? date + VALUE : 0;
    return memcmp(bytes, seen, date) == 0 &&
           memcmp(bytes + rest, seen + rest, expected->seen_size - rest) == 0;
}

struct verdict answer_judge(struct expected *expected, const char *bytes, size_t have)
{
    struct head head;
    if (expected->seen && have >= expected->seen_size && is_seen(expected, bytes))
        return (struct verdict){expected->seen_size, expected->status, true};
    if (!read_head(&head, bytes, have)) {
        if (have >= ANSWER_BYTES)
            die("an answer is larger than we expect");
        return (struct verdict){0};
    }
    errno = 0;
    if (head.length > ANSWER_BYTES - head.size)
        die("an answer is larger than we expect");
    size_t size = head.size + head.length;
    if (have < size)
        return (struct verdict){0};
    bool right = head.status == expected->status;
    if (right && expected->body) {
        right = head.length == expected->body_size &&
                memcmp(bytes + head.size, expected->body, head.length) == 0;
        if (right)
            remember(expected, bytes, size, head.date);
    }
    return (struct verdict){size, head.status, right};
}
