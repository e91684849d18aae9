/* The connections of a worker, by slot. It owns them, and runs in the worker's thread.
 *
 * Events and replies name a connection by slot and serial, never by a pointer. The serial grows
 * whenever a slot is given up, so what was meant for a closed connection finds none. A connection
 * that is to be handed over keeps its slot until it is taken, but is not found any more. */
#ifndef CORE_SERVER_CONN_TABLE_H
#define CORE_SERVER_CONN_TABLE_H

#include "server/conn.h"

#include <stdbool.h>
#include <stdint.h>

struct slot {
    struct conn *conn; /* owns */
    uint32_t serial;
    uint32_t next; /* of the free, or of the parked */
};

struct conn_table {
    struct slot *all; /* owns */
    uint32_t count;
    uint32_t limit;       /* connections, parked ones too, with which they are full */
    uint32_t taken;       /* now */
    uint32_t free;        /* the first; `count` when there is none */
    uint32_t handed_over; /* the same */
};

/* Slots for `limit` connections, and no fewer than for `adopted` ones, which are taken whether they
 * are full or not. 0, or -1 without memory; fini is safe in either case. Nobody has a slot any more
 * then. */
int conn_table_init(struct conn_table *table, uint32_t limit, uint32_t adopted);
void conn_table_fini(struct conn_table *table);

bool conn_table_is_full(const struct conn_table *table);

/* Takes `conn` and gives it a slot. */
void conn_table_add(struct conn_table *table, struct conn *conn);

/* Frees `conn`, and its slot for another one. */
void conn_table_remove(struct conn_table *table, struct conn *conn);

/* Slot and serial of `conn` in one number, the slot in its lower half. */
uint64_t conn_table_key(const struct conn_table *table, const struct conn *conn);

/* The connection of this key, or NULL. */
struct conn *conn_table_find(const struct conn_table *table, uint64_t key);

/* Let `conn` be found by its key no more, until it is taken. */
void conn_table_hand_over(struct conn_table *table, struct conn *conn);

/* A parked connection, which the caller owns, or NULL. */
struct conn *conn_table_take_handed_over(struct conn_table *table);

#endif
