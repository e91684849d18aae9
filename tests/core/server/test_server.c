/* The server: starting and stopping leave nothing behind, whatever state it was in; several
 * workers on TCP and on one unix socket; addresses in use. */
#include "dial.h"

#include "server/server.h"

#include <pthread.h>
#include <sys/stat.h>

int __real_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

/* Threads that can still be created; negative: any number. */
static int pthreads_left = -1;

int __wrap_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (pthreads_left == 0)
        return EAGAIN;
    pthreads_left -= pthreads_left > 0;
    return __real_pthread_create(pthread, attributes, start, argument);
}

static struct limits limits = {WIDE_LIMITS, .cache_bytes = 1 << 20, .handler_deadline = 60000};

static char unix_text[64];

static const struct sockets none;

static struct server *new_server(const char *text, uint32_t workers)
{
    struct endpoint endpoint = endpoint_of(text);
    struct server *server = server_new(&endpoint, workers, &limits);
    CHECK(server != NULL);
    return server;
}

static struct server *started(const char *text, uint32_t workers)
{
    struct server *server = new_server(text, workers);
    CHECK_EQUAL(server_start(server, &none), 0);
    return server;
}

/* Answer all waiting requests with their targets. Returns their number. */
static int answer_all(struct server *server)
{
    struct request *request = server_drain(server);
    int count = 0;
    while (request) {
        struct request *next = (struct request *)request->message.next;
        char body[64];
        struct slice target = request_target(request);
        snprintf(body, sizeof body, "<%.*s>", (int)target.size, target.data);
        server_send(server, make_reply(request, body, "t"));
        request = next;
        count++;
    }
    return count;
}

/* Valid until the next call. */
static const struct stats *stats_of(struct server *server)
{
    static struct stats stats;
    server_stats(server, &stats);
    return &stats;
}

static void life(const char *text, uint32_t workers)
{
    struct server *server = started(text, workers);
    int client = dial(&server->endpoint), left = dial(&server->endpoint);
    put(client, GET("/a"));
    put(left, GET("/b"));
    for (int answered = 0; answered < 2;)
        answered += answer_all(server);
    hear(client, "</a>");
    put(client, GET("/unanswered"));
    AWAIT(stats_of(server)->requests_waiting == 1);
    server_free(server); /* with a request in the mailbox and clients connected */
    close(client);
    close(left);
}

static void starting_and_ending_leave_descriptors_and_pthreads_as_they_were(void)
{
    life("127.0.0.1:0", 2); /* with the first thread, a sanitizer may start one of its own */
    int descriptors = count_entries("/proc/self/fd"), pthreads = count_entries("/proc/self/task");
    for (int i = 0; i < 20; i++) {
        life("127.0.0.1:0", 2);
        life(unix_text, 2);
    }
    CHECK_EQUAL(count_entries("/proc/self/fd"), descriptors);
    /* A joined thread may be in /proc for a moment longer, both times. */
    AWAIT(count_entries("/proc/self/task") <= pthreads);
}

static void a_server_that_never_started_can_be_freed(void)
{
    struct server *server = new_server("127.0.0.1:0", 3);
    CHECK(server_drain(server) == NULL);
    CHECK_EQUAL(stats_of(server)->requests, 0);
    server_stop(server, 0, false);
    server_join(server);
    server_free(server);
    server_free(NULL);
}

/* So many clients that the kernel distributes them to both workers; the sums are over both. */
static void several_workers_share_the_clients(const char *text)
{
    enum { CLIENTS = 32 };
    struct server *server = started(text, 2);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = dial(&server->endpoint);
        char request[64];
        snprintf(request, sizeof request, GET("/%d"), i);
        put(clients[i], request);
    }
    for (int answered = 0; answered < CLIENTS;)
        answered += answer_all(server);
    for (int i = 0; i < CLIENTS; i++) {
        char wanted[16];
        snprintf(wanted, sizeof wanted, "</%d>", i);
        hear(clients[i], wanted);
    }
    const struct stats *stats = stats_of(server);
    CHECK_EQUAL(stats->requests, CLIENTS);
    CHECK_EQUAL(stats->misses, CLIENTS);
    CHECK_EQUAL(stats->connections, CLIENTS);
    CHECK_EQUAL(stats->max_connections, 2 * (limits.connections / 2 + 1));
    AWAIT(stats_of(server)->cache_entries == CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    AWAIT(stats_of(server)->connections == 0);
    server_free(server);
}

static void tcp_clients_are_shared_by_the_workers(void)
{
    several_workers_share_the_clients("127.0.0.1:0");
}

static void unix_clients_are_shared_by_the_workers(void)
{
    several_workers_share_the_clients(unix_text);
}

