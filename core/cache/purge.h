/* Purges: the number of the last purge of every tag, so that nothing stale is ever served.
 *
 * One sequence number grows with every purge. A request notes it (`purge_now`) when Python drains
 * it, before anything is read for it; its response has that number and its tags. The response is
 * fresh as long as none of its tags was purged after that number. This is tested at every hit, so a
 * purge is one store into a table, however many responses have the tag, and no worker has to be
 * told. A stale entry stays in memory until it is looked up or evicted.
 *
 * A server that shares its data with others may be late to hear of their purges. It gets a lease:
 * until then all others wait for it before they acknowledge a change. Past the end of the lease,
 * responses that are stored are not used, and none are stored. Every worker compares it with the
 * time after it has read a request, so that it also ends while Python hangs, or while the whole
 * process was stopped: whoever asks after the end of the lease gets nothing that is stored.
 *
 * The table takes half a megabyte: eight bytes for each index of a tag (bridge/tag.h).
 *
 * Any thread may call every function at any time. The caller keeps the order "commit, purge,
 * acknowledge"; then a reader who has seen the acknowledgement gets no older response. */
#ifndef CORE_CACHE_PURGE_H
#define CORE_CACHE_PURGE_H

#include "bridge/tag.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct purge_table {
    _Atomic uint64_t sequence;
    _Atomic uint64_t all;  /* the number of the last purge of everything */
    _Atomic int64_t lease; /* monotonic milliseconds; 0: without end */
    _Atomic uint64_t last[TAG_INDEXES];
};

/* The current sequence number. */
uint64_t purge_now(struct purge_table *purges);

/* Make every response with this tag stale, cached or still to be made for an earlier request. */
void purge_add(struct purge_table *purges, uint32_t slot);

/* Make every response stale, as if each tag was purged. */
void purge_all(struct purge_table *purges);

/* Let the lease end at the time `moment`, in monotonic milliseconds above 0. */
void purge_set_lease(struct purge_table *purges, int64_t moment);

/* True when a lease was set. */
bool purge_has_lease(const struct purge_table *purges);

/* True when there is no lease, or when it has not ended at the time `now` of a worker's clock. */
bool purge_lease_holds(const struct purge_table *purges, int64_t now);

/* True when none of the tags was purged after `since`. */
bool purge_is_fresh(struct purge_table *purges, const uint32_t *slots, size_t count,
                    uint64_t since);

#endif
