/* A connection whose client gets an answer in pieces, see bridge/piece.h. It runs in the worker's
 * thread. */
#ifndef CORE_SERVER_CONN_PIECES_H
#define CORE_SERVER_CONN_PIECES_H

#include "server/conn.h"

/* Send the beginning of an answer on a waiting connection; take the request of `reply`. */
enum conn_next conn_pieces_begin(struct conn *conn, struct context *context, struct reply *reply);

/* Send a piece on a connection that waits for it; take the request of `reply`. */
enum conn_next conn_pieces_send(struct conn *conn, struct context *context, struct reply *piece);

/* Go on when the client takes bytes again. */
enum conn_next conn_pieces_write(struct conn *conn, struct context *context);

#endif
