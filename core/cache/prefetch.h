/* Prefetch: the look-ups that the next requests of a pipeline will make, begun before they are
 * parsed. It runs in the worker's thread and owns nothing.
 *
 * Only a benchmark sees it, since browsers and proxies do not pipeline: there it saves a third of a
 * hit among 10,000 responses. A hit that is alone pays one comparison.
 *
 * With more entries than the CPU's caches hold, a look-up waits for its bucket and then for its
 * entry. So where the bytes behind a request look like more of the kind, their targets are guessed
 * and looked up all at once. A guess is checked before it is used, and nothing depends on it but
 * time. */
#ifndef CORE_CACHE_PREFETCH_H
#define CORE_CACHE_PREFETCH_H

#include "base/slice.h"
#include "cache/cache.h"
#include "http/head.h"

/* What is prefetched within one turn, in the order in which it is asked for. */
struct prefetch {
    int next; /* the one that is asked for next */
    int count;
    struct slice targets[CACHE_PREFETCH_MAX];
    uint64_t hashes[CACHE_PREFETCH_MAX];
};

static inline void prefetch_init(struct prefetch *prefetch)
{
    prefetch->next = prefetch->count = 0;
}

/* Prefetch for the requests at the start of `in`, as far as they look like `head`, the one
 * before. */
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