static void the_socket_file_goes_with_the_server(void)
{
    struct stat status;
    struct server *server = started(unix_text, 2);
    CHECK_EQUAL(stat(unix_text + 5, &status), 0);
    server_free(server);
    CHECK(stat(unix_text + 5, &status) < 0);
}

static void a_taken_address_is_an_error_and_nothing_runs(void)
{
    struct server *first = started("127.0.0.1:0", 2);
    struct server *second = new_server(first->endpoint.text, 2);
    CHECK(server_start(second, &none) < 0 && errno == EADDRINUSE);
    server_free(second);
    server_free(first);
    first = started(unix_text, 1);
    second = new_server(unix_text, 1);
    CHECK(server_start(second, &none) < 0 && errno == EADDRINUSE);
    server_free(second);
    int client = dial(&first->endpoint); /* the first server's socket is still there */
    put(client, GET("/a"));
    AWAIT(answer_all(first) == 1);
    hear(client, "</a>");
    close(client);
    server_free(first);
}

/* If only some of the threads can be created, the start fails as a whole. */
static void a_start_that_fails_half_way_leaves_nothing(const char *text)
{
    int descriptors = count_entries("/proc/self/fd");
    struct stat status;
    struct server *server = new_server(text, 3);
    pthreads_left = 2;
    CHECK(server_start(server, &none) < 0 && errno == EAGAIN);
    pthreads_left = -1;
    CHECK_EQUAL(stats_of(server)->requests, 0);
    server_free(server);
    CHECK_EQUAL(count_entries("/proc/self/fd"), descriptors);
    CHECK(stat(unix_text + 5, &status) < 0);
}

static void a_tcp_start_that_fails_half_way_leaves_nothing(void)
{
    a_start_that_fails_half_way_leaves_nothing("127.0.0.1:0");
}

static void a_unix_start_that_fails_half_way_leaves_nothing(void)
{
    a_start_that_fails_half_way_leaves_nothing(unix_text);
}

static void a_graceful_stop_answers_what_both_workers_have_in_flight(void)
{
    enum { CLIENTS = 16 };
    struct server *server = started("127.0.0.1:0", 2);
    int clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = dial(&server->endpoint);
        put(clients[i], GET("/a"));
    }
    AWAIT(stats_of(server)->requests_waiting == CLIENTS);
    server_stop(server, 60000, false);
    AWAIT(answer_all(server) == CLIENTS);
    for (int i = 0; i < CLIENTS; i++) {
        CHECK(has(hear(clients[i], NULL), "</a>"));
        close(clients[i]);
    }
    server_join(server);
    server_free(server);
}

/* Stop `old` so that it keeps its sockets, and start another server on them. */
static struct server *hand_over(struct server *old, uint32_t workers, bool lent)
{
    int listeners[LIMIT_LISTENERS];
    struct handed_over connections[100], handed_over;
    struct sockets sockets = {.listeners = listeners, .connections = connections, .borrowed = lent};
    server_stop(old, 60000, true);
    server_join(old);
    for (int fd; (fd = server_take_listener(old)) >= 0;)
        listeners[sockets.listener_count++] = fd;
    while ((handed_over = server_take_connection(old)).fd >= 0)
        connections[sockets.connection_count++] = handed_over;
    server_free(old);
    struct server *server = new_server("127.0.0.1:1", workers); /* which it does not listen on */
    CHECK_EQUAL(server_start(server, &sockets), 0);
    return server;
}

/* Wait for the answer, from the cache or not. */
static void answer(struct server *server, int client, const char *wanted)
{
    AWAIT(answer_all(server) >= 0 && !is_silent(client));
    hear(client, wanted);
}

/* Neither an idle client nor one that waits to be accepted notices anything. */
static void sockets_go_from_server_to_server(const char *text, uint32_t workers, uint32_t later)
{
    struct server *server = started(text, workers);
    struct endpoint endpoint = server->endpoint;
    int idle = dial(&endpoint);
    put(idle, GET("/1"));
    answer(server, idle, "</1>");
    for (int round = 0; round < 3; round++) {
        server_stop(server, 60000, true);
        server_join(server);
        int waiting = dial(&endpoint);
        put(waiting, GET("/2"));
        put(idle, GET("/2"));
        server = hand_over(server, round % 2 ? workers : later, false);
        CHECK(strcmp(server->endpoint.text, endpoint.text) == 0);
        answer(server, idle, "</2>");
        answer(server, waiting, "</2>");
        close(waiting);
        /* Whichever listener the kernel chooses for a client, one of the workers accepts it. */
        for (int i = 0; i < 20; i++) {
            int client = dial(&endpoint);
            put(client, GET("/3"));
            answer(server, client, "</3>");
            close(client);
        }
    }
    close(idle);
    server_free(server);
    CHECK(refuses(&endpoint));
}

