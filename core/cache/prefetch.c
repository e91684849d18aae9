/* The prefetch; see prefetch.h. */
#include "cache/prefetch.h"

#include "base/limits.h"

void prefetch_scan(struct prefetch *prefetch, const struct cache *cache, struct slice in,
                   const struct head *head)
{
    enum { BEFORE = sizeof "GET " - 1 };
    int count = 0;
    while (count < CACHE_PREFETCH_MAX && in.size > BEFORE) {
        slice_skip(&in, BEFORE);
        const char *end = memchr(in.data, ' ', in.size < LIMIT_TARGET ? in.size : LIMIT_TARGET);
        if (!end)
            break;
        struct slice target = slice_of(in.data, (size_t)(end - in.data));
        prefetch->targets[count] = target;
        prefetch->hashes[count++] = cache_hash(cache, target);
        size_t size = target.size + 1 + head->rest.size;
        if (size > in.size)
            break;
        slice_skip(&in, size);
    }
    prefetch->next = 0;
    prefetch->count = count;
    cache_prefetch(cache, prefetch->hashes, count);
}

uint64_t prefetch_take_hash(struct prefetch *prefetch, const struct cache *cache,
                            struct slice target)
{
    if (!prefetch_is_used_up(prefetch)) {
        int next = prefetch->next++;
        const struct slice *guess = &prefetch->targets[next];
        if (guess->data == target.data && guess->size == target.size)
            return prefetch->hashes[next];
    }
    return cache_hash(cache, target);
}
