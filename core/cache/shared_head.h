/* Shared heads: the common part of many entries' heads, stored once. They belong to one worker's
 * cache.
 *
 * Responses differ in body, length and entity tag, and hardly ever in their other fields, which are
 * two thirds of a small response. Stored once, these stay in the fastest CPU cache, whichever entry
 * is requested. A few shared heads are remembered for future responses; one is freed with its last
 * entry. If all heads differ, nothing is shared, and nothing else changes. */
#ifndef CORE_CACHE_SHARED_HEAD_H
#define CORE_CACHE_SHARED_HEAD_H

#include "http/response.h"

#include <stddef.h>
#include <stdint.h>

/* Both heads of a response up to the lines of their dates: that of the full response, and that of
 * its 304. */
struct shared_head {
    uint32_t users; /* entries that use it */
    uint32_t slot;  /* its slot among the remembered ones, unless another has taken it */
    uint32_t full_size;
    uint32_t full_date;
    uint32_t not_modified_size;
    uint32_t not_modified_date;
    char bytes[]; /* of the full head, then of the 304's */
};

/* Heads that are remembered, enough for the routes of a program. */
enum { SHARED_HEADS_REMEMBERED = 16 };

struct shared_heads {
    struct shared_head *remembered[SHARED_HEADS_REMEMBERED];
    uint32_t turn; /* the slot that is replaced next */
    size_t bytes;  /* of all shared heads, with the allocator's overhead */
};

/* A shared head for a response with these heads, with one more reference; NULL without memory. */
struct shared_head *shared_heads_acquire(struct shared_heads *shared_heads,
                                         const struct response_view *full,
                                         const struct response_view *not_modified);

/* Release one reference; the last one frees the shared head. */
void shared_heads_release(struct shared_heads *shared_heads, struct shared_head *shared_head);

#endif
