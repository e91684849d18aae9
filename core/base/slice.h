/* A slice borrows bytes that somebody else owns. It is passed by value and never freed. */
#ifndef CORE_BASE_SLICE_H
#define CORE_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct slice {
    const char *data;
    size_t size;
};

/* The slice of a string literal. */
#define SLICE(literal) ((struct slice){(literal), sizeof(literal) - 1})

static inline struct slice slice_of(const char *data, size_t size)
{
    return (struct slice){data, size};
}

/* Drop the first `count` bytes; `count` is at most the size. */
static inline void slice_skip(struct slice *slice, size_t count)
{
    if (count > 0) /* NULL + 0 is undefined in C */
        slice->data += count;
    slice->size -= count;
}

static inline bool slice_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Compare without regard to the case of ASCII letters; `lower` has no upper-case letters. */
bool slice_equal_nocase(struct slice a, struct slice lower);

/* The slice without the spaces and tabs at both ends. */
struct slice slice_trim(struct slice slice);

/* Cut the next member, trimmed, off the comma-separated `list` (RFC 9110 section 5.6.1); false when
 * the list is empty. Empty members are skipped. Quoted commas are not supported: this is for lists
 * of tokens only. */
bool slice_next_member(struct slice *list, struct slice *member);

#endif
