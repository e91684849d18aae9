/* The send buffer: all bytes arrive once and in order, however few the client accepts at a time. */
#include "check.h"
#include "io/send_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* The client's end: it accepts `room` more bytes, at most `most` at a time; it fails with
 * `failure` once. */
static char taken_bytes[4096];
static size_t taken_size, room, most;
static int failure;
static bool memory_is_out;

static ssize_t take(const struct iovec *pieces, size_t count)
{
    if (failure != 0) {
        errno = failure;
        failure = 0;
        return -1;
    }
    size_t can = room < most ? room : most, got = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = pieces[i].iov_len < can - got ? pieces[i].iov_len : can - got;
        if (size > 0)
            memcpy(taken_bytes + taken_size + got, pieces[i].iov_base, size);
        got += size;
    }
    if (got == 0) {
        errno = EAGAIN;
        return -1;
    }
    taken_size += got;
    room -= got;
    return (ssize_t)got;
}

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

ssize_t __wrap_send(int fd, const void *data, size_t size, int flags)
{
    CHECK(fd == 5 && flags == MSG_NOSIGNAL);
    return take(&(struct iovec){.iov_base = (void *)data, .iov_len = size}, 1);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    CHECK(fd == 5 && flags == MSG_NOSIGNAL);
    return take(message->msg_iov, message->msg_iovlen);
}

void *__wrap_realloc(void *block, size_t size)
{
    return memory_is_out ? NULL : __real_realloc(block, size);
}

static struct send_buffer send_buffer;
static counter writes;
static size_t taken;

static void set_up(size_t client_takes, size_t at_a_time)
{
    send_buffer_fini(&send_buffer);
    taken_size = taken = 0;
    failure = 0;
    memory_is_out = false;
    writes = 0;
    room = client_takes;
    most = at_a_time;
}

static enum send_result say(const char *first, const char *second)
{
    return send_buffer_send(&send_buffer, 5, slice_of(first, strlen(first)),
                            slice_of(second, strlen(second)), &taken, &writes);
}

static void what_the_client_takes_is_not_kept(void)
{
    set_up(100, 100);
    CHECK_EQUAL(say("head", ""), SEND_OK);
    CHECK_EQUAL(say("head", "body"), SEND_OK);
    CHECK_TEXT(slice_of(taken_bytes, taken_size), "headheadbody");
    CHECK(!send_buffer_has_unsent(&send_buffer) && send_buffer.unsent.capacity == 0);
    CHECK_EQUAL(taken, 8);
    CHECK_EQUAL(writes, 2);
}

static void every_border_between_taken_and_kept_keeps_the_order(void)
{
    for (size_t at_a_time = 1; at_a_time <= 9; at_a_time++) {
        for (size_t first = 0; first <= 9; first++) {
            set_up(first, at_a_time);
            CHECK_EQUAL(say("head", "body"), SEND_OK);
            CHECK_EQUAL(taken, first < 8 ? first : 8);
            CHECK_EQUAL(send_buffer_has_unsent(&send_buffer), first < 8);
            room += 3;
            CHECK_EQUAL(say("next", "last"), SEND_OK);
            while (send_buffer_has_unsent(&send_buffer)) {
                room += 2;
                CHECK_EQUAL(say("", ""), SEND_OK);
                CHECK(taken > 0);
            }
            CHECK_TEXT(slice_of(taken_bytes, taken_size), "headbodynextlast");
            CHECK_EQUAL(send_buffer.unsent.capacity, 0);
        }
    }
}

static void an_interrupted_send_is_made_again(void)
{
    set_up(100, 100);
    failure = EINTR;
    CHECK_EQUAL(say("head", "body"), SEND_OK);
    CHECK_TEXT(slice_of(taken_bytes, taken_size), "headbody");
}

static void a_client_that_left_is_told_from_a_slow_one(void)
{
    static const int gone[] = {EPIPE, ECONNRESET, ENOBUFS};
    for (size_t i = 0; i < 3; i++) {
        set_up(100, 100);
        failure = EAGAIN;
        CHECK_EQUAL(say("head", "body"), SEND_OK);
        CHECK(send_buffer_has_unsent(&send_buffer));
        failure = gone[i];
        CHECK_EQUAL(say("", ""), SEND_GONE);
        set_up(100, 100);
        failure = gone[i];
        CHECK_EQUAL(say("head", "body"), SEND_GONE);
    }
    send_buffer_fini(&send_buffer);
}

static void without_memory_it_says_so(void)
{
    set_up(2, 100);
    memory_is_out = true;
    CHECK_EQUAL(say("head", "body"), SEND_NO_MEMORY);
    set_up(2, 100);
    CHECK_EQUAL(say("head", ""), SEND_OK);
    memory_is_out = true;
    char long_text[3000] = {0};
    memset(long_text, 'a', sizeof long_text - 1);
    CHECK_EQUAL(say(long_text, ""), SEND_NO_MEMORY);
    send_buffer_fini(&send_buffer);
}

int main(void)
{
    RUN(what_the_client_takes_is_not_kept);
    RUN(every_border_between_taken_and_kept_keeps_the_order);
    RUN(an_interrupted_send_is_made_again);
    RUN(a_client_that_left_is_told_from_a_slow_one);
    RUN(without_memory_it_says_so);
    return check_end();
}
