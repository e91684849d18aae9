/* Streams on a whole server: from publishing in Python to the clients of all workers, the limit
 * of streams, the stop; and that the count is right whichever system call fails. */
#include "dial.h"
#include "fault.h"

#include "server/server.h"

#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

FAULTY_BLOCK(malloc, (size_t size), (size))
FAULTY_BLOCK(calloc, (size_t count, size_t size), (count, size))
FAULTY_BLOCK(realloc, (void *block, size_t size), (block, size))
FAULTY_SIZED(recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
FAULTY_SIZED(send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
FAULTY(int, epoll_ctl, (int poller, int operation, int fd, struct epoll_event *event),
       (poller, operation, fd, event))

int __real_setsockopt(int fd, int level, int option, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size);

static _Atomic unsigned patience; /* milliseconds that the kernel waits for a client */

int __wrap_setsockopt(int fd, int level, int option, const void *value, socklen_t size)
{
    if (fault_strikes("setsockopt"))
        return -1;
    if (level == IPPROTO_TCP && option == TCP_USER_TIMEOUT)
        patience = *(const unsigned *)value;
    return __real_setsockopt(fd, level, option, value, size);
}

enum { STREAMS = 40, WORKERS = 2 };

static const char REQUEST[] = "GET /live HTTP/1.1\r\nHost: h\r\n\r\n";

static struct server *server;

static void start(int64_t heartbeat)
{
    const struct limits limits = {.body = 1000,
                                  .cache_bytes = 1 << 20,
                                  .client_bytes = 64 << 20,
                                  .connections = 400,
                                  .waiting = 100,
                                  .streams = STREAMS,
                                  .keep_alive = 60000,
                                  .head_deadline = 60000,
                                  .body_deadline = 60000,
                                  .handler_deadline = 60000,
                                  .heartbeat = heartbeat};
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    server = server_new(&endpoint, WORKERS, &limits);
    CHECK_EQUAL(server_start(server, &(struct sockets){0}), 0);
}

static void end(void)
{
    server_stop(server, 10000, false);
    server_join(server);
    CHECK_EQUAL(server->subscribers.count, 0);
    server_free(server);
}

static struct request *next_request(void)
{
    AWAIT(mailbox_depth(&server->requests) > 0);
    return server_drain(server);
}

/* As a Request object does, begin a stream that follows `tag`; returns false if there are too
 * many. */
static bool begin_stream(struct request *request, const char *tag)
{
    const struct response response = {
        .status = 200,
        .fields = SLICE("Content-Type: text/event-stream\r\n"),
        .body = SLICE("retry: 1\n\n"),
        .follows = text_of(tag),
    };
    struct reply *reply = INSIDE(reply_new(request, &response));
    bool sent = reply && server_send(server, reply);
    if (!sent)
        reply_free(reply);
    request_free(request);
    return sent;
}

static int follow(const char *tag)
{
    int client = dial(&server->endpoint);
    put(client, REQUEST);
    CHECK(begin_stream(next_request(), tag));
    hear(client, "retry: 1\n\n");
    return client;
}

static void what_is_published_reaches_the_followers_on_all_workers(void)
{
    int clients[STREAMS];
    start(60000);
    for (int i = 0; i < STREAMS; i++)
        clients[i] = follow(i % 4 ? "a" : "b");
    for (uint32_t i = 0; i < WORKERS; i++)
        CHECK(server->workers[i].context.stats.connections > 0);
    CHECK(server_publish(server, SLICE("a"), SLICE("data: 1\n\n")));
    CHECK(server_publish(server, SLICE("b"), SLICE("data: 2\n\n")));
    CHECK(server_publish(server, SLICE("a"), SLICE("data: 3\n\n")));
    for (int i = 0; i < STREAMS; i++) {
        struct slice text = hear(clients[i], i % 4 ? "data: 3\n\n\r\n" : "data: 2\n\n\r\n");
        CHECK_EQUAL(has(text, "9\r\ndata: 1\n\n\r\n9\r\ndata: 3\n\n\r\n"), i % 4 > 0);
    }
    struct stats sum;
    server_stats(server, &sum);
    CHECK_EQUAL(sum.streams, STREAMS);
    AWAIT((server_stats(server, &sum), sum.events_sent) == STREAMS / 4 * 7);
    for (int i = 0; i < STREAMS; i++)
        leave(clients[i]);
    AWAIT(server->subscribers.count == 0);
    CHECK_EQUAL(server->subscribers.events, 0);
    CHECK(server_publish(server, SLICE("a"), SLICE("x"))); /* nobody follows it */
    end();
}

static void an_event_published_right_after_the_beginning_is_not_lost(void)
{
    start(60000);
    for (int i = 0; i < 200; i++) {
        int client = dial(&server->endpoint);
        put(client, REQUEST);
        CHECK(begin_stream(next_request(), "a"));
        CHECK(server_publish(server, SLICE("a"), SLICE("data: 1\n\n")));
        hear(client, "data: 1\n\n");
        leave(client);
    }
    end();
}

static void without_room_the_request_is_still_to_be_answered(void)
{
    int clients[STREAMS];
    start(60000);
    for (int i = 0; i < STREAMS; i++)
        clients[i] = follow("a");
    int late = dial(&server->endpoint);
    put(late, REQUEST);
    CHECK(!begin_stream(next_request(), "a"));
    CHECK(is_silent(late));
    CHECK_EQUAL(server->subscribers.refused, 1);
    leave(clients[0]);
    AWAIT(server->subscribers.count == STREAMS - 1);
    leave(follow("a"));
    leave(late);
    for (int i = 1; i < STREAMS; i++)
        leave(clients[i]);
    end();
}

static void a_client_that_left_before_its_stream_began_takes_no_slot(void)
{
    start(60000);
    int client = dial(&server->endpoint);
    put(client, REQUEST);
    struct request *request = next_request();
    leave(client);
    struct stats sum;
    AWAIT((server_stats(server, &sum), sum.connections) == 0);
    CHECK(begin_stream(request, "a"));
    AWAIT(server->subscribers.count == 0);
    end();
}

static void who_publishes_faster_than_workers_deal_is_told_to_wait(void)
{
    start(60000);
    int client = follow("a");
    atomic_fetch_add(&server->subscribers.events,
                     LIMIT_UNDELIVERED - 1); /* as if many were not yet delivered */
    CHECK(!server_publish(server, SLICE("a"), SLICE("data: 1\n\n")));
    atomic_fetch_sub(&server->subscribers.events, LIMIT_UNDELIVERED - 1);
    CHECK(server_publish(server, SLICE("a"), SLICE("data: 2\n\n")));
    CHECK(!has(hear(client, "data: 2\n\n"), "data: 1"));
    leave(client);
    end();
}

static void without_memory_for_all_workers_nobody_has_the_event(void)
{
    int clients[STREAMS];
    fault_begin((struct fault){"allocate", ENOMEM, WORKERS, 1});
    fault_calls = LONG_MIN / 2; /* it counts from the first event on */
    start(60000);
    for (int i = 0; i < STREAMS; i++)
        clients[i] = follow("a"); /* on either worker */
    fault_calls = 0;
    CHECK(!INSIDE(server_publish(server, SLICE("a"), SLICE("data: 1\n\n"))));
    CHECK(INSIDE(server_publish(server, SLICE("a"), SLICE("data: 2\n\n"))));
    for (int i = 0; i < STREAMS; i++) {
        CHECK(!has(hear(clients[i], "data: 2\n\n"), "data: 1"));
        leave(clients[i]);
    }
    AWAIT(server->subscribers.events == 0);
    end();
    fault_begin((struct fault){"none", 0, 0, 0});
}

static void a_dead_client_is_noticed_by_its_silence(void)
{
    start(20);
    int client = follow("a");
    hear(client, "3\r\n:\n\n\r\n3\r\n:\n\n\r\n");
    CHECK_EQUAL(patience, LIMIT_WRITE_MS);
    leave(client);
    end();
}

static void a_stop_ends_streams_and_those_still_to_begin(void)
{
    for (int keeps = 0; keeps < 2; keeps++) {
        start(60000);
        int client = follow("a"), late = dial(&server->endpoint);
        put(late, REQUEST);
        struct request *request = next_request();
        server_stop(server, 10000, keeps);
        CHECK(has(hear(client, NULL), "0\r\n\r\n"));
        close(client);
        CHECK(begin_stream(request, "a"));
        CHECK(has(hear(late, NULL), "retry: 1\n\n\r\n0\r\n\r\n"));
        close(late);
        end();
    }
}

/* Begin, receive two events, and leave; whatever fails, the stream no longer counts. */
static long play(struct fault wanted)
{
    fault_begin(wanted);
    start(60000);
    int client = dial(&server->endpoint);
    put(client, REQUEST);
    AWAIT(mailbox_depth(&server->requests) > 0 || !is_silent(client));
    struct request *request = server_drain(server);
    if (request)
        begin_stream(request, "a");
    for (int i = 0; i < 2; i++)
        INSIDE(server_publish(server, SLICE("a"), SLICE("data: 1\n\n")));
    AWAIT(server->subscribers.events == 0);
    leave(client);
    struct stats sum;
    AWAIT((server_stats(server, &sum), sum.connections) == 0);
    AWAIT(server->subscribers.count == 0);
    end();
    return fault_calls;
}

static void whichever_call_fails_no_slot_is_lost(void)
{
    static const struct fault faults[] = {
        {"allocate", ENOMEM, 0, 1},  {"recv", ECONNRESET, 0, 1},  {"recv", 0, 0, 1},
        {"send", 0, 0, 1},           {"send", EAGAIN, 0, 1},      {"send", EPIPE, 0, 1},
        {"epoll_ctl", ENOMEM, 0, 1}, {"setsockopt", ENOMEM, 0, 1}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct fault wanted = faults[i];
        wanted.first = 1;
        while (fault_moves_on(&wanted, play(wanted)))
            continue;
        CHECK(wanted.first > 1);
    }
}

int main(void)
{
    fault_begin((struct fault){"none", 0, 0, 0});
    RUN(what_is_published_reaches_the_followers_on_all_workers);
    RUN(an_event_published_right_after_the_beginning_is_not_lost);
    RUN(without_room_the_request_is_still_to_be_answered);
    RUN(a_client_that_left_before_its_stream_began_takes_no_slot);
    RUN(who_publishes_faster_than_workers_deal_is_told_to_wait);
    RUN(without_memory_for_all_workers_nobody_has_the_event);
    RUN(a_dead_client_is_noticed_by_its_silence);
    RUN(a_stop_ends_streams_and_those_still_to_begin);
    RUN(whichever_call_fails_no_slot_is_lost);
    return check_end();
}
