/* A kept answer: what is left of a reply in the store, small enough for three cache lines.
 *
 * DESIGN. Where there are more answers than the caches hold, a hit is as dear as the lines that it
 * reads. So an answer is kept apart from what its head has in common with others (stencil.h), its
 * 304 needs no bytes of its own, and what a hit reads lies side by side: it begins behind the links
 * of the queues, which no hit follows.
 */
#ifndef CORE_CACHE_ENTRY_H
#define CORE_CACHE_ENTRY_H

#include "cache/shared_head.h"
#include "http/response.h"
#include "seam/reply.h"

#include <stddef.h>
#include <stdint.h>

struct kept {
    struct kept *newer; /* the store's, as are older, chain, hash, queue, frequency */
    struct kept *older;
    struct kept *chain;
    uint64_t hash;
    uint64_t sequence;
    struct stencil *stencil; /* owns a share of it */
    uint32_t body_size;
    uint16_t target_size;
    uint8_t own_size; /* of the lines that are only its own, and the empty one */
    uint8_t tag_count;
    uint8_t queue;
    uint8_t frequency;
    uint32_t tags[]; /* then the bytes of target, own lines, body */
};

/* Keep a copy of `reply`, which has tags; NULL without memory. */
struct kept *kept_new(struct stencils *stencils, const struct reply *reply);

/* Give up its share of a stencil: what is left is nothing but a block for free(). */
void kept_strip(struct stencils *stencils, struct kept *kept);

/* Bytes of it, as the allocator sees them, without its stencil. */
size_t kept_cost(const struct kept *kept);

/* At least what a copy of `reply` and a stencil for it alone would take. */
size_t kept_bound(const struct reply *reply);

static inline struct slice kept_target(const struct kept *kept)
{
    return slice_of((const char *)(kept->tags + kept->tag_count), kept->target_size);
}

struct slice kept_etag(const struct kept *kept);

/* What is sent: the answer, or its 304. */
struct response_view kept_whole(const struct kept *kept);
struct response_view kept_brief(const struct kept *kept);

#endif
