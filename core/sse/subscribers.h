/* The numbers of streams that follow each tag, and of each group of clients, in all workers
 * together. Any thread may call every function at any time.
 *
 * A stream is counted from when Python begins it until its connection ends, or until its client
 * turns out to have left. So a thread that changes something and then asks here misses no stream
 * that began before the change. */
#ifndef CORE_SSE_SUBSCRIBERS_H
#define CORE_SSE_SUBSCRIBERS_H

#include "bridge/tag.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Two groups with the same index share their limit. */
enum { GROUP_INDEXES = 1 << 16 };

struct subscribers {
    uint32_t limit;           /* streams at the same time */
    _Atomic uint32_t count;   /* streams now */
    _Atomic uint64_t refused; /* streams refused because of a limit */
    _Atomic uint32_t events;  /* events that workers still have to deliver */
    _Atomic uint32_t by_tag[TAG_INDEXES];
    _Atomic uint32_t by_group[GROUP_INDEXES];
};

/* Count a stream that follows the tag with `index`, for a client of `group`, which may have
 * `group_limit` (0: any number); false if the limit of all streams or of the group is reached. */
bool subscribers_add(struct subscribers *subscribers, uint32_t index, uint32_t group,
                     uint32_t group_limit);
void subscribers_remove(struct subscribers *subscribers, uint32_t index, uint32_t group);

/* Whether a stream may follow the tag with `index`. */
bool subscribers_exist(struct subscribers *subscribers, uint32_t index);

#endif
