/* The context of a worker; see context.h. */
#include "server/context.h"

#include <stdlib.h>

int context_init(struct context *context, const struct limits *limits, size_t cache_bytes,
                 struct purge_table *purges, struct subscribers *subscribers, struct hash_key key)
{
    *context = (struct context){.limits = limits};
    const int64_t durations[TIMER_KINDS] = {
        [TIMER_IDLE] = limits->keep_alive,          [TIMER_PROXY_HEADER] = limits->head_deadline,
        [TIMER_HEAD] = limits->head_deadline,       [TIMER_BODY] = limits->body_deadline,
        [TIMER_HANDLER] = limits->handler_deadline, [TIMER_WRITE] = LIMIT_WRITE_MS,
        [TIMER_STREAM] = limits->heartbeat,         [TIMER_LINGER] = LIMIT_LINGER_MS,
    };
    timers_init(&context->timers, durations);
    clock_update(&context->clock);
    buffer_init(&context->out);
    context->in = malloc(LIMIT_READ);
    if (limits->trace_lines > 0 && !(context->trace = trace_new(limits->trace_lines)))
        return -1;
    if (subscriptions_init(&context->subscriptions, subscribers) < 0)
        return -1;
    return cache_init(&context->cache, cache_bytes, purges, key) < 0 || !context->in ? -1 : 0;
}

void context_fini(struct context *context)
{
    cache_fini(&context->cache);
    subscriptions_fini(&context->subscriptions);
    buffer_fini(&context->out);
    free(context->in);
    context->in = NULL;
    trace_free(context->trace);
    context->trace = NULL;
}
