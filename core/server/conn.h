/* A connection: one client over TCP or a Unix socket, and the state of its requests.
 *
 *   READING ──(hit, refusal)──▶ READING, or WRITING while the client does not take its responses
 *   READING ──(miss)──▶ WAITING ──(reply)──▶ READING
 *   WAITING ──(a piece)──▶ SENDING ──(taken)──▶ WAITING; see conn_pieces.h
 *   WAITING ──(the beginning of a stream)──▶ STREAMING; see conn_stream.h
 *   any ──(last response sent)──▶ LINGERING ──▶ closed
 *
 * All functions run in the worker's thread. Their return values say what the worker has to do; a
 * connection never calls its worker. */
#ifndef CORE_SERVER_CONN_H
#define CORE_SERVER_CONN_H

#include "bridge/reply.h"
#include "bridge/request.h"
#include "http/body.h"
#include "http/response.h"
#include "io/send_buffer.h"
#include "server/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conn_state {
    CONN_READING,   /* the next bytes are read */
    CONN_WAITING,   /* for Python's reply; later requests wait in `input` */
    CONN_WRITING,   /* too much is unsent to go on with the pipeline */
    CONN_SENDING,   /* a piece of an answer; the next one is asked for when it is taken */
    CONN_STREAMING, /* it is a stream; further bytes are read and dropped */
    CONN_LINGERING, /* everything is sent; further bytes are read and dropped */
};

/* What the worker does next. */
enum conn_next {
    CONN_GO_ON,
    CONN_MISS,      /* take the request with `conn_take_request` and push it */
    CONN_CLOSE,     /* call `conn_free` */
    CONN_NEED_MORE, /* never returned: no complete request is left in this turn */
};

struct conn {
    struct timer timer; /* first, so that the connection is found from it */
    int fd;             /* owns */
    uint32_t slot;
    enum conn_state state;
    enum persistence persistence; /* of the current request */
    bool without_body;            /* the request is HEAD: a refusal has no body either */
    bool for_person;              /* a refusal is a page */
    enum closed closed;           /* the reason, if it ends now */
    bool in_pieces;               /* an answer has begun and has not ended */
    bool closing;                 /* the last response is written; nothing more is served */
    bool input_pending;           /* while WAITING: bytes have arrived that are not read yet */
    bool rearm;                   /* there may be more to read: watch again */
    uint32_t watched;             /* events that the poller watches; the worker sets it */
    struct buffer input;          /* bytes read but not served */
    size_t scanned;               /* how many of them the parser has scanned */
    struct request *request;      /* owns: its body is arriving, it waits to be taken, or SENDING */
    int64_t miss_started;         /* while WAITING: since when, by `clock_exact` */
    struct body body;
    struct send_buffer send_buffer;
    struct subscription *subscription; /* owns: while STREAMING */
    size_t discarded;                  /* bytes read while LINGERING or STREAMING */
    size_t counted;                    /* bytes of it that `holders` has counted */
    bool is_holder;                    /* it is in their list, between the next two */
    struct conn *older, *newer;
    struct trace_line *line; /* of the current request, behind this struct; NULL without a trace */
    struct peer peer;
};

/* Make a connection, which takes `fd`, non-blocking; NULL without memory, and then `fd` is closed.
 */
struct conn *conn_new(int fd, const struct peer *peer, struct context *context);
void conn_free(struct conn *conn);

/* Free an idle connection, but return its descriptor to the caller. */
struct handed_over conn_detach(struct conn *conn);

/* The events to watch for in the present state. */
uint32_t conn_interest(const struct conn *conn);

/* Handle new bytes, or their end. */
enum conn_next conn_read(struct conn *conn, struct context *context);

/* Go on when the client takes bytes again; while SENDING see `conn_pieces_write`. */
enum conn_next conn_write(struct conn *conn, struct context *context);

/* After CONN_MISS: the request, which the caller owns. */
struct request *conn_take_request(struct conn *conn);

/* Send Python's answer, which is borrowed. */
enum conn_next conn_reply(struct conn *conn, struct context *context, const struct reply *reply);

/* Answer with a refusal, and close after it; at once within an answer that has begun. */
enum conn_next conn_refuse(struct conn *conn, struct context *context, int status);

/* Handle that the client has closed both directions. */
enum conn_next conn_hang_up(struct conn *conn);

/* Handle the deadline; for that of a stream see `conn_stream_heartbeat`. */
enum conn_next conn_expire(struct conn *conn, struct context *context);

/* Bytes of its buffers; a request is counted separately. */
static inline size_t conn_held(const struct conn *conn)
{
    return conn->input.capacity + conn->send_buffer.unsent.capacity;
}

/* True if it holds memory for its client: a part of a request, or responses that the client has not
 * taken. */
static inline bool conn_is_holder(const struct conn *conn)
{
    return conn_held(conn) > 0 || conn->request;
}

/* True when nothing of a request has been read and all answers are sent. */
bool conn_is_idle(const struct conn *conn);

/* --- between conn.c, conn_pieces.c and conn_stream.c --- */

/* Send the responses of this turn after the unsent bytes; false if the connection must close. */
bool conn_send(struct conn *conn, struct context *context);

/* The same with `body` after them, which is borrowed. */
bool conn_send_with(struct conn *conn, struct context *context, struct slice body);

/* Append a response, which took Python `python` microseconds; `more` says whether further bytes of
 * the client were read. */
enum conn_next conn_answer(struct conn *conn, struct context *context, struct response_view *view,
                           bool more, uint32_t python);

/* The answer that was waited for is complete: serve the rest of the pipeline. */
enum conn_next conn_serve_next(struct conn *conn, struct context *context);

/* Everything is sent: close our side, and wait for the client's. */
enum conn_next conn_linger(struct conn *conn, struct context *context);

#endif
