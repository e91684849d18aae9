/* The response cache of one worker: rendered responses, keyed by target, bounded in bytes. It owns
 * its entries and runs in the worker's thread.
 *
 * A hit takes no lock and shares no cache line, but for the purge table, which it only reads. The
 * price is that each worker makes its own first miss.
 *
 * Eviction is S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023).
 * New entries enter a small queue that takes a tenth of the bytes. Those asked for again while
 * there are promoted to the main queue; the others leave, and only their fingerprints are
 * remembered for a while. So a million targets that are each asked for once evict nothing that
 * readers want. Storing one response moves a bounded number of entries, so that no hit waits for
 * it. */
#ifndef CORE_CACHE_CACHE_H
#define CORE_CACHE_CACHE_H

#include "base/hash.h"
#include "base/slice.h"
#include "cache/entry.h"
#include "cache/purge.h"
#include "seam/reply.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A first-in-first-out queue of entries. */
struct cache_queue {
    struct entry *newest;
    struct entry *oldest;
    size_t bytes;
};

struct cache {
    struct purge_table *purges; /* borrows */
    struct hash_key key;
    size_t limit; /* bytes of all entries, without what the allocator needs for itself */
    size_t count;
    uint64_t evictions;
    uint64_t stale;            /* dropped when looked up, or not kept, because of a purge */
    struct entry **buckets;    /* owns, and the answers in it */
    uint32_t *ghosts;          /* owns: fingerprints of what left the small queue */
    struct entry *found_stale; /* owns: what was found stale last, until it is taken */
    size_t mask;               /* of both tables */
    struct shared_heads shared_heads;
    struct cache_queue small;
    struct cache_queue main;
};

/* 0, or -1 without memory; fini is safe in either case. */
int cache_init(struct cache *cache, size_t limit, struct purge_table *purges, struct hash_key key);
void cache_fini(struct cache *cache);

/* Look-ups that are prefetched at once: as many as the caches take without losing the first. */
enum { CACHE_PREFETCH_MAX = 24 };

/* The hash by which the answer for `target` is found. */
uint64_t cache_hash(const struct cache *cache, struct slice target);

/* Prefetch the entries of the next look-ups, by their hashes. With more entries than the CPU's
 * caches hold, waiting for memory is a third of what a pipelined hit costs. */
void cache_prefetch(const struct cache *cache, const uint64_t *hashes, int count);

/* The fresh answer for `target`, which has this hash, or NULL. It is borrowed until the next call
 * that gets the cache. An answer found stale leaves the cache, and waits to be taken. */
const struct entry *cache_find(struct cache *cache, struct slice target, uint64_t hash);

/* The answer that was found stale last, which the caller owns, or NULL. To free it may take the
 * allocator milliseconds, when it gives all pages of such answers back at once: a worker lets
 * Python do it, which is asked for a new answer anyway. */
struct entry *cache_take_stale(struct cache *cache);

/* Keep a copy of `reply`, which has tags. False when it is stale or too large, without memory, or
 * when to make room for it would take too long: some is made, and it is kept when it has come a few
 * times more. */
bool cache_put(struct cache *cache, const struct reply *reply);

/* Bytes of all entries, as the allocator sees them. */
size_t cache_bytes(const struct cache *cache);

#endif
