/* The counters by name, for whoever reads them. */
#ifndef CORE_SERVER_FIGURES_H
#define CORE_SERVER_FIGURES_H

#include "server/counters.h"

#include <stddef.h>
#include <stdint.h>

struct figure {
    char name[24];
    uint64_t value;
};

/* As many figures as `figures_tell` writes, or more. */
enum { FIGURES = 64 };

/* Name all numbers: each member of `struct counters`, `closed_REASON`, `latency_MICROSECONDS` and
 * `latency_inf`, `refused_STATUS` for each status that the core refuses with. Returns how many. */
size_t figures_tell(const struct counters *counters, struct figure figures[FIGURES]);

#endif
