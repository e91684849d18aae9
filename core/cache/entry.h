/* An entry of the cache: a stored reply, small enough for three cache lines.
 *
 * If the CPU's caches do not hold all entries, the cost of a hit is that of reading memory. So an
 * entry is stored apart from what its head has in common with others (shared_head.h), its 304 needs
 * no bytes of its own, and what a hit reads lies together, behind the links of the queues, which no
 * hit reads. */
#ifndef CORE_CACHE_ENTRY_H
#define CORE_CACHE_ENTRY_H

#include "bridge/reply.h"
#include "cache/shared_head.h"
#include "http/response.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct entry {
    struct entry *newer; /* used by the cache, as are older, chain, hash, queue, frequency */
    struct entry *older;
    struct entry *chain;
    uint64_t hash;
    uint64_t sequence;
    struct shared_head *shared_head; /* owns one reference */
    uint32_t body_size;
    uint16_t target_size;
    uint8_t own_size; /* of its own lines and the empty line */
    uint8_t tag_count;
    uint8_t queue;
    uint8_t frequency;
    uint8_t codings; /* in which there is a compressed variant, as bits `1 << coding` */
    uint32_t tags[]; /* followed by the bytes of target, own lines, body, compressed variants */
};

/* Make an entry from `reply`, which has tags; NULL without memory. */
struct entry *entry_new(struct shared_heads *shared_heads, const struct reply *reply);

/* Release its reference to a shared head; what remains is a block for free(). */
void entry_release_head(struct shared_heads *shared_heads, struct entry *entry);

/* Bytes of the entry, with the allocator's overhead, without its shared head. */
size_t entry_cost(const struct entry *entry);

/* An upper bound for the bytes of an entry for `reply` with a shared head of its own. */
size_t entry_max_size(const struct reply *reply);

static inline struct slice entry_target(const struct entry *entry)
{
    return slice_of((const char *)(entry->tags + entry->tag_count), entry->target_size);
}

/* `coding` selects a variant, which the entry must have. */
struct slice entry_etag(const struct entry *entry, enum coding coding);

/* What is sent: the full response, or its 304. */
struct response_view entry_full(const struct entry *entry, enum coding coding);
struct response_view entry_not_modified(const struct entry *entry, enum coding coding);

#endif
