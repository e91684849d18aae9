/* A connection behind a TLS terminator: its PROXY header comes first, and decides about fields
 * of its answers. */
#include "pair.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"
#define BY_TLS SIGNATURE "\x21\x11\0\x14\xc0\0\2\x07\xc6\x33\x64\1\xd4\x31\1\xbb\x20\0\5\1\0\0\0\0"
#define PLAIN SIGNATURE "\x21\x11\0\x0c\xc0\0\2\x07\xc6\x33\x64\1\xd4\x31\1\xbb"
#define PROMISE "\r\nStrict-Transport-Security: max-age=1\r\n"

static void open_behind_proxy(void)
{
    proxy_protocol = true;
    pair_open();
}

/* The proxy sends bytes, which may include NUL. */
static enum conn_next send_bytes(struct slice bytes)
{
    CHECK_EQUAL(say_some(bytes), bytes.size);
    return conn ? settled(conn_read(conn, &context)) : CONN_CLOSE;
}

#define SEND(literal) send_bytes(SLICE(literal))

static void the_client_of_a_request_is_whom_the_proxy_header_names(void)
{
    open_behind_proxy();
    CHECK_EQUAL(SEND(PLAIN GET("/a")), CONN_MISS);
    CHECK(strcmp(pending->peer.client, "192.0.2.7") == 0);
    CHECK(strcmp(pending->peer.address, "192.0.2.1") == 0);
    CHECK(pending->peer.proxied && !pending->peer.secure);
    pair_close();
}

static void a_proxy_header_may_come_byte_by_byte_and_is_read_once(void)
{
    static const char bytes[] = BY_TLS GET("/a") GET("/a");
    open_behind_proxy();
    stock("/a", "hello");
    for (size_t i = 0; i < sizeof bytes - 1; i++)
        CHECK_EQUAL(send_bytes(slice_of(bytes + i, 1)), CONN_GO_ON);
    struct slice text = heard();
    CHECK_EQUAL(times(text, "\r\n\r\nhello"), 2);
    CHECK_EQUAL(times(text, PROMISE), 2);
    CHECK_EQUAL(SEND(PLAIN), CONN_GO_ON); /* too short for a header, and no request */
    CHECK(has(heard(), "HTTP/1.1 400 "));
    pair_close();
}

static void only_who_came_by_tls_gets_the_promise(void)
{
    open_behind_proxy();
    stock("/a", "hello");
    CHECK_EQUAL(SEND(PLAIN GET("/a")), CONN_GO_ON);
    CHECK(!has(heard(), PROMISE));
    pair_leave();
    pair_connect();
    CHECK_EQUAL(SEND(SIGNATURE "\x20\0\0\0" GET("/a")), CONN_GO_ON);
    CHECK(!has(heard(), PROMISE));
    pair_leave();
    pair_connect();
    CHECK_EQUAL(SEND(BY_TLS GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), PROMISE));
    pair_close();
}

static void every_kind_of_answer_has_the_promise_in_its_head(void)
{
    open_behind_proxy();
    stock("/a", "hello");
    CHECK_EQUAL(SEND(BY_TLS GET("/new")), CONN_MISS);
    answer("made", NULL);
    CHECK(has(heard(), PROMISE "Content-Length: 4\r\n\r\nmade"));
    say("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(has(heard(), PROMISE "Content-Length: 5\r\nETag: "));
    say("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(has(heard(), "\r\nConnection: keep-alive" PROMISE "Content-Length: 5\r\nETag: "));
    say("GET /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n");
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 304 ") && has(text, PROMISE));
    say("BREW / HTTP/1.1\r\nHost: h\r\n\r\n");
    text = heard();
    CHECK(has(text, "HTTP/1.1 501 ") && has(text, PROMISE));
    pair_close();
}

static void a_large_answer_has_it_too(void)
{
    static char body[LIMIT_COPIED + 1];
    memset(body, 'Z', LIMIT_COPIED);
    open_behind_proxy();
    CHECK_EQUAL(SEND(BY_TLS GET("/large")), CONN_MISS);
    answer(body, NULL);
    struct slice text = heard();
    CHECK(has(text, PROMISE "Content-Length: 32768\r\n\r\nZZZ"));
    CHECK_EQUAL(times(text, "Z"), LIMIT_COPIED);
    pair_close();
}

static void whoever_sends_none_is_closed_without_a_word(void)
{
    open_behind_proxy();
    CHECK_EQUAL(SEND(GET("/a")), CONN_CLOSE);
    CHECK_EQUAL(heard().size, 0);
    CHECK(is_ended());
    pair_close();
}

static void whoever_says_nothing_is_closed_as_soon_as_who_stops_in_a_head(void)
{
    open_behind_proxy();
    CHECK(!pass(limits.head_deadline - 1));
    CHECK(pass(1));
    CHECK(!conn);
    CHECK_EQUAL(heard().size, 0);
    pair_close();
}

static void whoever_stops_in_its_midst_is_closed_without_a_word(void)
{
    open_behind_proxy();
    CHECK(!pass(limits.head_deadline - 1));
    CHECK_EQUAL(SEND(SIGNATURE "\x21"), CONN_GO_ON);
    CHECK(pass(1)); /* a byte now and then does not restart the timer */
    CHECK(!conn);
    CHECK_EQUAL(heard().size, 0);
    pair_close();
}

static void a_proxy_header_at_the_last_moment_is_read_and_its_client_may_rest(void)
{
    open_behind_proxy();
    say_some(SLICE(PLAIN));
    CHECK(pass(limits.head_deadline));
    CHECK(!pass(limits.keep_alive - 1));
    CHECK(conn && !conn->peer.header_pending);
    pair_close();
}

static void a_proxy_header_where_none_is_awaited_is_refused(void)
{
    proxy_protocol = false;
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(SEND(BY_TLS GET("/a")), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 400 ") && !has(text, PROMISE) && !has(text, "hello"));
    pair_close();
}

static void what_was_said_goes_with_an_idle_connection(void)
{
    open_behind_proxy();
    CHECK_EQUAL(SEND(BY_TLS), CONN_GO_ON);
    struct handed_over handed_over = conn_detach(conn);
    conn = NULL;
    CHECK(strcmp(handed_over.note, "tls 192.0.2.7") == 0);
    close(handed_over.fd);
    pair_close();
}

int main(void)
{
    RUN(the_client_of_a_request_is_whom_the_proxy_header_names);
    RUN(a_proxy_header_may_come_byte_by_byte_and_is_read_once);
    RUN(only_who_came_by_tls_gets_the_promise);
    RUN(every_kind_of_answer_has_the_promise_in_its_head);
    RUN(a_large_answer_has_it_too);
    RUN(whoever_sends_none_is_closed_without_a_word);
    RUN(whoever_says_nothing_is_closed_as_soon_as_who_stops_in_a_head);
    RUN(whoever_stops_in_its_midst_is_closed_without_a_word);
    RUN(a_proxy_header_at_the_last_moment_is_read_and_its_client_may_rest);
    RUN(a_proxy_header_where_none_is_awaited_is_refused);
    RUN(what_was_said_goes_with_an_idle_connection);
    return check_end();
}
