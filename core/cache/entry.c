/* Entries of the cache; see entry.h. */
#include "cache/entry.h"

#include "base/limits.h"
#include "http/etag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What ends the own lines of every entry, and is all of them in its 304. */
enum { TAIL_SIZE = sizeof "ETag: " - 1 + ETAG_SIZE + sizeof "\r\n\r\n" - 1 };

static size_t size_of(const struct entry *entry)
{
    size_t size = offsetof(struct entry, tags) + entry->tag_count * sizeof *entry->tags +
                  entry->target_size + entry->own_size + entry->body_size;
    return size < sizeof *entry ? sizeof *entry : size;
}

struct entry *entry_new(struct shared_heads *shared_heads, const struct reply *reply)
{
    struct response_view full = rendered_view(reply, &reply->full);
    struct response_view not_modified = rendered_view(reply, &reply->not_modified);
    struct slice target = reply_target(reply);
    size_t own_size = full.rest.size - full.body_size;
    assert(reply->tag_count > 0 && reply->tag_count <= LIMIT_TAGS && LIMIT_TAGS <= UINT8_MAX);
    assert(target.size <= LIMIT_TARGET && LIMIT_TARGET <= UINT16_MAX);
    assert(not_modified.rest.size == TAIL_SIZE && own_size <= UINT8_MAX);
    const struct entry made = {
        .sequence = reply->sequence,
        .body_size = full.body_size,
        .target_size = (uint16_t)target.size,
        .own_size = (uint8_t)own_size,
        .tag_count = (uint8_t)reply->tag_count,
    };
    struct entry *entry = malloc(size_of(&made));
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
    memcpy(at + target.size, full.rest.data, full.rest.size);
    return entry;
}

void entry_release_head(struct shared_heads *shared_heads, struct entry *entry)
{
    shared_heads_release(shared_heads, entry->shared_head);
    entry->shared_head = NULL;
}

size_t entry_cost(const struct entry *entry)
{
    return size_of(entry) + LIMIT_BLOCK_OVERHEAD;
}

size_t entry_max_size(const struct reply *reply)
{
    return reply->size + 2 * LIMIT_BLOCK_OVERHEAD;
}

/* The own lines; the body lies behind them. */
static const char *own_of(const struct entry *entry)
{
    return (const char *)(entry->tags + entry->tag_count) + entry->target_size;
}

struct slice entry_etag(const struct entry *entry)
{
    const char *end = own_of(entry) + entry->own_size;
    return slice_of(end - (sizeof "\r\n\r\n" - 1) - ETAG_SIZE, ETAG_SIZE);
}

struct response_view entry_full(const struct entry *entry)
{
    return (struct response_view){
        .shared = slice_of(entry->shared_head->bytes, entry->shared_head->full_size),
        .date = entry->shared_head->full_date,
        .body_size = entry->body_size,
        .rest = slice_of(own_of(entry), (size_t)entry->own_size + entry->body_size),
    };
}

struct response_view entry_not_modified(const struct entry *entry)
{
    const struct shared_head *shared_head = entry->shared_head;
    return (struct response_view){
        .shared =
            slice_of(shared_head->bytes + shared_head->full_size, shared_head->not_modified_size),
        .date = shared_head->not_modified_date,
        .rest = slice_of(own_of(entry) + entry->own_size - TAIL_SIZE, TAIL_SIZE),
    };
}
