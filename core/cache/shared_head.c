/* Shared heads; see shared_head.h. */
#include "cache/shared_head.h"

#include "base/limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool fits(const struct shared_head *shared_head, const struct response_view *full,
                 const struct response_view *not_modified)
{
    return shared_head->full_date == full->date &&
           shared_head->not_modified_date == not_modified->date &&
           slice_equal(slice_of(shared_head->bytes, shared_head->full_size), full->shared) &&
           slice_equal(slice_of(shared_head->bytes + shared_head->full_size,
                                shared_head->not_modified_size),
                       not_modified->shared);
}

static size_t cost(const struct shared_head *shared_head)
{
    return sizeof *shared_head + shared_head->full_size + shared_head->not_modified_size +
           LIMIT_BLOCK_OVERHEAD;
}

/* An empty slot, or the next one in turn. */
static uint32_t choose_slot(struct shared_heads *shared_heads)
{
    for (uint32_t slot = 0; slot < SHARED_HEADS_REMEMBERED; slot++)
        if (!shared_heads->remembered[slot])
            return slot;
    return shared_heads->turn++ % SHARED_HEADS_REMEMBERED;
}

struct shared_head *shared_heads_acquire(struct shared_heads *shared_heads,
                                         const struct response_view *full,
                                         const struct response_view *not_modified)
{
    for (uint32_t slot = 0; slot < SHARED_HEADS_REMEMBERED; slot++) {
        struct shared_head *shared_head = shared_heads->remembered[slot];
        if (shared_head && fits(shared_head, full, not_modified)) {
            shared_head->users++;
            return shared_head;
        }
    }
    struct shared_head *shared_head =
        malloc(sizeof *shared_head + full->shared.size + not_modified->shared.size);
    if (!shared_head)
        return NULL;
    *shared_head = (struct shared_head){
        .users = 1,
        .slot = choose_slot(shared_heads),
        .full_size = (uint32_t)full->shared.size,
        .full_date = full->date,
        .not_modified_size = (uint32_t)not_modified->shared.size,
        .not_modified_date = not_modified->date,
    };
    memcpy(shared_head->bytes, full->shared.data, full->shared.size);
    memcpy(shared_head->bytes + full->shared.size, not_modified->shared.data,
           not_modified->shared.size);
    shared_heads->remembered[shared_head->slot] = shared_head;
    shared_heads->bytes += cost(shared_head);
    return shared_head;
}

void shared_heads_release(struct shared_heads *shared_heads, struct shared_head *shared_head)
{
    if (--shared_head->users > 0)
        return;
    if (shared_heads->remembered[shared_head->slot] == shared_head)
        shared_heads->remembered[shared_head->slot] = NULL;
    shared_heads->bytes -= cost(shared_head);
    free(shared_head);
}
