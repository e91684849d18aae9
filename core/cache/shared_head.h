/* Shared heads: what the heads of many entries have in common, stored once. They belong to one
 * worker's cache.
 *
 * Responses differ in body, length and entity tag, and hardly ever in their other fields, which are
 * two thirds of a small response. Stored once, those stay in the fastest cache whichever entry is
 * asked for. A few shared heads are remembered for responses to come; one is freed with its last
 * entry. If all heads differ, nothing is shared, and nothing worse happens. */
#ifndef CORE_CACHE_SHARED_HEAD_H
#define CORE_CACHE_SHARED_HEAD_H

#include "http/response.h"

#include <stddef.h>
#include <stdint.h>

/* Both heads of an answer up to their dates' lines: that of the answer itself, and that of its
 * 304. */
struct shared_head {
    uint32_t users; /* answers that are kept with it */
    uint32_t place; /* where it is remembered, unless another one is now */
    uint32_t full_size;
    uint32_t full_date;
    uint32_t not_modified_size;
    uint32_t not_modified_date;
    char bytes[]; /* of whole, then brief */
};

/* Heads that are remembered: those of a program's routes. */
enum { SHARED_HEADS_REMEMBERED = 16 };

struct shared_heads {
    struct shared_head *remembered[SHARED_HEADS_REMEMBERED];
    uint32_t turn; /* whose place the next one takes */
    size_t bytes;  /* of all shared heads, as the allocator sees them */
};

/* The shared head of an answer with these heads, for one more user; NULL without memory. */
struct shared_head *shared_heads_acquire(struct shared_heads *shared_heads,
                                         const struct response_view *full,
                                         const struct response_view *not_modified);

/* A user is gone; with the last one goes the shared head. */
void shared_heads_release(struct shared_heads *shared_heads, struct shared_head *shared_head);

#endif
