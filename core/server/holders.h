/* The connections of a worker that hold memory between two turns: a part of a request, or responses
 * that their client does not take. The list is in the order in which they began to hold memory, so
 * that the oldest can be closed first if clients hold too much. It runs in the worker's thread.
 *
 * A usual client is never in the list: its request arrives at once, and the socket takes its
 * response. */
#ifndef CORE_SERVER_HOLDERS_H
#define CORE_SERVER_HOLDERS_H

#include "base/budget.h"
#include "server/conn.h"

struct holders {
    struct budget *budget; /* borrows */
    struct conn *oldest;   /* of a list by `conn->newer` */
    struct conn *newest;
};

void holders_init(struct holders *holders, struct budget *budget);

/* Count again what `conn` holds, and update its position in the list. */
void holders_recount(struct holders *holders, struct conn *conn);

/* After a turn of `conn`. */
static inline void holders_update(struct holders *holders, struct conn *conn)
{
    if (conn_held(conn) != conn->counted || conn->is_holder != conn_is_holder(conn))
        holders_recount(holders, conn);
}

/* Remove `conn`, which ends. */
void holders_remove(struct holders *holders, struct conn *conn);

#endif
