/* The connection: what is answered, in which order, with how many writes, and which ones stay
 * open. */
#include "pair.h"

#include "http/etag.h"

#include <sys/epoll.h>

static void a_miss_is_handed_over_and_its_reply_sent(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/a?b")), CONN_MISS);
    CHECK_EQUAL(conn->state, CONN_WAITING);
    CHECK_TEXT(request_target(pending), "/a?b");
    CHECK(strcmp(pending->peer.address, "192.0.2.1") == 0);
    CHECK_EQUAL(heard().size, 0);
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    CHECK(has(heard(), "\r\n\r\nhello"));
    CHECK_EQUAL(context.stats.misses, 1);
    CHECK_EQUAL(context.stats.hits, 0);
    CHECK_EQUAL(say(GET("/a?b")), CONN_MISS); /* without tags it was not cached */
    pair_close();
}

static void a_tagged_answer_is_a_hit_from_then_on(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/a")), CONN_MISS);
    answer("hello", "t");
    heard();
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), "\r\n\r\nhello"));
    CHECK_EQUAL(context.stats.hits, 1);
    purge_add(&purges, tag_index(SLICE("t")));
    CHECK_EQUAL(say(GET("/a")), CONN_MISS);
    CHECK(pending->stale); /* whoever frees the request frees the old answer */
    pair_close();
}

static void requests_that_differ_in_unknown_parameters_have_one_answer(void)
{
    pair_open();
    struct limits own = *context.limits;
    own.targets = SLICE("GET /a only b\n");
    context.limits = &own;
    CHECK_EQUAL(say(GET("/a?x=1&b=2")), CONN_MISS);
    CHECK_TEXT(request_target(pending), "/a?b=2");
    answer("hello", "t");
    heard();
    CHECK_EQUAL(say(GET("/a?b=2&x=2") GET("/%61?b=2") GET("/a?b=2") GET("/a?y&b=2&b=3")),
                CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "\r\n\r\nhello"), 4);
    CHECK_EQUAL(say("HEAD /a?x=3&b=2 HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_GO_ON);
    CHECK(has(heard(), "Content-Length: 5"));
    CHECK_EQUAL(context.stats.hits, 5);
    CHECK_EQUAL(context.stats.misses, 1);
    CHECK_EQUAL(context.cache.count, 1);
    CHECK_EQUAL(say(GET("/a?b=3&x=2")), CONN_MISS);
    pair_close();
}

static void what_is_read_after_the_end_of_a_lease_is_a_miss(void)
{
    pair_open();
    stock("/a", "hello");
    purge_set_lease(&purges, INT64_MAX);
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), "hello"));
    purge_set_lease(&purges, 1); /* the worker looked at it before */
    CHECK_EQUAL(say(GET("/a")), CONN_MISS);
    answer("new", "t");
    CHECK(has(heard(), "new"));
    purge_set_lease(&purges, INT64_MAX);
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), "hello"));
    pair_close();
}

static void hits_of_a_pipeline_are_glued_into_one_write(void)
{
    pair_open();
    stock("/a", "hello");
    char text[24 * 64] = "";
    for (int i = 0; i < 24; i++)
        strcat(text, GET("/a"));
    CHECK_EQUAL(say(text), CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "\r\n\r\nhello"), 24);
    CHECK_EQUAL(context.stats.writes, 1);
    CHECK_EQUAL(context.stats.hits, 24);
    pair_close();
}

static void head_and_304_are_answered_from_the_store(void)
{
    char etag[ETAG_SIZE + 1] = {0}, text[128];
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_GO_ON);
    struct slice head = heard();
    CHECK(has(head, "Content-Length: 5\r\n"));
    CHECK(!has(head, "hello"));
    etag_make(SLICE("hello"), etag);
    snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n", etag);
    CHECK_EQUAL(say(text), CONN_GO_ON);
    CHECK(has(heard(), "HTTP/1.1 304 Not Modified\r\n"));
    CHECK_EQUAL(context.stats.hits, 2);
    CHECK_EQUAL(context.stats.misses, 0);
    pair_close();
}

static void a_head_request_may_fill_the_store_for_get(void)
{
    pair_open();
    CHECK_EQUAL(say("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_MISS);
    answer("hello", "t");
    CHECK(!has(heard(), "hello"));
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), "\r\n\r\nhello"));
    pair_close();
}

static void a_get_with_a_body_is_not_answered_from_the_store(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"), CONN_MISS);
    answer("other", "t");
    CHECK(has(heard(), "other"));
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK(has(heard(), "hello"));
    pair_close();
}

#define POST(body)                                                                                 \
    "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n" body "\r\n0\r\n\r\n"

