/* Everything that a client sends on one connection, and everything that it receives. */
#ifndef TESTS_STREAM_H
#define TESTS_STREAM_H

#include "pair.h"

#include "server/conn_stream.h"
#include "sse/event.h"

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

/* Bytes of an answer that is sent from the cache without a copy. */
enum { LARGE_ANSWER = LIMIT_COPIED + 1000 };

/* Do a worker's pass: send an event to everybody who follows "t". */
static inline void tell(void)
{
    const struct reply *event;
    atomic_fetch_add(&subscribers.events, 1);
    subscriptions_add_event(&context.subscriptions, event_new(SLICE("t"), SLICE("told\n\n")));
    while (subscriptions_next(&context.subscriptions, &event))
        settled(conn_stream_send(conn, &context, event));
}

/* Begin a stream, and let its client receive an event, a heartbeat and another event while it is
 * connected, and the end if `ends`. */
static inline void answer_by_stream(bool ends)
{
    const struct response response = {
        .status = 200, .body = SLICE("begun\n\n"), .follows = SLICE("t")};
    struct reply *reply = reply_new(pending, &response);
    request_free(pending);
    pending = NULL;
    if (reply->kind == REPLY_STREAM)
        subscribers_add(&subscribers, tag_index(SLICE("t")), reply->group, 0);
    deliver(reply);
    tell();
    if (conn && conn->state == CONN_STREAMING)
        settled(conn_stream_heartbeat(conn, &context));
    tell();
    if (ends && conn && conn->state == CONN_STREAMING)
        settled(conn_stream_end(conn, &context));
}

/* Answer in pieces; the last one is missing unless it `ends`. */
static inline void answer_by_pieces(bool ends)
{
    static char large[LIMIT_COPIED / 4 - 16];
    memset(large, 'x', sizeof large);
    if (!pending->begun)
        begin_pieces("begun");
    else if (pending->number++ < 4)
        send_piece(slice_of(large, sizeof large), PIECE_MORE);
    else
        send_piece(SLICE(""), ends ? PIECE_LAST : PIECE_ABORT);
}

/* Answer with all variants. */
static inline void answer_by_variants(void)
{
    const uint32_t tag = tag_index(SLICE("t"));
    pending->sequence = purge_now(&purges);
    const struct response response = {.status = 200,
                                      .body = SLICE("plain"),
                                      .gzip = SLICE("coded"),
                                      .brotli = SLICE("brief"),
                                      .tags = &tag,
                                      .tag_count = 1};
    struct reply *reply = reply_new(pending, &response);
    request_free(pending);
    pending = NULL;
    if (reply->tag_count > 0)
        cache_put(&context.cache, reply);
    deliver(reply);
}

/* Answer the pending request. A target that begins with "/SE" gets a stream that ends, with "/S"
 * a stream, with "/PE" an answer in pieces, with "/P" one that is not brought to its end, with "/G"
 * an answer that has compressed variants, and with "/L" a large answer. Any other GET or HEAD
 * without a body is answered with its target and cached, everything else with all that was read of
 * it. */
static inline void answer_by_hash(void)
{
    static const struct hash_key key = {3, 4};
    struct slice target = request_target(pending), all = target;
    if (target.size > 1 && target.data[1] == 'S') {
        answer_by_stream(target.size > 2 && target.data[2] == 'E');
        return;
    }
    if (target.size > 1 && target.data[1] == 'P') {
        answer_by_pieces(target.size > 2 && target.data[2] == 'E');
        return;
    }
    if (target.size > 1 && target.data[1] == 'G') {
        answer_by_variants();
        return;
    }
    bool stored = pending->storable && pending->method <= METHOD_HEAD;
    if (!stored)
        all.size += pending->fields_size + pending->body_size; /* they follow it in memory */
    static char text[LARGE_ANSWER + 1];
    int size = snprintf(text, sizeof text, "%d %016llx", stored ? 0 : (int)pending->method,
                        (unsigned long long)hash_bytes(&key, all.data, all.size));
    if (target.size > 1 && target.data[1] == 'L')
        memset(text + size, 'x', LARGE_ANSWER - (size_t)size);
    answer(text, stored ? "t" : NULL);
}

static inline bool has_bytes_to_read(void)
{
    int size = 0;
    return conn && ioctl(conn->fd, FIONREAD, &size) == 0 && size > 0;
}

/* Do one pass of a worker, and of Python if `answers`. */
static inline void pass_events(bool answers, struct buffer *out)
{
    if (has_bytes_to_read() && (conn_interest(conn) & EPOLLIN))
        settled(conn_read(conn, &context));
    if (pending && answers)
        answer_by_hash();
    if (conn && (conn_interest(conn) & EPOLLOUT))
        pair_write();
    struct slice text = heard();
    buffer_append(out, text.data, text.size);
}

/* Remove "100 Continue" from the answers: whether it is sent depends on what has arrived by then
 * (RFC 9110 section 10.1.1). */
static inline void drop_interim(struct buffer *out)
{
    struct slice interim = SLICE("HTTP/1.1 100 Continue\r\n\r\n");
    char *found;
    while (out->size > 0 && (found = memmem(out->data, out->size, interim.data, interim.size))) {
        out->size -= interim.size;
        memmove(found, found + interim.size, out->size - (size_t)(found - out->data));
    }
}

/* Send `stream` to a new connection, at once or in random pieces, and append what is received,
 * until nothing happens any more; if it begins like a PROXY header, the connection expects one.
 * Returns whether the connection is still open. */
static inline bool play(struct slice stream, bool in_pieces, struct buffer *out)
{
    unsigned seed = (unsigned)stream.size;
    proxy_protocol = stream.size > 4 && memcmp(stream.data, "\r\n\r\n", 5) == 0;
    pair_connect();
    while (conn && (stream.size > 0 || pending || has_bytes_to_read() ||
                    (conn_interest(conn) & EPOLLOUT))) {
        size_t most = in_pieces ? 1 + (size_t)rand_r(&seed) % (1 + stream.size / 8) : stream.size;
        slice_skip(&stream,
                   say_some(slice_of(stream.data, most < stream.size ? most : stream.size)));
        pass_events(!in_pieces || rand_r(&seed) % 2, out);
    }
    drop_interim(out);
    bool lives = conn && !conn->closing;
    pair_leave();
    return lives;
}

/* Returns whether the whole trace is plain text. */
static inline bool is_plain_trace(void)
{
    static char text[8 * TRACE_LINE];
    size_t size = trace_read(context.trace, text, sizeof text);
    for (size_t i = 0; i < size; i++)
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n')
            return false;
    return true;
}

#endif
