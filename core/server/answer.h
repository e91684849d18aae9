/* What a connection says to its client: answers, refusals, the end. */
#ifndef CORE_SERVER_ANSWER_H
#define CORE_SERVER_ANSWER_H

#include "server/conn.h"

#include <stdbool.h>

/* Send the answers of this turn behind what is owed already; false when the connection must
 * close. */
bool answer_send(struct conn *conn, struct tools *tools);

/* Append an answer, which took Python so many microseconds; `more` bytes of the client have been
 * read behind the request. */
enum conn_next answer_give(struct conn *conn, struct tools *tools, struct pieces *pieces, bool more,
                           uint32_t python);

/* Append a refusal and forget the request in hand. */
enum conn_next answer_refusal(struct conn *conn, struct tools *tools, int status);

/* All is said and sent: end our side, and wait for the client's. */
enum conn_next answer_linger(struct conn *conn, struct tools *tools);

#endif
