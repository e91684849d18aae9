/* Queues of deadlines, as rings with a sentinel. */
#include "io/timers.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

void deadlines_init(struct deadlines *deadlines, const int64_t durations[DEADLINE_KINDS])
{
    memcpy(deadlines->durations, durations, sizeof deadlines->durations);
    for (int kind = 0; kind < DEADLINE_KINDS; kind++)
        deadline_init(&deadlines->queues[kind]);
}

void deadline_init(struct deadline *deadline)
{
    *deadline = (struct deadline){.earlier = deadline, .later = deadline};
}

void deadline_clear(struct deadline *deadline)
{
    deadline->earlier->later = deadline->later;
    deadline->later->earlier = deadline->earlier;
    deadline->earlier = deadline->later = deadline;
}

void deadline_set(struct deadline *deadline, struct deadlines *deadlines, enum deadline_kind kind,
                  int64_t now)
{
    struct deadline *ring = &deadlines->queues[kind];
    deadline_clear(deadline);
    deadline->kind = kind;
    deadline->moment = now + deadlines->durations[kind];
    deadline->later = ring;
    deadline->earlier = ring->earlier;
    ring->earlier->later = deadline;
    ring->earlier = deadline;
}

void deadlines_shorten(struct deadlines *deadlines, enum deadline_kind kind, int64_t duration)
{
    int64_t earlier = deadlines->durations[kind] - duration;
    if (earlier <= 0)
        return;
    struct deadline *ring = &deadlines->queues[kind];
    for (struct deadline *one = ring->later; one != ring; one = one->later)
        one->moment -= earlier; /* all by the same, so the queue stays in order */
    deadlines->durations[kind] = duration;
}

struct deadline *deadlines_oldest(struct deadlines *deadlines, enum deadline_kind kind)
{
    struct deadline *ring = &deadlines->queues[kind];
    return ring->later == ring ? NULL : ring->later;
}

static struct deadline *next_of_all(struct deadlines *deadlines)
{
    struct deadline *next = NULL;
    for (enum deadline_kind kind = 0; kind < DEADLINE_KINDS; kind++) {
        struct deadline *oldest = deadlines_oldest(deadlines, kind);
        if (oldest && (!next || oldest->moment < next->moment))
            next = oldest;
    }
    return next;
}

struct deadline *deadlines_due(struct deadlines *deadlines, int64_t now)
{
    struct deadline *next = next_of_all(deadlines);
    return next && next->moment <= now ? next : NULL;
}

int deadlines_wait(struct deadlines *deadlines, int64_t now)
{
    struct deadline *next = next_of_all(deadlines);
    if (!next)
        return -1;
    int64_t wait = next->moment - now;
    return wait < 0 ? 0 : wait > INT_MAX ? INT_MAX : (int)wait;
}
