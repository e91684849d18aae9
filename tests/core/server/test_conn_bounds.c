/* The connection's bounds: timers, tested by moving its clock, and memory. */
#include "pair.h"

#include "server/holders.h"

#include <sys/epoll.h>

static void a_slow_head_gets_408_and_a_trickle_does_not_put_it_off(void)
{
    pair_open();
    CHECK_EQUAL(say("GET / HT"), CONN_GO_ON);
    CHECK(!pass(limits.head_deadline - 1));
    CHECK_EQUAL(say("TP/1.1\r\n"), CONN_GO_ON);
    CHECK(pass(1));
    CHECK(has(heard(), "HTTP/1.1 408"));
    CHECK(is_ended());
    pair_close();
}

static void a_slow_body_gets_408_and_a_trickle_does_not_put_it_off(void)
{
    pair_open();
    CHECK_EQUAL(say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"), CONN_GO_ON);
    CHECK(!pass(limits.body_deadline - 1));
    CHECK_EQUAL(say("y"), CONN_GO_ON);
    CHECK(pass(1));
    CHECK(has(heard(), "HTTP/1.1 408"));
    pair_close();
}

static void a_hanging_handler_gets_504(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/")), CONN_MISS);
    CHECK(!pass(limits.handler_deadline - 1));
    CHECK(pass(1));
    CHECK(has(heard(), "HTTP/1.1 504"));
    CHECK(is_ended());
    pair_close();
}

static void a_refused_head_request_gets_no_body_and_the_next_request_does(void)
{
    pair_open();
    CHECK_EQUAL(say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_MISS);
    CHECK(pass(limits.handler_deadline));
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 504") && has(text, "Content-Length: "));
    CHECK_EQUAL(memcmp(text.data + text.size - 4, "\r\n\r\n", 4), 0);
    pair_close();

    pair_open();
    CHECK_EQUAL(say("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    heard();
    CHECK_EQUAL(say("GET / HT"), CONN_GO_ON);
    CHECK(pass(limits.head_deadline));
    text = heard();
    CHECK(has(text, "HTTP/1.1 408"));
    CHECK(memcmp(text.data + text.size - 4, "\r\n\r\n", 4) != 0);
    pair_close();
}

static void an_idle_client_is_let_go_without_a_word(void)
{
    pair_open();
    stock("/", "hello");
    CHECK(!pass(limits.keep_alive - 1));
    CHECK_EQUAL(say(GET("/")), CONN_GO_ON);
    CHECK(has(heard(), "hello"));
    CHECK(!pass(limits.keep_alive - 1)); /* each answer restarts the timer */
    CHECK(pass(1));
    CHECK(conn == NULL);
    CHECK_EQUAL(heard().size, 0);
    pair_close();
}

/* The next request of a pipeline has a timer of its own, from when its first byte is scanned. */
static void a_part_of_the_next_head_starts_its_deadline(void)
{
    pair_open();
    CHECK_EQUAL(say(GET("/") "GET /b HTT"), CONN_MISS);
    CHECK(!pass(limits.handler_deadline - 1));
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    CHECK(!pass(limits.head_deadline - 1));
    CHECK(pass(1));
    CHECK(has(heard(), "HTTP/1.1 408"));
    pair_close();
}

/* Put `size` bytes in the cache under "/large", and make the sockets small. */
static void prepare_large(size_t size)
{
    static char body[64 * 1024];
    int small = 4096;
    pair_open();
    memset(body, 'x', size);
    body[size] = '\0';
    stock("/large", body);
    setsockopt(conn->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    setsockopt(client, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
}

/* Send requests for "/large" until the connection accepts no more. Returns their number. */
static int ask_until_it_stops(void)
{
    static const char request[] = GET("/large");
    enum { SIZE = sizeof request - 1, MOST = 100000 };
    size_t sent = 0;
    while (sent < (size_t)MOST * SIZE) {
        char batch[20 * SIZE];
        for (size_t i = 0; i < sizeof batch; i++)
            batch[i] = request[(sent + i) % SIZE];
        size_t count = say_some(slice_of(batch, sizeof batch));
        sent += count;
        if (conn_interest(conn) & EPOLLIN)
            CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_GO_ON);
        else if (count == 0)
            break;
    }
    CHECK(sent < (size_t)MOST * SIZE);
    return (int)(sent / SIZE);
}

/* Rule 8. The bound for one connection is what is read at once, what is unsent, and one more
 * answer. */
static void a_client_that_never_reads_does_not_make_us_grow(void)
{
    prepare_large(20000);
    ask_until_it_stops();
    CHECK(conn_held(conn) <= LIMIT_READ + LIMIT_UNSENT + 20000 + 1024);
    CHECK_EQUAL(conn->state, CONN_WRITING);
    size_t before = conn_held(conn);
    ask_until_it_stops();
    CHECK_EQUAL(conn_held(conn), before);
    pair_close();
}

static void when_it_reads_at_last_it_gets_every_answer(void)
{
    prepare_large(20000);
    int asked = ask_until_it_stops(), answers = 0;
    for (int round = 0; conn->state != CONN_READING || answers < asked; round++) {
        if (round == 100000)
            break;
        answers += times(heard(), "HTTP/1.1 200");
        if (conn_interest(conn) & EPOLLOUT)
            CHECK_EQUAL(settled(conn_write(conn, &context)), CONN_GO_ON);
        if (conn_interest(conn) & EPOLLIN)
            CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_GO_ON);
    }
    CHECK_EQUAL(answers, asked);
    CHECK_EQUAL(conn->state, CONN_READING);
    pair_close();
}

static void hits_before_a_miss_that_are_unsent_go_out_while_it_waits(void)
{
    prepare_large(10000);
    CHECK_EQUAL(say(GET("/large") GET("/large") GET("/large") GET("/miss")), CONN_MISS);
    CHECK(conn_interest(conn) & EPOLLOUT);
    size_t size = heard().size;
    while (conn_interest(conn) & EPOLLOUT) {
        CHECK_EQUAL(settled(conn_write(conn, &context)), CONN_GO_ON);
        size += heard().size;
    }
    CHECK(size > 30000);
    CHECK_EQUAL(conn->state, CONN_WAITING);
    CHECK_EQUAL(answer("small", NULL), CONN_GO_ON);
    CHECK(has(heard(), "small"));
    pair_close();
}

static void a_client_that_takes_nothing_is_let_go(void)
{
    prepare_large(60000);
    CHECK_EQUAL(say(GET("/large")), CONN_GO_ON);
    CHECK_EQUAL(conn->state, CONN_WRITING);
    CHECK(!pass(LIMIT_WRITE_MS - 1));
    CHECK(heard().size > 0);
    CHECK_EQUAL(settled(conn_write(conn, &context)), CONN_GO_ON); /* some was taken */
    CHECK(!pass(LIMIT_WRITE_MS - 1));
    CHECK(pass(1));
    CHECK(conn == NULL);
    pair_close();
}

static void what_comes_after_the_last_answer_is_read_for_a_while(void)
{
    static char noise[LIMIT_READ];
    pair_open();
    CHECK_EQUAL(say("BAD\r\n\r\n"), CONN_GO_ON);
    size_t dropped = 0;
    while (conn) {
        dropped += say_some(slice_of(noise, sizeof noise));
        settled(conn_read(conn, &context));
    }
    CHECK(dropped >= LIMIT_LINGER && dropped <= LIMIT_LINGER + 2 * sizeof noise);
    CHECK(has(heard(), "HTTP/1.1 400"));
    pair_close();

    pair_open();
    CHECK_EQUAL(say("BAD\r\n\r\n"), CONN_GO_ON);
    CHECK(!pass(LIMIT_LINGER_MS - 1));
    CHECK(pass(1));
    CHECK(conn == NULL);
    pair_close();
}

static void a_body_over_the_limit_is_refused_before_it_is_read(void)
{
    pair_open();
    CHECK_EQUAL(say("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                    "Content-Length: 1001\r\n\r\n"),
                CONN_GO_ON);
    struct slice text = heard();
    CHECK(has(text, "HTTP/1.1 413") && !has(text, "100 Continue"));
    CHECK(is_ended());
    pair_close();
}

static void an_endless_chunked_body_is_refused_at_the_limit(void)
{
    pair_open();
    CHECK_EQUAL(say("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"),
                CONN_GO_ON);
    size_t chunks = 0;
    while (conn->state == CONN_READING && chunks++ < 2 * limits.body)
        say("1\r\nx\r\n");
    CHECK_EQUAL(chunks, limits.body + 1);
    CHECK(has(heard(), "HTTP/1.1 413"));
    pair_close();
}

static void a_request_that_comes_with_the_end_of_the_idle_time_is_answered(void)
{
    pair_open();
    stock("/", "hello");
    CHECK_EQUAL(say_some(text_of(GET("/"))), strlen(GET("/")));
    CHECK(pass(limits.keep_alive)); /* the worker has not seen it yet */
    CHECK(conn && has(heard(), "hello"));
    CHECK_EQUAL(say_some(text_of("GET /")), 5);
    CHECK(pass(limits.keep_alive));
    CHECK(conn && conn->timer.kind == TIMER_HEAD);
    pair_close();
}

/* Which connections hold memory between two passes, how much, and since when. */

static struct budget budget;
static struct holders holders;

static void open_holders(void)
{
    pair_open();
    budget = (struct budget){.limit = 1000};
    holders_init(&holders, &budget);
}

static void a_usual_request_holds_nothing(void)
{
    open_holders();
    stock("/", "hello");
    CHECK_EQUAL(say(GET("/")), CONN_GO_ON);
    holders_update(&holders, conn);
    CHECK(holders.oldest == NULL && budget_used(&budget) == 0);
    CHECK_EQUAL(say(GET("/miss")), CONN_MISS);
    holders_update(&holders, conn);
    CHECK(holders.oldest == NULL && budget_used(&budget) == 0);
    pair_close();
}

static void a_part_of_a_head_is_counted_until_the_rest_has_come(void)
{
    open_holders();
    stock("/", "hello");
    CHECK_EQUAL(say("GET / HTTP/1.1\r\n"), CONN_GO_ON);
    holders_update(&holders, conn);
    CHECK(holders.oldest == conn && holders.newest == conn);
    CHECK_EQUAL(budget_used(&budget), conn->input.capacity);
    CHECK_EQUAL(say("Host: h\r\n\r\n"), CONN_GO_ON);
    holders_update(&holders, conn);
    CHECK(holders.oldest == NULL && holders.newest == NULL);
    CHECK_EQUAL(budget_used(&budget), 0);
    pair_close();
}

static void a_part_of_a_body_counts_what_has_come_of_it(void)
{
    open_holders();
    CHECK_EQUAL(say("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"), CONN_GO_ON);
    holders_update(&holders, conn);
    CHECK(holders.oldest == conn);
    CHECK(budget_used(&context.budget) > 0); /* the request itself counts */
    CHECK_EQUAL(say("23456789"), CONN_MISS);
    holders_update(&holders, conn);
    CHECK(holders.oldest == NULL && budget_used(&budget) == 0);
    request_free(pending);
    pending = NULL;
    CHECK_EQUAL(budget_used(&context.budget), 0);
    pair_close();
}

static void they_stand_in_the_order_of_their_beginning(void)
{
    enum { MANY = 4 };
    struct conn *all[MANY];
    int clients[MANY];
    open_holders();
    close(client);
    conn_free(conn);
    for (int i = 0; i < MANY; i++) {
        pair_connect();
        CHECK_EQUAL(say("GET / HT"), CONN_GO_ON);
        holders_update(&holders, conn);
        all[i] = conn;
        clients[i] = client;
    }
    /* A connection that sends more counts as a holder since its first bytes. */
    conn = all[0];
    client = clients[0];
    CHECK_EQUAL(say("TP/1.1\r\n"), CONN_GO_ON);
    holders_update(&holders, conn);
    CHECK(holders.oldest == all[0] && holders.newest == all[3]);
    holders_remove(&holders, all[1]); /* between two others, the oldest, the newest, the last */
    CHECK(all[0]->newer == all[2] && all[2]->older == all[0]);
    holders_remove(&holders, all[0]);
    CHECK(holders.oldest == all[2] && all[2]->older == NULL);
    holders_remove(&holders, all[3]);
    CHECK(holders.newest == all[2] && all[2]->newer == NULL);
    holders_remove(&holders, all[2]);
    CHECK(holders.oldest == NULL && holders.newest == NULL);
    CHECK_EQUAL(budget_used(&budget), 0);
    for (int i = 1; i < MANY; i++) {
        conn_free(all[i]);
        close(clients[i]);
    }
    pair_close();
}

int main(void)
{
    RUN(a_slow_head_gets_408_and_a_trickle_does_not_put_it_off);
    RUN(a_slow_body_gets_408_and_a_trickle_does_not_put_it_off);
    RUN(a_hanging_handler_gets_504);
    RUN(a_refused_head_request_gets_no_body_and_the_next_request_does);
    RUN(an_idle_client_is_let_go_without_a_word);
    RUN(a_part_of_the_next_head_starts_its_deadline);
    RUN(a_client_that_never_reads_does_not_make_us_grow);
    RUN(when_it_reads_at_last_it_gets_every_answer);
    RUN(hits_before_a_miss_that_are_unsent_go_out_while_it_waits);
    RUN(a_client_that_takes_nothing_is_let_go);
    RUN(what_comes_after_the_last_answer_is_read_for_a_while);
    RUN(a_body_over_the_limit_is_refused_before_it_is_read);
    RUN(an_endless_chunked_body_is_refused_at_the_limit);
    RUN(a_request_that_comes_with_the_end_of_the_idle_time_is_answered);
    RUN(a_usual_request_holds_nothing);
    RUN(a_part_of_a_head_is_counted_until_the_rest_has_come);
    RUN(a_part_of_a_body_counts_what_has_come_of_it);
    RUN(they_stand_in_the_order_of_their_beginning);
    return check_end();
}
