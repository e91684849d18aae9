/* The connection.
 *
 * DESIGN. A turn begins with bytes: read into the worker's shared block, or behind what was left
 * over in `input`. `pump` serves request after request from them; hits and refusals are glued in
 * the shared `tools->out` and go out in one write. An idle connection therefore holds no buffer. A
 * miss ends the turn, so that answers keep their order without a queue of them.
 *
 * Memory is bounded for any client: `input` by one read beside one head, `send_buffer` by
 * LIMIT_UNSENT and one answer, since the pipeline is not served while that much is unsent. */
#include "server/conn.h"

#include "cache/prefetch.h"
#include "http/etag.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes to make room for behind a part of a head; most of what is still to come. */
enum { READ_BEHIND = 4096 };

struct conn *conn_new(int fd, const struct peer *peer, struct tools *tools)
{
    size_t traced = tools->trace ? sizeof(struct trace_line) : 0;
    struct conn *conn = calloc(1, sizeof *conn + traced);
    if (!conn) {
        close(fd);
        return NULL;
    }
    conn->fd = fd;
    conn->line = traced > 0 ? (struct trace_line *)(conn + 1) : NULL;
    conn->closed = CLOSED_FAILED; /* where nothing else is known, a memory was missing */
    conn->peer = *peer;
    timer_init(&conn->timer);
    context_set_timer(tools, &conn->timer, peer->header_pending ? TIMER_PROXY_HEADER : TIMER_IDLE);
    return conn;
}

void conn_free(struct conn *conn)
{
    timer_clear(&conn->timer);
    if (conn->fd >= 0)
        close(conn->fd);
    buffer_fini(&conn->input);
    send_buffer_fini(&conn->send_buffer);
    request_free(conn->request);
    subscription_free(conn->subscription);
    free(conn);
}

struct parked conn_detach(struct conn *conn)
{
    struct parked parked = {.fd = conn->fd};
    peer_write_note(&conn->peer, parked.note);
    conn->fd = -1;
    conn_free(conn);
    return parked;
}

uint32_t conn_interest(const struct conn *conn)
{
    switch (conn->state) {
    case CONN_WRITING:
        return EPOLLOUT;
    case CONN_WAITING:
        return (conn->muted ? 0 : EPOLLIN) |
               (send_buffer_has_unsent(&conn->send_buffer) ? EPOLLOUT : 0);
    case CONN_STREAMING:
        return EPOLLIN | (send_buffer_has_unsent(&conn->send_buffer) ? EPOLLOUT : 0);
    default:
        return EPOLLIN;
    }
}

bool conn_is_idle(const struct conn *conn)
{
    return conn->state == CONN_READING && conn->input.size == 0 && !conn->request;
}

/* Send the answers of this turn, then `body`, behind what is owed already; false when the
 * connection must close. */
static bool send_with(struct conn *conn, struct tools *tools, struct slice body)
{
    struct slice answers = buffer_slice(&tools->out);
    tools->out.size = 0;
    size_t taken = 0;
    enum send_result result = send_buffer_send(&conn->send_buffer, conn->fd, answers, body, &taken,
                                               &tools->counters.writes);
    if (result == SEND_GONE)
        conn->closed = CLOSED_CLIENT;
    if (taken > 0 && send_buffer_has_unsent(&conn->send_buffer) && conn->state == CONN_WRITING)
        context_set_timer(tools, &conn->timer, TIMER_WRITE);
    return result == SEND_OK;
}

bool conn_send(struct conn *conn, struct tools *tools)
{
    return send_with(conn, tools, slice_of(NULL, 0));
}

