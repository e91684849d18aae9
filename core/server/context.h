/* What the connections of a worker share; each part is used by the connection that is being served.
 * The worker owns it and uses it in its own thread; others may read the numbers in `stats`. */
#ifndef CORE_SERVER_CONTEXT_H
#define CORE_SERVER_CONTEXT_H

#include "base/budget.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/limits.h"
#include "cache/cache.h"
#include "io/timers.h"
#include "server/stats.h"
#include "server/trace.h"
#include "sse/subscriptions.h"

#include <stdbool.h>
#include <stdint.h>

struct context {
    const struct limits *limits; /* borrows */
    struct budget budget;        /* of the memory that this worker holds for clients */
    struct cache cache;
    struct subscriptions subscriptions;
    struct clock clock;
    struct timers timers;
    struct buffer out;   /* the responses of this turn; empty between turns */
    char *in;            /* owns LIMIT_READ bytes, for connections without unserved bytes */
    bool stopping;       /* each connection ends after the last request that was read */
    struct trace *trace; /* owns; NULL: nothing is traced */
    struct stats stats;
};

/* 0, or -1 without memory; fini is safe in either case. `cache_bytes` bounds this worker's
 * cache. */
int context_init(struct context *context, const struct limits *limits, size_t cache_bytes,
                 struct purge_table *purges, struct subscribers *subscribers, struct hash_key key);
void context_fini(struct context *context);

/* Start a timer of this kind now, in place of a running one. */
static inline void context_set_timer(struct context *context, struct timer *timer,
                                     enum timer_kind kind)
{
    timer_set(timer, &context->timers, kind, context->clock.now);
}

#endif
