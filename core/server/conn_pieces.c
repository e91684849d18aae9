/* The pieces of an answer on a connection.
 *
 * Python is asked for the next piece when the client has taken all before it. So a slow client lets
 * Python wait, and no memory grow. What bounds other answers bounds each piece: Python has the time
 * of a handler for it, and a client that takes no byte of it for LIMIT_WRITE_MS is closed. */
#include "server/conn_pieces.h"

#include "bridge/piece.h"

/* Ask Python for the next piece when the client has taken all. */
static enum conn_next go_on(struct conn *conn, struct context *context)
{
    if (send_buffer_has_unsent(&conn->send_buffer)) {
        if (conn->state != CONN_SENDING)
            context_set_timer(context, &conn->timer, TIMER_WRITE);
        conn->state = CONN_SENDING;
        return CONN_GO_ON;
    }
    conn->state = CONN_WAITING;
    context_set_timer(context, &conn->timer, TIMER_HANDLER);
    return CONN_MISS;
}

enum conn_next conn_pieces_write(struct conn *conn, struct context *context)
{
    return conn_send(conn, context) ? go_on(conn, context) : CONN_CLOSE;
}

static struct request *take_request(struct reply *reply)
{
    struct request *request = reply->request;
    reply->request = NULL;
    return request;
}

enum conn_next conn_pieces_begin(struct conn *conn, struct context *context, struct reply *reply)
{
    if (!reply->chunked)
        conn->persistence = PERSIST_NOT;
    conn->in_pieces = true;
    struct response_view view = rendered_view(reply, &reply->full);
    bool more = conn->input.size > 0;
    if (conn_answer(conn, context, &view, more, reply->python_us) == CONN_CLOSE ||
        !conn_send(conn, context))
        return CONN_CLOSE;
    stats_count_latency(&context->stats, clock_exact() - conn->miss_started);
    conn->request = take_request(reply);
    return go_on(conn, context);
}

enum conn_next conn_pieces_send(struct conn *conn, struct context *context, struct reply *piece)
{
    if (piece->aborted) {
        conn->closed = CLOSED_ABORTED;
        return CONN_CLOSE;
    }
    if (!conn_send_with(conn, context, piece_bytes(piece)))
        return CONN_CLOSE;
    conn->request = take_request(piece);
    if (conn->request)
        return go_on(conn, context);
    conn->in_pieces = false;
    return conn_serve_next(conn, context);
}
