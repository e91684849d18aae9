/* A whole server when the system fails: every call that it makes during a scripted life fails
 * once, and then several times in a row. Whatever fails, nothing leaks (checked by the leak
 * checker and the number of descriptors), no client gets a wrong answer, and a client that comes
 * afterwards is served. */
#include "dial.h"
#include "fault.h"

#include "server/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

FAULTY_BLOCK(malloc, (size_t size), (size))
FAULTY_BLOCK(calloc, (size_t count, size_t size), (count, size))
FAULTY_BLOCK(realloc, (void *block, size_t size), (block, size))
FAULTY_SIZED(recv, (int fd, void *data, size_t size, int flags), (fd, data, size, flags))
FAULTY_SIZED(send, (int fd, const void *data, size_t size, int flags), (fd, data, size, flags))
FAULTY(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags))
FAULTY(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size))
FAULTY(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
FAULTY(int, accept4, (int fd, struct sockaddr *name, socklen_t *size, int flags),
       (fd, name, size, flags))
FAULTY(int, shutdown, (int fd, int how), (fd, how))
FAULTY(int, epoll_create1, (int flags), (flags))
FAULTY(int, epoll_ctl, (int poller, int operation, int fd, struct epoll_event *event),
       (poller, operation, fd, event))
FAULTY(int, epoll_wait, (int poller, struct epoll_event *events, int count, int wait),
       (poller, events, count, wait))
FAULTY(int, eventfd, (unsigned value, int flags), (value, flags))
FAULTY(int, socket, (int family, int type, int protocol), (family, type, protocol))
FAULTY(int, bind, (int fd, const struct sockaddr *name, socklen_t size), (fd, name, size))
FAULTY(int, listen, (int fd, int backlog), (fd, backlog))
FAULTY(int, setsockopt, (int fd, int level, int option, const void *value, socklen_t size),
       (fd, level, option, value, size))
FAULTY(int, getsockname, (int fd, struct sockaddr *name, socklen_t *size), (fd, name, size))

int __wrap_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __real_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);

int __wrap_pthread_create(pthread_t *pthread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument)
{
    if (fault_strikes("pthread_create"))
        return fault.error;
    return __real_pthread_create(pthread, attributes, start, argument);
}

/* How each call may fail; the first way is also tried several times in a row. Failures that no
 * real system produces are left out, since the server would hang: a full eventfd is readable,
 * and a socket that accepts nothing reports when it does again. (A socket that accepts nothing
 * is tested for real: see `ask_for_much`.) */
static const struct {
    const char *call;
    int errors[10]; /* -1 at the end */
} FAULTS[] = {
    {"allocate", {ENOMEM, -1}},
    {"recv", {0, EINTR, EAGAIN, ECONNRESET, ENOMEM, -1}},
    {"send", {0, EINTR, ENOBUFS, EPIPE, ECONNRESET, -1}},
    {"sendmsg", {EINTR, EAGAIN, ENOBUFS, EPIPE, ECONNRESET, -1}},
    {"read", {EINTR, EAGAIN, -1}},
    {"write", {EINTR, -1}},
    {"accept4", {EMFILE, EINTR, EAGAIN, ECONNABORTED, ENFILE, ENOMEM, ENOBUFS, EPROTO, EPERM, -1}},
    {"shutdown", {ENOTCONN, -1}},
    {"epoll_create1", {EMFILE, ENFILE, ENOMEM, -1}},
    {"epoll_ctl", {ENOMEM, ENOSPC, -1}},
    {"epoll_wait", {EINTR, -1}},
    {"eventfd", {EMFILE, ENFILE, ENOMEM, -1}},
    {"socket", {EMFILE, ENFILE, ENOMEM, -1}},
    {"bind", {EADDRINUSE, EACCES, -1}},
    {"listen", {EADDRINUSE, -1}},
    {"setsockopt", {ENOMEM, -1}},
    {"getsockname", {ENOBUFS, -1}},
    {"pthread_create", {EAGAIN, -1}},
};

static const struct limits limits = {
    WIDE_LIMITS,
    .cache_bytes = 16 << 20,
    .handler_deadline = 50, /* the only timer that a fault may make us wait for */
};

static struct server *server;

/* A client, and all that it has received. */
struct client {
    int fd;
    bool ended;
    struct buffer text;
};

