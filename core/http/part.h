/* The bytes of an answer, as they are kept, and as they are sent. */
#ifndef CORE_HTTP_PART_H
#define CORE_HTTP_PART_H

#include "base/clock.h"
#include "base/slice.h"

#include <stdint.h>

/* A part of a block: a head whose date is written at each use, and the body behind it. The lines up
 * to that of the date are the same in many heads; those behind it tell of the body. */
struct part {
    uint32_t start;     /* from the start of the block */
    uint32_t head_size; /* with its empty line */
    uint32_t body_size;
    uint32_t date; /* from `start` to the 29 bytes of the date */
};

/* What is sent one behind the other; it borrows the bytes from where they are kept. */
struct pieces {
    struct slice common; /* status line and fields, the last one that of the date */
    uint32_t date;       /* from the start of `common` to the date */
    uint32_t body_size;
    struct slice rest; /* further fields, the empty line, and the body */
};

/* Bytes of a head up to the end of its date's line. */
static inline uint32_t part_common_size(const struct part *part)
{
    return part->date + CLOCK_DATE_SIZE + 2;
}

static inline struct pieces part_pieces(const void *block, const struct part *part)
{
    const char *head = (const char *)block + part->start;
    uint32_t common = part_common_size(part);
    return (struct pieces){
        .common = slice_of(head, common),
        .date = part->date,
        .body_size = part->body_size,
        .rest = slice_of(head + common, part->head_size - common + part->body_size),
    };
}

/* Cut the body off. */
static inline struct slice pieces_take_body(struct pieces *pieces)
{
    size_t size = pieces->body_size;
    pieces->rest.size -= size;
    pieces->body_size = 0;
    return slice_of(pieces->rest.data + pieces->rest.size, size);
}

#endif
