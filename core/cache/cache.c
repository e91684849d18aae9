/* The response store; see cache.h for the design. */
#include "cache/cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 0,
    MAIN = 1,
    /* Answers are counted as asked for three times at most (the paper's two bits). */
    FREQUENCY_LIMIT = 3,
    /* Bytes of the limit for each bucket: a usual answer is of about this size. */
    BYTES_PER_BUCKET = 512,
    /* One part of this many of the limit is the allocator's: answers of many sizes that come and go
     * leave holes between them, 9 to 17 % where it was measured; our tables take 1 % more. */
    SPARE_PART = 5,
    /* The small queue gets one part of this many; one answer may take as much. */
    SMALL_PART = 10,
    /* Turns of the queues for the sake of one answer, while which hits wait: so many take up to 70
     * us where nothing is in the caches. In the first of them the oldest answer may stay if it is
     * wanted; without an end to that, it may be all of a store, three times. */
    TURNS = 160,
    CHANCES = 64,
};

int store_init(struct store *store, size_t limit, struct purges *purges, struct hash_key key)
{
    size_t buckets = 1024;
    while (buckets < limit / BYTES_PER_BUCKET)
        buckets *= 2;
    *store = (struct store){
        .purges = purges, .key = key, .limit = limit - limit / SPARE_PART, .mask = buckets - 1};
    store->buckets = calloc(buckets, sizeof(struct kept *));
    store->ghosts = calloc(buckets, sizeof *store->ghosts);
    return store->buckets && store->ghosts ? 0 : -1;
}

static struct store_queue *queue_of(struct store *store, const struct kept *kept)
{
    return kept->queue == SMALL ? &store->small : &store->main;
}

static void enqueue(struct store *store, struct kept *kept, uint8_t queue)
{
    kept->queue = queue;
    kept->newer = NULL;
    struct store_queue *into = queue_of(store, kept);
    kept->older = into->newest;
    if (into->newest)
        into->newest->newer = kept;
    else
        into->oldest = kept;
    into->newest = kept;
    into->bytes += kept_cost(kept);
}

static void dequeue(struct store *store, struct kept *kept)
{
    struct store_queue *from = queue_of(store, kept);
    *(kept->newer ? &kept->newer->older : &from->newest) = kept->older;
    *(kept->older ? &kept->older->newer : &from->oldest) = kept->newer;
    from->bytes -= kept_cost(kept);
}

static struct kept **bucket_of(struct store *store, uint64_t hash)
{
    return &store->buckets[hash & store->mask];
}

static void take_out(struct store *store, struct kept *kept)
{
    struct kept **link = bucket_of(store, kept->hash);
    while (*link != kept)
        link = &(*link)->chain;
    *link = kept->chain;
    dequeue(store, kept);
    store->count--;
    kept_strip(&store->stencils, kept);
}

static void drop(struct store *store, struct kept *kept)
{
    take_out(store, kept);
    free(kept);
}

void store_fini(struct store *store)
{
    while (store->small.oldest)
        drop(store, store->small.oldest);
    while (store->main.oldest)
        drop(store, store->main.oldest);
    free(store->found_stale);
    free(store->buckets);
    free(store->ghosts);
    *store = (struct store){0};
}

uint64_t store_hash(const struct store *store, struct slice target)
{
    uint64_t hash = hash_bytes(&store->key, target.data, target.size);
    __builtin_prefetch(&store->buckets[hash & store->mask]);
    return hash;
}

static struct kept *look_up(struct store *store, struct slice target, uint64_t hash)
{
    struct kept *kept = *bucket_of(store, hash);
    while (kept && (kept->hash != hash || !slice_equal(kept_target(kept), target)))
        kept = kept->chain;
    return kept;
}

static bool is_fresh(const struct store *store, const struct kept *kept)
{
    return purges_spare(store->purges, kept->tags, kept->tag_count, kept->sequence);
}

