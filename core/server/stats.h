/* The counters of a worker, and their names. Only the worker writes them; any thread may read them.
 * Values that are read one after the other are from slightly different times. */
#ifndef CORE_SERVER_STATS_H
#define CORE_SERVER_STATS_H

#include "base/counter.h"

#include <stddef.h>
#include <stdint.h>

/* Why a connection ended. */
enum closed {
    CLOSED_ANSWERED,       /* after its last answer, a refusal for instance */
    CLOSED_CLIENT,         /* the client left */
    CLOSED_IDLE,           /* no request came in time */
    CLOSED_ABORTED,        /* within an answer, which Python did not bring to its end */
    CLOSED_SLOW,           /* the client did not take its answers in time */
    CLOSED_MEMORY,         /* clients held too much memory, this one for the longest time */
    CLOSED_REAPED,         /* it was idle, and its connection was needed */
    CLOSED_OVERLOAD,       /* at once: the limit was reached, and no connection was idle */
    CLOSED_STOPPED,        /* by the server's stop */
    CLOSED_PROTOCOL_ERROR, /* the PROXY header was missing or invalid */
    CLOSED_SYSTEM_ERROR,   /* a system call failed, or there was no memory */
    CLOSED_REASONS,
};

enum {
    /* Statuses of refusals are 400 to 505. */
    REFUSED_FIRST = 400,
    REFUSED_STATUSES = 106,
    /* Misses by how long they took: up to 2^5 microseconds, 2^6 … 2^24 (17 seconds), and longer. */
    LATENCY_FIRST = 5,
    LATENCY_BUCKETS = 21,
};

/* All members are of the type `counter`; `stats_list` gives them their names. */
struct stats {
    counter requests;                 /* heads parsed */
    counter hits;                     /* of them answered from the cache */
    counter not_modified;             /* of the hits: with 304 */
    counter misses;                   /* handed to Python */
    counter refusals;                 /* answered by the core itself, with an error */
    counter accepted;                 /* connections, ever */
    counter connections;              /* now */
    counter max_connections;          /* their limit */
    counter late_replies;             /* replies whose client has left, or was refused meanwhile */
    counter out_of_fds;               /* accepts that failed for lack of a descriptor or memory */
    counter mailbox_full;             /* requests for which the mailbox to Python had no room */
    counter client_bytes;             /* held for clients now */
    counter max_client_bytes;         /* their limit */
    counter cache_entries;            /* answers in the cache now */
    counter cache_bytes;              /* and their bytes */
    counter evictions;                /* responses evicted from the cache */
    counter stale;                    /* responses found stale at a look-up or when stored */
    counter writes;                   /* send calls that sent bytes */
    counter requests_waiting;         /* of a whole server: requests in the mailbox to Python now */
    counter replies_waiting;          /* and replies in those of its workers */
    counter streams;                  /* of a whole server: open now */
    counter streams_refused;          /* of a whole server: refused because of the limit */
    counter events_sent;              /* events, each once for each stream that it was sent on */
    counter latency_sum;              /* of all misses, in microseconds */
    counter latency[LATENCY_BUCKETS]; /* misses that took no longer, and longer than the last */
    counter closed[CLOSED_REASONS];   /* connections */
    counter refused[REFUSED_STATUSES]; /* refusals by status, from REFUSED_FIRST on */
};

/* Count a refusal. */
void stats_count_refusal(struct stats *stats, int status);

/* Count a miss that took so many nanoseconds, from its parsing until its reply was written. */
void stats_count_latency(struct stats *stats, int64_t nanoseconds);

/* Add all numbers of `more` to `sum`, which nobody else sees. */
void stats_add(struct stats *sum, const struct stats *more);

struct stats_item {
    char name[24];
    uint64_t value;
};

/* At least as many items as `stats_list` writes. */
enum { STATS_ITEMS = 72 };

/* List all counters with their names: each member of `struct stats`, `closed_REASON`,
 * `latency_MICROSECONDS` and `latency_inf`, `refused_STATUS` for each status of the core's
 * refusals. Return how many. */
size_t stats_list(const struct stats *stats, struct stats_item items[STATS_ITEMS]);

#endif
