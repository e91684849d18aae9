/* Deadlines: their order among kinds, and that setting one again moves it. */
#include "check.h"
#include "io/timers.h"

#include <limits.h>

static const int64_t durations[DEADLINE_KINDS] = {
    [DEADLINE_IDLE] = 75000,    [DEADLINE_HEAD] = 10000,  [DEADLINE_BODY] = 30000,
    [DEADLINE_HANDLER] = 30000, [DEADLINE_WRITE] = 30000, [DEADLINE_LINGER] = 2000,
};

static struct deadlines deadlines;

static void without_deadlines_the_wait_is_for_ever(void)
{
    deadlines_init(&deadlines, durations);
    CHECK_EQUAL(deadlines_wait(&deadlines, 0), -1);
    CHECK(!deadlines_due(&deadlines, INT64_MAX));
    CHECK(!deadlines_oldest(&deadlines, DEADLINE_IDLE));
}

static void the_nearest_of_all_kinds_comes_first(void)
{
    struct deadline idle, head, body;
    deadlines_init(&deadlines, durations);
    deadline_init(&idle);
    deadline_init(&head);
    deadline_init(&body);
    deadline_set(&idle, &deadlines, DEADLINE_IDLE, 1000);
    deadline_set(&body, &deadlines, DEADLINE_BODY, 1000);
    deadline_set(&head, &deadlines, DEADLINE_HEAD, 5000);
    CHECK_EQUAL(deadlines_wait(&deadlines, 5000), 10000);
    CHECK(!deadlines_due(&deadlines, 14999));
    CHECK(deadlines_due(&deadlines, 15000) == &head);
    CHECK(deadlines_due(&deadlines, 15000) == &head); /* it stays until it is moved */
    deadline_clear(&head);
    CHECK(!deadlines_due(&deadlines, 15000));
    CHECK(deadlines_due(&deadlines, 80000) == &body);
    deadline_clear(&body);
    CHECK(deadlines_due(&deadlines, 80000) == &idle);
    CHECK_EQUAL(deadlines_wait(&deadlines, 80000), 0);
}

static void within_a_kind_the_oldest_comes_first_and_setting_again_renews(void)
{
    struct deadline first, second;
    deadlines_init(&deadlines, durations);
    deadline_init(&first);
    deadline_init(&second);
    deadline_set(&first, &deadlines, DEADLINE_IDLE, 0);
    deadline_set(&second, &deadlines, DEADLINE_IDLE, 10);
    CHECK(deadlines_oldest(&deadlines, DEADLINE_IDLE) == &first);
    deadline_set(&first, &deadlines, DEADLINE_IDLE, 20);
    CHECK(deadlines_oldest(&deadlines, DEADLINE_IDLE) == &second);
    deadline_set(&second, &deadlines, DEADLINE_HANDLER, 20);
    CHECK(deadlines_oldest(&deadlines, DEADLINE_IDLE) == &first);
    CHECK(deadlines_oldest(&deadlines, DEADLINE_HANDLER) == &second);
    deadline_clear(&second);
    deadline_clear(&second);
    CHECK(!deadlines_oldest(&deadlines, DEADLINE_HANDLER));
}

static void a_far_moment_does_not_overflow_the_wait(void)
{
    struct deadline deadline;
    deadlines_init(&deadlines, durations);
    deadline_init(&deadline);
    deadline_set(&deadline, &deadlines, DEADLINE_IDLE, (int64_t)INT_MAX * 4);
    CHECK_EQUAL(deadlines_wait(&deadlines, 0), INT_MAX);
}

static void shortened_deadlines_come_earlier_in_the_same_order(void)
{
    struct deadline first, second, third, body;
    deadlines_init(&deadlines, durations);
    deadline_init(&first);
    deadline_init(&second);
    deadline_init(&third);
    deadline_init(&body);
    deadline_set(&first, &deadlines, DEADLINE_IDLE, 1000);
    deadline_set(&second, &deadlines, DEADLINE_IDLE, 50000);
    deadline_set(&body, &deadlines, DEADLINE_BODY, 50000);
    deadlines_shorten(&deadlines, DEADLINE_IDLE, 1000);
    deadline_set(&third, &deadlines, DEADLINE_IDLE, 50001);
    CHECK_EQUAL(first.moment, 2000);
    CHECK_EQUAL(second.moment, 51000);
    CHECK_EQUAL(third.moment, 51001);
    CHECK_EQUAL(body.moment, 80000);
    deadlines_shorten(&deadlines, DEADLINE_IDLE, 5000); /* it is shorter already */
    CHECK_EQUAL(third.moment, 51001);
    CHECK(deadlines_due(&deadlines, 51001) == &first);
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
