/* The connections of a worker, by slot. It owns them, and runs in the worker's thread.
 *
 * Events and replies name a connection by slot and serial, never by a pointer. The serial grows
 * whenever a slot is released, so messages for a closed connection find none. A connection that
 * will be handed over keeps its slot until it is taken, but is not found any more. */
#ifndef CORE_SERVER_CONN_TABLE_H
#define CORE_SERVER_CONN_TABLE_H

#include "server/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct slot {
    struct conn *conn; /* owns */
    uint32_t serial;
    uint32_t next; /* in the list of free slots, or of those handed over */
};

struct conn_table {
    struct slot *all; /* owns */
    uint32_t count;
    uint32_t limit;       /* the most connections, including those handed over */
    uint32_t taken;       /* now */
    uint32_t free;        /* the first free slot; `count` if there is none */
    uint32_t handed_over; /* the first slot to hand over; `count` if there is none */
};

/* Make slots for `limit` connections, but at least for the `adopted` ones, which are accepted even
 * beyond the limit. 0, or -1 without memory; fini is safe in either case, when no slot is used any
 * more. */
int conn_table_init(struct conn_table *table, uint32_t limit, uint32_t adopted);
void conn_table_fini(struct conn_table *table);

bool conn_table_is_full(const struct conn_table *table);

/* Takes `conn` and gives it a slot. */
void conn_table_add(struct conn_table *table, struct conn *conn);

/* Free `conn` and its slot. */
void conn_table_remove(struct conn_table *table, struct conn *conn);

/* Slot and serial of `conn` in one number, the slot in its lower half. */
uint64_t conn_table_key(const struct conn_table *table, const struct conn *conn);

/* The connection of this key, or NULL. */
struct conn *conn_table_find(const struct conn_table *table, uint64_t key);

/* Mark `conn` as to be handed over: it is not found by its key any more. */
void conn_table_hand_over(struct conn_table *table, struct conn *conn);

/* A connection to hand over, which the caller then owns, or NULL. */
struct conn *conn_table_take_handed_over(struct conn_table *table);

#endif