void store_foresee(const struct store *store, const uint64_t *hashes, int count)
{
    enum { LINE = 64, LINES = 3 }; /* of a small answer */
    const struct kept *first[STORE_FORESEEN];
    assert(count <= STORE_FORESEEN);
    for (int i = 0; i < count; i++) {
        first[i] = store->buckets[hashes[i] & store->mask];
        for (int line = 0; first[i] && line < LINES; line++)
            __builtin_prefetch((const char *)first[i] + line * LINE);
    }
    for (int i = 0; i < count; i++) {
        const struct kept *kept = first[i];
        while (kept && kept->hash != hashes[i])
            kept = kept->chain;
        if (!kept)
            continue;
        __builtin_prefetch(&store->purges->last[kept->tags[0]]);
        /* Its first lines may have been those of another answer in its bucket. */
        const char *own = kept_whole(kept).rest.data;
        __builtin_prefetch(own);
        __builtin_prefetch(own + LINE);
    }
}

const struct kept *store_find(struct store *store, struct slice target, uint64_t hash)
{
    struct kept *kept = look_up(store, target, hash);
    if (!kept)
        return NULL;
    if (!is_fresh(store, kept)) {
        store->stale++;
        take_out(store, kept);
        free(store->found_stale);
        store->found_stale = kept;
        return NULL;
    }
    if (kept->frequency < FREQUENCY_LIMIT)
        kept->frequency++;
    return kept;
}

struct kept *store_take_stale(struct store *store)
{
    struct kept *kept = store->found_stale;
    store->found_stale = NULL;
    return kept;
}

/* The ghosts are a table of fingerprints, one to a place: an old one is forgotten when a new one
 * needs its place, which is about when the paper's ghost queue would have let it go. */
static uint32_t *ghost_of(struct store *store, uint64_t hash)
{
    return &store->ghosts[(hash >> 16) & store->mask];
}

static uint32_t fingerprint(uint64_t hash)
{
    return (uint32_t)(hash >> 32) | 1; /* 0 is an empty place */
}

static void evict_from_small(struct store *store, bool has_chance)
{
    struct kept *kept = store->small.oldest;
    if (has_chance && kept->frequency > 1 && is_fresh(store, kept)) {
        dequeue(store, kept);
        kept->frequency = 0;
        enqueue(store, kept, MAIN);
        return;
    }
    *ghost_of(store, kept->hash) = fingerprint(kept->hash);
    drop(store, kept);
    store->evictions++;
}

static void evict_from_main(struct store *store, bool has_chance)
{
    struct kept *kept = store->main.oldest;
    if (has_chance && kept->frequency > 0 && is_fresh(store, kept)) {
        dequeue(store, kept);
        kept->frequency--;
        enqueue(store, kept, MAIN);
        return;
    }
    drop(store, kept);
    store->evictions++;
}

/* Make room for `bytes`, a part of the limit; false when that would keep hits waiting. What room
 * has been made then is there when the answer comes again. */
static bool make_room(struct store *store, size_t bytes)
{
    for (int turn = 0; store_bytes(store) + bytes > store->limit; turn++) {
        if (turn == TURNS)
            return false;
        if (store->small.bytes > store->limit / SMALL_PART || !store->main.oldest)
            evict_from_small(store, turn < CHANCES);
        else
            evict_from_main(store, turn < CHANCES);
    }
    return true;
}

bool store_keep(struct store *store, const struct reply *reply)
{
    assert(reply->tag_count > 0);
    if (kept_bound(reply) > store->limit / SMALL_PART)
        return false;
    if (!purges_spare(store->purges, reply->tags, reply->tag_count, reply->sequence)) {
        store->stale++;
        return false;
    }
    struct slice target = reply_target(reply);
    uint64_t hash = store_hash(store, target);
    struct kept *present = look_up(store, target, hash);
    if (present)
        drop(store, present);
    struct kept *kept =
        make_room(store, kept_bound(reply)) ? kept_new(&store->stencils, reply) : NULL;
    if (!kept)
        return false;
    kept->hash = hash;
    bool returns = *ghost_of(store, hash) == fingerprint(hash);
    enqueue(store, kept, returns ? MAIN : SMALL);
    struct kept **bucket = bucket_of(store, hash);
    kept->chain = *bucket;
    *bucket = kept;
    store->count++;
    return true;
}

size_t store_bytes(const struct store *store)
{
    return store->small.bytes + store->main.bytes + store->stencils.bytes;
}
