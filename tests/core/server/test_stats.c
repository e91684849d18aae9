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
    struct stats stats = {0};
    stats_count_refusal(&stats, 400);
    stats_count_refusal(&stats, 505);
    stats_count_refusal(&stats, 505);
    CHECK_EQUAL(stats.refused[0], 1);
    CHECK_EQUAL(stats.refused[REFUSED_STATUSES - 1], 2);
    CHECK_EQUAL(stats.refusals, 3);
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
        struct stats stats = {0};
        stats_count_latency(&stats, cases[i].nanoseconds);
        CHECK_EQUAL(stats.latency[cases[i].bucket], 1);
        int64_t sum = cases[i].nanoseconds > 0 ? cases[i].nanoseconds / 1000 : 0;
        CHECK_EQUAL(stats.latency_sum, sum);
    }
}

static void every_number_is_added(void)
{
    enum { NUMBERS = sizeof(struct stats) / sizeof(counter) };
    struct stats some = {0}, sum = {0};
    for (size_t i = 0; i < NUMBERS; i++)
        counter_set((counter *)&some + i, i);
    stats_add(&sum, &some);
    stats_add(&sum, &some);
    for (size_t i = 0; i < NUMBERS; i++)
        CHECK_EQUAL(*((counter *)&sum + i), 2 * i);
}

static struct stats_item items[STATS_ITEMS];
static size_t count;

static uint64_t stat_of(const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(items[i].name, name) == 0)
            return items[i].value;
    printf("# there is no figure %s\n", name);
    exit(2);
}

static void every_refusal_of_the_table_has_a_figure_of_its_own(void)
{
    struct stats stats = {0};
    int status;
    size_t refusals = 0;
    for (; (status = response_refusal_status(refusals)) != 0; refusals++)
        for (size_t i = 0; i <= refusals; i++)
            stats_count_refusal(&stats, status);
    CHECK(refusals >= 10);
    count = stats_list(&stats, items);
    for (size_t i = 0; i < refusals; i++) {
        char name[24];
        snprintf(name, sizeof name, "refused_%d", response_refusal_status(i));
        CHECK_EQUAL(stat_of(name), i + 1);
    }
    CHECK_EQUAL(stat_of("refusals"), refusals * (refusals + 1) / 2);
}

static void times_are_told_by_their_bounds(void)
{
    struct stats stats = {0};
    stats_count_latency(&stats, 32000);
    stats_count_latency(&stats, 1000000);
    stats_count_latency(&stats, INT64_C(60000000000));
    count = stats_list(&stats, items);
    CHECK_EQUAL(stat_of("latency_32"), 1);
    CHECK_EQUAL(stat_of("latency_1024"), 1);
    CHECK_EQUAL(stat_of("latency_16777216"), 0);
    CHECK_EQUAL(stat_of("latency_inf"), 1);
    CHECK_EQUAL(stat_of("latency_sum"), 32 + 1000 + 60000000);
}

static void every_number_is_told_once(void)
{
    enum { NUMBERS = sizeof(struct stats) / sizeof(counter) };
    struct stats stats;
    for (size_t i = 0; i < NUMBERS; i++)
        counter_set((counter *)&stats + i, 2);
    size_t refusals = 0;
    while (response_refusal_status(refusals) != 0)
        refusals++;
    count = stats_list(&stats, items);
    CHECK_EQUAL(count, NUMBERS - REFUSED_STATUSES + refusals);
    for (size_t i = 0; i < count; i++) {
        CHECK_EQUAL(items[i].value, 2);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(items[i].name, items[j].name) != 0);
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
