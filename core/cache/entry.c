/* Entries of the cache; see entry.h. */
#include "cache/entry.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static size_t plain_size(const struct entry *entry)
{
    return offsetof(struct entry, tags) + entry->tag_count * sizeof *entry->tags +
           entry->target_size + entry->own_size + entry->body_size;
}

/* Find a compressed variant; its own lines are returned, and its body lies behind them. Few entries
 * have variants, so their sizes are stored with them: in `struct entry` they would make the others
 * larger than three cache lines. */
static const char *find_variant(const struct entry *entry, enum coding coding,
                                struct rendered_variant *variant)
{
    return response_find_variant((const char *)entry + plain_size(entry), entry->codings, coding,
                                 variant);
}

/* Bytes of all compressed variants. The last one in memory is that of the first coding. */
static size_t variants_size(const struct entry *entry)
{
    if (!entry->codings)
        return 0;
    struct rendered_variant last;
    const char *own = find_variant(entry, (enum coding)__builtin_ctz(entry->codings), &last);
    return (size_t)(own - (const char *)entry) - plain_size(entry) + last.own_size + last.body_size;
}

static size_t at_least_entry(size_t size)
{
    return size < sizeof(struct entry) ? sizeof(struct entry) : size;
}

struct entry *entry_new(struct shared_heads *shared_heads, const struct reply *reply)
{
    struct response_view full = rendered_view(reply, &reply->full);
    struct response_view not_modified = rendered_view(reply, &reply->not_modified);
    struct slice target = reply_target(reply);
    size_t own_size = full.rest.size - full.body_size;
    assert(reply->tag_count > 0 && reply->tag_count <= LIMIT_TAGS && LIMIT_TAGS <= UINT8_MAX);
    assert(target.size <= LIMIT_TARGET && LIMIT_TARGET <= UINT16_MAX);
    assert(not_modified.rest.size == RESPONSE_TAIL_SIZE && own_size <= UINT8_MAX);
    const struct entry made = {
        .sequence = reply->sequence,
        .body_size = full.body_size,
        .target_size = (uint16_t)target.size,
        .own_size = (uint8_t)own_size,
        .tag_count = (uint8_t)reply->tag_count,
        .codings = (uint8_t)reply->codings,
    };
    struct entry *entry = malloc(at_least_entry(plain_size(&made) + reply->variants_size));
    if (!entry)
        return NULL;
    *entry = made;
    entry->shared_head = shared_heads_acquire(shared_heads, &full, &not_modified);
    if (!entry->shared_head) {
        free(entry);
        return NULL;
    }
    memcpy(entry->tags, reply->tags, reply->tag_count * sizeof *reply->tags);
    char *at = (char *)(entry->tags + entry->tag_count);
    memcpy(at, target.data, target.size);
    at += target.size;
    memcpy(at, full.rest.data, full.rest.size);
    memcpy(at + full.rest.size, (const char *)reply + reply->variants, reply->variants_size);
    return entry;
}

void entry_release_head(struct shared_heads *shared_heads, struct entry *entry)
{
    shared_heads_release(shared_heads, entry->shared_head);
    entry->shared_head = NULL;
}

size_t entry_cost(const struct entry *entry)
{
    return at_least_entry(plain_size(entry) + variants_size(entry)) + LIMIT_BLOCK_OVERHEAD;
}

size_t entry_max_size(const struct reply *reply)
{
    return reply->size + 2 * LIMIT_BLOCK_OVERHEAD;
}

/* The own lines of a variant; its body, of `*body_size` bytes, lies behind them. */
static struct slice own_of(const struct entry *entry, enum coding coding, uint32_t *body_size)
{
    struct rendered_variant variant;
    if (coding != CODING_IDENTITY) {
        const char *own = find_variant(entry, coding, &variant);
        *body_size = variant.body_size;
        return slice_of(own, variant.own_size);
    }
    *body_size = entry->body_size;
    return slice_of((const char *)(entry->tags + entry->tag_count) + entry->target_size,
                    entry->own_size);
}

struct slice entry_etag(const struct entry *entry, enum coding coding)
{
    uint32_t body_size;
    return response_own_etag(own_of(entry, coding, &body_size));
}

struct response_view entry_full(const struct entry *entry, enum coding coding)
{
    uint32_t body_size;
    struct slice own = own_of(entry, coding, &body_size);
    return (struct response_view){
        .shared = slice_of(entry->shared_head->bytes, entry->shared_head->full_size),
        .date = entry->shared_head->full_date,
        .body_size = body_size,
        .rest = slice_of(own.data, own.size + body_size),
    };
}

struct response_view entry_not_modified(const struct entry *entry, enum coding coding)
{
    const struct shared_head *shared_head = entry->shared_head;
    uint32_t body_size;
    return (struct response_view){
        .shared =
            slice_of(shared_head->bytes + shared_head->full_size, shared_head->not_modified_size),
        .date = shared_head->not_modified_date,
        .rest = response_own_tail(own_of(entry, coding, &body_size)),
    };
}
