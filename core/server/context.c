/* The tools of a worker. */
#include "server/context.h"

#include <stdlib.h>

int tools_init(struct tools *tools, const struct limits *limits, size_t cache_bytes,
               struct purge_table *purges, struct subscribers *subscribers, struct hash_key key)
{
    *tools = (struct tools){.limits = limits};
    const int64_t durations[TIMER_KINDS] = {
        [TIMER_IDLE] = limits->keep_alive,          [TIMER_PROXY_HEADER] = limits->head_deadline,
        [TIMER_HEAD] = limits->head_deadline,       [TIMER_BODY] = limits->body_deadline,
        [TIMER_HANDLER] = limits->handler_deadline, [TIMER_WRITE] = LIMIT_WRITE_MS,
        [TIMER_STREAM] = limits->heartbeat,         [TIMER_LINGER] = LIMIT_LINGER_MS,
    };
    timers_init(&tools->timers, durations);
    clock_update(&tools->clock);
    buffer_init(&tools->out);
    tools->in = malloc(LIMIT_READ);
    if (limits->trace_lines > 0 && !(tools->trace = trace_new(limits->trace_lines)))
        return -1;
    if (subscriptions_init(&tools->subscriptions, subscribers) < 0)
        return -1;
    return cache_init(&tools->cache, cache_bytes, purges, key) < 0 || !tools->in ? -1 : 0;
}

void tools_fini(struct tools *tools)
{
    cache_fini(&tools->cache);
    subscriptions_fini(&tools->subscriptions);
    buffer_fini(&tools->out);
    free(tools->in);
    tools->in = NULL;
    trace_free(tools->trace);
    tools->trace = NULL;
}