enum conn_next conn_linger(struct conn *conn, struct tools *tools)
{
    conn->closed = CLOSED_LAST;
    /* RFC 9112 section 9.6: half close and read on, lest a reset destroy the last answer. */
    if (shutdown(conn->fd, SHUT_WR) < 0)
        return CONN_CLOSE;
    buffer_fini(&conn->input);
    conn->state = CONN_LINGERING;
    context_set_timer(tools, &conn->timer, TIMER_LINGER);
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

static enum conn_next answer_refusal(struct conn *conn, struct tools *tools, int status)
{
    counters_refuse(&tools->counters, status);
    request_free(conn->request);
    conn->request = NULL;
    conn->closing = true;
    size_t before = tools->out.size;
    if (!response_append_refusal(&tools->out, status, !conn->without_body, own_fields(conn, tools),
                                 &tools->clock))
        return CONN_CLOSE;
    if (tools->trace)
        tell(conn, tools, TRACE_REFUSED, before, 0, 0);
    return CONN_GO_ON;
}

enum conn_next conn_answer(struct conn *conn, struct tools *tools, struct response_view *view,
                           bool more, uint32_t python)
{
    /* At a stop all that was read is answered, so "close" goes with the last of it. */
    if (tools->stopping && !more)
        conn->persistence = PERSIST_NOT;
    if (conn->persistence == PERSIST_NOT)
        conn->closing = true;
    struct slice apart = slice_of(NULL, 0);
    if (view->body_size >= LIMIT_COPIED)
        apart = response_view_cut_body(view);
    size_t before = tools->out.size;
    if (!response_append(&tools->out, view, conn->persistence, own_fields(conn, tools),
                         &tools->clock))
        return CONN_CLOSE;
    if (tools->trace)
        tell(conn, tools, conn->state == CONN_WAITING ? TRACE_MISS : TRACE_HIT, before, apart.size,
             python);
    return apart.size > 0 && !send_with(conn, tools, apart) ? CONN_CLOSE : CONN_GO_ON;
}

static enum conn_next miss(struct conn *conn, struct tools *tools)
{
    conn->state = CONN_WAITING;
    conn->muted = false;
    conn->asked = clock_exact();
    context_set_timer(tools, &conn->timer, TIMER_HANDLER);
    return CONN_MISS;
}

static enum conn_next serve_body(struct conn *conn, struct tools *tools, struct slice *in)
{
    for (;;) {
        struct slice piece;
        int result = body_next(&conn->body, in, &piece);
        switch (result) {
        case BODY_DONE:
            return miss(conn, tools);
        case BODY_NEED_MORE:
            return CONN_STARVED;
        case BODY_PIECE:
            conn->request = request_append(conn->request, piece);
            if (!conn->request)
                return CONN_CLOSE;
            break;
        default:
            return answer_refusal(conn, tools, result);
        }
    }
}

/* Make the envelope for a request that the cache cannot answer. */
static enum conn_next begin_request(struct conn *conn, struct tools *tools, const struct head *head,
                                    struct slice *in)
{
    int status = body_init(&conn->body, head, tools->limits->body);
    if (status != 0)
        return answer_refusal(conn, tools, status);
    conn->request = request_new(head);
    if (!conn->request)
        return CONN_CLOSE;
    conn->request->storable = !body_is_present(head) && head->method <= METHOD_HEAD;
    conn->request->peer = conn->peer;
    conn->request->stale = cache_take_stale(&tools->cache);
    counter_add(&tools->counters.misses, 1);
    if (!body_is_present(head))
        return miss(conn, tools);
    context_set_timer(tools, &conn->timer, TIMER_BODY);
    struct slice go_on = SLICE("HTTP/1.1 100 Continue\r\n\r\n");
    if (head->expect_continue && in->size == 0 &&
        !buffer_append(&tools->out, go_on.data, go_on.size))
        return CONN_CLOSE;
    return CONN_GO_ON;
}

static enum conn_next serve_head(struct conn *conn, struct tools *tools, const struct head *head,
                                 struct slice *in, struct prefetch *prefetch)
{
    counter_add(&tools->counters.requests, 1);
    conn->without_body = head->method == METHOD_HEAD;
    conn->persistence = !head->keep_alive ? PERSIST_NOT : head->http10 ? PERSIST_SAY_SO : PERSIST;
    if (head->method <= METHOD_HEAD && !body_is_present(head)) {
        uint64_t hash = prefetch_take_hash(prefetch, &tools->cache, head->target);
        const struct entry *entry = cache_find(&tools->cache, head->target, hash);
        if (entry) {
            counter_add(&tools->counters.hits, 1);
            bool known = head->if_none_match.size > 0 &&
                         etag_is_named(head->if_none_match, entry_etag(entry));
            counter_add(&tools->counters.not_modified, known);
            struct response_view view = known ? entry_not_modified(entry) : entry_full(entry);
            if (conn->without_body)
                response_view_cut_body(&view);
            return conn_answer(conn, tools, &view, in->size > 0, 0);
        }
    }
    return begin_request(conn, tools, head, in);
}

/* Learn for whom the peer speaks, before anything else. */
static enum conn_next serve_proxy_header(struct conn *conn, struct slice *in)
{
    switch (proxy_header_read(&conn->peer, in)) {
    case PROXY_HEADER_DONE:
        return CONN_GO_ON;
    case PROXY_HEADER_NEED_MORE:
        return CONN_STARVED;
    default:
        conn->closed = CLOSED_STRANGE;
        return CONN_CLOSE;
    }
}

/* Serve one request, or a part of its body. `head` is that of the request before in the same turn,
 * and becomes that of this one. */
static enum conn_next serve(struct conn *conn, struct tools *tools, struct slice *in,
                            struct head *head, struct prefetch *prefetch)
{
    if (conn->request)
        return serve_body(conn, tools, in);
    if (conn->peer.header_pending)
        return serve_proxy_header(conn, in);
    if (tools->trace)
        trace_begin(conn->line, *in);
    conn->without_body = false;
    int result = head_parse_next(*in, &conn->scanned, head);
    if (result == HEAD_NEED_MORE)
        return CONN_STARVED;
    conn->scanned = 0;
    if (result != HEAD_DONE)
        return answer_refusal(conn, tools, result);
    slice_skip(in, head->size);
    return serve_head(conn, tools, head, in, prefetch);
}

/* The deadline for more bytes. One that runs is left alone while the same request is still coming,
 * so that a trickle of bytes does not put it off. */
static void await_bytes(struct conn *conn, struct tools *tools, bool served)
{
    enum timer_kind kind = conn->request               ? TIMER_BODY
                           : conn->peer.header_pending ? TIMER_PROXY_HEADER
                           : conn->input.size == 0     ? TIMER_IDLE
                                                       : TIMER_HEAD;
    if (served || kind == TIMER_IDLE || kind != conn->timer.kind)
        context_set_timer(tools, &conn->timer, kind);
}

/* Keep what was not served of `in`, which lies in `input` or in the shared block. */
static bool keep_rest(struct conn *conn, struct slice in)
{
    if (conn->input.size == 0)
        return buffer_append(&conn->input, in.data, in.size);
    buffer_consume(&conn->input, conn->input.size - in.size);
    return true;
}

/* Serve what can be served of `in`, until the client does not take its answers. */
static enum conn_next serve_all(struct conn *conn, struct tools *tools, struct slice *in,
                                bool *served)
{
    struct head head = {0};
    struct prefetch prefetch;
    prefetch_init(&prefetch);
    enum conn_next next = CONN_GO_ON;
    while (next == CONN_GO_ON && !conn->closing && !send_buffer_has_unsent(&conn->send_buffer) &&
           in->size > 0) {
        size_t before = in->size;
        next = serve(conn, tools, in, &head, &prefetch);
        if (prefetch_is_used_up(&prefetch) && next == CONN_GO_ON && !conn->request && in->size > 0)
            prefetch_scan(&prefetch, &tools->cache, *in, &head);
        *served |= in->size < before && !conn->request;
        if (tools->out.size > LIMIT_UNSENT && next == CONN_GO_ON && !conn_send(conn, tools))
            return CONN_CLOSE;
    }
    return next;
}

/* Serve all that can be served of `in`, then send and say how it stands. */
static enum conn_next pump(struct conn *conn, struct tools *tools, struct slice in)
{
    enum conn_next next;
    bool served = false, held_up;
    do {
        next = serve_all(conn, tools, &in, &served);
        held_up = next == CONN_GO_ON && send_buffer_has_unsent(&conn->send_buffer);
        if (next == CONN_CLOSE || !keep_rest(conn, in) || !conn_send(conn, tools))
            return CONN_CLOSE;
        in = buffer_slice(&conn->input);
        /* The client may have taken the rest just now: nothing else will wake us for `in`. */
    } while (held_up && !send_buffer_has_unsent(&conn->send_buffer) && in.size > 0);
    if (next == CONN_MISS)
        return CONN_MISS;
    if (send_buffer_has_unsent(&conn->send_buffer)) {
        if (conn->state != CONN_WRITING)
            context_set_timer(tools, &conn->timer, TIMER_WRITE);
        conn->state = CONN_WRITING;
        return CONN_GO_ON;
    }
    if (conn->closing)
        return conn_linger(conn, tools);
    conn->state = CONN_READING;
    conn->again |= !conn_is_idle(conn); /* the rest may have come while this was served */
    await_bytes(conn, tools, served);
    return CONN_GO_ON;
}

/* recv() once: the count, 0 at the end, -1 when there is nothing now, -2 when the client is
 * gone. */
static ssize_t receive(int fd, char *data, size_t size)
{
    ssize_t count;
    do
        count = recv(fd, data, size, 0);
    while (count < 0 && errno == EINTR);
    if (count >= 0)
        return count;
    return errno == EAGAIN || errno == EWOULDBLOCK ? -1 : -2;
}

static enum conn_next drop_bytes(struct conn *conn, struct tools *tools)
{
    ssize_t count = receive(conn->fd, tools->in, LIMIT_READ);
    if (count == 0 || count == -2)
        return CONN_CLOSE;
    conn->again |= count < 0 || count == LIMIT_READ;
    if (count > 0)
        conn->dropped += (size_t)count;
    return conn->dropped > LIMIT_LINGER ? CONN_CLOSE : CONN_GO_ON;
}

enum conn_next conn_read(struct conn *conn, struct tools *tools)
{
    if (conn->state == CONN_LINGERING || conn->state == CONN_STREAMING)
        return drop_bytes(conn, tools);
    if (conn->state != CONN_READING) {
        conn->muted = true;
        return CONN_GO_ON;
    }
    bool behind = conn->input.size > 0;
    if (behind && !buffer_reserve(&conn->input, READ_BEHIND))
        return CONN_CLOSE;
    char *into = behind ? conn->input.data + conn->input.size : tools->in;
    size_t room = behind ? conn->input.capacity - conn->input.size : LIMIT_READ;
    ssize_t count = receive(conn->fd, into, room);
    conn->again |= count == -1 || (size_t)count == room;
    if (count == -1)
        return CONN_GO_ON;
    if (count <= 0)
        return conn_hang_up(conn);
    if (!behind)
        return pump(conn, tools, slice_of(into, (size_t)count));
    conn->input.size += (size_t)count;
    return pump(conn, tools, buffer_slice(&conn->input));
}

enum conn_next conn_write(struct conn *conn, struct tools *tools)
{
    if (conn->state != CONN_WRITING)
        return conn_send(conn, tools) ? CONN_GO_ON : CONN_CLOSE;
    if (!conn_send(conn, tools))
        return CONN_CLOSE;
    return send_buffer_has_unsent(&conn->send_buffer)
               ? CONN_GO_ON
               : pump(conn, tools, buffer_slice(&conn->input));
}

struct request *conn_take_request(struct conn *conn)
{
    struct request *request = conn->request;
    conn->request = NULL;
    return request;
}

enum conn_next conn_reply(struct conn *conn, struct tools *tools, const struct reply *reply)
{
    if (conn->state != CONN_WAITING) {
        counter_add(&tools->counters.dropped, 1);
        return CONN_GO_ON;
    }
    struct response_view view =
        rendered_view(reply, reply->etag_matches ? &reply->not_modified : &reply->full);
    if (reply->without_body)
        response_view_cut_body(&view);
    if (conn_answer(conn, tools, &view, conn->input.size > 0, reply->python) == CONN_CLOSE)
        return CONN_CLOSE;
    conn->state = CONN_READING;
    int64_t asked = conn->asked; /* the next request of the pipeline may be a miss too */
    enum conn_next next = pump(conn, tools, buffer_slice(&conn->input));
    counters_take_time(&tools->counters, clock_exact() - asked);
    return next;
}

enum conn_next conn_refuse(struct conn *conn, struct tools *tools, int status)
{
    if (conn->peer.header_pending) {
        conn->closed = CLOSED_STRANGE; /* who has not said for whom he speaks gets no word */
        return CONN_CLOSE;
    }
    if (answer_refusal(conn, tools, status) == CONN_CLOSE)
        return CONN_CLOSE;
    return pump(conn, tools, buffer_slice(&conn->input));
}

enum conn_next conn_hang_up(struct conn *conn)
{
    if (conn->state != CONN_LINGERING)
        conn->closed = CLOSED_CLIENT;
    return CONN_CLOSE;
}

/* Close a connection from which nothing came, unless it has come at the last moment. */
static enum conn_next leave_unless_asked(struct conn *conn, struct tools *tools)
{
    enum conn_next next = conn_read(conn, tools);
    bool is_due = conn->timer.moment <= tools->clock.now; /* else it was served */
    if (next != CONN_GO_ON || !is_due)
        return next;
    conn->closed = tools->stopping             ? CLOSED_STOPPED
                   : conn->peer.header_pending ? CLOSED_STRANGE
                                               : CLOSED_IDLE;
    return CONN_CLOSE;
}

enum conn_next conn_expire(struct conn *conn, struct tools *tools)
{
    switch (conn->timer.kind) {
    case TIMER_IDLE:
    case TIMER_PROXY_HEADER:
        return leave_unless_asked(conn, tools);
    case TIMER_HEAD:
    case TIMER_BODY:
        return conn_refuse(conn, tools, 408);
    case TIMER_HANDLER:
        return conn_refuse(conn, tools, 504);
    case TIMER_WRITE:
        conn->closed = CLOSED_UNREAD;
        return CONN_CLOSE;
    default:
        return CONN_CLOSE;
    }
}
