/* The numbers of a worker: counted, and added up. */
#include "check.h"

#include "server/counters.h"

static void a_counter_counts(void)
{
    counter number = 0;
    counter_add(&number, 2);
    counter_add(&number, 3);
    CHECK_EQUAL(number, 5);
    counter_set(&number, 1);
    CHECK_EQUAL(number, 1);
}

static void a_refusal_is_counted_under_its_status(void)
{
    struct counters counters = {0};
    counters_refuse(&counters, 400);
    counters_refuse(&counters, 505);
    counters_refuse(&counters, 505);
    CHECK_EQUAL(counters.refused[0], 1);
    CHECK_EQUAL(counters.refused[REFUSED_STATUSES - 1], 2);
    CHECK_EQUAL(counters.refusals, 3);
}

static void a_miss_is_counted_where_its_time_belongs(void)
{
    static const struct {
        int64_t nanoseconds;
        int bucket;
    } cases[] = {
        {-1, 0},
        {0, 0},
        {32000, 0},
        {32001, 1},
        {64000, 1},
        {64001, 2},
        {INT64_C(16777216000), LATENCY_BUCKETS - 2},
        {INT64_C(16777216001), LATENCY_BUCKETS - 1},
        {INT64_MAX, LATENCY_BUCKETS - 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct counters counters = {0};
        counters_take_time(&counters, cases[i].nanoseconds);
        CHECK_EQUAL(counters.latency[cases[i].bucket], 1);
        int64_t sum = cases[i].nanoseconds > 0 ? cases[i].nanoseconds / 1000 : 0;
        CHECK_EQUAL(counters.latency_sum, sum);
    }
}

static void every_number_is_added(void)
{
    enum { NUMBERS = sizeof(struct counters) / sizeof(counter) };
    struct counters some = {0}, sum = {0};
    for (size_t i = 0; i < NUMBERS; i++)
        counter_set((counter *)&some + i, i);
    counters_add(&sum, &some);
    counters_add(&sum, &some);
    for (size_t i = 0; i < NUMBERS; i++)
        CHECK_EQUAL(*((counter *)&sum + i), 2 * i);
}

int main(void)
{
    RUN(a_counter_counts);
    RUN(a_refusal_is_counted_under_its_status);
    RUN(a_miss_is_counted_where_its_time_belongs);
    RUN(every_number_is_added);
    return check_end();
}
