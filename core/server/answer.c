/* The answers; see answer.h. Those of a turn are glued in the worker's shared `tools->out` and go
 * out in one write; a large body goes with them from where it is kept. */
#include "server/answer.h"

#include <sys/socket.h>

/* Send the answers of this turn, then `body`, behind what is owed already; false when the
 * connection must close. */
static bool send_with(struct conn *conn, struct tools *tools, struct slice body)
{
    struct slice answers = buffer_slice(&tools->out);
    tools->out.size = 0;
    size_t taken = 0;
    enum outlet_result result =
        outlet_send(&conn->outlet, conn->fd, answers, body, &taken, &tools->counters.writes);
    if (result == OUTLET_GONE)
        conn->closed = CLOSED_CLIENT;
    if (taken > 0 && outlet_owes(&conn->outlet) && conn->state == CONN_WRITING)
        tools_set_deadline(tools, &conn->deadline, DEADLINE_WRITE);
    return result == OUTLET_SENT;
}

bool answer_send(struct conn *conn, struct tools *tools)
{
    return send_with(conn, tools, slice_of(NULL, 0));
}

enum conn_next answer_linger(struct conn *conn, struct tools *tools)
{
    conn->closed = CLOSED_LAST;
    /* RFC 9112 section 9.6: half close and read on, lest a reset destroy the last answer. */
    if (shutdown(conn->fd, SHUT_WR) < 0)
        return CONN_CLOSE;
    buffer_fini(&conn->input);
    conn->state = CONN_LINGERING;
    tools_set_deadline(tools, &conn->deadline, DEADLINE_LINGER);
    return CONN_GO_ON;
}

/* Trace the end of the request in hand. Its answer begins in `out` behind `before` bytes, and goes
 * on with `apart` others. */
static void tell(const struct conn *conn, struct tools *tools, enum trace_kind kind, size_t before,
                 size_t apart, uint32_t python)
{
    size_t size = tools->out.size - before + apart;
    trace_end(tools->trace, conn->line, kind, slice_of(tools->out.data + before, size), python);
}

/* What clients get who came by TLS, and others must not. */
static struct slice own_fields(const struct conn *conn, const struct tools *tools)
{
    if (!conn->peer.secure)
        return SLICE("");
    return slice_of(tools->limits->secure_fields, strlen(tools->limits->secure_fields));
}

enum conn_next answer_refusal(struct conn *conn, struct tools *tools, int status)
{
    counters_refuse(&tools->counters, status);
    request_free(conn->request);
    conn->request = NULL;
    conn->closing = true;
    size_t before = tools->out.size;
    if (!render_refusal(&tools->out, status, !conn->without_body, own_fields(conn, tools),
                        &tools->clock))
        return CONN_CLOSE;
    if (tools->trace)
        tell(conn, tools, TRACE_REFUSED, before, 0, 0);
    return CONN_GO_ON;
}

enum conn_next answer_give(struct conn *conn, struct tools *tools, struct pieces *pieces, bool more,
                           uint32_t python)
{
    /* At a stop all that was read is answered, so "close" goes with the last of it. */
    if (tools->stopping && !more)
        conn->persistence = PERSIST_NOT;
    if (conn->persistence == PERSIST_NOT)
        conn->closing = true;
    struct slice apart = slice_of(NULL, 0);
    if (pieces->body_size >= LIMIT_COPIED)
        apart = pieces_take_body(pieces);
    size_t before = tools->out.size;
    if (!render_reply(&tools->out, pieces, conn->persistence, own_fields(conn, tools),
                      &tools->clock))
        return CONN_CLOSE;
    if (tools->trace)
        tell(conn, tools, conn->state == CONN_WAITING ? TRACE_MISS : TRACE_HIT, before, apart.size,
             python);
    return apart.size > 0 && !send_with(conn, tools, apart) ? CONN_CLOSE : CONN_GO_ON;
}
