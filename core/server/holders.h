/* The connections of a worker that hold memory between two turns: a part of a request, or responses
 * that their client does not take. They stand in the order in which they began to hold some, so
 * that the oldest can be closed first where clients hold too much. It runs in the worker's thread.
 *
 * A usual client is never among them: its request comes at once, and the socket takes its response.
 */
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

/* Count anew what `conn` holds, and where it stands. */
void holders_recount(struct holders *holders, struct conn *conn);

/* After a turn of `conn`. */
static inline void holders_update(struct holders *holders, struct conn *conn)
{
    if (conn_held(conn) != conn->counted || conn->is_holder != conn_is_holder(conn))
        holders_recount(holders, conn);
}

/* `conn` ends: it holds nothing any more. */
void holders_remove(struct holders *holders, struct conn *conn);

#endif