static void reach(struct client *client)
{
    int on = 1;
    *client = (struct client){.fd = dial(&server->endpoint)};
    /* A body in parts would wait for delayed acknowledgements; unix sockets do not have this
     * option. */
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void part(struct client *client)
{
    leave(client->fd);
    buffer_fini(&client->text);
}

/* Returns the answer to a request for `target`: its name, repeated often enough to fill a
 * socket. */
static struct slice body_of(struct slice target)
{
    static char body[300 * 1024];
    size_t size = (size_t)snprintf(body, sizeof body, "<%.*s>", (int)target.size, target.data);
    if (!has(target, "large"))
        return slice_of(body, size);
    memset(body + size, 'x', sizeof body - size);
    return slice_of(body, sizeof body);
}

/* Do as a Request object does: answer, or 500; without it the client gets 504 at the deadline. */
static void answer(struct request *request)
{
    uint32_t slot = 1;
    struct response response = {.status = 200, .fields = SLICE("Content-Type: text/plain\r\n")};
    response.body = body_of(request_target(request));
    response.tags = &slot;
    response.tag_count = 1;
    struct reply *reply = INSIDE(reply_new(request, &response));
    if (!reply) {
        response.status = 500;
        reply = INSIDE(reply_new(request, &response));
    }
    if (reply)
        INSIDE((server_send(server, reply), 0));
    request_free(request);
}

static void answer_all(void)
{
    struct request *request = INSIDE(server_drain(server));
    while (request) {
        struct request *next = (struct request *)request->message.next;
        answer(request);
        request = next;
    }
}

/* Cut one complete response off `text`. Returns its status, or 0 if it is not complete. */
static int next_response(struct slice *text, bool head_only, struct slice *body)
{
    const char *end = text->size ? memmem(text->data, text->size, "\r\n\r\n", 4) : NULL;
    if (!end || end - text->data < 12 || memcmp(text->data, "HTTP/1.1 ", 9) != 0)
        return 0;
    /* sscanf would first search for a NUL. */
    int status = (int)strtoul(text->data + 9, NULL, 10);
    struct slice head = slice_of(text->data, (size_t)(end - text->data) + 4);
    const char *length = memmem(head.data, head.size, "Content-Length: ", 16);
    size_t size = head_only || !length ? 0 : strtoul(length + 16, NULL, 10);
    if (text->size - head.size < size)
        return 0;
    *body = slice_of(text->data + head.size, size);
    slice_skip(text, head.size + size);
    return status;
}

/* Returns how many complete responses `client` has. Each must be the right one for its target,
 * in order; only the last one may say that the core or the system failed. */
static int judge(const struct client *client, const char *const *targets, bool head_only)
{
    struct slice text = buffer_slice(&client->text), body;
    int count = 0;
    for (int status; (status = next_response(&text, head_only, &body)) != 0; count++) {
        if (status == 304 || (status == 200 && head_only))
            continue;
        if (status == 200) {
            CHECK(targets[count] && slice_equal(body, body_of(text_of(targets[count]))));
        } else {
            CHECK(status == 400 || status == 500 || status == 503 || status == 504);
            CHECK(status == 500 || text.size == 0);
        }
    }
    return count;
}

static void take(struct client *client)
{
    char bytes[64 * 1024];
    ssize_t count = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0)
        CHECK(buffer_append(&client->text, bytes, (size_t)count));
    client->ended |= count == 0 || (count < 0 && errno != EAGAIN);
}

