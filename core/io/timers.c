/* Queues of timers, as rings with a sentinel. */
#include "io/timers.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

void timers_init(struct timers *timers, const int64_t durations[TIMER_KINDS])
{
    memcpy(timers->durations, durations, sizeof timers->durations);
    for (int kind = 0; kind < TIMER_KINDS; kind++)
        timer_init(&timers->queues[kind]);
}

void timer_init(struct timer *timer)
{
    *timer = (struct timer){.earlier = timer, .later = timer};
}

void timer_clear(struct timer *timer)
{
    timer->earlier->later = timer->later;
    timer->later->earlier = timer->earlier;
    timer->earlier = timer->later = timer;
}

void timer_set(struct timer *timer, struct timers *timers, enum timer_kind kind, int64_t now)
{
    struct timer *ring = &timers->queues[kind];
    timer_clear(timer);
    timer->kind = kind;
    timer->moment = now + timers->durations[kind];
    timer->later = ring;
    timer->earlier = ring->earlier;
    ring->earlier->later = timer;
    ring->earlier = timer;
}

void timers_shorten(struct timers *timers, enum timer_kind kind, int64_t duration)
{
    int64_t earlier = timers->durations[kind] - duration;
    if (earlier <= 0)
        return;
    struct timer *ring = &timers->queues[kind];
    for (struct timer *one = ring->later; one != ring; one = one->later)
        one->moment -= earlier; /* all by the same amount, so the queue stays in order */
    timers->durations[kind] = duration;
}

struct timer *timers_oldest(struct timers *timers, enum timer_kind kind)
{
    struct timer *ring = &timers->queues[kind];
    return ring->later == ring ? NULL : ring->later;
}

static struct timer *next_of_all(struct timers *timers)
{
    struct timer *next = NULL;
    for (enum timer_kind kind = 0; kind < TIMER_KINDS; kind++) {
        struct timer *oldest = timers_oldest(timers, kind);
        if (oldest && (!next || oldest->moment < next->moment))
            next = oldest;
    }
    return next;
}

struct timer *timers_due(struct timers *timers, int64_t now)
{
    struct timer *next = next_of_all(timers);
    return next && next->moment <= now ? next : NULL;
}

int timers_wait(struct timers *timers, int64_t now)
{
    struct timer *next = next_of_all(timers);
    if (!next)
        return -1;
    int64_t wait = next->moment - now;
    return wait < 0 ? 0 : wait > INT_MAX ? INT_MAX : (int)wait;
}
