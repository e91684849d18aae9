/* The connection when the system fails: the test replaces malloc, send and recv. */
#include "pair.h"

#include <sys/epoll.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
ssize_t __real_send(int fd, const void *data, size_t size, int flags);
ssize_t __real_recv(int fd, void *data, size_t size, int flags);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t size, int flags);

/* Allocations that will still succeed; negative: all. */
static int allocations = -1;

static bool is_out_of_memory(void)
{
    if (allocations == 0)
        return true;
    allocations -= allocations > 0;
    return false;
}

void *__wrap_malloc(size_t size)
{
    return is_out_of_memory() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_out_of_memory() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    return is_out_of_memory() ? NULL : __real_realloc(block, size);
}

/* How the connection's end of the pair behaves. */
static enum { WELL, FULL, SHORT, INTERRUPTED, AGAIN, RESET } behaviour;

static bool fails(int fd, size_t *size)
{
    static unsigned calls;
    if (!conn || fd != conn->fd)
        return false;
    switch (behaviour) {
    case SHORT:
        *size = 1;
        return false;
    case INTERRUPTED:
        errno = EINTR;
        return calls++ % 2 == 0;
    case AGAIN:
        errno = EAGAIN;
        return true;
    case RESET:
        errno = ECONNRESET;
        return true;
    default:
        return false;
    }
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    if (behaviour == FULL && conn && fd == conn->fd) {
        errno = EAGAIN;
        return -1;
    }
    return fails(fd, &size) ? -1 : __real_send(fd, data, size, flags);
}

ssize_t __wrap_recv(int fd, void *data, size_t size, int flags)
{
    return fails(fd, &size) ? -1 : __real_recv(fd, data, size, flags);
}

static void reads_and_writes_of_one_byte_lose_nothing(void)
{
    static const char request[] = GET("/1") GET("/2") GET("/1");
    pair_open();
    stock("/1", "first");
    behaviour = SHORT;
    CHECK_EQUAL(say_some(text_of(request)), strlen(request));
    struct buffer all;
    buffer_init(&all);
    for (size_t i = 0; i < 10 * sizeof request; i++) {
        /* So many short writes also fill the socket. */
        if (conn_interest(conn) & EPOLLOUT)
            settled(conn_write(conn, &context));
        else
            settled(conn_read(conn, &context));
        if (pending)
            answer("second", NULL);
        struct slice text = heard();
        CHECK(buffer_append(&all, text.data, text.size));
    }
    behaviour = WELL;
    CHECK_EQUAL(times(buffer_slice(&all), "first"), 2);
    CHECK_EQUAL(times(buffer_slice(&all), "second"), 1);
    buffer_fini(&all);
    pair_close();
}

static void an_interrupted_call_is_made_again(void)
{
    pair_open();
    stock("/1", "first");
    behaviour = INTERRUPTED;
    CHECK_EQUAL(say(GET("/1")), CONN_GO_ON);
    behaviour = WELL;
    CHECK(has(heard(), "first"));
    pair_close();
}

static void a_socket_that_is_not_ready_is_asked_again_later(void)
{
    pair_open();
    behaviour = AGAIN;
    CHECK_EQUAL(say(GET("/1")), CONN_GO_ON);
    behaviour = WELL;
    CHECK_EQUAL(settled(conn_read(conn, &context)), CONN_MISS);
    behaviour = AGAIN;
    CHECK_EQUAL(answer("first", NULL), CONN_GO_ON);
    CHECK_EQUAL(conn->state, CONN_WRITING);
    behaviour = WELL;
    CHECK_EQUAL(settled(conn_write(conn, &context)), CONN_GO_ON);
    CHECK(has(heard(), "first"));
    CHECK_EQUAL(conn->state, CONN_READING);
    pair_close();
}

/* The rest of a pipeline must be served even if nothing else happens on the connection. */
static void what_is_taken_late_does_not_hold_up_the_pipeline(void)
{
    pair_open();
    stock("/1", "first");
    behaviour = FULL;
    CHECK_EQUAL(say(GET("/1") GET("/2") GET("/1")), CONN_MISS);
    behaviour = WELL;
    CHECK_EQUAL(answer("second", NULL), CONN_GO_ON);
    CHECK_EQUAL(times(heard(), "first"), 2);
    CHECK_EQUAL(conn->input.size, 0);
    pair_close();
}

static void a_reset_closes(void)
{
    pair_open();
    behaviour = RESET;
    CHECK_EQUAL(say(GET("/1")), CONN_CLOSE);
    behaviour = WELL;
    pair_close();

    pair_open();
    CHECK_EQUAL(say(GET("/1")), CONN_MISS);
    behaviour = RESET;
    CHECK_EQUAL(answer("first", NULL), CONN_CLOSE);
    behaviour = WELL;
    pair_close();
}

/* The life of a connection: a head in parts, a miss, a chunked body, a refusal. It ends early if
 * the connection is closed. Returns whether it reached its end. */
static bool live(void)
{
    static const char *const parts[] = {
        "GET /1 HT",
        "TP/1.1\r\nHost: h\r\n\r\n" GET("/2"),
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "4\r\ndefg\r\n0\r\n\r\n",
        "BAD\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        say(parts[i]);
        if (!conn)
            return false;
        while (pending) {
            int left = allocations;
            allocations = -1; /* the reply is made in another thread, which is not tested here */
            struct reply *reply = make_reply(pending, "hello", NULL);
            pending = NULL;
            allocations = left;
            enum conn_next next = settled(conn_reply(conn, &context, reply));
            reply_free(reply);
            if (next == CONN_CLOSE)
                return false;
        }
    }
    return true;
}

/* Whichever allocation fails, only the connection ends, and nothing leaks. */
static void without_memory_only_this_connection_is_closed(void)
{
    int failed = 0;
    for (bool ended = false; !ended && failed < 100; failed++) {
        pair_open();
        allocations = failed;
        ended = live();
        allocations = -1;
        CHECK(ended == (conn != NULL));
        pair_close();
    }
    CHECK(failed > 5 && failed < 100);
}

static void without_memory_a_client_is_not_admitted(void)
{
    int fds[2];
    pair_open();
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    allocations = 0;
    struct conn *second = conn_new(fds[0], &(struct peer){0}, &context);
    allocations = -1;
    CHECK(second == NULL);
    char byte;
    CHECK_EQUAL(recv(fds[1], &byte, 1, 0), 0); /* its descriptor is closed */
    close(fds[1]);
    pair_close();
}

int main(void)
{
    RUN(reads_and_writes_of_one_byte_lose_nothing);
    RUN(an_interrupted_call_is_made_again);
    RUN(a_socket_that_is_not_ready_is_asked_again_later);
    RUN(what_is_taken_late_does_not_hold_up_the_pipeline);
    RUN(a_reset_closes);
    RUN(without_memory_only_this_connection_is_closed);
    RUN(without_memory_a_client_is_not_admitted);
    return check_end();
}
