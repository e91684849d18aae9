/* The canonical target; see target.h. */
#include "http/target.h"

#include "base/limits.h"

#include <stdint.h>

/* Cut off what is before the next `end`, or all; false when nothing is left. */
static bool cut(struct slice *from, char end, struct slice *part)
{
    if (from->size == 0)
        return false;
    const char *at = memchr(from->data, end, from->size);
    *part = slice_of(from->data, at ? (size_t)(at - from->data) : from->size);
    slice_skip(from, part->size + (at != NULL));
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

/* The first character of `text`, decoded; `*size` is how many bytes stand for it. */
static char decoded(struct slice text, size_t *size)
{
    *size = 1;
    if (text.data[0] != '%' || text.size < 3)
        return text.data[0];
    int high = hex_digit(text.data[1]), low = hex_digit(text.data[2]);
    if (high < 0 || low < 0)
        return text.data[0];
    *size = 3;
    return (char)(high * 16 + low);
}

/* The unreserved characters, and "/": no path of ours has an escaped one in a name. */
static bool is_plain(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || c == '/';
}

/* Write the path with its plain characters as they are; return its end. */
static char *write_path(struct slice path, char *to)
{
    while (path.size > 0) {
        size_t size;
        char c = decoded(path, &size);
        if (size == 1 || !is_plain(c)) {
            memcpy(to, path.data, size);
            to += size;
        } else {
            *to++ = c;
        }
        slice_skip(&path, size);
    }
    return to;
}

static bool matches(struct slice pattern, struct slice path)
{
    while (pattern.size > 0 && pattern.data[0] != '*') {
        size_t size = 1;
        if (pattern.data[0] == '#') {
            for (size = 0; size < path.size && path.data[size] >= '0' && path.data[size] <= '9';)
                size++;
        } else if (path.size == 0 || path.data[0] != pattern.data[0]) {
            return false;
        }
        if (size == 0)
            return false;
        slice_skip(&pattern, 1);
        slice_skip(&path, size);
    }
    return pattern.size > 0 || path.size == 0;
}

/* The words behind the method and path of the first rule that matches; empty without one. */
static struct slice find_rule(struct slice rules, struct slice method, struct slice path)
{
    struct slice rule, first, pattern;
    while (cut(&rules, '\n', &rule))
        if (cut(&rule, ' ', &first) && slice_equal(first, method) && cut(&rule, ' ', &pattern) &&
            matches(pattern, path))
            return rule;
    return slice_of("", 0);
}

/* Whether `text` is `name`, perhaps with escapes. */
static bool is_name(struct slice text, struct slice name)
{
    while (text.size > 0 && name.size > 0) {
        size_t size;
        if (decoded(text, &size) != name.data[0])
            return false;
        slice_skip(&text, size);
        slice_skip(&name, 1);
    }
    return text.size == 0 && name.size == 0;
}

/* The index of a parameter among `names`, from 0, or -1; `*name` is its name there. */
static int find_name(struct slice names, struct slice text, struct slice *name, bool *repeated)
{
    for (int index = 0; cut(&names, ' ', name); index++) {
        *repeated = name->size > 0 && name->data[name->size - 1] == '*';
        name->size -= *repeated;
        if (is_name(text, *name))
            return index;
    }
    return -1;
}

/* Write the parameters of `query` that the rule `words` leaves, each behind "?" or "&". Return
 * their end, or NULL if there are more than LIMIT_PARAMETERS. */
static char *write_query(struct slice words, struct slice query, char *to)
{
    enum { MOST_KNOWN = 64 }; /* names whose repetitions are dropped; no path has as many */
    uint64_t seen = 0;
    struct slice pair, kind, name;
    char before = '?';
    bool keeps_known = cut(&words, ' ', &kind) && slice_equal(kind, SLICE("only"));
    for (int count = 1; cut(&query, '&', &pair); count++) {
        if (count > LIMIT_PARAMETERS)
            return NULL;
        struct slice value = pair, text = slice_of("", 0);
        bool repeated = false;
        cut(&value, '=', &text);
        int index = find_name(words, text, &name, &repeated);
        uint64_t bit = index < 0 || repeated ? 0 : (uint64_t)1 << (index % MOST_KNOWN);
        if (pair.size == 0 || (index >= 0) != keeps_known || seen & bit)
            continue;
        seen |= bit;
        *to++ = before;
        before = '&';
        if (index >= 0) { /* its name without escapes */
            memcpy(to, name.data, name.size);
            to += name.size;
            slice_skip(&pair, text.size);
        }
        memcpy(to, pair.data, pair.size);
        to += pair.size;
    }
    return to;
}

struct slice target_canonical(struct slice rules, struct slice method, struct slice target,
                              char *to)
{
    const char *mark = memchr(target.data, '?', target.size);
    struct slice path = slice_of(target.data, mark ? (size_t)(mark - target.data) : target.size);
    if (rules.size == 0 || (!mark && !memchr(path.data, '%', path.size)))
        return target;
    char *end = write_path(path, to);
    struct slice words = find_rule(rules, method, slice_of(to, (size_t)(end - to)));
    struct slice query = slice_of(path.data + path.size, target.size - path.size);
    if (words.size > 0 && mark) {
        slice_skip(&query, 1);
        end = write_query(words, query, end);
        if (!end)
            return target;
    } else {
        memcpy(end, query.data, query.size);
        end += query.size;
    }
    size_t size = (size_t)(end - to);
    return size < target.size ? slice_of(to, size) : target;
}
