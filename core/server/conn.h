/* A connection: one client over TCP or a unix socket, and what is left to do for it.
 *
 *   READING ──(hit, refusal)──▶ READING, or WRITING while the client does not take its answers
 *   READING ──(miss)──▶ WAITING ──(reply)──▶ READING
 *   WAITING ──(the beginning of a stream)──▶ STREAMING; see conn_stream.h
 *   any ──(last answer sent)──▶ LINGERING ──▶ closed
 *
 * All functions run in the worker's pthread. They say by their return value what the worker has to
 * do; a connection never calls its worker.
 */
#ifndef CORE_SERVER_CONN_H
#define CORE_SERVER_CONN_H

#include "http/body.h"
#include "http/response.h"
#include "io/send_buffer.h"
#include "seam/reply.h"
#include "seam/request.h"
#include "server/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conn_state {
    CONN_READING,   /* the next bytes are asked for */
    CONN_WAITING,   /* for Python's reply; later requests wait in `input` */
    CONN_WRITING,   /* too much is unsent to serve the pipeline on */
    CONN_STREAMING, /* its answer goes on; what still comes is read and dropped */
    CONN_LINGERING, /* all is said; what still comes is read and dropped */
};

/* What the worker does next. */
enum conn_next {
    CONN_GO_ON,
    CONN_MISS,      /* take the request with `conn_take_request` and push it */
    CONN_CLOSE,     /* call `conn_free` */
    CONN_NEED_MORE, /* never returned: no whole request is left among the bytes of a turn */
};

struct conn {
    struct timer timer; /* first, so that a deadline leads back to its connection */
    int fd;             /* owns */
    uint32_t slot;
    enum conn_state state;
    enum persistence persistence; /* of the request in hand */
    bool without_body;            /* it is HEAD: a refusal of it has no body either */
    enum closed closed;           /* why it ends, if it ends now */
    bool closing;                 /* the last answer is written; nothing more is served */
    bool input_pending;           /* while WAITING: bytes came and are not asked for again */
    bool rearm;                   /* there may be more to read than was read: watch anew */
    uint32_t watched;             /* events that the poller watches, the worker's to keep */
    struct buffer input;          /* bytes read but not served */
    size_t scanned;               /* of them looked at, for the parser */
    struct request *request;      /* owns: its body is arriving, or it waits to be taken */
    int64_t miss_started;         /* while WAITING: since when, by `clock_exact` */
    struct body body;
    struct send_buffer send_buffer;
    struct subscription *subscription; /* owns: while STREAMING */
    size_t discarded;                  /* bytes read while LINGERING or STREAMING */
    size_t counted;                    /* bytes that `holders` has counted of it */
    bool is_holder;                    /* it stands among them, between these two */
    struct conn *older, *newer;
    struct trace_line *line; /* of the request in hand, behind this struct; NULL without a trace */
    struct peer peer;
};

/* Takes `fd`, which is non-blocking; NULL without memory, and then `fd` is closed. */
struct conn *conn_new(int fd, const struct peer *peer, struct context *context);
void conn_free(struct conn *conn);

/* Frees an idle connection, but gives its descriptor to the caller. */
struct handed_over conn_detach(struct conn *conn);

/* The events to watch for in the present state. */
uint32_t conn_interest(const struct conn *conn);

/* There are bytes, or the end of them. */
enum conn_next conn_read(struct conn *conn, struct context *context);

/* The client takes bytes again. */
enum conn_next conn_write(struct conn *conn, struct context *context);

/* After CONN_MISS: the request, which the caller owns. */
struct request *conn_take_request(struct conn *conn);

/* Deliver Python's reply, which is borrowed; one that begins a stream is `conn_stream_begin`'s. */
enum conn_next conn_reply(struct conn *conn, struct context *context, const struct reply *reply);

/* Answer with a refusal, and close after it. */
enum conn_next conn_refuse(struct conn *conn, struct context *context, int status);

/* The client has gone, both ways. */
enum conn_next conn_hang_up(struct conn *conn);

/* The deadline has come; that of a stream is `conn_stream_heartbeat`'s. */
enum conn_next conn_expire(struct conn *conn, struct context *context);

/* Bytes of its buffers; a request counts for itself. */
static inline size_t conn_held(const struct conn *conn)
{
    return conn->input.capacity + conn->send_buffer.unsent.capacity;
}

/* True when it holds memory for its client: a part of a request, or what the client does not take.
 */
static inline bool conn_is_holder(const struct conn *conn)
{
    return conn_held(conn) > 0 || conn->request;
}

/* True when nothing of a request has been read and all answers are sent. */
bool conn_is_idle(const struct conn *conn);

/* --- between conn.c and conn_stream.c --- */

/* Send the answers of this turn behind what is unsent; false when the connection must close. */
bool conn_send(struct conn *conn, struct context *context);

/* Append an answer, which took Python so many microseconds; `more` bytes of the client have been
 * read behind the request. */
enum conn_next conn_answer(struct conn *conn, struct context *context, struct response_view *view,
                           bool more, uint32_t python);

/* All is said and sent: end our side, and wait for the client's. */
enum conn_next conn_linger(struct conn *conn, struct context *context);

#endif
