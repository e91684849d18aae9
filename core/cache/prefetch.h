/* Prefetch: starts the look-ups of a pipeline's next requests before they are parsed. It runs in
 * the worker's thread and owns nothing.
 *
 * Only benchmarks profit, since browsers and proxies do not pipeline: there it saves a third of the
 * time of a hit among 10,000 responses. A single hit costs one comparison more.
 *
 * If the CPU's caches do not hold all entries, a look-up waits for its bucket and then for its
 * entry. So if the bytes after a request look like more requests of the same kind, their targets
 * are guessed and looked up together. A guess is checked before it is used, and a wrong one only
 * costs time. */
#ifndef CORE_CACHE_PREFETCH_H
#define CORE_CACHE_PREFETCH_H

#include "base/slice.h"
#include "cache/cache.h"
#include "http/head.h"

/* The prefetched targets of one turn, in the order of their requests. */
struct prefetch {
    int next; /* index of the next request */
    int count;
    struct slice targets[CACHE_PREFETCH_MAX];
    uint64_t hashes[CACHE_PREFETCH_MAX];
};

static inline void prefetch_init(struct prefetch *prefetch)
{
    prefetch->next = prefetch->count = 0;
}

/* Prefetch for the requests at the start of `in`, as far as they look like `head`, the previous
 * one. */
void prefetch_scan(struct prefetch *prefetch, const struct cache *cache, struct slice in,
                   const struct head *head);

/* The hash of the next request's target. */
uint64_t prefetch_take_hash(struct prefetch *prefetch, const struct cache *cache,
                            struct slice target);

static inline bool prefetch_is_used_up(const struct prefetch *prefetch)
{
    return prefetch->next == prefetch->count;
}

#endif
