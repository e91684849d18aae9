/* How many streams follow each tag, and how many each group of clients has, in all workers
 * together. Any thread may call every function at any time.
 *
 * A stream is counted when Python begins it, and until its connection ends or its client turns out
 * to have left before. So whoever changes something and then asks here misses no stream that was
 * begun before the change. */
#ifndef CORE_SSE_SUBSCRIBERS_H
#define CORE_SSE_SUBSCRIBERS_H

#include "seam/tag.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Two groups with one index share their bound. */
enum { GROUP_INDEXES = 1 << 16 };

struct subscribers {
    uint32_t limit;           /* streams at the same time */
    _Atomic uint32_t count;   /* streams now */
    _Atomic uint64_t refused; /* that found no place */
    _Atomic uint32_t events;  /* that workers still have to deal out */
    _Atomic uint32_t by_tag[TAG_INDEXES];
    _Atomic uint32_t by_group[GROUP_INDEXES];
};

/* Take a place for a stream that follows the tag with `index`, for a client of `group`, which may
 * have `group_limit` (0: any number); false when none is left, for all or for that group. */
bool subscribers_add(struct subscribers *subscribers, uint32_t index, uint32_t group,
                     uint32_t group_limit);
void subscribers_remove(struct subscribers *subscribers, uint32_t index, uint32_t group);

/* Whether somebody may follow the tag of `place`. */
bool subscribers_exist(struct subscribers *subscribers, uint32_t index);

#endif
