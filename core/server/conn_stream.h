/* A stream: a connection that gets the events published under its tag until one side ends it. Bytes
 * from the client are read and dropped. It runs in the worker's thread. */
#ifndef CORE_SERVER_CONN_STREAM_H
#define CORE_SERVER_CONN_STREAM_H

#include "server/conn.h"

/* Send the beginning of a stream, which is borrowed, on a waiting connection. */
enum conn_next conn_stream_begin(struct conn *conn, struct context *context,
                                 const struct reply *reply);

/* Send an event, which is borrowed. */
enum conn_next conn_stream_send(struct conn *conn, struct context *context,
                                const struct reply *event);

/* Send a heartbeat after a time of silence. A client that has not taken the previous bytes is
 * closed. */
enum conn_next conn_stream_heartbeat(struct conn *conn, struct context *context);

/* End it from our side. */
enum conn_next conn_stream_end(struct conn *conn, struct context *context);

#endif
