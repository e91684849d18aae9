/* The response cache of one worker: rendered responses by target, limited in bytes. It owns its
 * entries and runs in the worker's thread.
 *
 * A hit takes no lock and shares no cache line with other threads, except the purge table, which it
 * only reads. In return, each worker has its own first miss.
 *
 * Eviction is S3-FIFO (Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023).
 * New entries enter a small queue that takes a tenth of the bytes. Those that are requested again
 * while there are promoted to the main queue; the others are evicted, and only their fingerprints
 * are kept for a while. So a million targets that are requested once each do not evict what readers
 * want. Storing one response moves a limited number of entries, so that no hit has to wait for
 * long. */
#ifndef CORE_CACHE_CACHE_H
#define CORE_CACHE_CACHE_H

#include "base/hash.h"
#include "base/slice.h"
#include "bridge/reply.h"
#include "cache/entry.h"
#include "cache/purge.h"

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
    bool paused;                /* nothing is found or stored, but what is in it stays */
    bool by_origin;             /* a response was stored whose key has an origin */
    struct hash_key key;
    size_t limit; /* bytes of all entries, without the allocator's own */
    size_t count;
    uint64_t evictions;
    uint64_t stale;            /* found stale at a look-up, or not stored, because of a purge */
    struct entry **buckets;    /* owns, with the entries in it */
    uint32_t *ghosts;          /* owns: fingerprints of entries evicted from the small queue */
    struct entry *found_stale; /* owns: the last stale entry, until it is taken */
    size_t mask;               /* of both tables */
    struct shared_heads shared_heads;
    struct cache_queue small;
    struct cache_queue main;
};

/* Return 0, or -1 without memory; fini is safe in either case. */
int cache_init(struct cache *cache, size_t limit, struct purge_table *purges, struct hash_key key);
void cache_fini(struct cache *cache);

/* The hash by which the response for `target` is found. */
uint64_t cache_hash(const struct cache *cache, struct slice target);

/* The fresh response for `target`, which has this hash, or NULL. It is borrowed until the next call
 * with the cache. A stale response leaves the cache, and waits to be taken. */
const struct entry *cache_find(struct cache *cache, struct slice target, uint64_t hash);

/* The last response found stale, or NULL; the caller owns it. Freeing it may take the allocator
 * milliseconds, when it returns all pages of such responses at once. So a worker passes it to
 * Python, which is asked for a new response anyway. */
struct entry *cache_take_stale(struct cache *cache);

/* Store a copy of `reply`, which has tags. Return false if it is stale or too large, without
 * memory, or if making room would take too long: then some room is made, and it is stored after a
 * few more attempts. Also false while the cache is paused. */
bool cache_put(struct cache *cache, const struct reply *reply);

/* Pause the cache if the lease of its purges has ended `now`, on a worker's clock; else use it. */
void cache_check_lease(struct cache *cache, int64_t now);

/* Bytes of all entries, with the allocator's overhead. */
size_t cache_bytes(const struct cache *cache);

#endif
