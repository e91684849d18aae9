/* Deadlines: their order among kinds, and that setting one again moves it. */
#include "check.h"
#include "io/timers.h"

#include <limits.h>

static const int64_t durations[TIMER_KINDS] = {
    [TIMER_IDLE] = 75000,    [TIMER_HEAD] = 10000,  [TIMER_BODY] = 30000,
    [TIMER_HANDLER] = 30000, [TIMER_WRITE] = 30000, [TIMER_LINGER] = 2000,
};

static struct timers timers;

static void without_deadlines_the_wait_is_for_ever(void)
{
    timers_init(&timers, durations);
    CHECK_EQUAL(timers_wait(&timers, 0), -1);
    CHECK(!timers_due(&timers, INT64_MAX));
    CHECK(!timers_oldest(&timers, TIMER_IDLE));
}

static void the_nearest_of_all_kinds_comes_first(void)
{
    struct timer idle, head, body;
    timers_init(&timers, durations);
    timer_init(&idle);
    timer_init(&head);
    timer_init(&body);
    timer_set(&idle, &timers, TIMER_IDLE, 1000);
    timer_set(&body, &timers, TIMER_BODY, 1000);
    timer_set(&head, &timers, TIMER_HEAD, 5000);
    CHECK_EQUAL(timers_wait(&timers, 5000), 10000);
    CHECK(!timers_due(&timers, 14999));
    CHECK(timers_due(&timers, 15000) == &head);
    CHECK(timers_due(&timers, 15000) == &head); /* it stays until it is moved */
    timer_clear(&head);
    CHECK(!timers_due(&timers, 15000));
    CHECK(timers_due(&timers, 80000) == &body);
    timer_clear(&body);
    CHECK(timers_due(&timers, 80000) == &idle);
    CHECK_EQUAL(timers_wait(&timers, 80000), 0);
}

static void within_a_kind_the_oldest_comes_first_and_setting_again_renews(void)
{
    struct timer first, second;
    timers_init(&timers, durations);
    timer_init(&first);
    timer_init(&second);
    timer_set(&first, &timers, TIMER_IDLE, 0);
    timer_set(&second, &timers, TIMER_IDLE, 10);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &first);
    timer_set(&first, &timers, TIMER_IDLE, 20);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &second);
    timer_set(&second, &timers, TIMER_HANDLER, 20);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &first);
    CHECK(timers_oldest(&timers, TIMER_HANDLER) == &second);
    timer_clear(&second);
    timer_clear(&second);
    CHECK(!timers_oldest(&timers, TIMER_HANDLER));
}

static void a_far_moment_does_not_overflow_the_wait(void)
{
    struct timer timer;
    timers_init(&timers, durations);
    timer_init(&timer);
    timer_set(&timer, &timers, TIMER_IDLE, (int64_t)INT_MAX * 4);
    CHECK_EQUAL(timers_wait(&timers, 0), INT_MAX);
}

static void shortened_deadlines_come_earlier_in_the_same_order(void)
{
    struct timer first, second, third, body;
    timers_init(&timers, durations);
    timer_init(&first);
    timer_init(&second);
    timer_init(&third);
    timer_init(&body);
    timer_set(&first, &timers, TIMER_IDLE, 1000);
    timer_set(&second, &timers, TIMER_IDLE, 50000);
    timer_set(&body, &timers, TIMER_BODY, 50000);
    timers_shorten(&timers, TIMER_IDLE, 1000);
    timer_set(&third, &timers, TIMER_IDLE, 50001);
    CHECK_EQUAL(first.moment, 2000);
    CHECK_EQUAL(second.moment, 51000);
    CHECK_EQUAL(third.moment, 51001);
    CHECK_EQUAL(body.moment, 80000);
    timers_shorten(&timers, TIMER_IDLE, 5000); /* it is shorter already */
    CHECK_EQUAL(third.moment, 51001);
    CHECK(timers_due(&timers, 51001) == &first);
}

int main(void)
{
    RUN(without_deadlines_the_wait_is_for_ever);
    RUN(the_nearest_of_all_kinds_comes_first);
    RUN(within_a_kind_the_oldest_comes_first_and_setting_again_renews);
    RUN(a_far_moment_does_not_overflow_the_wait);
    RUN(shortened_deadlines_come_earlier_in_the_same_order);
    return check_end();
}
