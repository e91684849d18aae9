/* A connection's turn in its worker, and how it ends. Nobody holds a pointer to the connection
 * afterwards: it may be gone. */
#ifndef CORE_SERVER_TURN_H
#define CORE_SERVER_TURN_H

#include "server/worker.h"

/* Give a connection its turn because of these events. */
void turn_take(struct worker *worker, struct conn *conn, uint32_t events);

/* Do what its turn asks for. */
void turn_settle(struct worker *worker, struct conn *conn, enum conn_next next);

/* Free a connection for a reason of the worker's. */
void turn_end(struct worker *worker, struct conn *conn, enum closed reason);

/* Leave an idle connection alone until it is taken away. Its slot has another tenant from now on,
 * since an event for it may already have been fetched. */
void turn_park(struct worker *worker, struct conn *conn);

#endif
