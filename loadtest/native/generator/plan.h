#ifndef PLAN_H
#define PLAN_H

/* What is asked, in which order, and what is right: the file that main.c describes.
 *
 * The requests lie in memory in the order of asking, one behind the other, so that a batch
 * is a piece of it and costs the generator one send, without copying. */
#include <stdint.h>

#include "answer.h"

struct plan {
    struct expected *expected; /* owns; one for each distinct request */
    size_t *marks;             /* owns; where the request has its mark, PLAN_NO_MARK if nowhere */
    size_t count;
    uint32_t *order; /* owns; the requests by number, as they are asked */
    size_t *offsets; /* owns; where each of them begins, and where the last one ends */
    char *bytes;     /* owns */
    size_t length;
    size_t next;     /* place in the order of the next request to be sent */
    uint64_t serial; /* of the next request with a mark */
};

#define PLAN_NO_MARK ((size_t)-1)

struct batch {
    size_t first; /* place in the order */
    const char *bytes;
    size_t size;
};

/* Read the file. What is wrong with it ends the program. */
void plan_read(struct plan *plan, const char *path);

/* The next `depth` requests, with fresh serial numbers in their marks; `depth` is not more than
 * plan->length. They stay as they are until the order is asked again. */
struct batch plan_take(struct plan *plan, size_t depth);

/* What the request at this place in the order must be answered. */
static inline struct expected *plan_expected(const struct plan *plan, size_t place)
{
    return &plan->expected[plan->order[place]];
}

#endif
