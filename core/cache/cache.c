/* The response cache; see cache.h. */
#include "cache/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 0,
    MAIN = 1,
    /* Requests for an entry are counted up to three (two bits, as in the paper). */
    FREQUENCY_LIMIT = 3,
    /* Bytes of the limit per bucket: the size of a usual response. */
    BYTES_PER_BUCKET = 512,
    /* These per cent of the limit are left to the allocator: responses of many sizes that come and
     * go leave holes between them, 9 to 20 % where it was measured; our tables take 1 % more. */
    SPARE_PERCENT = 23,
    /* The small queue gets this fraction. */
    SMALL_PART = 10,
    /* One response may take this fraction. What is expensive to make is large, so it must be stored
     * too; a large response that is not requested again is the first that leaves. */
    LARGEST_PART = 4,
    /* Steps of eviction for one response, while hits wait: so many take up to 70 us if nothing is
     * in the CPU's caches, and one more for each BYTES_PER_TURN of a large response. In the first
     * CHANCES of them, an entry that was requested again may stay. Without a limit, that could go
     * through the whole cache three times. */
    TURNS = 160,
    BYTES_PER_TURN = 2048,
    CHANCES = 64,
};

int cache_init(struct cache *cache, size_t limit, struct purge_table *purges, struct hash_key key)
{
    size_t buckets = 1024;
    while (buckets < limit / BYTES_PER_BUCKET)
        buckets *= 2;
    *cache = (struct cache){.purges = purges,
                            .key = key,
                            .limit = limit - limit / 100 * SPARE_PERCENT,
                            .mask = buckets - 1};
    cache->buckets = calloc(buckets, sizeof(struct entry *));
    cache->ghosts = calloc(buckets, sizeof *cache->ghosts);
    return cache->buckets && cache->ghosts ? 0 : -1;
}

static struct cache_queue *queue_of(struct cache *cache, const struct entry *entry)
{
    return entry->queue == SMALL ? &cache->small : &cache->main;
}

static void enqueue(struct cache *cache, struct entry *entry, uint8_t queue)
{
    entry->queue = queue;
    entry->newer = NULL;
    struct cache_queue *into = queue_of(cache, entry);
    entry->older = into->newest;
    if (into->newest)
        into->newest->newer = entry;
    else
        into->oldest = entry;
    into->newest = entry;
    into->bytes += entry_cost(entry);
}

static void dequeue(struct cache *cache, struct entry *entry)
{
    struct cache_queue *from = queue_of(cache, entry);
    *(entry->newer ? &entry->newer->older : &from->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &from->oldest) = entry->newer;
    from->bytes -= entry_cost(entry);
}

static struct entry **bucket_of(struct cache *cache, uint64_t hash)
{
    return &cache->buckets[hash & cache->mask];
}

static void take_out(struct cache *cache, struct entry *entry)
{
    struct entry **link = bucket_of(cache, entry->hash);
    while (*link != entry)
        link = &(*link)->chain;
    *link = entry->chain;
    dequeue(cache, entry);
    cache->count--;
    entry_release_head(&cache->shared_heads, entry);
}

static void drop(struct cache *cache, struct entry *entry)
{
    take_out(cache, entry);
    free(entry);
}

void cache_fini(struct cache *cache)
{
    while (cache->small.oldest)
        drop(cache, cache->small.oldest);
    while (cache->main.oldest)
        drop(cache, cache->main.oldest);
    free(cache->found_stale);
    free(cache->buckets);
    free(cache->ghosts);
    *cache = (struct cache){0};
}

uint64_t cache_hash(const struct cache *cache, struct slice target)
{
    uint64_t hash = hash_bytes(&cache->key, target.data, target.size);
    __builtin_prefetch(&cache->buckets[hash & cache->mask]);
    return hash;
}

static struct entry *look_up(struct cache *cache, struct slice target, uint64_t hash)
{
    struct entry *entry = *bucket_of(cache, hash);
    while (entry && (entry->hash != hash || !slice_equal(entry_target(entry), target)))
        entry = entry->chain;
    return entry;
}

