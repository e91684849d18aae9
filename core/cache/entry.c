/* Entries of the cache; see entry.h. */
#include "cache/entry.h"

#include "base/limits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The sizes of the compressed variant are stored in front of it: few entries have one, and in
 * `struct entry` they would make the others larger than three cache lines. */
static size_t variant_size(const struct rendered_variant *variant)
{
    return sizeof *variant + variant->own_size + variant->body_size;
}

static size_t plain_size(const struct entry *entry)
{
    return offsetof(struct entry, tags) + entry->tag_count * sizeof *entry->tags +
           entry->target_size + entry->own_size + entry->body_size;
}

/* Where the compressed variant begins. */
static const char *variant_of(const struct entry *entry, struct rendered_variant *variant)
{
    assert(entry->has_gzip);
    const char *at = (const char *)entry + plain_size(entry);
    memcpy(variant, at, sizeof *variant);
    return at + sizeof *variant;
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
        .has_gzip = reply->gzip.body_size > 0,
    };
    size_t size = plain_size(&made) + (made.has_gzip ? variant_size(&reply->gzip) : 0);
    struct entry *entry = malloc(at_least_entry(size));
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
    if (entry->has_gzip) {
        at += full.rest.size;
        memcpy(at, &reply->gzip, sizeof reply->gzip);
        memcpy(at + sizeof reply->gzip, reply_gzip_own(reply).data,
               (size_t)reply->gzip.own_size + reply->gzip.body_size);
    }
    return entry;
}

void entry_release_head(struct shared_heads *shared_heads, struct entry *entry)
{
    shared_heads_release(shared_heads, entry->shared_head);
    entry->shared_head = NULL;
}

size_t entry_cost(const struct entry *entry)
{
    size_t size = plain_size(entry);
    struct rendered_variant gzip;
    if (entry->has_gzip) {
        variant_of(entry, &gzip);
        size += variant_size(&gzip);
    }
    return at_least_entry(size) + LIMIT_BLOCK_OVERHEAD;
}

size_t entry_max_size(const struct reply *reply)
{
    return reply->size + 2 * LIMIT_BLOCK_OVERHEAD;
}

/* The own lines of a variant; its body, of `*body_size` bytes, lies behind them. */
static struct slice own_of(const struct entry *entry, bool gzip, uint32_t *body_size)
{
    struct rendered_variant variant;
    if (gzip) {
        const char *own = variant_of(entry, &variant);
        *body_size = variant.body_size;
        return slice_of(own, variant.own_size);
    }
    *body_size = entry->body_size;
    return slice_of((const char *)(entry->tags + entry->tag_count) + entry->target_size,
                    entry->own_size);
}

struct slice entry_etag(const struct entry *entry, bool gzip)
{
    uint32_t body_size;
    return response_own_etag(own_of(entry, gzip, &body_size));
}

struct response_view entry_full(const struct entry *entry, bool gzip)
{
    uint32_t body_size;
    struct slice own = own_of(entry, gzip, &body_size);
    return (struct response_view){
        .shared = slice_of(entry->shared_head->bytes, entry->shared_head->full_size),
        .date = entry->shared_head->full_date,
        .body_size = body_size,
        .rest = slice_of(own.data, own.size + body_size),
    };
}

struct response_view entry_not_modified(const struct entry *entry, bool gzip)
{
    const struct shared_head *shared_head = entry->shared_head;
    uint32_t body_size;
    return (struct response_view){
        .shared =
            slice_of(shared_head->bytes + shared_head->full_size, shared_head->not_modified_size),
        .date = shared_head->not_modified_date,
        .rest = response_own_tail(own_of(entry, gzip, &body_size)),
    };
}
