#ifndef HISTOGRAM_H
#define HISTOGRAM_H

/* Counts latencies of any size, each to within one part in HISTOGRAM_STEPS, in 30 KiB.
 *
 * The method is that of HdrHistogram: every power of two is divided into the same number of equal
 * steps, so the bucket of a value is its exponent and its first bits. */
#include <stdint.h>

enum {
    HISTOGRAM_BITS = 6,
    HISTOGRAM_STEPS = 1 << HISTOGRAM_BITS,
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) * HISTOGRAM_STEPS,
};

struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t greatest; /* exactly */
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* Return the value that the share `part` of all values did not exceed: the upper end of its bucket.
 */
uint64_t histogram_percentile(const struct histogram *histogram, double part);

#endif
