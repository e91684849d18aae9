/* A connection that is a stream: how it begins, what it sends, when it is closed. */
#include "pair.h"

#include "server/conn_stream.h"
#include "sse/event.h"

#include <sys/epoll.h>

/* Answer the pending request as Python does, with a stream that follows "t". */
static enum conn_next begin_stream(const char *body)
{
    const struct response response = {
        .status = 200,
        .fields = SLICE("Content-Type: text/event-stream\r\n"),
        .body = text_of(body),
        .follows = SLICE("t"),
    };
    struct reply *reply = reply_new(pending, &response);
    if (reply->kind == REPLY_STREAM)
        CHECK(subscribers_add(&subscribers, tag_index(SLICE("t")), 0, 0));
    request_free(pending);
    pending = NULL;
    return deliver(reply);
}

static void open_stream(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    heard();
}

static enum conn_next hear_event(const char *data)
{
    struct reply *event = event_new(SLICE("t"), text_of(data));
    enum conn_next next = settled(conn_stream_send(conn, &context, event));
    reply_free(event);
    return next;
}

static void close_stream(void)
{
    pair_leave();
    CHECK_EQUAL(subscribers.count, 0);
    context_fini(&context);
}

static void a_stream_is_chunked(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
    CHECK(has(text, "\r\nTransfer-Encoding: chunked\r\n") && !has(text, "Content-Length"));
    CHECK(has(text, "\r\n\r\na\r\nretry: 1\n\n\r\n"));
    CHECK_EQUAL(hear_event("data: 2\n\n"), CONN_GO_ON);
    CHECK_TEXT(heard(), "9\r\ndata: 2\n\n\r\n");
    CHECK_EQUAL(conn_stream_end(conn, &context), CONN_GO_ON);
    CHECK_TEXT(heard(), "0\r\n\r\n");
    CHECK(is_ended() && subscribers.count == 0);
    close_stream();
}

static void a_stream_may_begin_with_nothing(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK_EQUAL(begin_stream(""), CONN_GO_ON);
    struct slice text = heard();
    CHECK_EQUAL(memcmp(text.data + text.size - 4, "\r\n\r\n", 4), 0);
    CHECK_EQUAL(times(text, "\r\n\r\n"), 1); /* no empty chunk, which would end it */
    close_stream();
}

static void for_an_old_client_it_ends_with_the_connection(void)
{
    pair_open();
    CHECK_EQUAL(say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "\r\nConnection: close\r\n") && !has(text, "Transfer-Encoding"));
    CHECK(has(text, "\r\n\r\nretry: 1\n\n"));
    CHECK_EQUAL(hear_event("data: 2\n\n"), CONN_GO_ON);
    CHECK_TEXT(heard(), "data: 2\n\n");
    CHECK(pass(limits.heartbeat));
    CHECK_TEXT(heard(), ":\n\n");
    CHECK_EQUAL(conn_stream_end(conn, &context), CONN_GO_ON);
    CHECK(heard().size == 0 && is_ended());
    close_stream();
}

static void head_gets_the_head_and_the_connection_goes_on(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n" GET("/a")), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "Transfer-Encoding: chunked\r\n") && !has(text, "retry"));
    CHECK(has(text, "\r\n\r\nHTTP/1.1 200 OK") && has(text, "hello"));
    CHECK_EQUAL(subscribers.count, 0);
    close_stream();
}

static void what_is_owed_from_before_comes_first(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say(GET("/a") GET("/")), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "helloHTTP/1.1 200 OK\r\n"));
    close_stream();
}

static void requests_behind_it_are_dropped(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say(GET("/") GET("/a")), CONN_MISS);
    CHECK_EQUAL(begin_stream("retry: 1\n\n"), CONN_GO_ON);
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(!has(heard(), "hello"));
    CHECK_EQUAL(conn->input.capacity, 0);
    close_stream();
}

static void a_client_that_talks_on_is_let_go(void)
{
    static char noise[LIMIT_READ];
    open_stream();
    size_t dropped = 0;
    while (conn) {
        dropped += say_some(slice_of(noise, sizeof noise));
        settled(conn_read(conn, &context));
    }
    CHECK(dropped >= LIMIT_LINGER && dropped <= LIMIT_LINGER + 2 * sizeof noise);
    close_stream();
}