static bool is_fresh(const struct cache *cache, const struct entry *entry)
{
    return purge_is_fresh(cache->purges, entry->tags, entry->tag_count, entry->sequence);
}

const struct entry *cache_find(struct cache *cache, struct slice target, uint64_t hash)
{
    struct entry *entry = cache->paused ? NULL : look_up(cache, target, hash);
    if (!entry)
        return NULL;
    if (!is_fresh(cache, entry)) {
        cache->stale++;
        take_out(cache, entry);
        free(cache->found_stale);
        cache->found_stale = entry;
        return NULL;
    }
    if (entry->frequency < FREQUENCY_LIMIT)
        entry->frequency++;
    return entry;
}

struct entry *cache_take_stale(struct cache *cache)
{
    struct entry *entry = cache->found_stale;
    cache->found_stale = NULL;
    return entry;
}

/* The ghosts are a table with one fingerprint per slot: an old one is overwritten when a new one
 * needs its slot, at about the time when the paper's ghost queue would drop it. */
static uint32_t *ghost_of(struct cache *cache, uint64_t hash)
{
    return &cache->ghosts[(hash >> 16) & cache->mask];
}

static uint32_t fingerprint(uint64_t hash)
{
    return (uint32_t)(hash >> 32) | 1; /* 0 is an empty slot */
}

static void evict_from_small(struct cache *cache, bool has_chance)
{
    struct entry *entry = cache->small.oldest;
    if (has_chance && entry->frequency > 1 && is_fresh(cache, entry)) {
        dequeue(cache, entry);
        entry->frequency = 0;
        enqueue(cache, entry, MAIN);
        return;
    }
    *ghost_of(cache, entry->hash) = fingerprint(entry->hash);
    drop(cache, entry);
    cache->evictions++;
}

static void evict_from_main(struct cache *cache, bool has_chance)
{
    struct entry *entry = cache->main.oldest;
    if (has_chance && entry->frequency > 0 && is_fresh(cache, entry)) {
        dequeue(cache, entry);
        entry->frequency--;
        enqueue(cache, entry, MAIN);
        return;
    }
    drop(cache, entry);
    cache->evictions++;
}

/* Make room for `bytes`, a part of the limit; false if that would delay hits. The room made so far
 * remains for the next attempt. */
static bool make_room(struct cache *cache, size_t bytes)
{
    size_t turns = TURNS + bytes / BYTES_PER_TURN;
    for (size_t turn = 0; cache_bytes(cache) + bytes > cache->limit; turn++) {
        if (turn == turns)
            return false;
        if (cache->small.bytes > cache->limit / SMALL_PART || !cache->main.oldest)
            evict_from_small(cache, turn < CHANCES);
        else
            evict_from_main(cache, turn < CHANCES);
    }
    return true;
}

bool cache_put(struct cache *cache, const struct reply *reply)
{
    assert(reply->tag_count > 0);
    if (cache->paused || entry_max_size(reply) > cache->limit / LARGEST_PART)
        return false;
    if (!purge_is_fresh(cache->purges, reply->tags, reply->tag_count, reply->sequence)) {
        cache->stale++;
        return false;
    }
    struct slice target = reply_target(reply);
    uint64_t hash = cache_hash(cache, target);
    struct entry *present = look_up(cache, target, hash);
    if (present)
        drop(cache, present);
    struct entry *entry =
        make_room(cache, entry_max_size(reply)) ? entry_new(&cache->shared_heads, reply) : NULL;
    if (!entry)
        return false;
    entry->hash = hash;
    bool returns = *ghost_of(cache, hash) == fingerprint(hash);
    enqueue(cache, entry, returns ? MAIN : SMALL);
    struct entry **bucket = bucket_of(cache, hash);
    entry->chain = *bucket;
    *bucket = entry;
    cache->count++;
    cache->by_origin |= reply->by_origin;
    return true;
}

void cache_check_lease(struct cache *cache, int64_t now)
{
    cache->paused = !purge_lease_holds(cache->purges, now);
}

size_t cache_bytes(const struct cache *cache)
{
    return cache->small.bytes + cache->main.bytes + cache->shared_heads.bytes;
}
