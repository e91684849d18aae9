/* The places for a worker's connections.
 *
 * What is told later (an event, a reply) names a connection by its slot and its serial, never by a
 * pointer: the serial counts the tenants of the slot, so what is meant for one who has left finds
 * nobody. A parked connection keeps its slot until it is taken away, but has left in this sense.
 */
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

struct slots {
    struct slot *all; /* owns */
    uint32_t count;
    uint32_t limit;  /* connections, parked ones too, with which they are full */
    uint32_t taken;  /* now */
    uint32_t free;   /* the first; `count` when there is none */
    uint32_t parked; /* the same */
};

/* Slots for `limit` connections, and no fewer than for `adopted` ones, which are taken whether they
 * are full or not. 0, or -1 without memory; fini is safe in either case. Nobody has a slot any more
 * then. */
int slots_init(struct slots *slots, uint32_t limit, uint32_t adopted);
void slots_fini(struct slots *slots);

bool slots_are_full(const struct slots *slots);

/* Takes `conn` and gives it a slot. */
void slots_take(struct slots *slots, struct conn *conn);

/* Frees `conn`, and its slot for another one. */
void slots_free(struct slots *slots, struct conn *conn);

/* Slot and serial of `conn` in one number, the slot in its lower half. */
uint64_t slots_key(const struct slots *slots, const struct conn *conn);

/* The connection of this key, or NULL. */
struct conn *slots_find(const struct slots *slots, uint64_t key);

/* Let `conn` be found by its key no more, until it is taken. */
void slots_park(struct slots *slots, struct conn *conn);

/* A parked connection, which the caller owns, or NULL. */
struct conn *slots_take_parked(struct slots *slots);

#endif
