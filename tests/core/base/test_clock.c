/* The clock: the form of the date, and that time does not run back. */
#include "base/clock.h"
#include "check.h"

static struct slice date_of(time_t second)
{
    static char date[CLOCK_DATE_SIZE + 1];
    memset(date, 'x', sizeof date);
    clock_write_date(second, date);
    CHECK_EQUAL(date[CLOCK_DATE_SIZE], 0);
    return slice_of(date, CLOCK_DATE_SIZE);
}

static void the_date_has_the_form_of_rfc_9110(void)
{
    CHECK_TEXT(date_of(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK_TEXT(date_of(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK_TEXT(date_of(1709164800), "Thu, 29 Feb 2024 00:00:00 GMT");
    CHECK_TEXT(date_of(4102444799), "Thu, 31 Dec 2099 23:59:59 GMT");
}

static void an_update_reads_both_clocks(void)
{
    struct clock clock = {0};
    clock_update(&clock);
    CHECK(clock.now > 0);
    CHECK(clock.second > 1600000000);
    CHECK(slice_equal(slice_of(clock.date, CLOCK_DATE_SIZE), date_of(clock.second)));
    int64_t before = clock.now;
    for (int i = 0; i < 1000; i++) {
        clock_update(&clock);
        CHECK(clock.now >= before);
        before = clock.now;
    }
}

static void the_date_follows_the_second(void)
{
    struct clock clock = {0};
    clock_update(&clock);
    clock.second -= 3600;
    clock_write_date(clock.second, clock.date);
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    clock_update(&clock);
    clock_gettime(CLOCK_REALTIME, &after);
    CHECK(slice_equal(slice_of(clock.date, CLOCK_DATE_SIZE), date_of(clock.second)));
    CHECK(before.tv_sec <= clock.second && clock.second <= after.tv_sec);
}

static void the_exact_clock_runs_with_the_coarse_one(void)
{
    enum { COARSE_MS = 1000 }; /* at most; a tick of the kernel's is usual */
    struct clock clock = {0};
    int64_t first = clock_exact();
    clock_update(&clock);
    int64_t second = clock_exact();
    CHECK(second >= first);
    CHECK(first / 1000000 - COARSE_MS < clock.now && clock.now <= second / 1000000 + 1);
}

int main(void)
{
    RUN(the_date_has_the_form_of_rfc_9110);
    RUN(an_update_reads_both_clocks);
    RUN(the_date_follows_the_second);
    RUN(the_exact_clock_runs_with_the_coarse_one);
    return check_end();
}
