#ifndef PLAN_H
#define PLAN_H

/* The plan of a run: which requests are sent, in which order, and which answers are right. main.c
 * describes the file that holds it.
 *
 * The requests lie in memory in the order of sending, one after the other, so that a batch is one
 * range of bytes and costs the generator one send without copying. */
#include <stdint.h>

#include "answer.h"

struct plan {
    struct expected *expected; /* owns; one for each distinct request */
    size_t *marks;             /* owns; offset of the mark in the request, or PLAN_NO_MARK */
    size_t count;
    uint32_t *order; /* owns; the numbers of the requests in the order of sending */
    size_t *offsets; /* owns; where each request begins and where the last one ends */
    char *bytes;     /* owns */
    size_t length;
    size_t next;     /* position in the order of the next request to be sent */
    uint64_t serial; /* of the next request with a mark */
};

#define PLAN_NO_MARK ((size_t)-1)

struct batch {
    size_t first; /* position in the order */
    const char *bytes;
    size_t size;
};

/* Read the file. Any error in it ends the program. */
void plan_read(struct plan *plan, const char *path);

/* Return the next `depth` requests, with fresh serial numbers in their marks; `depth` must not
 * exceed plan->length. The bytes remain unchanged until the plan starts again from the beginning.
 */
struct batch plan_take(struct plan *plan, size_t depth);

/* Return the answer that is expected for the request at this position in the order. */
static inline struct expected *plan_expected(const struct plan *plan, size_t position)
{
    return &plan->expected[plan->order[position]];
}

#endif