static void a_tagged_answer_to_a_short_post_is_a_hit_for_the_same_body(void)
{
    static const char plain[] = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none";
    pair_open();
    stock("/a", "get");
    CHECK_EQUAL(say(plain), CONN_MISS);
    answer("first", "t");
    CHECK(has(heard(), "\r\n\r\nfirst"));
    CHECK_EQUAL(say(plain), CONN_GO_ON);
    CHECK(has(heard(), "\r\n\r\nfirst"));
    for (const char *at = plain; *at; at++) { /* byte by byte */
        char byte[] = {*at, 0};
        CHECK_EQUAL(say(byte), CONN_GO_ON);
    }
    CHECK(has(heard(), "\r\n\r\nfirst"));
    CHECK_EQUAL(say(POST("one") GET("/a") POST("one")), CONN_GO_ON); /* with followers */
    CHECK_EQUAL(times(heard(), "\r\n\r\nfirst"), 2);
    CHECK_EQUAL(context.stats.hits, 5);
    CHECK_EQUAL(context.stats.misses, 1);
    CHECK_EQUAL(say(POST("two")), CONN_MISS);
    answer("second", NULL);
    CHECK(has(heard(), "second"));
    CHECK_EQUAL(say(POST("two")), CONN_MISS); /* without tags it was not cached */
    answer("second", NULL);
    heard();
    purge_add(&purges, tag_index(SLICE("t")));
    CHECK_EQUAL(say(POST("one")), CONN_MISS);
    CHECK(pending->stale);
    pair_close();
}

/* Rule 3: a miss ends the pass; what follows it waits, even if it could be answered from the
 * cache. */
static void a_miss_between_hits_keeps_the_order(void)
{
    pair_open();
    stock("/1", "first");
    stock("/3", "third");
    CHECK_EQUAL(say(GET("/1") GET("/2") GET("/3")), CONN_MISS);
    struct slice text = heard();
    CHECK(has(text, "first") && !has(text, "third"));
    CHECK(conn->input.size > 0);
    CHECK_EQUAL(answer("second", NULL), CONN_GO_ON);
    text = heard();
    const char *second = memmem(text.data, text.size, "second", 6);
    const char *third = memmem(text.data, text.size, "third", 5);
    CHECK(second && third && second < third);
    CHECK_EQUAL(times(text, "HTTP/1.1 200"), 2);
    CHECK_EQUAL(context.stats.writes, 2); /* the reply and the hit after it go out together */
    pair_close();
}

static void misses_of_a_pipeline_are_in_flight_one_at_a_time(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/1") GET("/2") GET("/3")), CONN_MISS);
    for (int i = 1; i <= 3; i++) {
        const char target[] = {'/', (char)('0' + i), '\0'};
        CHECK(slice_equal(request_target(pending), text_of(target)));
        CHECK_EQUAL(answer(target, NULL), i < 3 ? CONN_MISS : CONN_GO_ON);
        CHECK(has(heard(), target));
    }
    pair_close();
}

static void bytes_that_come_while_a_request_waits_are_left_in_the_socket(void)
{
    pair_open();
    stock("/2", "second");
    CHECK_EQUAL(say(GET("/1")), CONN_MISS);
    CHECK(conn_interest(conn) & EPOLLIN);
    CHECK_EQUAL(say(GET("/2")), CONN_GO_ON);
    CHECK(!(conn_interest(conn) & EPOLLIN)); /* otherwise the poller would report them for ever */
    CHECK_EQUAL(heard().size, 0);
    answer("first", NULL);
    CHECK(conn_interest(conn) & EPOLLIN);
    CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "HTTP/1.1 200"), 2);
    pair_close();
}

/* A short request after a long one, both in parts: what was scanned of one says nothing about
 * the next. */
static void requests_that_come_in_parts_follow_one_another(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("GET /a HTTP/1.1\r\nHost: h\r\nX-Long: 0123456789012345678901234"), CONN_GO_ON);
    CHECK_EQUAL(say("5\r\n\r\n"), CONN_GO_ON);
    CHECK_EQUAL(say("GET /a HTTP/1.1\r\nHo"), CONN_GO_ON);
    CHECK_EQUAL(say("st: h\r\n\r\n" GET("/a")), CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "\r\n\r\nhello"), 3);
    pair_close();
}

static void a_body_arrives_whole_however_it_is_cut(void)
{
    static const char *const requests[] = {
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5\r\nhello\r\n6;x\r\n world\r\n0\r\nT: u\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct slice text = text_of(requests[i]);
        for (size_t cut = 1; cut < text.size; cut++) {
            pair_open();
            CHECK_EQUAL(say_some(slice_of(text.data, cut)), cut);
            CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_GO_ON);
            CHECK_EQUAL(say(text.data + cut), CONN_MISS);
            CHECK_TEXT(request_body(pending), "hello world");
            pair_close();
        }
    }
}

static void continue_is_sent_only_while_the_body_is_still_to_come(void)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                               "Content-Length: 2\r\n\r\n";
    pair_open();
    CHECK_EQUAL(say(head), CONN_GO_ON);
    CHECK_TEXT(heard(), "HTTP/1.1 100 Continue\r\n\r\n");
    CHECK_EQUAL(say("hi"), CONN_MISS);
    answer("done", NULL);
    CHECK(!has(heard(), "100 Continue"));
    char whole[256];
    snprintf(whole, sizeof whole, "%shi", head);
    CHECK_EQUAL(say(whole), CONN_MISS);
    CHECK_EQUAL(heard().size, 0);
    pair_close();
}

