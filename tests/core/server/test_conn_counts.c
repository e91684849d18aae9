/* What a connection counts: hits answered 304, refusals by status, misses by duration, how it
 * ended. */
#include "pair.h"

#include "http/etag.h"

static enum closed closed;

/* The connection handles its client, and then has to be closed; record the reason. */
static void ends(enum conn_next next)
{
    CHECK_EQUAL(next, CONN_CLOSE);
    closed = conn->closed;
    settled(next);
    pair_close();
}

static uint64_t timed(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < LATENCY_BUCKETS; i++)
        sum += context.stats.latency[i];
    return sum;
}

static void each_status_is_counted_by_itself(void)
{
    int status;
    for (size_t i = 0; (status = response_refusal_status(i)) != 0; i++) {
        pair_open();
        CHECK_EQUAL(say(GET("/")), CONN_MISS);
        CHECK_EQUAL(conn_refuse(conn, &context, status), CONN_GO_ON);
        CHECK_EQUAL(context.stats.refused[status - REFUSED_FIRST], 1);
        CHECK_EQUAL(context.stats.refusals, 1);
        CHECK_EQUAL(timed(), 0);
        pair_close();
    }
}

static void hits_with_304_are_counted_among_the_hits(void)
{
    char etag[ETAG_SIZE + 1] = {0}, text[128];
    pair_open();
    stock("/a", "hello");
    etag_make(SLICE("hello"), etag);
    snprintf(text, sizeof text, "GET /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: %s\r\n\r\n", etag);
    CHECK_EQUAL(say(GET("/a")), CONN_GO_ON);
    CHECK_EQUAL(say(text), CONN_GO_ON);
    CHECK_EQUAL(context.stats.hits, 2);
    CHECK_EQUAL(context.stats.not_modified, 1);
    CHECK_EQUAL(timed(), 0);
    pair_close();
}

static void each_miss_of_a_pipeline_is_timed_by_itself(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/1") GET("/2")), CONN_MISS);
    conn->miss_started -= 100000000; /* the first one has waited for 0.1 s already */
    CHECK_EQUAL(answer("first", NULL), CONN_MISS);
    CHECK_EQUAL(timed(), 1);
    CHECK(context.stats.latency_sum >= 100000);
    uint64_t sum = context.stats.latency_sum;
    CHECK_EQUAL(answer("second", NULL), CONN_GO_ON);
    CHECK_EQUAL(timed(), 2);
    CHECK(context.stats.latency_sum - sum < 100000);
    pair_close();
}

static void a_client_that_leaves_is_told_from_one_that_was_answered_for_good(void)
{
    pair_open();
    shutdown(client, SHUT_WR);
    ends(conn_read(conn, &context));
    CHECK_EQUAL(closed, CLOSED_CLIENT);

    pair_open();
    ends(conn_hang_up(conn));
    CHECK_EQUAL(closed, CLOSED_CLIENT);

    pair_open();
    CHECK_EQUAL(say("GET / HTTP/1.0\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    shutdown(client, SHUT_WR);
    ends(conn_hang_up(conn));
    CHECK_EQUAL(closed, CLOSED_ANSWERED);
}

static void a_client_that_takes_no_answer_is_gone_when_it_is_written_to(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    shutdown(client, SHUT_RD);
    struct reply *reply = make_reply(pending, "hello", NULL);
    pending = NULL;
    enum conn_next next = conn_reply(conn, &context, reply);
    reply_free(reply);
    ends(next);
    CHECK_EQUAL(closed, CLOSED_CLIENT);
}

static void deadlines_are_told_apart(void)
{
    pair_open();
    context.clock.now += limits.keep_alive;
    ends(conn_expire(conn, &context));
    CHECK_EQUAL(closed, CLOSED_IDLE);

    pair_open();
    CHECK_EQUAL(say("GET / HT"), CONN_GO_ON);
    CHECK_EQUAL(conn_expire(conn, &context), CONN_GO_ON);
    ends(conn_expire(conn, &context)); /* the linger timer */
    CHECK_EQUAL(closed, CLOSED_ANSWERED);

    static char large[1024 * 1024];
    memset(large, 'x', sizeof large - 1);
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK_EQUAL(answer(large, NULL), CONN_GO_ON);
    CHECK_EQUAL(conn->state, CONN_WRITING);
    ends(conn_expire(conn, &context));
    CHECK_EQUAL(closed, CLOSED_SLOW);
}

int main(void)
{
    RUN(each_status_is_counted_by_itself);
    RUN(hits_with_304_are_counted_among_the_hits);
    RUN(each_miss_of_a_pipeline_is_timed_by_itself);
    RUN(a_client_that_leaves_is_told_from_one_that_was_answered_for_good);
    RUN(a_client_that_takes_no_answer_is_gone_when_it_is_written_to);
    RUN(deadlines_are_told_apart);
    return check_end();
}