static void a_client_that_ends_its_side_is_gone(void)
{
    open_stream();
    CHECK_EQUAL(shutdown(client, SHUT_WR), 0);
    CHECK_EQUAL(conn->closed, CLOSED_CLIENT);
    CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_CLOSE);
    close_stream();

    open_stream();
    close(client);
    CHECK_EQUAL(hear_event("data: 2\n\n"), CONN_CLOSE);
    client = -1;
    close_stream();
}

static void a_silent_stream_gives_a_sign_of_life(void)
{
    open_stream();
    CHECK(!pass(limits.heartbeat - 1));
    CHECK_EQUAL(hear_event("data: 2\n\n"), CONN_GO_ON);
    heard();
    CHECK(!pass(limits.heartbeat - 1)); /* an event counts as a heartbeat */
    for (int i = 0; i < 3; i++) {
        CHECK(pass(i ? limits.heartbeat : 1));
        CHECK_TEXT(heard(), "3\r\n:\n\n\r\n");
    }
    close_stream();
}

static void fill_the_socket(void)
{
    char data[1001];
    memset(data, 'x', sizeof data - 1);
    data[sizeof data - 1] = '\0';
    while (!send_buffer_has_unsent(&conn->send_buffer))
        CHECK_EQUAL(hear_event(data), CONN_GO_ON);
    CHECK(conn_interest(conn) & EPOLLOUT);
}

static void a_client_that_takes_nothing_until_the_beat_is_let_go(void)
{
    open_stream();
    fill_the_socket();
    enum closed *reason = &conn->closed;
    context.clock.now += limits.heartbeat;
    CHECK_EQUAL(conn_stream_heartbeat(conn, &context), CONN_CLOSE);
    CHECK_EQUAL(*reason, CLOSED_SLOW);
    close_stream();
}

static void a_client_that_takes_it_late_stays(void)
{
    open_stream();
    fill_the_socket();
    while (send_buffer_has_unsent(&conn->send_buffer)) {
        CHECK(heard().size > 0);
        CHECK_EQUAL(settled(conn_write(conn, &context)), CONN_GO_ON);
    }
    CHECK(!(conn_interest(conn) & EPOLLOUT));
    heard();
    CHECK(pass(limits.heartbeat));
    CHECK_TEXT(heard(), "3\r\n:\n\n\r\n");
    close_stream();
}

static void the_unsent_bytes_of_a_stream_are_bounded(void)
{
    char data[1001];
    memset(data, 'x', sizeof data - 1);
    data[sizeof data - 1] = '\0';
    open_stream();
    size_t most = 0;
    enum conn_next next = CONN_GO_ON;
    for (int i = 0; next == CONN_GO_ON && i < 10000; i++) {
        struct reply *event = event_new(SLICE("t"), text_of(data));
        next = conn_stream_send(conn, &context, event);
        reply_free(event);
        if (conn->send_buffer.unsent.size > most)
            most = conn->send_buffer.unsent.size;
    }
    CHECK_EQUAL(next, CONN_CLOSE);
    CHECK_EQUAL(conn->closed, CLOSED_SLOW);
    CHECK(most > LIMIT_STREAM_UNSENT && most <= LIMIT_STREAM_UNSENT + 1100);
    close_stream();
}

static void at_the_end_nobody_is_waited_for(void)
{
    open_stream();
    fill_the_socket();
    CHECK_EQUAL(conn_stream_end(conn, &context), CONN_CLOSE);
    CHECK_EQUAL(conn->closed, CLOSED_STOPPED);
    close_stream();
}

int main(void)
{
    RUN(a_stream_is_chunked);
    RUN(a_stream_may_begin_with_nothing);
    RUN(for_an_old_client_it_ends_with_the_connection);
    RUN(head_gets_the_head_and_the_connection_goes_on);
    RUN(what_is_owed_from_before_comes_first);
    RUN(requests_behind_it_are_dropped);
    RUN(a_client_that_talks_on_is_let_go);
    RUN(a_client_that_ends_its_side_is_gone);
    RUN(a_silent_stream_gives_a_sign_of_life);
    RUN(a_client_that_takes_nothing_until_the_beat_is_let_go);
    RUN(a_client_that_takes_it_late_stays);
    RUN(the_unsent_bytes_of_a_stream_are_bounded);
    RUN(at_the_end_nobody_is_waited_for);
    return check_end();
}
