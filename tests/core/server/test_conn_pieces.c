/* A connection whose client gets an answer in pieces. */
#include "pair.h"

#include <sys/epoll.h>

/* Bytes of a piece that does not fit into the socket together with others. */
static char large[LIMIT_PIECE];

static struct slice large_piece(void)
{
    memset(large, 'x', sizeof large);
    return slice_of(large, sizeof large);
}

/* Send pieces until the client's socket is full. */
static void fill(void)
{
    while (pending)
        send_piece(large_piece(), PIECE_MORE);
    CHECK(conn && conn->state == CONN_SENDING);
}

static void open_pieces(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK_EQUAL(begin_pieces("first"), CONN_MISS);
    heard();
}

static void a_body_is_chunked_and_the_connection_goes_on(void)
{
    pair_open();
    stock("/a", "hello");
    CHECK_EQUAL(say(GET("/") GET("/a")), CONN_MISS);
    CHECK_EQUAL(begin_pieces("first"), CONN_MISS);
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 200 OK\r\n") && has(text, "\r\nTransfer-Encoding: chunked\r\n"));
    CHECK(has(text, "\r\n\r\n5\r\nfirst\r\n") && !has(text, "Content-Length"));
    CHECK(pending && pending->begun && !pending->left && pending->number == 1);
    CHECK_EQUAL(send_piece(SLICE("second"), PIECE_MORE), CONN_MISS);
    CHECK_TEXT(heard(), "6\r\nsecond\r\n");
    CHECK_EQUAL(send_piece(SLICE("third"), PIECE_LAST), CONN_GO_ON);
    text = heard();
    CHECK(has(text, "5\r\nthird\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n") && has(text, "hello"));
    CHECK(!pending && conn_is_idle(conn) && conn->timer.kind == TIMER_IDLE);
    CHECK_EQUAL(context.stats.misses, 1);
    pair_close();
}

static void an_empty_end_has_no_chunk_of_its_own(void)
{
    open_pieces();
    CHECK_EQUAL(send_piece(SLICE(""), PIECE_LAST), CONN_GO_ON);
    CHECK_TEXT(heard(), "0\r\n\r\n");
    pair_close();
}

static void for_an_old_client_it_ends_with_the_connection(void)
{
    pair_open();
    CHECK_EQUAL(say("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(begin_pieces(""), CONN_MISS);
    struct slice text = heard();
    CHECK(has(text, "\r\nConnection: close\r\n") && !has(text, "Transfer-Encoding"));
    CHECK_EQUAL(send_piece(SLICE("second"), PIECE_MORE), CONN_MISS);
    CHECK_TEXT(heard(), "second");
    CHECK(!is_ended());
    CHECK_EQUAL(send_piece(SLICE(""), PIECE_LAST), CONN_GO_ON);
    CHECK(heard().size == 0 && is_ended());
    pair_close();
}

static void the_next_piece_is_asked_for_when_all_is_taken(void)
{
    open_pieces();
    fill();
    CHECK_EQUAL(conn_interest(conn), EPOLLOUT);
    CHECK(conn_held(conn) <= LIMIT_PIECE + 100);
    CHECK_EQUAL(pair_write(), CONN_GO_ON); /* nothing is taken yet */
    CHECK(!pending);
    size_t taken = 0;
    while (!pending) {
        taken += heard().size;
        pair_write();
    }
    CHECK(taken > LIMIT_PIECE && conn->state == CONN_WAITING && conn_held(conn) == 0);
    pair_close();
}

static void a_client_that_takes_nothing_is_closed(void)
{
    open_pieces();
    fill();
    CHECK(!pass(LIMIT_WRITE_MS - 1));
    CHECK(pass(1) && !conn);
    pair_close();
    open_pieces();
    fill();
    CHECK(!pass(LIMIT_WRITE_MS - 1));
    heard(); /* it takes something: it has the same time again */
    pair_write();
    CHECK(conn && !pass(LIMIT_WRITE_MS - 1));
    pair_close();
}

static void a_piece_that_does_not_come_in_time_ends_the_connection(void)
{
    open_pieces();
    CHECK(!pass(limits.handler_deadline - 1));
    conn->closed = CLOSED_SYSTEM_ERROR;
    struct conn *before = conn;
    context.clock.now++;
    CHECK_EQUAL(conn_expire(conn, &context), CONN_CLOSE);
    CHECK_EQUAL(before->closed, CLOSED_ABORTED);
    CHECK(heard().size == 0); /* no refusal within the body */
    pair_close();
}

static void what_is_aborted_ends_without_its_end(void)
{
    open_pieces();
    CHECK_EQUAL(send_piece(SLICE(""), PIECE_ABORT), CONN_CLOSE);
    CHECK(heard().size == 0 && is_ended());
    pair_close();
}

static void head_gets_the_head_alone(void)
{
    pair_open();
    CHECK_EQUAL(say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(begin_pieces("first"), CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "Transfer-Encoding: chunked\r\n") && !has(text, "first") && !pending);
    CHECK(conn_is_idle(conn));
    pair_close();
}

static void at_a_stop_the_connection_ends_after_the_last_piece(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    context.stopping = true;
    CHECK_EQUAL(begin_pieces("first"), CONN_MISS);
    CHECK(has(heard(), "\r\nConnection: close\r\n"));
    CHECK_EQUAL(send_piece(SLICE("last"), PIECE_LAST), CONN_GO_ON);
    CHECK_TEXT(heard(), "4\r\nlast\r\n0\r\n\r\n");
    CHECK(is_ended());
    pair_close();
}

int main(void)
{
    RUN(a_body_is_chunked_and_the_connection_goes_on);
    RUN(an_empty_end_has_no_chunk_of_its_own);
    RUN(for_an_old_client_it_ends_with_the_connection);
    RUN(the_next_piece_is_asked_for_when_all_is_taken);
    RUN(a_client_that_takes_nothing_is_closed);
    RUN(a_piece_that_does_not_come_in_time_ends_the_connection);
    RUN(what_is_aborted_ends_without_its_end);
    RUN(head_gets_the_head_alone);
    RUN(at_a_stop_the_connection_ends_after_the_last_piece);
    return check_end();
}
