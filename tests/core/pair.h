/* A connection of the core at one end of a socket pair, with the test as its client at the other
 * end. The test also plays the worker between them. */
#ifndef TESTS_PAIR_H
#define TESTS_PAIR_H

#include "make.h"

#include "bridge/piece.h"
#include "server/conn.h"
#include "server/conn_pieces.h"
#include "server/conn_stream.h"

#include <errno.h>
#include <sys/socket.h>

static const struct limits limits = {
    .body = 1000,
    .cache_bytes = 4 << 20,
    .keep_alive = 75000,
    .head_deadline = 10000,
    .body_deadline = 20000,
    .handler_deadline = 30000,
    .streams = 10,
    .heartbeat = 15000,
};

static uint32_t traced;     /* lines of the trace */
static bool proxy_protocol; /* every connection begins with a PROXY header */
static struct purge_table purges;
static struct subscribers subscribers;
static struct context context;
static struct conn *conn;       /* NULL once the connection has asked to be closed */
static struct request *pending; /* the last miss */
static int client;

/* Another client of the same worker, which replaces the last one. */
static inline void pair_connect(void)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0) {
        perror("no connection");
        exit(2);
    }
    client = fds[1];
    struct peer peer = {.address = "192.0.2.1", .header_pending = proxy_protocol};
    conn = conn_new(fds[0], &peer, &context);
}

static inline void pair_leave(void)
{
    if (conn)
        conn_free(conn);
    conn = NULL;
    request_free(pending);
    pending = NULL;
    close(client);
}

static inline void make_context(void)
{
    static struct limits own;
    static struct refusals refusals = {.type = SLICE("text/plain")};
    for (size_t i = 0; i < REFUSALS; i++)
        refusals.bodies[i] = SLICE("Refused.\n");
    own = limits;
    own.refusals = &refusals;
    own.trace_lines = traced;
    strcpy(own.secure_fields, "Strict-Transport-Security: max-age=1\r\n");
    subscribers = (struct subscribers){.limit = own.streams};
    if (context_init(&context, &own, limits.cache_bytes, &purges, &subscribers,
                     (struct hash_key){1, 2}) < 0) {
        perror("no tools");
        exit(2);
    }
}

static inline void pair_open(void)
{
    make_context();
    pair_connect();
}

static inline void pair_close(void)
{
    pair_leave();
    context_fini(&context);
}

/* Do what a worker does after a pass. */
static inline enum conn_next settled(enum conn_next next)
{
    if (next == CONN_MISS) {
        request_free(pending);
        pending = conn_take_request(conn);
    } else if (next == CONN_CLOSE) {
        conn_free(conn);
        conn = NULL;
    }
    return next;
}

/* The client takes bytes again. */
static inline enum conn_next pair_write(void)
{
    return settled(conn->state == CONN_SENDING ? conn_pieces_write(conn, &context)
                                               : conn_write(conn, &context));
}

/* The client sends `text`, as far as the socket accepts it. */
static inline size_t say_some(struct slice text)
{
    ssize_t size = send(client, text.data, text.size, MSG_NOSIGNAL);
    return size < 0 ? 0 : (size_t)size;
}

/* The client sends `text`, and the connection handles it. */
static inline enum conn_next say(const char *text)
{
    CHECK_EQUAL(say_some(text_of(text)), strlen(text));
    return conn ? settled(conn_read(conn, &context)) : CONN_CLOSE;
}

/* Deliver `reply`, which is freed, as a worker does. */
static inline enum conn_next deliver(struct reply *reply)
{
    enum reply_kind kind = conn->state == CONN_WAITING ? reply->kind : REPLY_ANSWER;
    enum conn_next next = kind == REPLY_STREAM      ? conn_stream_begin(conn, &context, reply)
                          : kind == REPLY_BEGINNING ? conn_pieces_begin(conn, &context, reply)
                          : kind == REPLY_PIECE     ? conn_pieces_send(conn, &context, reply)
                                                    : conn_reply(conn, &context, reply);
    reply_free(reply);
    return settled(next);
}

/* Answer the pending request as Python does. */
static inline enum conn_next answer(const char *body, const char *tag)
{
    pending->sequence = purge_now(&purges); /* as when Python takes the request */
    struct reply *reply = make_reply(pending, body, tag);
    pending = NULL;
    if (reply->tag_count > 0)
        cache_put(&context.cache, reply);
    return deliver(reply);
}

/* Begin an answer in pieces to the pending request, as Python does. */
static inline enum conn_next begin_pieces(const char *body)
{
    const struct response response = {.status = 200, .body = text_of(body), .in_pieces = true};
    struct reply *reply = reply_new(pending, &response);
    if (reply->kind == REPLY_BEGINNING) {
        request_begin(pending, 1);
        reply->request = pending;
    } else {
        request_free(pending);
    }
    pending = NULL;
    return deliver(reply);
}

/* Send a piece in answer to the pending request, which has begun. */
static inline enum conn_next send_piece(struct slice data, enum piece_kind kind)
{
    struct reply *piece = piece_new(pending, data, kind);
    pending = NULL;
    return deliver(piece);
}

/* Put an answer into the cache. */
static inline void stock(const char *target, const char *body)
{
    struct reply *reply = make_answer(target, body, "t", purge_now(&purges));
    CHECK(cache_put(&context.cache, reply));
    reply_free(reply);
}

/* Returns what the client has received since the last call. */
static inline struct slice heard(void)
{
    static char text[1024 * 1024];
    size_t size = 0;
    ssize_t count;
    while ((count = recv(client, text + size, sizeof text - size, 0)) > 0)
        size += (size_t)count;
    return slice_of(text, size);
}

/* Returns whether the client has been told that no more will come. */
static inline bool is_ended(void)
{
    char byte;
    return recv(client, &byte, 1, MSG_PEEK) == 0;
}

/* Let time pass, and act on a timer that has expired. Returns whether one had. */
static inline bool pass(int64_t milliseconds)
{
    context.clock.now += milliseconds;
    struct timer *due = timers_due(&context.timers, context.clock.now);
    if (!due)
        return false;
    CHECK(conn && due == &conn->timer);
    bool is_stream = due->kind == TIMER_STREAM;
    settled(is_stream ? conn_stream_heartbeat(conn, &context) : conn_expire(conn, &context));
    return true;
}

#endif
