/* The statistics. The names of the counters are defined only here. */
#include "server/stats.h"

#include "http/response.h"

#include <assert.h>
#include <stdio.h>

enum { NUMBERS = sizeof(struct stats) / sizeof(counter) };

void stats_count_refusal(struct stats *stats, int status)
{
    assert(status >= REFUSED_FIRST && status < REFUSED_FIRST + REFUSED_STATUSES);
    counter_add(&stats->refusals, 1);
    counter_add(&stats->refused[status - REFUSED_FIRST], 1);
}

void stats_count_latency(struct stats *stats, int64_t nanoseconds)
{
    int64_t microseconds = nanoseconds > 0 ? nanoseconds / 1000 : 0;
    int bucket = 0;
    while (bucket < LATENCY_BUCKETS - 1 &&
           nanoseconds > (INT64_C(1000) << (LATENCY_FIRST + bucket)))
        bucket++;
    counter_add(&stats->latency[bucket], 1);
    counter_add(&stats->latency_sum, (uint64_t)microseconds);
}

void stats_add(struct stats *sum, const struct stats *more)
{
    counter *to = (counter *)sum;
    const counter *from = (const counter *)more;
    for (size_t i = 0; i < NUMBERS; i++)
        counter_add(&to[i], atomic_load_explicit(&from[i], memory_order_relaxed));
}

/* The counters with names of their own; the others are named after the index in their array. */
static const struct {
    const char *name;
    size_t offset;
} SINGLE[] = {
    {"requests", offsetof(struct stats, requests)},
    {"hits", offsetof(struct stats, hits)},
    {"not_modified", offsetof(struct stats, not_modified)},
    {"misses", offsetof(struct stats, misses)},
    {"refusals", offsetof(struct stats, refusals)},
    {"accepted", offsetof(struct stats, accepted)},
    {"connections", offsetof(struct stats, connections)},
    {"max_connections", offsetof(struct stats, max_connections)},
    {"late_replies", offsetof(struct stats, late_replies)},
    {"out_of_fds", offsetof(struct stats, out_of_fds)},
    {"mailbox_full", offsetof(struct stats, mailbox_full)},
    {"client_bytes", offsetof(struct stats, client_bytes)},
    {"max_client_bytes", offsetof(struct stats, max_client_bytes)},
    {"cache_entries", offsetof(struct stats, cache_entries)},
    {"cache_bytes", offsetof(struct stats, cache_bytes)},
    {"evictions", offsetof(struct stats, evictions)},
    {"stale", offsetof(struct stats, stale)},
    {"writes", offsetof(struct stats, writes)},
    {"requests_waiting", offsetof(struct stats, requests_waiting)},
    {"replies_waiting", offsetof(struct stats, replies_waiting)},
    {"streams", offsetof(struct stats, streams)},
    {"streams_refused", offsetof(struct stats, streams_refused)},
    {"events_sent", offsetof(struct stats, events_sent)},
    {"latency_sum", offsetof(struct stats, latency_sum)},
};

static const char *const REASONS[CLOSED_REASONS] = {
    [CLOSED_ANSWERED] = "answered",
    [CLOSED_CLIENT] = "client",
    [CLOSED_IDLE] = "idle",
    [CLOSED_ABORTED] = "aborted",
    [CLOSED_SLOW] = "slow",
    [CLOSED_MEMORY] = "memory",
    [CLOSED_REAPED] = "reaped",
    [CLOSED_OVERLOAD] = "overload",
    [CLOSED_STOPPED] = "stopped",
    [CLOSED_PROTOCOL_ERROR] = "protocol_error",
    [CLOSED_SYSTEM_ERROR] = "system_error",
};

static void write_item(struct stats_item *figure, const char *kind, const char *name,
                       const counter *number)
{
    snprintf(figure->name, sizeof figure->name, "%s%s", kind, name);
    figure->value = atomic_load_explicit(number, memory_order_relaxed);
}

size_t stats_list(const struct stats *stats, struct stats_item items[STATS_ITEMS])
{
    char name[16];
    size_t count = 0;
    for (size_t i = 0; i < sizeof SINGLE / sizeof *SINGLE; i++)
        write_item(&items[count++], "", SINGLE[i].name,
                   (const counter *)((const char *)stats + SINGLE[i].offset));
    for (size_t i = 0; i < CLOSED_REASONS; i++)
        write_item(&items[count++], "closed_", REASONS[i], &stats->closed[i]);
    for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
        snprintf(name, sizeof name, "%d", 1 << (LATENCY_FIRST + i));
        write_item(&items[count++], "latency_", i < LATENCY_BUCKETS - 1 ? name : "inf",
                   &stats->latency[i]);
    }
    int status;
    for (size_t i = 0; (status = response_refusal_status(i)) != 0; i++) {
        snprintf(name, sizeof name, "%d", status);
        write_item(&items[count++], "refused_", name, &stats->refused[status - REFUSED_FIRST]);
    }
    assert(count <= STATS_ITEMS);
    return count;
}
