/* How a worker stops: which clients are answered, closed, or kept for another worker. */
#include "playing.h"

#include <fcntl.h>

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

/* Clients that have left before they are accepted; how many are still to come. */
static _Atomic int flood;

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    if (flood == 0)
        return __real_accept4(fd, address, size, flags);
    flood--;
    errno = ECONNABORTED;
    return -1;
}

static void a_stop_answers_what_is_in_flight_and_then_ends(void)
{
    begin(10, 10);
    int idle = dial(&endpoint), busy = dial(&endpoint);
    AWAIT(worker.context.stats.connections == 2);
    put(busy, GET("/slow"));
    struct request *request = next_request();
    worker_stop(&worker, now() + 60000, false);
    CHECK_EQUAL(hear(idle, NULL).size, 0);
    CHECK_EQUAL(worker.context.stats.closed[CLOSED_STOPPED], 1);
    CHECK(is_silent(busy));
    worker_send(&worker, make_reply(request, "at last", NULL));
    struct slice text = hear(busy, NULL);
    CHECK(has(text, "at last") && has(text, "Connection: close\r\n"));
    close(busy);
    close(idle);
    join();
}

static void a_request_that_was_sent_before_the_stop_is_answered(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/warm"));
    worker_send(&worker, make_reply(next_request(), "warm", "t"));
    hear(client, "warm");
    /* These two may or may not have been read when the stop begins. */
    put(client, GET("/warm"));
    int late = dial(&endpoint);
    put(late, GET("/warm"));
    worker_stop(&worker, now() + 60000, false);
    CHECK(has(hear(client, NULL), "warm"));
    CHECK(has(hear(late, NULL), "warm"));
    close(client);
    close(late);
    join();
}

/* A busy client has a request under way when the stop begins. One that a busy machine holds up
 * counts as quiet, and tells nothing. */
static void a_stop_answers_the_next_request_of_a_client_at_work(void)
{
    bool is_quiet = true;
    while (is_quiet) {
        begin(10, 10);
        int client = dial(&endpoint);
        put(client, GET("/warm"));
        worker_send(&worker, make_reply(next_request(), "warm", "t"));
        hear(client, "warm");
        int64_t began = now();
        worker_stop(&worker, now() + 60000, false);
        AWAIT(refuses(&endpoint));
        put(client, GET("/warm"));
        is_quiet = now() - began > LIMIT_QUIET_MS / 2;
        struct slice text = hear(client, NULL);
        CHECK(is_quiet || (has(text, "warm") && has(text, "Connection: close\r\n")));
        close(client);
        join();
    }
}

/* Idle clients, and those whose PROXY header has not arrived yet. */
static void a_stop_lets_quiet_clients_go(void)
{
    static const char header[] = "\r\n\r\n\0\r\nQUIT\n\x20\0\0";
    prepare(10, 10);
    limits.proxy_protocol = true;
    CHECK_EQUAL(worker_start(&worker), 0);
    int rests = dial(&endpoint), silent = dial(&endpoint);
    CHECK_EQUAL(send(rests, header, sizeof header, 0), sizeof header);
    AWAIT(worker.context.stats.connections == 2);
    int64_t began = now();
    worker_stop(&worker, now() + 60000, false);
    CHECK_EQUAL(hear(rests, NULL).size, 0);
    CHECK_EQUAL(hear(silent, NULL).size, 0);
    CHECK(now() - began < PATIENCE_MS); /* and not after a minute of keep-alive */
    close(rests);
    close(silent);
    join();
    CHECK_EQUAL(worker.context.stats.closed[CLOSED_STOPPED], 2);
}

/* "close" is sent with the last answer, since clients take it for the end. */
static void a_stop_answers_the_whole_pipeline_that_was_read(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/1") GET("/2") GET("/1") GET("/3"));
    struct request *request = next_request();
    worker_stop(&worker, now() + 60000, false);
    AWAIT(refuses(&endpoint));
    worker_send(&worker, make_reply(request, "<first>", "t"));
    worker_send(&worker, make_reply(next_request(), "<second>", NULL));
    worker_send(&worker, make_reply(next_request(), "<third>", NULL));
    struct slice text = hear(client, NULL);
    CHECK_EQUAL(times(text, "<first>"), 2);
    CHECK_EQUAL(times(text, "<second>"), 1);
    CHECK_EQUAL(times(text, "Connection: close\r\n"), 1);
    CHECK(has(text, "Connection: close\r\nContent-Length: 7\r\n\r\n<third>"));
    close(client);
    join();
}

