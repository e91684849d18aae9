/* Kept answers; see entry.h for the design. */
#include "cache/entry.h"

#include "base/limits.h"
#include "http/etag.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What ends the own lines of every kept answer, and is all of them in its 304. */
enum { TAIL_SIZE = sizeof "ETag: " - 1 + ETAG_SIZE + sizeof "\r\n\r\n" - 1 };

static size_t size_of(const struct kept *kept)
{
    size_t size = offsetof(struct kept, tags) + kept->tag_count * sizeof *kept->tags +
                  kept->target_size + kept->own_size + kept->body_size;
    return size < sizeof *kept ? sizeof *kept : size;
}

struct kept *kept_new(struct stencils *stencils, const struct reply *reply)
{
    struct response_view full = rendered_view(reply, &reply->full);
    struct response_view not_modified = rendered_view(reply, &reply->not_modified);
    struct slice target = reply_target(reply);
    size_t own_size = full.rest.size - full.body_size;
    assert(reply->tag_count > 0 && reply->tag_count <= LIMIT_TAGS && LIMIT_TAGS <= UINT8_MAX);
    assert(target.size <= LIMIT_TARGET && LIMIT_TARGET <= UINT16_MAX);
    assert(not_modified.rest.size == TAIL_SIZE && own_size <= UINT8_MAX);
    const struct kept made = {
        .sequence = reply->sequence,
        .body_size = full.body_size,
        .target_size = (uint16_t)target.size,
        .own_size = (uint8_t)own_size,
        .tag_count = (uint8_t)reply->tag_count,
    };
    struct kept *kept = malloc(size_of(&made));
    if (!kept)
        return NULL;
    *kept = made;
    kept->stencil = stencils_share(stencils, &full, &not_modified);
    if (!kept->stencil) {
        free(kept);
        return NULL;
    }
    memcpy(kept->tags, reply->tags, reply->tag_count * sizeof *reply->tags);
    char *at = (char *)(kept->tags + kept->tag_count);
    memcpy(at, target.data, target.size);
    memcpy(at + target.size, full.rest.data, full.rest.size);
    return kept;
}

void kept_strip(struct stencils *stencils, struct kept *kept)
{
    stencils_leave(stencils, kept->stencil);
    kept->stencil = NULL;
}

size_t kept_cost(const struct kept *kept)
{
    return size_of(kept) + LIMIT_BLOCK_OVERHEAD;
}

size_t kept_bound(const struct reply *reply)
{
    return reply->size + 2 * LIMIT_BLOCK_OVERHEAD;
}

/* The own lines; the body lies behind them. */
static const char *own_of(const struct kept *kept)
{
    return (const char *)(kept->tags + kept->tag_count) + kept->target_size;
}

struct slice kept_etag(const struct kept *kept)
{
    const char *end = own_of(kept) + kept->own_size;
    return slice_of(end - (sizeof "\r\n\r\n" - 1) - ETAG_SIZE, ETAG_SIZE);
}

struct response_view kept_whole(const struct kept *kept)
{
    return (struct response_view){
        .shared = slice_of(kept->stencil->bytes, kept->stencil->full_size),
        .date = kept->stencil->full_date,
        .body_size = kept->body_size,
        .rest = slice_of(own_of(kept), (size_t)kept->own_size + kept->body_size),
    };
}

struct response_view kept_brief(const struct kept *kept)
{
    const struct stencil *stencil = kept->stencil;
    return (struct response_view){
        .shared = slice_of(stencil->bytes + stencil->full_size, stencil->not_modified_size),
        .date = stencil->not_modified_date,
        .rest = slice_of(own_of(kept) + kept->own_size - TAIL_SIZE, TAIL_SIZE),
    };
}
