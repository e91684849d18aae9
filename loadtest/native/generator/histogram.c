#include "histogram.h"

static unsigned bucket_of(uint64_t value)
{
    if (value < HISTOGRAM_STEPS)
        return (unsigned)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_BITS;
    return (shift << HISTOGRAM_BITS) + (unsigned)(value >> shift);
}

/* Return the greatest value of a bucket. */
static uint64_t end_of(unsigned bucket)
{
    if (bucket < HISTOGRAM_STEPS)
        return bucket;
    unsigned shift = (bucket >> HISTOGRAM_BITS) - 1;
    uint64_t first = (bucket & (HISTOGRAM_STEPS - 1)) + HISTOGRAM_STEPS;
    return ((first + 1) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
    histogram->buckets[bucket_of(value)]++;
    histogram->count++;
    if (value > histogram->greatest)
        histogram->greatest = value;
}

uint64_t histogram_percentile(const struct histogram *histogram, double part)
{
    double wanted = (double)histogram->count * part;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->buckets[bucket];
        if (seen && (double)seen >= wanted)
            return end_of(bucket) < histogram->greatest ? end_of(bucket) : histogram->greatest;
    }
    return histogram->greatest;
}
