/* What a worker counts, and the names of its numbers. The worker alone writes them; any thread may
 * read them. Numbers that are read one after another are a moment apart. */
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
    CLOSED_SLOW,           /* the client did not take its answers in time */
    CLOSED_MEMORY,         /* clients held too much memory, and it for longer than others */
    CLOSED_REAPED,         /* idle, to make room for another one */
    CLOSED_OVERLOAD,       /* as it came: all places were taken by connections at work */
    CLOSED_STOPPED,        /* by the server's stop */
    CLOSED_PROTOCOL_ERROR, /* a PROXY header was to come, and none did, or one that made no sense */
    CLOSED_SYSTEM_ERROR,   /* the system had no memory for it, or would not watch it */
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
    counter requests;         /* heads parsed */
    counter hits;             /* of them answered from the cache */
    counter not_modified;     /* of the hits: with 304 */
    counter misses;           /* handed to Python */
    counter refusals;         /* answered by the core itself, with an error */
    counter accepted;         /* connections, ever */
    counter connections;      /* now */
    counter max_connections;  /* as many as there may be */
    counter late_replies;     /* replies whose client had left, or has been refused meanwhile */
    counter out_of_fds;       /* accepts for which the system had no descriptor or memory */
    counter mailbox_full;     /* requests for which the mailbox to Python had no room */
    counter client_bytes;     /* that clients make us hold now */
    counter max_client_bytes; /* as many as there may be */
    counter cache_entries;    /* answers in the cache now */
    counter cache_bytes;      /* and their bytes */
    counter evictions;        /* answers that had to leave the cache */
    counter stale;  /* answers that a purge made useless, found so when asked for or kept */
    counter writes; /* send calls that took bytes */
    counter requests_waiting;         /* of a whole server: requests in the mailbox to Python now */
    counter replies_waiting;          /* and replies in those of its workers */
    counter streams;                  /* of a whole server: open now */
    counter streams_refused;          /* of a whole server: that found all places taken */
    counter events_sent;              /* events, each once for each stream that it was sent on */
    counter latency_sum;              /* of all misses, in microseconds */
    counter latency[LATENCY_BUCKETS]; /* misses that took no longer, and longer than the last */
    counter closed[CLOSED_REASONS];   /* connections */
    counter refused[REFUSED_STATUSES]; /* refusals by status, from REFUSED_FIRST on */
};

/* Count a refusal. */
void stats_count_refusal(struct stats *stats, int status);

/* Count a miss that took so many nanoseconds from its parsing to its reply's being written. */
void stats_count_latency(struct stats *stats, int64_t nanoseconds);

/* Add all numbers of `more` to `sum`, which nobody else sees. */
void stats_add(struct stats *sum, const struct stats *more);

struct stats_item {
    char name[24];
    uint64_t value;
};

/* As many figures as `stats_list` writes, or more. */
enum { STATS_ITEMS = 72 };

/* Name all numbers: each member of `struct counters`, `closed_REASON`, `latency_MICROSECONDS` and
 * `latency_inf`, `refused_STATUS` for each status that the core refuses with. Returns how many. */
size_t stats_list(const struct stats *stats, struct stats_item items[STATS_ITEMS]);

#endif
