/* The stream on a connection.
 *
 * A client that does not take its events is closed: when more than LIMIT_STREAM_UNSENT bytes wait
 * for it here, or when a heartbeat finds any. A client that has vanished does not acknowledge the
 * heartbeat, and the kernel ends the connection after LIMIT_WRITE_MS (tcp(7), TCP_USER_TIMEOUT). So
 * unsent bytes are limited both here and in the kernel. */
#include "server/conn_stream.h"

#include "sse/event.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* Let the kernel report a client that no longer acknowledges anything. */
static void set_user_timeout(int fd)
{
    unsigned milliseconds = LIMIT_WRITE_MS;
    /* On a unix socket it fails, and is not needed: the other end cannot vanish unnoticed. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

enum conn_next conn_stream_begin(struct conn *conn, struct context *context,
                                 const struct reply *reply)
{
    conn->subscription = subscription_new(&context->subscriptions, reply, conn->slot);
    if (!conn->subscription)
        return CONN_CLOSE;
    if (!reply->chunked)
        conn->persistence = PERSIST_NOT;
    struct response_view view = rendered_view(reply, &reply->full);
    if (conn_answer(conn, context, &view, true, reply->python_us) == CONN_CLOSE ||
        !conn_send(conn, context))
        return CONN_CLOSE;
    set_user_timeout(conn->fd);
    buffer_fini(&conn->input);
    conn->state = CONN_STREAMING;
    conn->closed = CLOSED_CLIENT;
    context_set_timer(context, &conn->timer, TIMER_STREAM);
    return CONN_GO_ON;
}

static enum conn_next send_piece(struct conn *conn, struct context *context, struct slice piece)
{
    size_t taken;
    enum send_result result = send_buffer_send(&conn->send_buffer, conn->fd, piece,
                                               slice_of(NULL, 0), &taken, &context->stats.writes);
    if (result == SEND_NO_MEMORY)
        conn->closed = CLOSED_SYSTEM_ERROR;
    if (result != SEND_OK)
        return CONN_CLOSE;
    if (conn->send_buffer.unsent.size <= LIMIT_STREAM_UNSENT) {
        context_set_timer(context, &conn->timer, TIMER_STREAM);
        return CONN_GO_ON;
    }
    conn->closed = CLOSED_SLOW;
    return CONN_CLOSE;
}

enum conn_next conn_stream_send(struct conn *conn, struct context *context,
                                const struct reply *event)
{
    counter_add(&context->stats.events_sent, 1);
    return send_piece(conn, context, event_piece(event, conn->subscription->chunked));
}

enum conn_next conn_stream_heartbeat(struct conn *conn, struct context *context)
{
    if (send_buffer_has_unsent(&conn->send_buffer)) {
        conn->closed = CLOSED_SLOW;
        return CONN_CLOSE;
    }
    return send_piece(conn, context, event_heartbeat(conn->subscription->chunked));
}

enum conn_next conn_stream_end(struct conn *conn, struct context *context)
{
    struct slice last = event_end(conn->subscription->chunked);
    subscription_free(conn->subscription);
    conn->subscription = NULL;
    enum conn_next next = send_piece(conn, context, last);
    /* A client that has not taken everything gets no more: a stop does not wait for it. */
    if (next == CONN_GO_ON)
        next = send_buffer_has_unsent(&conn->send_buffer) ? CONN_CLOSE : conn_linger(conn, context);
    conn->closed = CLOSED_STOPPED;
    return next;
}
