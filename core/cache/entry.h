/* An entry of the cache: what is left of a reply, small enough for three cache lines.
 *
 * With more entries than the CPU's caches hold, a hit costs what it reads. So an entry is stored
 * apart from what its head has in common with others (shared_head.h), its 304 needs no bytes of its
 * own, and what a hit reads lies together, behind the links of the queues, which no hit follows. */
#ifndef CORE_CACHE_ENTRY_H
#define CORE_CACHE_ENTRY_H

#include "cache/shared_head.h"
#include "http/response.h"
#include "seam/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry {
    struct entry *newer; /* the cache's, as are older, chain, hash, queue, frequency */
    struct entry *older;
    struct entry *chain;
    uint64_t hash;
    uint64_t sequence;
    struct shared_head *shared_head; /* owns a share of it */
    uint32_t body_size;
    uint16_t target_size;
    uint8_t own_size; /* of the lines that are only its own, and the empty one */
    uint8_t tag_count;
    uint8_t queue;
    uint8_t frequency;
    bool has_gzip;   /* there is a compressed variant */
    uint32_t tags[]; /* then the bytes of target, own lines, body, compressed variant */
};

/* Keep a copy of `reply`, which has tags; NULL without memory. */
struct entry *entry_new(struct shared_heads *shared_heads, const struct reply *reply);

/* Give up its share of a shared head: what is left is nothing but a block for free(). */
void entry_release_head(struct shared_heads *shared_heads, struct entry *entry);

/* Bytes of it, as the allocator sees them, without its shared head. */
size_t entry_cost(const struct entry *entry);

/* At least what a copy of `reply` and a shared head for it alone would take. */
size_t entry_max_size(const struct reply *reply);

static inline struct slice entry_target(const struct entry *entry)
{
    return slice_of((const char *)(entry->tags + entry->tag_count), entry->target_size);
}

/* With `gzip` it is about the compressed variant, which the entry must have. */
struct slice entry_etag(const struct entry *entry, bool gzip);

/* What is sent: the answer, or its 304. */
struct response_view entry_full(const struct entry *entry, bool gzip);
struct response_view entry_not_modified(const struct entry *entry, bool gzip);

#endif
