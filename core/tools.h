/* What a worker lends its connections: one of each, used by whichever connection has its turn. */
#ifndef CORE_TOOLS_H
#define CORE_TOOLS_H

#include "buffer.h"
#include "clock.h"
#include "deadline.h"
#include "limit.h"
#include "store.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A number that one worker writes and anybody may read. */
typedef _Atomic uint64_t counter;

static inline void counter_add(counter *number, uint64_t amount)
{
    /* One writer: no locked instruction is needed. */
    uint64_t value = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, value + amount, memory_order_relaxed);
}

static inline void counter_set(counter *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

struct counters {
    counter requests;     /* heads parsed */
    counter hits;         /* of them answered from the store */
    counter misses;       /* handed to Python */
    counter refusals;     /* answered by the core itself, with an error */
    counter accepted;     /* connections, ever */
    counter connections;  /* now */
    counter dropped;      /* replies whose client had left */
    counter stored;       /* answers in the store now */
    counter stored_bytes; /* and their bytes */
    counter evictions;    /* answers that had to leave the store */
    counter writes;       /* send calls that took bytes */
};

struct tools {
    const struct limits *limits; /* borrows */
    struct store store;
    struct clock clock;
    struct deadlines deadlines;
    struct buffer out; /* the answers of this turn, glued; empty between turns */
    char *in;          /* owns LIMIT_READ bytes, for connections with nothing left over */
    bool stopping;     /* every answer is a connection's last */
    struct counters counters;
};

/* 0, or -1 without memory; fini is safe in either case. `store_bytes` bounds this worker's store. */
int tools_init(struct tools *tools, const struct limits *limits, size_t store_bytes,
               struct purges *purges, struct hash_key key);
void tools_fini(struct tools *tools);

#endif
