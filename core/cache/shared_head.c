/* The stencils; see shared_head.h for the design. */
#include "cache/shared_head.h"

#include "base/limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool fits(const struct stencil *stencil, const struct response_view *full,
                 const struct response_view *not_modified)
{
    return stencil->full_date == full->date && stencil->not_modified_date == not_modified->date &&
           slice_equal(slice_of(stencil->bytes, stencil->full_size), full->shared) &&
           slice_equal(slice_of(stencil->bytes + stencil->full_size, stencil->not_modified_size),
                       not_modified->shared);
}

static size_t cost(const struct stencil *stencil)
{
    return sizeof *stencil + stencil->full_size + stencil->not_modified_size + LIMIT_BLOCK_OVERHEAD;
}

/* An empty place, or the next one in turn. */
static uint32_t choose_place(struct stencils *stencils)
{
    for (uint32_t place = 0; place < STENCILS_REMEMBERED; place++)
        if (!stencils->remembered[place])
            return place;
    return stencils->turn++ % STENCILS_REMEMBERED;
}

struct stencil *stencils_share(struct stencils *stencils, const struct response_view *full,
                               const struct response_view *not_modified)
{
    for (uint32_t place = 0; place < STENCILS_REMEMBERED; place++) {
        struct stencil *stencil = stencils->remembered[place];
        if (stencil && fits(stencil, full, not_modified)) {
            stencil->users++;
            return stencil;
        }
    }
    struct stencil *stencil =
        malloc(sizeof *stencil + full->shared.size + not_modified->shared.size);
    if (!stencil)
        return NULL;
    *stencil = (struct stencil){
        .users = 1,
        .place = choose_place(stencils),
        .full_size = (uint32_t)full->shared.size,
        .full_date = full->date,
        .not_modified_size = (uint32_t)not_modified->shared.size,
        .not_modified_date = not_modified->date,
    };
    memcpy(stencil->bytes, full->shared.data, full->shared.size);
    memcpy(stencil->bytes + full->shared.size, not_modified->shared.data,
           not_modified->shared.size);
    stencils->remembered[stencil->place] = stencil;
    stencils->bytes += cost(stencil);
    return stencil;
}

void stencils_leave(struct stencils *stencils, struct stencil *stencil)
{
    if (--stencil->users > 0)
        return;
    if (stencils->remembered[stencil->place] == stencil)
        stencils->remembered[stencil->place] = NULL;
    stencils->bytes -= cost(stencil);
    free(stencil);
}
