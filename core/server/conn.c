/* The connection.
 *
 * A turn begins with bytes, which are read into the worker's shared block, or behind the rest in
 * `input`. `pump` serves one request after the other from them; hits and refusals are collected in
 * the shared `context->out` and sent with one write. So an idle connection has no buffer. A miss
 * ends the turn, so that responses keep their order without a queue.
 *
 * Memory is limited for any client: `input` by one read and one head, `send_buffer` by LIMIT_UNSENT
 * and one response, since the pipeline is not served while that much is unsent. */
#include "server/conn.h"

#include "http/coding.h"
#include "http/etag.h"
#include "http/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of room after a part of a head; enough for most of the rest. */
enum { READ_BEHIND = 4096 };

struct conn *conn_new(int fd, const struct peer *peer, struct context *context)
{
    size_t traced = context->trace ? sizeof(struct trace_line) : 0;
    struct conn *conn = calloc(1, sizeof *conn + traced);
    if (!conn) {
        close(fd);
        return NULL;
    }
    conn->fd = fd;
    conn->line = traced > 0 ? (struct trace_line *)(conn + 1) : NULL;
    conn->closed = CLOSED_SYSTEM_ERROR; /* default: an allocation failed */
    conn->peer = *peer;
    timer_init(&conn->timer);
    context_set_timer(context, &conn->timer,
                      peer->header_pending ? TIMER_PROXY_HEADER : TIMER_IDLE);
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

struct handed_over conn_detach(struct conn *conn)
{
    struct handed_over handed_over = {.fd = conn->fd};
    peer_write_note(&conn->peer, handed_over.note);
    conn->fd = -1;
    conn_free(conn);
    return handed_over;
}

uint32_t conn_interest(const struct conn *conn)
{
    switch (conn->state) {
    case CONN_WRITING:
    case CONN_SENDING:
        return EPOLLOUT;
    case CONN_WAITING:
        return (conn->input_pending ? 0 : EPOLLIN) |
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

bool conn_send_with(struct conn *conn, struct context *context, struct slice body)
{
    struct slice answers = buffer_slice(&context->out);
    context->out.size = 0;
    size_t taken = 0;
    enum send_result result = send_buffer_send(&conn->send_buffer, conn->fd, answers, body, &taken,
                                               &context->stats.writes);
    if (result == SEND_GONE)
        conn->closed = CLOSED_CLIENT;
    bool is_writing = conn->state == CONN_WRITING || conn->state == CONN_SENDING;
    if (taken > 0 && send_buffer_has_unsent(&conn->send_buffer) && is_writing)
        context_set_timer(context, &conn->timer, TIMER_WRITE);
    return result == SEND_OK;
}

bool conn_send(struct conn *conn, struct context *context)
{
    return conn_send_with(conn, context, slice_of(NULL, 0));
}

enum conn_next conn_linger(struct conn *conn, struct context *context)
{
    conn->closed = CLOSED_ANSWERED;
    /* RFC 9112 section 9.6: half-close and read on, so that a reset does not destroy the last
     * response. */
    if (shutdown(conn->fd, SHUT_WR) < 0)
        return CONN_CLOSE;
    buffer_fini(&conn->input);
    conn->state = CONN_LINGERING;
    context_set_timer(context, &conn->timer, TIMER_LINGER);
    return CONN_GO_ON;
}

/* Trace the end of the current request. Its response begins in `out` after `before` bytes, and has
 * `apart` bytes elsewhere. */
static void trace_answer(const struct conn *conn, struct context *context, enum trace_kind kind,
                         size_t before, size_t apart, uint32_t python)
{
    size_t size = context->out.size - before + apart;
    trace_end(context->trace, conn->line, kind, slice_of(context->out.data + before, size), python);
}

/* Fields for clients that use TLS, which others must not get. */
static struct slice own_fields(const struct conn *conn, const struct context *context)
{
    if (!conn->peer.secure)
        return SLICE("");
    return slice_of(context->limits->secure_fields, strlen(context->limits->secure_fields));
}

static enum conn_next answer_refusal(struct conn *conn, struct context *context, int status)
{
    stats_count_refusal(&context->stats, status);
    request_free(conn->request);
    conn->request = NULL;
    conn->closing = true;
    size_t before = context->out.size;
    struct refusal_form form = {
        .with_body = !conn->without_body,
        .for_person = conn->for_person,
        .own = own_fields(conn, context),
    };
    if (!response_append_refusal(&context->out, context->limits->refusals, status, form,
                                 &context->clock))
        return CONN_CLOSE;
    if (context->trace)
        trace_answer(conn, context, TRACE_REFUSED, before, 0, 0);
    return CONN_GO_ON;
}

enum conn_next conn_answer(struct conn *conn, struct context *context, struct response_view *view,
                           bool more, uint32_t python)
{
    /* At a stop everything that was read is answered, so the last response says "close". */
    if (context->stopping && !more)
        conn->persistence = PERSIST_NOT;
    if (conn->persistence == PERSIST_NOT)
        conn->closing = true;
    struct slice apart = slice_of(NULL, 0);
    if (view->body_size >= LIMIT_COPIED)
        apart = response_view_cut_body(view);
    size_t before = context->out.size;
    if (!response_append(&context->out, view, conn->persistence, own_fields(conn, context),
                         &context->clock))
        return CONN_CLOSE;
    if (context->trace)
        trace_answer(conn, context, conn->state == CONN_WAITING ? TRACE_MISS : TRACE_HIT, before,
                     apart.size, python);
    return apart.size > 0 && !conn_send_with(conn, context, apart) ? CONN_CLOSE : CONN_GO_ON;
}

static enum conn_next miss(struct conn *conn, struct context *context)
{
    counter_add(&context->stats.misses, 1);
    conn->state = CONN_WAITING;
    conn->input_pending = false;
    conn->miss_started = clock_exact();
    context_set_timer(context, &conn->timer, TIMER_HANDLER);
    return CONN_MISS;
}

/* Answer with a stored response, or its 304 if the client has it. */
static enum conn_next answer_stored(struct conn *conn, struct context *context,
                                    const struct entry *entry, const struct head *head, bool more)
{
    counter_add(&context->stats.hits, 1);
    enum coding coding =
        entry->codings ? coding_choose(head->accept_encoding, entry->codings) : CODING_IDENTITY;
    bool known = head->if_none_match.size > 0 &&
                 etag_is_named(head->if_none_match, entry_etag(entry, coding));
    counter_add(&context->stats.not_modified, known);
    struct response_view view =
        known ? entry_not_modified(entry, coding) : entry_full(entry, coding);
    if (conn->without_body)
        response_view_cut_body(&view);
    return conn_answer(conn, context, &view, more, 0);
}

/* The stored response for a complete request, by its key with this origin; NULL if there is none.
 */
static const struct entry *find_by_key(struct context *context, struct request *request,
                                       struct slice origin)
{
    char bytes[LIMIT_TARGET];
    struct slice key = slice_of(bytes, (size_t)(request_write_key(request, origin, bytes) - bytes));
    const struct entry *entry = cache_find(&context->cache, key, cache_hash(&context->cache, key));
    if (!entry && !request->stale)
        request->stale = cache_take_stale(&context->cache);
    return entry;
}

/* The same for a response with `Vary: Origin`. */
static const struct entry *find_by_origin(struct context *context, struct request *request)
{
    if (!context->cache.by_origin || !request->storable)
        return NULL;
    struct slice origin = request_origin(request);
    return origin.size > 0 ? find_by_key(context, request, origin) : NULL;
}

/* Answer a request whose body is complete from the cache, or leave it to Python. */
static enum conn_next serve_complete(struct conn *conn, struct context *context,
                                     const struct slice *in)
{
    struct request *request = conn->request;
    request->storable = request_has_key(request);
    const struct entry *entry =
        request->storable ? find_by_key(context, request, slice_of("", 0)) : NULL;
    if (!entry)
        entry = find_by_origin(context, request);
    if (!entry)
        return miss(conn, context);
    counter_add(&context->stats.hits, 1);
    request_free(request);
    conn->request = NULL;
    struct response_view view = entry_full(entry, CODING_IDENTITY);
    return conn_answer(conn, context, &view, in->size > 0, 0);
}

static enum conn_next serve_body(struct conn *conn, struct context *context, struct slice *in)
{
    for (;;) {
        struct slice piece;
        int result = body_next(&conn->body, in, &piece);
        switch (result) {
        case BODY_DONE:
            return serve_complete(conn, context, in);
        case BODY_NEED_MORE:
            return CONN_NEED_MORE;
        case BODY_PIECE:
            conn->request = request_append(conn->request, piece);
            if (!conn->request)
                return CONN_CLOSE;
            break;
        default:
            return answer_refusal(conn, context, result);
        }
    }
}

/* Make the message for a request that the cache cannot answer. */
static enum conn_next begin_request(struct conn *conn, struct context *context,
                                    const struct head *head, struct slice *in)
{
    conn->for_person = response_refuses_with_page(context->limits->refusals, head->fields);
    int status = body_init(&conn->body, head, context->limits->body);
    if (status != 0)
        return answer_refusal(conn, context, status);
    conn->request = request_new(head, &context->budget);
    if (!conn->request)
        return CONN_CLOSE;
    conn->request->storable = !body_is_present(head) && head->method <= METHOD_HEAD;
    conn->request->peer = conn->peer;
    conn->request->stale = cache_take_stale(&context->cache);
    if (!body_is_present(head)) {
        const struct entry *entry = find_by_origin(context, conn->request);
        if (!entry)
            return miss(conn, context);
        request_free(conn->request);
        conn->request = NULL;
        return answer_stored(conn, context, entry, head, in->size > 0);
    }
    context_set_timer(context, &conn->timer, TIMER_BODY);
    struct slice go_on = SLICE("HTTP/1.1 100 Continue\r\n\r\n");
    if (head->expect_continue && in->size == 0 &&
        !buffer_append(&context->out, go_on.data, go_on.size))
        return CONN_CLOSE;
    return CONN_GO_ON;
}

/* Serve a request for whose target as it is there is no stored response. */
static enum conn_next serve_canonical(struct conn *conn, struct context *context,
                                      const struct head *head, struct slice *in)
{
    char bytes[LIMIT_TARGET];
    struct head known = *head;
    struct slice method = head->method == METHOD_HEAD ? SLICE("GET") : method_name(head->method);
    known.target = target_canonical(context->limits->targets, method, head->target, bytes);
    if (known.target.size < head->target.size && head->method <= METHOD_HEAD &&
        !body_is_present(head)) {
        uint64_t hash = cache_hash(&context->cache, known.target);
        const struct entry *entry = cache_find(&context->cache, known.target, hash);
        if (entry)
            return answer_stored(conn, context, entry, head, in->size > 0);
    }
    return begin_request(conn, context, &known, in);
}

static enum conn_next serve_head(struct conn *conn, struct context *context,
                                 const struct head *head, struct slice *in)
{
    counter_add(&context->stats.requests, 1);
    conn->without_body = head->method == METHOD_HEAD;
    conn->persistence = !head->keep_alive ? PERSIST_NOT : head->http10 ? PERSIST_SAY_SO : PERSIST;
    if (head->method <= METHOD_HEAD && !body_is_present(head)) {
        uint64_t hash = cache_hash(&context->cache, head->target);
        const struct entry *entry = cache_find(&context->cache, head->target, hash);
        if (entry)
            return answer_stored(conn, context, entry, head, in->size > 0);
    }
    return serve_canonical(conn, context, head, in);
}

/* Read the PROXY protocol header, before anything else. */
static enum conn_next serve_proxy_header(struct conn *conn, struct slice *in)
{
    switch (proxy_header_read(&conn->peer, in)) {
    case PROXY_HEADER_DONE:
        return CONN_GO_ON;
    case PROXY_HEADER_NEED_MORE:
        return CONN_NEED_MORE;
    default:
        conn->closed = CLOSED_PROTOCOL_ERROR;
        return CONN_CLOSE;
    }
}

/* Whether bytes that have arrived, behind a head that is too long to be read, ask for a page. */
static bool rest_asks_page(int fd, const struct refusals *refusals)
{
    char rest[LIMIT_HEAD];
    ssize_t size = recv(fd, rest, sizeof rest, MSG_PEEK | MSG_DONTWAIT);
    return size > 0 && response_refuses_with_page(refusals, slice_of(rest, (size_t)size));
}

/* Serve one request, or a part of its body. `head` is that of the previous request in the same
 * turn, and becomes that of this one. */
static enum conn_next serve(struct conn *conn, struct context *context, struct slice *in,
                            struct head *head)
{
    if (conn->request)
        return serve_body(conn, context, in);
    if (conn->peer.header_pending)
        return serve_proxy_header(conn, in);
    if (context->trace)
        trace_begin(conn->line, *in);
    conn->without_body = false;
    int result = head_parse_next(*in, &conn->scanned, head);
    if (result == HEAD_NEED_MORE)
        return CONN_NEED_MORE;
    conn->scanned = 0;
    if (result != HEAD_DONE) {
        const struct refusals *refusals = context->limits->refusals;
        conn->for_person =
            response_refuses_with_page(refusals, *in) || rest_asks_page(conn->fd, refusals);
        return answer_refusal(conn, context, result);
    }
    slice_skip(in, head->size);
    return serve_head(conn, context, head, in);
}

/* Set the deadline for more bytes. A running one is not changed while the same request is still
 * arriving, so that slow bytes do not extend it. */
static void await_bytes(struct conn *conn, struct context *context, bool served)
{
    enum timer_kind kind = conn->request               ? TIMER_BODY
                           : conn->peer.header_pending ? TIMER_PROXY_HEADER
                           : conn->input.size == 0     ? TIMER_IDLE
                                                       : TIMER_HEAD;
    if (served || kind == TIMER_IDLE || kind != conn->timer.kind)
        context_set_timer(context, &conn->timer, kind);
}

/* Keep the unserved rest of `in`, which is in `input` or in the shared block. */
static bool keep_rest(struct conn *conn, struct slice in)
{
    if (conn->input.size == 0)
        return buffer_append(&conn->input, in.data, in.size);
    buffer_consume(&conn->input, conn->input.size - in.size);
    return true;
}

/* Serve the requests in `in`, until the client does not take its responses. */
static enum conn_next serve_all(struct conn *conn, struct context *context, struct slice *in,
                                bool *served)
{
    struct head head = {0};
    enum conn_next next = CONN_GO_ON;
    while (next == CONN_GO_ON && !conn->closing && !send_buffer_has_unsent(&conn->send_buffer) &&
           in->size > 0) {
        size_t before = in->size;
        next = serve(conn, context, in, &head);
        *served |= in->size < before && !conn->request;
        if (context->out.size > LIMIT_UNSENT && next == CONN_GO_ON && !conn_send(conn, context))
            return CONN_CLOSE;
    }
    return next;
}

/* Serve the complete requests in `in`, send the responses, and return what comes next. */
static enum conn_next pump(struct conn *conn, struct context *context, struct slice in)
{
    enum conn_next next;
    bool served = false, held_up;
    do {
        next = serve_all(conn, context, &in, &served);
        held_up = next == CONN_GO_ON && send_buffer_has_unsent(&conn->send_buffer);
        if (next == CONN_CLOSE || !keep_rest(conn, in) || !conn_send(conn, context))
            return CONN_CLOSE;
        in = buffer_slice(&conn->input);
        /* The client may have just taken the rest: nothing else would wake us for `in`. */
    } while (held_up && !send_buffer_has_unsent(&conn->send_buffer) && in.size > 0);
    if (next == CONN_MISS)
        return CONN_MISS;
    if (send_buffer_has_unsent(&conn->send_buffer)) {
        if (conn->state != CONN_WRITING)
            context_set_timer(context, &conn->timer, TIMER_WRITE);
        conn->state = CONN_WRITING;
        return CONN_GO_ON;
    }
    if (conn->closing)
        return conn_linger(conn, context);
    conn->state = CONN_READING;
    conn->rearm |= !conn_is_idle(conn); /* the rest may have arrived meanwhile */
    await_bytes(conn, context, served);
    return CONN_GO_ON;
}

/* recv() once: the count, 0 at the end, -1 if there is nothing now, -2 if the client is gone. */
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

static enum conn_next discard_input(struct conn *conn, struct context *context)
{
    ssize_t count = receive(conn->fd, context->in, LIMIT_READ);
    if (count == 0 || count == -2)
        return CONN_CLOSE;
    conn->rearm |= count < 0 || count == LIMIT_READ;
    if (count > 0)
        conn->discarded += (size_t)count;
    return conn->discarded > LIMIT_LINGER ? CONN_CLOSE : CONN_GO_ON;
}

enum conn_next conn_read(struct conn *conn, struct context *context)
{
    if (conn->state == CONN_LINGERING || conn->state == CONN_STREAMING)
        return discard_input(conn, context);
    if (conn->state != CONN_READING) {
        conn->input_pending = true;
        return CONN_GO_ON;
    }
    bool behind = conn->input.size > 0;
    if (behind && !buffer_reserve(&conn->input, READ_BEHIND))
        return CONN_CLOSE;
    char *into = behind ? conn->input.data + conn->input.size : context->in;
    size_t room = behind ? conn->input.capacity - conn->input.size : LIMIT_READ;
    ssize_t count = receive(conn->fd, into, room);
    conn->rearm |= count == -1 || (size_t)count == room;
    if (count == -1)
        return CONN_GO_ON;
    if (count <= 0)
        return conn_hang_up(conn);
    /* After reading, since the worker may have been stopped before. Without a lease, which is the
     * usual case, no clock is read. */
    if (purge_has_lease(context->cache.purges))
        cache_check_lease(&context->cache, clock_coarse());
    if (!behind)
        return pump(conn, context, slice_of(into, (size_t)count));
    conn->input.size += (size_t)count;
    return pump(conn, context, buffer_slice(&conn->input));
}

enum conn_next conn_write(struct conn *conn, struct context *context)
{
    if (conn->state != CONN_WRITING)
        return conn_send(conn, context) ? CONN_GO_ON : CONN_CLOSE;
    if (!conn_send(conn, context))
        return CONN_CLOSE;
    return send_buffer_has_unsent(&conn->send_buffer)
               ? CONN_GO_ON
               : pump(conn, context, buffer_slice(&conn->input));
}

struct request *conn_take_request(struct conn *conn)
{
    struct request *request = conn->request;
    conn->request = NULL;
    return request;
}

enum conn_next conn_serve_next(struct conn *conn, struct context *context)
{
    conn->state = CONN_READING;
    return pump(conn, context, buffer_slice(&conn->input));
}

enum conn_next conn_reply(struct conn *conn, struct context *context, const struct reply *reply)
{
    if (conn->state != CONN_WAITING) {
        counter_add(&context->stats.late_replies, 1);
        return CONN_GO_ON;
    }
    struct response_view view = reply_view(reply);
    if (conn_answer(conn, context, &view, conn->input.size > 0, reply->python_us) == CONN_CLOSE)
        return CONN_CLOSE;
    int64_t started = conn->miss_started; /* the next request of the pipeline may be a miss too */
    enum conn_next next = conn_serve_next(conn, context);
    stats_count_latency(&context->stats, clock_exact() - started);
    return next;
}

enum conn_next conn_refuse(struct conn *conn, struct context *context, int status)
{
    if (conn->peer.header_pending) {
        conn->closed =
            CLOSED_PROTOCOL_ERROR; /* no response before the PROXY header: close silently */
        return CONN_CLOSE;
    }
    if (conn->in_pieces) {
        conn->closed = context->stopping ? CLOSED_STOPPED : CLOSED_ABORTED;
        return CONN_CLOSE;
    }
    if (answer_refusal(conn, context, status) == CONN_CLOSE)
        return CONN_CLOSE;
    return pump(conn, context, buffer_slice(&conn->input));
}

enum conn_next conn_hang_up(struct conn *conn)
{
    if (conn->state != CONN_LINGERING)
        conn->closed = CLOSED_CLIENT;
    return CONN_CLOSE;
}

/* Close a connection that has sent nothing in time, unless bytes have just arrived. */
static enum conn_next close_unless_readable(struct conn *conn, struct context *context)
{
    enum conn_next next = conn_read(conn, context);
    bool is_due = conn->timer.moment <= context->clock.now; /* otherwise it was served */
    if (next != CONN_GO_ON || !is_due)
        return next;
    conn->closed = context->stopping           ? CLOSED_STOPPED
                   : conn->peer.header_pending ? CLOSED_PROTOCOL_ERROR
                                               : CLOSED_IDLE;
    return CONN_CLOSE;
}

enum conn_next conn_expire(struct conn *conn, struct context *context)
{
    switch (conn->timer.kind) {
    case TIMER_IDLE:
    case TIMER_PROXY_HEADER:
        return close_unless_readable(conn, context);
    case TIMER_HEAD:
        conn->for_person =
            response_refuses_with_page(context->limits->refusals, buffer_slice(&conn->input));
        return conn_refuse(conn, context, 408);
    case TIMER_BODY:
        return conn_refuse(conn, context, 408);
    case TIMER_HANDLER:
        return conn_refuse(conn, context, 504);
    case TIMER_WRITE:
        conn->closed = CLOSED_SLOW;
        return CONN_CLOSE;
    default:
        return CONN_CLOSE;
    }
}
