/* The coarse clocks cost a tenth of the exact ones and are a few milliseconds late, which does not
 * matter for the deadlines here. */
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

void clock_write_date(time_t second, char date[CLOCK_DATE_SIZE + 1])
{
    static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct tm tm;
    char text[80]; /* for the compiler, an int may take eleven bytes */
    gmtime_r(&second, &tm);
    snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
             months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    memcpy(date, text, CLOCK_DATE_SIZE);
    date[CLOCK_DATE_SIZE] = '\0';
}

int64_t clock_coarse(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void clock_update(struct clock *clock)
{
    struct timespec time;
    clock->now = clock_coarse();
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    if (time.tv_sec != clock->second || clock->date[0] == '\0') {
        clock->second = time.tv_sec;
        clock_write_date(time.tv_sec, clock->date);
    }
}

int64_t clock_exact(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
