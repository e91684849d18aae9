/* A connection whose response goes on: it gets the events published under its tag until one side
 * ends. What the client still sends is read and dropped. It runs in the worker's thread. */
#ifndef CORE_SERVER_CONN_STREAM_H
#define CORE_SERVER_CONN_STREAM_H

#include "server/conn.h"

/* Deliver the beginning of a stream, which is borrowed, to a connection that waits. */
enum conn_next conn_stream_begin(struct conn *conn, struct context *context,
                                 const struct reply *reply);

/* Send an event, which is borrowed. */
enum conn_next conn_stream_send(struct conn *conn, struct context *context,
                                const struct reply *event);

/* Send a heartbeat, as nothing has been sent for a while. A client that has not taken what was sent
 * before is closed. */
enum conn_next conn_stream_heartbeat(struct conn *conn, struct context *context);

/* End it from our side. */
enum conn_next conn_stream_end(struct conn *conn, struct context *context);

#endif
