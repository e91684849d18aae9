/* The response store; see store.h for the design. */
#include "store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 0,
    MAIN = 1,
    /* Answers are counted as asked for three times at most (the paper's two bits). */
    FREQUENCY_LIMIT = 3,
    /* Bytes that the allocator adds to a block. */
    BLOCK_OVERHEAD = 16,
    /* Bytes of the limit for each bucket: a usual answer is of about this size. */
    BYTES_PER_BUCKET = 512,
    /* One part of this many of the limit is the allocator's: answers of many sizes that come and go
     * leave holes between them, 9 to 17 % where it was measured; our tables take 1 % more. */
    SPARE_PART = 5,
    /* The small queue gets one part of this many; one answer may take as much. */
    SMALL_PART = 10,
};

int store_init(struct store *store, size_t limit, struct purges *purges, struct hash_key key)
{
    size_t buckets = 1024;
    while (buckets < limit / BYTES_PER_BUCKET)
        buckets *= 2;
    *store = (struct store){
        .purges = purges, .key = key, .limit = limit - limit / SPARE_PART, .mask = buckets - 1};
    store->buckets = calloc(buckets, sizeof *store->buckets);
    store->ghosts = calloc(buckets, sizeof *store->ghosts);
    return store->buckets && store->ghosts ? 0 : -1;
}

static size_t cost(const struct reply *reply)
{
    return reply->size + BLOCK_OVERHEAD;
}

static struct store_queue *queue_of(struct store *store, const struct reply *reply)
{
    return reply->queue == SMALL ? &store->small : &store->main;
}

static void enqueue(struct store *store, struct reply *reply, uint8_t queue)
{
    reply->queue = queue;
    reply->newer = NULL;
    struct store_queue *into = queue_of(store, reply);
    reply->older = into->newest;
    if (into->newest)
        into->newest->newer = reply;
    else
        into->oldest = reply;
    into->newest = reply;
    into->bytes += cost(reply);
}

static void dequeue(struct store *store, struct reply *reply)
{
    struct store_queue *from = queue_of(store, reply);
    *(reply->newer ? &reply->newer->older : &from->newest) = reply->older;
    *(reply->older ? &reply->older->newer : &from->oldest) = reply->newer;
    from->bytes -= cost(reply);
}

static struct reply **bucket_of(struct store *store, uint64_t hash)
{
    return &store->buckets[hash & store->mask];
}

static void take_out(struct store *store, struct reply *reply)
{
    struct reply **link = bucket_of(store, reply->hash);
    while (*link != reply)
        link = &(*link)->chain;
    *link = reply->chain;
    dequeue(store, reply);
    store->count--;
}

static void drop(struct store *store, struct reply *reply)
{
    take_out(store, reply);
    reply_free(reply);
}

void store_fini(struct store *store)
{
    while (store->small.oldest)
        drop(store, store->small.oldest);
    while (store->main.oldest)
        drop(store, store->main.oldest);
    reply_free(store->found_stale);
    free(store->buckets);
    free(store->ghosts);
    *store = (struct store){0};
}

static struct reply *look_up(struct store *store, struct slice target, uint64_t hash)
{
    struct reply *reply = *bucket_of(store, hash);
    while (reply && (reply->hash != hash || !slice_equal(reply_target(reply), target)))
        reply = reply->chain;
    return reply;
}

static bool is_fresh(const struct store *store, const struct reply *reply)
{
    return purges_spare(store->purges, reply->tags, reply->tag_count, reply->sequence);
}

void store_foresee(const struct store *store, const struct slice *targets, int count)
{
    enum { LINE = 64 };
    struct reply *const *buckets[STORE_FORESEEN];
    assert(count <= STORE_FORESEEN);
    for (int i = 0; i < count; i++) {
        uint64_t hash = hash_bytes(&store->key, targets[i].data, targets[i].size);
        buckets[i] = &store->buckets[hash & store->mask];
        __builtin_prefetch(buckets[i]);
    }
    for (int i = 0; i < count; i++)
        for (int line = 0; *buckets[i] && line < 3; line++)
            __builtin_prefetch((const char *)*buckets[i] + line * LINE);
    for (int i = 0; i < count; i++) {
        const struct reply *reply = *buckets[i];
        if (!reply)
            continue;
        __builtin_prefetch(&store->purges->last[reply->tags[0]]);
        const char *bytes = reply_bytes(reply, &reply->whole);
        uint32_t size = reply->whole.head_size + reply->whole.body_size;
        for (uint32_t at = 0; at < size && at < 6 * LINE; at += LINE)
            __builtin_prefetch(bytes + at);
    }
}

const struct reply *store_find(struct store *store, struct slice target)
{
    uint64_t hash = hash_bytes(&store->key, target.data, target.size);
    struct reply *reply = look_up(store, target, hash);
    if (!reply)
        return NULL;
    if (!is_fresh(store, reply)) {
        store->stale++;
        take_out(store, reply);
        reply_free(store->found_stale);
        store->found_stale = reply;
        return NULL;
    }
    if (reply->frequency < FREQUENCY_LIMIT)
        reply->frequency++;
    return reply;
}

struct reply *store_take_stale(struct store *store)
{
    struct reply *reply = store->found_stale;
    store->found_stale = NULL;
    return reply;
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

static void evict_from_small(struct store *store)
{
    struct reply *reply = store->small.oldest;
    if (reply->frequency > 1 && is_fresh(store, reply)) {
        dequeue(store, reply);
        reply->frequency = 0;
        enqueue(store, reply, MAIN);
        return;
    }
    *ghost_of(store, reply->hash) = fingerprint(reply->hash);
    drop(store, reply);
    store->evictions++;
}

static void evict_from_main(struct store *store)
{
    struct reply *reply = store->main.oldest;
    if (reply->frequency > 0 && is_fresh(store, reply)) {
        dequeue(store, reply);
        reply->frequency--;
        enqueue(store, reply, MAIN);
        return;
    }
    drop(store, reply);
    store->evictions++;
}

bool store_keep(struct store *store, struct reply *reply)
{
    assert(reply->tag_count > 0);
    if (cost(reply) > store->limit / SMALL_PART)
        return false;
    if (!is_fresh(store, reply)) {
        store->stale++;
        return false;
    }
    struct slice target = reply_target(reply);
    reply->hash = hash_bytes(&store->key, target.data, target.size);
    reply->frequency = 0;
    struct reply *present = look_up(store, target, reply->hash);
    if (present)
        drop(store, present);
    /* Each turn drops a reply or lowers a frequency, so it ends. */
    while (store_bytes(store) + cost(reply) > store->limit) {
        if (store->small.bytes > store->limit / SMALL_PART || !store->main.oldest)
            evict_from_small(store);
        else
            evict_from_main(store);
    }
    bool returns = *ghost_of(store, reply->hash) == fingerprint(reply->hash);
    enqueue(store, reply, returns ? MAIN : SMALL);
    struct reply **bucket = bucket_of(store, reply->hash);
    reply->chain = *bucket;
    *bucket = reply;
    store->count++;
    return true;
}

size_t store_bytes(const struct store *store)
{
    return store->small.bytes + store->main.bytes;
}
