/* The statistics. The names of the numbers stand here and nowhere else. */
#include "server/stats.h"

#include "http/response.h"

#include <assert.h>
#include <stdio.h>

enum { NUMBERS = sizeof(struct counters) / sizeof(counter) };

void counters_refuse(struct counters *counters, int status)
{
    assert(status >= REFUSED_FIRST && status < REFUSED_FIRST + REFUSED_STATUSES);
    counter_add(&counters->refusals, 1);
    counter_add(&counters->refused[status - REFUSED_FIRST], 1);
}

void counters_take_time(struct counters *counters, int64_t nanoseconds)
{
    int64_t microseconds = nanoseconds > 0 ? nanoseconds / 1000 : 0;
    int bucket = 0;
    while (bucket < LATENCY_BUCKETS - 1 &&
           nanoseconds > (INT64_C(1000) << (LATENCY_FIRST + bucket)))
        bucket++;
    counter_add(&counters->latency[bucket], 1);
    counter_add(&counters->latency_sum, (uint64_t)microseconds);
}

void counters_add(struct counters *sum, const struct counters *more)
{
    counter *to = (counter *)sum;
    const counter *from = (const counter *)more;
    for (size_t i = 0; i < NUMBERS; i++)
        counter_add(&to[i], atomic_load_explicit(&from[i], memory_order_relaxed));
}

/* Those with a name of their own; the rest is named by what it is an array of. */
static const struct {
    const char *name;
    size_t offset;
} SINGLE[] = {
    {"requests", offsetof(struct counters, requests)},
    {"hits", offsetof(struct counters, hits)},
    {"not_modified", offsetof(struct counters, not_modified)},
    {"misses", offsetof(struct counters, misses)},
    {"refusals", offsetof(struct counters, refusals)},
    {"accepted", offsetof(struct counters, accepted)},
    {"connections", offsetof(struct counters, connections)},
    {"slots", offsetof(struct counters, slots)},
    {"dropped", offsetof(struct counters, dropped)},
    {"starved", offsetof(struct counters, starved)},
    {"overflows", offsetof(struct counters, overflows)},
    {"stored", offsetof(struct counters, stored)},
    {"stored_bytes", offsetof(struct counters, stored_bytes)},
    {"evictions", offsetof(struct counters, evictions)},
    {"stale", offsetof(struct counters, stale)},
    {"writes", offsetof(struct counters, writes)},
    {"waiting", offsetof(struct counters, waiting)},
    {"returning", offsetof(struct counters, returning)},
    {"streams", offsetof(struct counters, streams)},
    {"streams_refused", offsetof(struct counters, streams_refused)},
    {"told", offsetof(struct counters, told)},
    {"latency_sum", offsetof(struct counters, latency_sum)},
};

static const char *const REASONS[CLOSED_REASONS] = {
    [CLOSED_LAST] = "last",       [CLOSED_CLIENT] = "client",   [CLOSED_IDLE] = "idle",
    [CLOSED_UNREAD] = "unread",   [CLOSED_REAPED] = "reaped",   [CLOSED_FULL] = "full",
    [CLOSED_STOPPED] = "stopped", [CLOSED_STRANGE] = "strange", [CLOSED_FAILED] = "failed",
};

static void tell(struct figure *figure, const char *kind, const char *name, const counter *number)
{
    snprintf(figure->name, sizeof figure->name, "%s%s", kind, name);
    figure->value = atomic_load_explicit(number, memory_order_relaxed);
}

size_t figures_tell(const struct counters *counters, struct figure figures[FIGURES])
{
    char name[16];
    size_t count = 0;
    for (size_t i = 0; i < sizeof SINGLE / sizeof *SINGLE; i++)
        tell(&figures[count++], "", SINGLE[i].name,
             (const counter *)((const char *)counters + SINGLE[i].offset));
    for (size_t i = 0; i < CLOSED_REASONS; i++)
        tell(&figures[count++], "closed_", REASONS[i], &counters->closed[i]);
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        snprintf(name, sizeof name, "%d", 1 << (LATENCY_FIRST + i));
        tell(&figures[count++], "latency_", i < LATENCY_BUCKETS - 1 ? name : "inf",
             &counters->latency[i]);
    }
    int status;
    for (size_t i = 0; (status = response_refusal_status(i)) != 0; i++) {
        snprintf(name, sizeof name, "%d", status);
        tell(&figures[count++], "refused_", name, &counters->refused[status - REFUSED_FIRST]);
    }
    assert(count <= FIGURES);
    return count;
}
