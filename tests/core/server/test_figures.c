/* The figures: every number is told once, under its name. */
#include "check.h"

#include "http/response.h"
#include "server/figures.h"

#include <stdlib.h>

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
    for (; (status = render_refused_status(refusals)) != 0; refusals++)
        for (size_t i = 0; i <= refusals; i++)
            counters_refuse(&counters, status);
    CHECK(refusals >= 10);
    count = figures_tell(&counters, figures);
    for (size_t i = 0; i < refusals; i++) {
        char name[24];
        snprintf(name, sizeof name, "refused_%d", render_refused_status(i));
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
    while (render_refused_status(refusals) != 0)
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
    RUN(every_refusal_of_the_table_has_a_figure_of_its_own);
    RUN(times_are_told_by_their_bounds);
    RUN(every_number_is_told_once);
    return check_end();
}