static void the_end_of_a_stop_tells_clients_to_come_again(void)
{
    begin(10, 10);
    int waits = dial(&endpoint), sends = dial(&endpoint), silent = dial(&endpoint);
    put(waits, GET("/hangs"));
    struct request *request = next_request();
    put(sends, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
    AWAIT(worker.context.stats.requests == 2 && worker.context.stats.connections == 3);
    worker_stop(&worker, now() + 50, false);
    join();
    CHECK(has(hear(waits, NULL), "HTTP/1.1 503 "));
    CHECK(has(hear(sends, NULL), "HTTP/1.1 503 "));
    CHECK_EQUAL(hear(silent, NULL).size, 0);
    request_free(request);
    close(waits);
    close(sends);
    close(silent);
}

/* Idle connections are handed over at once, others as soon as they are idle; clients that wait
 * to be accepted go on waiting. */
static void a_stop_that_parks_keeps_the_clients_for_another_worker(void)
{
    begin(10, 10);
    int idle = dial(&endpoint), busy = dial(&endpoint);
    AWAIT(worker.context.stats.connections == 2);
    put(busy, GET("/slow"));
    struct request *request = next_request();
    worker_stop(&worker, now() + 60000, true);
    AWAIT(worker.context.stats.connections == 1);
    put(idle, GET("/later"));
    worker_send(&worker, make_reply(request, "at last", NULL));
    CHECK(!has(hear(busy, "at last"), "Connection: close"));
    worker_join(&worker);
    CHECK_EQUAL(mailbox_depth(&requests), 0);
    struct handed_over first = worker_take_handed_over(&worker),
                       second = worker_take_handed_over(&worker);
    CHECK(first.fd >= 0 && second.fd >= 0);
    CHECK_EQUAL(worker_take_handed_over(&worker).fd, -1);
    worker_fini(&worker);
    mailbox_fini(&requests);

    prepare(10, 10);
    worker_adopt(&worker, &first);
    worker_adopt(&worker, &second);
    CHECK_EQUAL(worker_start(&worker), 0);
    request = next_request();
    CHECK_TEXT(request_target(request), "/later");
    CHECK(strcmp(request->peer.address, "127.0.0.1") == 0);
    worker_send(&worker, make_reply(request, "now", NULL));
    hear(idle, "now");
    CHECK(is_silent(busy));
    close(idle);
    close(busy);
    end();
}

static void a_connection_that_died_on_its_way_is_not_adopted(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    AWAIT(worker.context.stats.connections == 1);
    worker_stop(&worker, now() + 60000, true);
    worker_join(&worker);
    struct handed_over handed_over = worker_take_handed_over(&worker);
    leave(client);
    worker_adopt(&worker, &handed_over);
    CHECK_EQUAL(worker.context.stats.connections, 0);
    CHECK(fcntl(handed_over.fd, F_GETFD) < 0); /* it is closed */
    worker_fini(&worker);
    mailbox_fini(&requests);
}

static void a_stop_ends_at_its_moment_although_something_hangs(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/hangs"));
    struct request *request = next_request();
    worker_stop(&worker, now() + 50, false);
    worker_join(&worker);
    CHECK_EQUAL(worker.context.stats.connections, 1);
    worker_send(&worker, make_reply(request, "too late", NULL)); /* freed with the mailbox */
    worker_fini(&worker);
    mailbox_fini(&requests);
    close(client);
}

static void a_stop_does_not_let_in_clients_for_ever(void)
{
    enum { MANY = 1000000 };
    begin(10, 10);
    flood = MANY;
    worker_stop(&worker, now() + 60000, false);
    join();
    CHECK(flood > MANY - 2 * LIMIT_BACKLOG);
    flood = 0;
}

int main(void)
{
    RUN(a_stop_answers_what_is_in_flight_and_then_ends);
    RUN(a_request_that_was_sent_before_the_stop_is_answered);
    RUN(a_stop_answers_the_next_request_of_a_client_at_work);
    RUN(a_stop_lets_quiet_clients_go);
    RUN(a_stop_answers_the_whole_pipeline_that_was_read);
    RUN(the_end_of_a_stop_tells_clients_to_come_again);
    RUN(a_stop_that_parks_keeps_the_clients_for_another_worker);
    RUN(a_connection_that_died_on_its_way_is_not_adopted);
    RUN(a_stop_ends_at_its_moment_although_something_hangs);
    RUN(a_stop_does_not_let_in_clients_for_ever);
    return check_end();
}
