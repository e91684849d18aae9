/* The stencils; see shared_head.h for the design. */
#include "cache/shared_head.h"

#include "base/limits.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool fits(const struct stencil *stencil, const struct pieces *whole,
                 const struct pieces *brief)
{
    return stencil->whole_date == whole->date && stencil->brief_date == brief->date &&
           slice_equal(slice_of(stencil->bytes, stencil->whole_size), whole->common) &&
           slice_equal(slice_of(stencil->bytes + stencil->whole_size, stencil->brief_size),
                       brief->common);
}

static size_t cost(const struct stencil *stencil)
{
    return sizeof *stencil + stencil->whole_size + stencil->brief_size + LIMIT_BLOCK_OVERHEAD;
}

/* An empty place, or the next one in turn. */
static uint32_t choose_place(struct stencils *stencils)
{
    for (uint32_t place = 0; place < STENCILS_REMEMBERED; place++)
        if (!stencils->remembered[place])
            return place;
    return stencils->turn++ % STENCILS_REMEMBERED;
}

struct stencil *stencils_share(struct stencils *stencils, const struct pieces *whole,
                               const struct pieces *brief)
{
    for (uint32_t place = 0; place < STENCILS_REMEMBERED; place++) {
        struct stencil *stencil = stencils->remembered[place];
        if (stencil && fits(stencil, whole, brief)) {
            stencil->users++;
            return stencil;
        }
    }
    struct stencil *stencil = malloc(sizeof *stencil + whole->common.size + brief->common.size);
    if (!stencil)
        return NULL;
    *stencil = (struct stencil){
        .users = 1,
        .place = choose_place(stencils),
        .whole_size = (uint32_t)whole->common.size,
        .whole_date = whole->date,
        .brief_size = (uint32_t)brief->common.size,
        .brief_date = brief->date,
    };
    memcpy(stencil->bytes, whole->common.data, whole->common.size);
    memcpy(stencil->bytes + whole->common.size, brief->common.data, brief->common.size);
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
