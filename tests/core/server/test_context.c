/* The context of a worker, and that it can be freed however far its initialisation got. */
#include "make.h"

#include "server/context.h"

static struct purge_table purges;

static const struct limits limits = {
    .keep_alive = 1,
    .head_deadline = 2,
    .body_deadline = 3,
    .handler_deadline = 4,
};

static void the_limits_become_deadlines(void)
{
    struct context context;
    CHECK_EQUAL(context_init(&context, &limits, 1 << 20, &purges, NULL, (struct hash_key){1, 2}),
                0);
    CHECK_EQUAL(context.timers.durations[TIMER_IDLE], 1);
    CHECK_EQUAL(context.timers.durations[TIMER_PROXY_HEADER], 2);
    CHECK_EQUAL(context.timers.durations[TIMER_HEAD], 2);
    CHECK_EQUAL(context.timers.durations[TIMER_BODY], 3);
    CHECK_EQUAL(context.timers.durations[TIMER_HANDLER], 4);
    CHECK_EQUAL(context.timers.durations[TIMER_WRITE], LIMIT_WRITE_MS);
    CHECK_EQUAL(context.timers.durations[TIMER_LINGER], LIMIT_LINGER_MS);
    CHECK(context.clock.now > 0);
    memset(context.in, 'x', LIMIT_READ);
    context_fini(&context);
}

static void the_end_frees_what_was_stored_and_may_come_twice(void)
{
    struct context context;
    CHECK_EQUAL(context_init(&context, &limits, 1 << 20, &purges, NULL, (struct hash_key){1, 2}),
                0);
    struct reply *reply = make_answer("/", "1", "t", 0);
    CHECK(cache_put(&context.cache, reply));
    reply_free(reply);
    CHECK(buffer_append(&context.out, "x", 1));
    context_fini(&context);
    context_fini(&context);
}

int main(void)
{
    RUN(the_limits_become_deadlines);
    RUN(the_end_frees_what_was_stored_and_may_come_twice);
    return check_end();
}