static void an_old_client_stays_only_when_it_asks(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), CONN_GO_ON);
    CHECK(has(heard(), "Connection: keep-alive\r\n"));
    CHECK(!is_ended());
    CHECK_EQUAL(say("GET /a HTTP/1.0\r\n\r\n"), CONN_GO_ON);
    CHECK(has(heard(), "Connection: close\r\n"));
    CHECK(is_ended());
    pair_close();
}

static void close_ends_the_pipeline(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" GET("/a")),
                CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "HTTP/1.1 200"), 1);
    CHECK(is_ended());
    CHECK_EQUAL(conn->state, CONN_LINGERING);
    shutdown(client, SHUT_WR);
    CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_CLOSE);
    pair_close();
}

static void a_refusal_comes_after_the_answers_before_it_and_closes(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say(GET("/a") "BAD\r\n\r\n" GET("/a")), CONN_GO_ON);
    struct slice text = heard();
    CHECK_EQUAL(times(text, "HTTP/1.1 200"), 1);
    CHECK_EQUAL(times(text, "HTTP/1.1 400"), 1);
    CHECK(is_ended());
    CHECK_EQUAL(context.stats.refusals, 1);
    CHECK_EQUAL(conn->input.capacity, 0);
    pair_close();
}

/* A refusal in the middle of a body frees the unfinished request; the leak checker watches this. */
static void a_body_that_turns_bad_is_refused(void)
{
    pair_open();
    CHECK_EQUAL(say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
                CONN_GO_ON);
    CHECK_EQUAL(say("lo\n"), CONN_GO_ON);
    CHECK(has(heard(), "HTTP/1.1 400"));
    pair_close();
}

/* Rule 2: a connection that does not wait for a reply, for whatever reason, drops it. */
static void a_reply_that_nobody_waits_for_is_dropped(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/slow")), CONN_MISS);
    CHECK_EQUAL(conn_refuse(conn, &context, 504), CONN_GO_ON);
    CHECK(has(heard(), "HTTP/1.1 504"));
    answer("late", NULL);
    CHECK_EQUAL(heard().size, 0);
    CHECK_EQUAL(context.stats.late_replies, 1);
    pair_close();
}

static void while_stopping_the_answer_to_the_last_request_read_is_the_last(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/a") GET("/b")), CONN_MISS);
    context.stopping = true;
    CHECK_EQUAL(answer("first", NULL), CONN_MISS);
    struct slice text = heard();
    CHECK(has(text, "first") && !has(text, "Connection: "));
    CHECK_EQUAL(answer("second", NULL), CONN_GO_ON);
    text = heard();
    CHECK(has(text, "second") && has(text, "Connection: close\r\n"));
    CHECK(is_ended());
    pair_close();
}

static void an_idle_connection_holds_no_buffer(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK(conn_is_idle(conn));
    CHECK_EQUAL(say("GET /a HT"), CONN_GO_ON);
    CHECK(!conn_is_idle(conn));
    CHECK_EQUAL(say("TP/1.1\r\nHost: h\r\n\r\n"), CONN_GO_ON);
    CHECK(conn_is_idle(conn));
    CHECK_EQUAL(conn->input.capacity, 0);
    CHECK_EQUAL(conn->send_buffer.unsent.capacity, 0);
    pair_close();
}

static void the_client_s_end_closes(void)
{
    pair_open();
    shutdown(client, SHUT_WR);
    CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_CLOSE);
    pair_close();
}

int main(void)
{
    RUN(a_miss_is_handed_over_and_its_reply_sent);
    RUN(a_tagged_answer_is_a_hit_from_then_on);
    RUN(requests_that_differ_in_unknown_parameters_have_one_answer);
    RUN(what_is_read_after_the_end_of_a_lease_is_a_miss);
    RUN(hits_of_a_pipeline_are_glued_into_one_write);
    RUN(head_and_304_are_answered_from_the_store);
    RUN(a_head_request_may_fill_the_store_for_get);
    RUN(a_get_with_a_body_is_not_answered_from_the_store);
    RUN(a_tagged_answer_to_a_short_post_is_a_hit_for_the_same_body);
    RUN(a_miss_between_hits_keeps_the_order);
    RUN(misses_of_a_pipeline_are_in_flight_one_at_a_time);
    RUN(bytes_that_come_while_a_request_waits_are_left_in_the_socket);
    RUN(requests_that_come_in_parts_follow_one_another);
    RUN(a_body_arrives_whole_however_it_is_cut);
    RUN(continue_is_sent_only_while_the_body_is_still_to_come);
    RUN(an_old_client_stays_only_when_it_asks);
    RUN(close_ends_the_pipeline);
    RUN(a_refusal_comes_after_the_answers_before_it_and_closes);
    RUN(a_body_that_turns_bad_is_refused);
    RUN(a_reply_that_nobody_waits_for_is_dropped);
    RUN(while_stopping_the_answer_to_the_last_request_read_is_the_last);
    RUN(an_idle_connection_holds_no_buffer);
    RUN(the_client_s_end_closes);
    return check_end();
}