/* Send `text` and wait until there are `wanted` responses in all, or the end. */
static void talk(struct client *client, const char *text, int wanted, const char *const *targets)
{
    bool head_only = strncmp(text, "HEAD", 4) == 0;
    if (send(client->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        client->ended = true;
    for (;;) {
        answer_all();
        take(client);
        if (judge(client, targets, head_only) >= wanted || client->ended)
            return;
        struct pollfd fds[] = {{client->fd, POLLIN, 0}, {server->requests.event, POLLIN, 0}};
        if (poll(fds, 2, 10000) == 0) {
            printf("# %s fails with %d from call %ld on\n", fault.call, fault.error, fault.first);
            give_up(__FILE__, __LINE__, text);
        }
    }
}

/* Hits, misses, a pipeline; then a body in parts, on one connection. */
static void ask(struct client *client)
{
    static const char *const targets[] = {"/a", "/a", "/b", "/a", "/post", "/c", NULL};
    talk(client, GET("/a"), 1, targets);
    talk(client, GET("/a") GET("/b") GET("/a"), 4, targets);
    talk(client, "POST /post HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chu", 4, targets);
    talk(client, "nked\r\n\r\n3\r\nabc\r\n", 4, targets);
    talk(client, "4\r\ndefg\r\n0\r\n\r\n", 5, targets);
    talk(client, GET("/c"), 6, targets);
}

static void ask_for_heads(struct client *client)
{
    static const char *const targets[] = {"/a", "/a", NULL};
    talk(client, "HEAD /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: \"x\"\r\n\r\n", 1, targets);
    talk(client, "HEAD /a HTTP/1.1\r\nHost: h\r\nIf-None-Match: *\r\n\r\n", 2, targets);
}

/* Send more than the socket accepts, and read it late. */
static void ask_for_much(struct client *client)
{
    static const char *const targets[] = {"/large", "/large", "/a", NULL};
    talk(client, GET("/large") GET("/large") GET("/a"), 0, targets);
    talk(client, "", 3, targets);
}

static void ask_wrongly(struct client *client)
{
    static const char *const targets[] = {NULL};
    talk(client, "BAD\r\n\r\n", 1, targets);
}

static void stop_in_flight(struct client *client)
{
    static const char *const targets[] = {"/slow", NULL};
    if (send(client->fd, GET("/slow"), strlen(GET("/slow")), MSG_NOSIGNAL) > 0)
        AWAIT((take(client), client->ended) || mailbox_depth(&server->requests) > 0);
    INSIDE((server_stop(server, 60000, false), 0));
    talk(client, "", 1, targets);
    part(client);
    INSIDE((server_join(server), 0));
}

typedef void scene(struct client *client);

/* Returns whether a client was served to the end of `play_scene`. Sets `*late` if it was not
 * because the test, in Python's place, had no processor for as long as the handler's deadline. */
static bool is_served(scene *play_scene, bool *late)
{
    struct client client;
    reach(&client);
    play_scene(&client);
    struct slice text = buffer_slice(&client.text);
    bool served = !client.ended && text.size > 0;
    *late = !served && has(text, "HTTP/1.1 504 ");
    part(&client);
    return served;
}

/* The life of a server. Every client that comes after the fault gets an answer. */
static void live(void)
{
    scene *const scenes[] = {ask, ask_for_heads, ask_for_much, ask_wrongly, ask};
    struct client client;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        bool whole = fault_is_over(), late;
        bool served = is_served(scenes[i], &late);
        for (int tries = 1; whole && late && tries < 100; tries++)
            served = is_served(scenes[i], &late);
        if (whole && scenes[i] != ask_wrongly)
            CHECK(served);
    }
    AWAIT(server->workers[0].context.stats.connections == 0);
    reach(&client);
    stop_in_flight(&client);
}

/* One life with one fault. Returns how often the call was made. */
static long play(const char *address, struct fault wanted)
{
    struct endpoint endpoint = endpoint_of(address);
    fault_begin(wanted);
    server = INSIDE(server_new(&endpoint, 1, &limits));
    if (server && INSIDE(server_start(server, &(struct sockets){0})) == 0)
        live();
    else
        CHECK(errno == fault.error);
    INSIDE((server_free(server), 0));
    return fault_calls;
}

static char unix_text[64];

/* Repeat the life with each fault, at each call. */
static void play_all(const char *address, long length)
{
    int descriptors = count_entries("/proc/self/fd");
    for (size_t i = 0; i < sizeof FAULTS / sizeof *FAULTS; i++) {
        for (const int *error = FAULTS[i].errors; *error >= 0; error++) {
            if (length > 1 && error > FAULTS[i].errors)
                break;
            struct fault wanted = {FAULTS[i].call, *error, 1, length};
            while (fault_moves_on(&wanted, play(address, wanted)))
                continue;
        }
    }
    CHECK_EQUAL(count_entries("/proc/self/fd"), descriptors);
}

static void a_life_without_a_fault_answers_everything(void)
{
    CHECK_EQUAL(play("127.0.0.1:0", (struct fault){"recv", 0, 0, 0}), 0);
    CHECK_EQUAL(play(unix_text, (struct fault){"recv", 0, 0, 0}), 0);
}

static void whichever_call_fails_over_tcp_the_server_lives_on(void)
{
    play_all("127.0.0.1:0", 1);
}

static void whichever_call_fails_over_a_unix_socket_the_server_lives_on(void)
{
    play_all(unix_text, 1);
}

static void whichever_calls_fail_in_a_row_the_server_lives_on(void)
{
    play_all(unix_text, 4);
}

int main(void)
{
    char folder[] = "/tmp/faults-XXXXXX";
    if (!mkdtemp(folder))
        return 2;
    snprintf(unix_text, sizeof unix_text, "unix:%s/socket", folder);
    RUN(a_life_without_a_fault_answers_everything);
    RUN(whichever_call_fails_over_tcp_the_server_lives_on);
    RUN(whichever_call_fails_over_a_unix_socket_the_server_lives_on);
    RUN(whichever_calls_fail_in_a_row_the_server_lives_on);
    rmdir(folder);
    return check_end();
}
