/* The poller: level-triggered watching under names. */
#include "check.h"
#include "io/poller.h"

#include <sys/socket.h>

static void a_ready_descriptor_is_told_again_until_it_is_dealt_with(void)
{
    struct poller poller;
    struct epoll_event events[4];
    int pair[2];
    char byte;
    CHECK_EQUAL(poller_init(&poller), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    CHECK_EQUAL(poller_add(&poller, pair[0], EPOLLIN, 0x123456789abcdefu), 0);
    CHECK_EQUAL(poller_wait(&poller, events, 4, 0), 0);
    CHECK_EQUAL(write(pair[1], "x", 1), 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQUAL(poller_wait(&poller, events, 4, -1), 1);
        CHECK_EQUAL(events[0].data.u64, 0x123456789abcdefu);
        CHECK_EQUAL(events[0].events, EPOLLIN);
    }
    CHECK_EQUAL(read(pair[0], &byte, 1), 1);
    CHECK_EQUAL(poller_wait(&poller, events, 4, 0), 0);
    close(pair[0]);
    close(pair[1]);
    poller_fini(&poller);
}

static void what_is_watched_for_can_change(void)
{
    struct poller poller;
    struct epoll_event events[4];
    int pair[2];
    CHECK_EQUAL(poller_init(&poller), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    CHECK_EQUAL(poller_add(&poller, pair[0], EPOLLIN, 1), 0);
    CHECK_EQUAL(poller_change(&poller, pair[0], EPOLLOUT, 2), 0);
    CHECK_EQUAL(poller_wait(&poller, events, 4, -1), 1);
    CHECK_EQUAL(events[0].events, EPOLLOUT);
    CHECK_EQUAL(events[0].data.u64, 2);
    /* Watched for nothing, the end of the other side is still told. */
    CHECK_EQUAL(poller_change(&poller, pair[0], 0, 3), 0);
    CHECK_EQUAL(poller_wait(&poller, events, 4, 0), 0);
    close(pair[1]);
    CHECK_EQUAL(poller_wait(&poller, events, 4, -1), 1);
    CHECK(events[0].events & EPOLLHUP);
    close(pair[0]);
    CHECK(poller_change(&poller, pair[0], EPOLLIN, 4) < 0);
    poller_fini(&poller);
}

/* As with the one unix socket that several workers share. */
static void what_is_removed_is_not_told_although_another_descriptor_names_it(void)
{
    struct poller poller;
    struct epoll_event events[4];
    int pair[2];
    CHECK_EQUAL(poller_init(&poller), 0);
    CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int other = dup(pair[0]);
    CHECK_EQUAL(poller_add(&poller, pair[0], EPOLLIN, 1), 0);
    CHECK_EQUAL(write(pair[1], "x", 1), 1);
    CHECK_EQUAL(poller_wait(&poller, events, 4, -1), 1);
    poller_remove(&poller, pair[0]);
    poller_remove(&poller, pair[0]);
    close(pair[0]);
    CHECK_EQUAL(poller_wait(&poller, events, 4, 0), 0);
    close(other);
    close(pair[1]);
    poller_fini(&poller);
}

static void an_ended_poller_is_ended_once(void)
{
    struct poller poller;
    CHECK_EQUAL(poller_init(&poller), 0);
    poller_fini(&poller);
    CHECK_EQUAL(poller.fd, -1);
    poller_fini(&poller);
}

int main(void)
{
    RUN(a_ready_descriptor_is_told_again_until_it_is_dealt_with);
    RUN(what_is_watched_for_can_change);
    RUN(what_is_removed_is_not_told_although_another_descriptor_names_it);
    RUN(an_ended_poller_is_ended_once);
    return check_end();
}
