/* The time of one pass of a worker: monotonic for deadlines, the date for response heads. */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Bytes of an IMF-fixdate (RFC 9110 section 5.6.7): "Sun, 06 Nov 1994 08:49:37 GMT". */
enum { CLOCK_DATE_SIZE = 29 };

/* `now` is at most so many milliseconds late: a tick of the kernel with 100 of them in a second. */
enum { CLOCK_LATE_MS = 10 };

struct clock {
    int64_t now;   /* monotonic milliseconds */
    time_t second; /* the second of `date` */
    char date[CLOCK_DATE_SIZE + 1];
};

/* Read both clocks; the date is written once a second. */
void clock_update(struct clock *clock);

/* The monotonic time in milliseconds, as late as `now` can be. */
int64_t clock_coarse(void);

/* The exact monotonic time in nanoseconds, for measurements. */
int64_t clock_exact(void);

/* Write the IMF-fixdate of `second` and a final NUL. */
void clock_write_date(time_t second, char date[CLOCK_DATE_SIZE + 1]);

#endif
