/* A server that takes over from another while the system fails: every call that either of them
 * makes, from the stop of the old one on, fails once. Whatever fails, the new one starts, or
 * leaves everything unchanged so that the old one can go on; nothing leaks; one fault costs at
 * most one client, and no client is taken for another. The clients come through a TLS
 * terminator. */
#include "dial.h"
#include "fault.h"

#include "server/server.h"

#include <limits.h>

FAULTY_BLOCK(malloc, (size_t size), (size))
FAULTY_BLOCK(calloc, (size_t count, size_t size), (count, size))
FAULTY_BLOCK(realloc, (void *block, size_t size), (block, size))
FAULTY_SIZED(recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
FAULTY(int, accept4, (int fd, struct sockaddr *name, socklen_t *size, int flags),
       (fd, name, size, flags))
FAULTY(int, epoll_create1, (int flags), (flags))
FAULTY(int, epoll_ctl, (int poller, int operation, int fd, struct epoll_event *event),
       (poller, operation, fd, event))
FAULTY(int, eventfd, (unsigned value, int flags), (value, flags))
FAULTY(int, setsockopt, (int fd, int level, int option, const void *value, socklen_t size),
       (fd, level, option, value, size))
FAULTY(int, getsockopt, (int fd, int level, int option, void *value, socklen_t *size),
       (fd, level, option, value, size))
FAULTY(int, getsockname, (int fd, struct sockaddr *name, socklen_t *size), (fd, name, size))
FAULTY(int, getpeername, (int fd, struct sockaddr *name, socklen_t *size), (fd, name, size))

/* The function that fcntl() calls if offsets have 64 bits. Wherever we use it, its argument is a
 * number. */
int __real_fcntl64(int fd, int command, long argument);
int __wrap_fcntl64(int fd, int command, long argument);

int __wrap_fcntl64(int fd, int command, long argument)
{
    return fault_strikes("fcntl") ? -1 : __real_fcntl64(fd, command, argument);
}

static const struct fault FAULTS[] = {
    {"allocate", ENOMEM, 1, 1},     {"recv", ECONNRESET, 1, 1},      {"recv", 0, 1, 1},
    {"accept4", EMFILE, 1, 1},      {"epoll_create1", EMFILE, 1, 1}, {"epoll_ctl", ENOMEM, 1, 1},
    {"eventfd", EMFILE, 1, 1},      {"setsockopt", ENOMEM, 1, 1},    {"getsockopt", ENOMEM, 1, 1},
    {"getsockname", ENOBUFS, 1, 1}, {"getpeername", ENOTCONN, 1, 1}, {"fcntl", EMFILE, 1, 1},
};

static const struct limits limits = {WIDE_LIMITS, .cache_bytes = 1 << 20, .handler_deadline = 60000,
                                     .proxy_protocol = true};

/* What each client has done when the old server stops: it was answered, has sent nothing, has
 * sent a request, has sent half of one, or has come too late to be accepted. */
enum { SERVED, SILENT, ASKING, HALFWAY, WAITING, CLIENTS };

static int clients[CLIENTS];

/* Send a PROXY header for 192.0.2.`index`, by TCP over IPv4, without TLS. */
static void introduce(int index)
{
    char text[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\0\0\0\0\0\0\0\0\0";
    text[19] = (char)index;
    if (send(clients[index], text, sizeof text - 1, MSG_NOSIGNAL) < 0)
        return; /* the connection is gone, as its answer will show */
}

static void say(int index, const char *text)
{
    (void)!send(clients[index], text, strlen(text), MSG_NOSIGNAL);
}

/* Answer all waiting requests with the address of their client. */
static void answer_all(struct server *server)
{
    struct request *request = server_drain(server);
    while (request) {
        struct request *next = (struct request *)request->message.next;
        char body[PEER_SIZE + 2];
        snprintf(body, sizeof body, "<%s>", request->peer.client);
        server_send(server, make_reply(request, body, NULL));
        request = next;
    }
}

/* Returns whether `index` gets its answer; another client's answer would fail the test. */
static bool is_answered(struct server *server, int index)
{
    char text[1024], wanted[32];
    size_t size = 0;
    snprintf(wanted, sizeof wanted, "\r\n\r\n<192.0.2.%d>", index);
    for (;;) {
        struct pollfd fds[] = {{clients[index], POLLIN, 0}, {server->requests.event, POLLIN, 0}};
        if (poll(fds, 2, PATIENCE_MS) < 1)
            give_up(__FILE__, __LINE__, "an answer, or the end");
        answer_all(server);
        if (fds[0].revents == 0)
            continue;
        ssize_t count = recv(clients[index], text + size, sizeof text - size, 0);
        if (count <= 0)
            return false;
        size += (size_t)count;
        CHECK(!has(slice_of(text, size), "HTTP/1.1 5"));
        if (has(slice_of(text, size), wanted))
            return true;
        CHECK(!has(slice_of(text, size), ">"));
    }
}

static long connections_of(const struct server *server)
{
    long count = 0;
    for (uint32_t i = 0; i < server->running; i++)
        count += (long)server->workers[i].context.stats.connections;
    return count;
}

/* Connect clients to `server`, in their different states. Returns how many it has. */
static void bring_clients(struct server *server)
{
    for (int i = SERVED; i < WAITING; i++)
        clients[i] = dial(&server->endpoint);
    introduce(SERVED);
    say(SERVED, GET("/"));
    CHECK(is_answered(server, SERVED));
    introduce(HALFWAY);
    say(HALFWAY, "GET / HTTP/1.1\r\nHo");
    introduce(ASKING);
    say(ASKING, GET("/"));
    AWAIT(mailbox_depth(&server->requests) == 1 && connections_of(server) == WAITING);
}

/* The sockets that were handed over so far. */
struct collected {
    int listeners[LIMIT_LISTENERS];
    struct handed_over connections[CLIENTS];
    struct sockets sockets;
};

static void collect(struct collected *collected, struct server *server)
{
    struct handed_over handed_over;
    *collected = (struct collected){
        .sockets = {.listeners = collected->listeners, .connections = collected->connections}};
    for (int fd; (fd = server_take_listener(server)) >= 0;)
        collected->listeners[collected->sockets.listener_count++] = fd;
    while ((handed_over = server_take_connection(server)).fd >= 0)
        collected->connections[collected->sockets.connection_count++] = handed_over;
}

/* Duplicate the descriptors, as another process receives them. */
static void pass_on(struct collected *passed, const struct collected *collected)
{
    *passed = *collected;
    passed->sockets.listeners = passed->listeners;
    passed->sockets.connections = passed->connections;
    for (uint32_t i = 0; i < collected->sockets.listener_count; i++)
        passed->listeners[i] = dup(collected->listeners[i]);
    for (uint32_t i = 0; i < collected->sockets.connection_count; i++)
        passed->connections[i].fd = dup(collected->connections[i].fd);
}

static void close_collected(const struct collected *collected)
{
    for (uint32_t i = 0; i < collected->sockets.listener_count; i++)
        close(collected->listeners[i]);
    for (uint32_t i = 0; i < collected->sockets.connection_count; i++)
        close(collected->connections[i].fd);
}

/* Stop `server` and take what it leaves; a request under way is answered by it. */
static void give_way(struct server *server, struct collected *collected)
{
    INSIDE((server_stop(server, 60000, true), 0));
    clients[WAITING] = dial(&server->endpoint);
    introduce(WAITING);
    say(HALFWAY, "st: h\r\n\r\n");
    AWAIT((answer_all(server), connections_of(server) == 0));
    INSIDE((server_join(server), 0));
    collect(collected, server);
    INSIDE((server_free(server), 0));
}

static struct server *begin(const struct endpoint *endpoint, uint32_t workers,
                            const struct collected *collected)
{
    struct server *server = INSIDE(server_new(endpoint, workers, &limits));
    if (!server) {
        close_collected(collected);
        return NULL;
    }
    if (INSIDE(server_start(server, &collected->sockets)) == 0)
        return server;
    CHECK_EQUAL(errno, fault.error);
    INSIDE((server_free(server), 0));
    return NULL;
}

/* Returns the server that goes on with `collected`: a new one or, if that fails, the old one, which
 * has kept its descriptors until then. */
static struct server *go_on(const struct endpoint *endpoint, uint32_t workers,
                            const struct collected *collected)
{
    struct collected passed;
    pass_on(&passed, collected);
    struct server *next = begin(endpoint, workers, &passed);
    if (next) {
        close_collected(collected);
        return next;
    }
    CHECK(fault_is_over());
    return begin(endpoint, workers, collected);
}

/* Returns whether the client reaches its server, before and after the handover. */
static bool is_served(struct server *server, int index)
{
    if (index == SILENT)
        introduce(index);
    if ((index == ASKING || index == HALFWAY) && !is_answered(server, index))
        return false;
    say(index, GET("/"));
    return is_answered(server, index);
}

/* One handover with one fault. Returns how often the call was made. */
static long play(const char *address, uint32_t workers, struct fault wanted)
{
    const struct collected none = {0};
    struct endpoint endpoint = endpoint_of(address);
    fault_begin(wanted);
    fault_calls = LONG_MIN / 2; /* it counts from the stop on */
    struct server *server = begin(&endpoint, workers, &none);
    bring_clients(server);
    endpoint = server->endpoint;
    fault_calls = 0;
    struct collected collected;
    give_way(server, &collected);
    server = go_on(&endpoint, workers, &collected);
    CHECK(strcmp(server->endpoint.text, endpoint.text) == 0);
    int lost = 0;
    for (int i = SERVED; i < CLIENTS; i++) {
        lost += !is_served(server, i);
        leave(clients[i]);
    }
    clients[WAITING] = dial(&endpoint);
    introduce(WAITING);
    lost += !is_served(server, WAITING);
    leave(clients[WAITING]);
    CHECK(lost <= (fault_calls >= wanted.first));
    INSIDE((server_stop(server, 60000, false), 0));
    INSIDE((server_join(server), 0));
    INSIDE((server_free(server), 0));
    return fault_calls;
}

/* Repeat the handover with each fault, at each call. */
static void play_all(const char *address, uint32_t workers)
{
    int descriptors = count_entries("/proc/self/fd");
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++) {
        struct fault wanted = FAULTS[i];
        while (fault_moves_on(&wanted, play(address, workers, wanted)))
            continue;
        /* Otherwise it was never called and nothing is tested; a unix socket has no options to
         * set. */
        CHECK(wanted.first > 1 || strcmp(wanted.call, "setsockopt") == 0);
        CHECK_EQUAL(count_entries("/proc/self/fd"), descriptors);
    }
}

static char unix_text[64];

static void whichever_call_fails_over_tcp_the_sockets_are_kept(void)
{
    play_all("127.0.0.1:0", 2);
}

static void whichever_call_fails_over_a_unix_socket_the_sockets_are_kept(void)
{
    play_all(unix_text, 1);
}

int main(void)
{
    char folder[] = "/tmp/handover-XXXXXX";
    if (!mkdtemp(folder))
        return 2;
    snprintf(unix_text, sizeof unix_text, "unix:%s/socket", folder);
    RUN(whichever_call_fails_over_tcp_the_sockets_are_kept);
    RUN(whichever_call_fails_over_a_unix_socket_the_sockets_are_kept);
    rmdir(folder);
    return check_end();
}
