/* The names of the figures stand here and nowhere else. */
#include "server/figures.h"

#include "http/response.h"

#include <assert.h>
#include <stdio.h>

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
    for (size_t i = 0; (status = render_refused_status(i)) != 0; i++) {
        snprintf(name, sizeof name, "%d", status);
        tell(&figures[count++], "refused_", name, &counters->refused[status - REFUSED_FIRST]);
    }
    assert(count <= FIGURES);
    return count;
}
