/* The counters; see counters.h. */
#include "server/counters.h"

#include <assert.h>
#include <stddef.h>

enum { NUMBERS = sizeof(struct counters) / sizeof(counter) };

void counters_refuse(struct counters *counters, int status)
{
    assert(status >= REFUSED_FIRST && status < REFUSED_FIRST + REFUSED_STATUSES);
    counter_add(&counters->refusals, 1);
    counter_add(&counters->refused[status - REFUSED_FIRST], 1);
}

void counters_take_time(struct counters *counters, int64_t nanoseconds)
{
    int64_t microseconds = nanoseconds > 0 ? nanoseconds / 1000 : 0;
    int bucket = 0;
    while (bucket < LATENCY_BUCKETS - 1 &&
           nanoseconds > (INT64_C(1000) << (LATENCY_FIRST + bucket)))
        bucket++;
    counter_add(&counters->latency[bucket], 1);
    counter_add(&counters->latency_sum, (uint64_t)microseconds);
}

void counters_add(struct counters *sum, const struct counters *more)
{
    counter *to = (counter *)sum;
    const counter *from = (const counter *)more;
    for (size_t i = 0; i < NUMBERS; i++)
        counter_add(&to[i], atomic_load_explicit(&from[i], memory_order_relaxed));
}