static void tcp_sockets_go_to_as_many_to_more_and_to_fewer_workers(void)
{
    sockets_go_from_server_to_server("127.0.0.1:0", 1, 1);
    sockets_go_from_server_to_server("127.0.0.1:0", 2, 3);
    sockets_go_from_server_to_server("127.0.0.1:0", 3, 1);
}

static void unix_sockets_go_from_server_to_server(void)
{
    struct stat status;
    sockets_go_from_server_to_server(unix_text, 2, 1);
    CHECK(stat(unix_text + 5, &status) < 0);
}

static void a_server_with_room_for_fewer_serves_all_who_were_parked(void)
{
    int clients[20];
    struct server *server = started("127.0.0.1:0", 1);
    for (int i = 0; i < 20; i++)
        clients[i] = dial(&server->endpoint);
    AWAIT(stats_of(server)->connections == 20);
    server_stop(server, 60000, true);
    AWAIT(stats_of(server)->connections == 0); /* all idle connections were handed over */
    for (int i = 0; i < 20; i++)
        put(clients[i], GET("/1"));
    limits.connections = 0;
    server = hand_over(server, 2, false);
    limits.connections = 100;
    for (int i = 0; i < 20; i++)
        answer(server, clients[i], "</1>");
    int late = dial(&server->endpoint); /* it takes the place of a connection that is idle by now */
    put(late, GET("/1"));
    answer(server, late, "</1>");
    CHECK_EQUAL(stats_of(server)->connections, 20);
    for (int i = 0; i < 20; i++)
        close(clients[i]);
    close(late);
    server_free(server);
}

static void a_lent_socket_keeps_its_path(void)
{
    struct stat status;
    struct server *server = hand_over(started(unix_text, 1), 1, true);
    server_free(server);
    CHECK_EQUAL(stat(unix_text + 5, &status), 0);
    unlink(unix_text + 5);
}

static void what_is_no_listener_fails_the_start_and_is_closed(void)
{
    int fds[2], descriptors = count_entries("/proc/self/fd");
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    struct server *server = new_server("127.0.0.1:0", 2);
    const struct handed_over handed_over = {.fd = fds[1]};
    const struct sockets sockets = {fds, 1, true, &handed_over, 1};
    CHECK(server_start(server, &sockets) < 0 && errno == EINVAL);
    server_free(server);
    CHECK_EQUAL(count_entries("/proc/self/fd"), descriptors);
}

/* The stale answer that the second request would replace is freed with it. */
static void a_request_that_nobody_takes_is_freed_with_all_it_has(void)
{
    struct server *server = started("127.0.0.1:0", 1);
    int client = dial(&server->endpoint);
    put(client, GET("/a"));
    answer(server, client, "</a>");
    purge_add(&server->purges, tag_index(SLICE("t")));
    put(client, GET("/a"));
    AWAIT(stats_of(server)->requests_waiting == 1);
    server_free(server); /* the leak checker watches this */
    close(client);
}

static void a_reply_after_the_end_is_freed(void)
{
    struct server *server = started("127.0.0.1:0", 1);
    int client = dial(&server->endpoint);
    put(client, GET("/a"));
    AWAIT(stats_of(server)->requests_waiting == 1);
    struct request *request = server_drain(server);
    server_stop(server, 0, false);
    server_join(server);
    server_send(server, make_reply(request, "late", NULL));
    server_free(server); /* the leak checker watches this */
    close(client);
}

int main(void)
{
    char folder[] = "/tmp/server-XXXXXX";
    if (!mkdtemp(folder))
        return 2;
    snprintf(unix_text, sizeof unix_text, "unix:%s/socket", folder);
    RUN(starting_and_ending_leave_descriptors_and_pthreads_as_they_were);
    RUN(a_server_that_never_started_can_be_freed);
    RUN(tcp_clients_are_shared_by_the_workers);
    RUN(unix_clients_are_shared_by_the_workers);
    RUN(the_socket_file_goes_with_the_server);
    RUN(a_taken_address_is_an_error_and_nothing_runs);
    RUN(a_tcp_start_that_fails_half_way_leaves_nothing);
    RUN(a_unix_start_that_fails_half_way_leaves_nothing);
    RUN(a_graceful_stop_answers_what_both_workers_have_in_flight);
    RUN(tcp_sockets_go_to_as_many_to_more_and_to_fewer_workers);
    RUN(unix_sockets_go_from_server_to_server);
    RUN(a_server_with_room_for_fewer_serves_all_who_were_parked);
    RUN(a_lent_socket_keeps_its_path);
    RUN(what_is_no_listener_fails_the_start_and_is_closed);
    RUN(a_request_that_nobody_takes_is_freed_with_all_it_has);
    RUN(a_reply_after_the_end_is_freed);
    rmdir(folder);
    return check_end();
}
