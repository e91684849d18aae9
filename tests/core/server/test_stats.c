/* The numbers of a worker: counted, added up, and each named once. */
#include "check.h"

#include "http/response.h"
#include "server/stats.h"

#include <stdlib.h>

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

static struct figure figures[FIGURES];
static size_t count;

static uint64_t told(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(figures[i].name, name) == 0)
            return figures[i].value;
    printf("# there is no figure %s\n", name);
    exit(2);
}

static void every_refusal_of_the_table_has_a_figure_of_its_own(void)
{
    struct counters counters = {0};
    int status;
    size_t refusals = 0;
    for (; (status = response_refusal_status(refusals)) != 0; refusals++)
        for (size_t i = 0; i <= refusals; i++)
            counters_refuse(&counters, status);
    CHECK(refusals >= 10);
    count = figures_tell(&counters, figures);
    for (size_t i = 0; i < refusals; i++) {
        char name[24];
        snprintf(name, sizeof name, "refused_%d", response_refusal_status(i));
        CHECK_EQUAL(told(name), i + 1);
    }
    CHECK_EQUAL(told("refusals"), refusals * (refusals + 1) / 2);
}

static void times_are_told_by_their_bounds(void)
{
    struct counters counters = {0};
    counters_take_time(&counters, 32000);
    counters_take_time(&counters, 1000000);
    counters_take_time(&counters, INT64_C(60000000000));
    count = figures_tell(&counters, figures);
    CHECK_EQUAL(told("latency_32"), 1);
    CHECK_EQUAL(told("latency_1024"), 1);
    CHECK_EQUAL(told("latency_16777216"), 0);
    CHECK_EQUAL(told("latency_inf"), 1);
    CHECK_EQUAL(told("latency_sum"), 32 + 1000 + 60000000);
}

static void every_number_is_told_once(void)
{
    enum { NUMBERS = sizeof(struct counters) / sizeof(counter) };
    struct counters counters;
    for (size_t i = 0; i < NUMBERS; i++)
        counter_set((counter *)&counters + i, 2);
    size_t refusals = 0;
    while (response_refusal_status(refusals) != 0)
        refusals++;
    count = figures_tell(&counters, figures);
    CHECK_EQUAL(count, NUMBERS - REFUSED_STATUSES + refusals);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQUAL(figures[i].value, 2);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(figures[i].name, figures[j].name) != 0);
    }
}

int main(void)
{
    RUN(a_counter_counts);
    RUN(a_refusal_is_counted_under_its_status);
    RUN(a_miss_is_counted_where_its_time_belongs);
    RUN(every_number_is_added);
    RUN(every_refusal_of_the_table_has_a_figure_of_its_own);
    RUN(times_are_told_by_their_bounds);
    RUN(every_number_is_told_once);
    return check_end();
}
