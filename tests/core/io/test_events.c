/* io/: the acceptor, the poller and the timers. */
#include "check.h"
#include "dial.h"
#include "io/acceptor.h"
#include "io/poller.h"
#include "io/timers.h"

#include <limits.h>
#include <sys/socket.h>

/* The acceptor: it reports clients while it is open, and none while it is paused. */

enum { KEY = 7 };

static struct poller poller;
static struct acceptor acceptor;
static struct endpoint endpoint;

static void begin(void)
{
    endpoint = endpoint_of("127.0.0.1:0");
    int listener = listener_open(&endpoint, false);
    CHECK_EQUAL(poller_init(&poller), 0);
    acceptor_init(&acceptor, NULL);
    CHECK_EQUAL(acceptor_add(&acceptor, listener), 0);
    close(listener); /* the acceptor has a duplicate of it */
    CHECK_EQUAL(acceptor_start(&acceptor, &poller, KEY), 0);
}

static void end(void)
{
    acceptor_fini(&acceptor, &poller);
    poller_fini(&poller);
}

/* Returns whether a client arrives within `milliseconds`. */
static bool hears(int milliseconds)
{
    struct epoll_event event;
    return poller_wait(&poller, &event, 1, milliseconds) == 1 && event.data.u64 == KEY;
}

static void an_open_door_hears_clients(void)
{
    begin();
    CHECK(!hears(0));
    int client = dial(&endpoint);
    CHECK(hears(10000));
    close(client);
    end();
}

static void a_shut_door_hears_nobody_until_it_is_open_again(void)
{
    begin();
    int client = dial(&endpoint);
    CHECK(hears(10000));
    acceptor_pause(&acceptor, &poller, 1000);
    CHECK(!hears(0));
    CHECK(acceptor.resume_at > 1000);
    acceptor_resume(&acceptor, &poller, KEY, acceptor.resume_at - 1);
    CHECK(!hears(0));
    acceptor_resume(&acceptor, &poller, KEY, acceptor.resume_at);
    CHECK_EQUAL(acceptor.resume_at, 0);
    CHECK(hears(0));
    close(client);
    end();
}

static void an_end_closes_the_door_s_names_of_the_listeners_only(void)
{
    begin();
    int other = dup(acceptor.listeners[0]);
    int client = dial(&endpoint);
    CHECK(hears(10000));
    acceptor_fini(&acceptor, &poller);
    CHECK(!hears(0)); /* although the socket is still open, and a client waits there */
    CHECK_EQUAL(acceptor.count, 0);
    struct peer peer = {0};
    int accepted = listener_accept(other, &peer);
    CHECK(accepted >= 0);
    close(accepted);
    close(client);
    close(other);
    end();
}

static void a_door_has_room_for_so_many_listeners(void)
{
    begin();
    while (acceptor.count < LIMIT_LISTENERS)
        if (acceptor_add(&acceptor, acceptor.listeners[0]) < 0)
            give_up(__FILE__, __LINE__, "room for a listener");
    CHECK(acceptor_add(&acceptor, acceptor.listeners[0]) < 0 && errno == EMFILE);
    end();
}

static void an_acceptor_that_is_ahead_leaves_clients_to_others_for_a_time(void)
{
    _Atomic uint32_t counts[2] = {2, 0};
    const struct balance balance = {counts, 0, 2};
    begin();
    int64_t now = 1000;
    CHECK(!acceptor_yields(&acceptor, &poller, now)); /* there is no other process */
    acceptor.balance = &balance;
    int client = dial(&endpoint);
    CHECK(hears(10000));
    CHECK(acceptor_yields(&acceptor, &poller, now));
    CHECK(!hears(0));
    CHECK(acceptor_yields(&acceptor, &poller, now)); /* asked for another listener */
    int64_t end_of_pause = acceptor.resume_at;
    CHECK(end_of_pause > now && end_of_pause < now + 10);
    acceptor_resume(&acceptor, &poller, KEY, end_of_pause);
    CHECK(hears(0)); /* nobody has accepted the client, so it is accepted here, with some others */
    int taken = 0;
    while (taken < 100 && !acceptor_yields(&acceptor, &poller, end_of_pause))
        taken++;
    CHECK_EQUAL(taken, 8);
    counts[1] = 1;
    acceptor_resume(&acceptor, &poller, KEY, acceptor.resume_at);
    CHECK(!acceptor_yields(&acceptor, &poller, acceptor.resume_at));
    counts[1] = 0;
    CHECK(acceptor_yields(&acceptor, &poller, acceptor.resume_at));
    acceptor_stop_yielding(&acceptor);
    CHECK(!acceptor_yields(&acceptor, &poller, acceptor.resume_at));
    close(client);
    end();
}

/* The poller: level-triggered events, each with the name of its descriptor. */

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
    /* Even if nothing is watched, the end of the other side is reported. */
    CHECK_EQUAL(poller_change(&poller, pair[0], 0, 3), 0);
    CHECK_EQUAL(poller_wait(&poller, events, 4, 0), 0);
    close(pair[1]);
    CHECK_EQUAL(poller_wait(&poller, events, 4, -1), 1);
    CHECK(events[0].events & EPOLLHUP);
    close(pair[0]);
    CHECK(poller_change(&poller, pair[0], EPOLLIN, 4) < 0);
    poller_fini(&poller);
}

/* As with the unix socket that several workers share. */
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

/* Timers: their order across kinds, and that setting one again moves it. */

static const int64_t durations[TIMER_KINDS] = {
    [TIMER_IDLE] = 75000,    [TIMER_HEAD] = 10000,  [TIMER_BODY] = 30000,
    [TIMER_HANDLER] = 30000, [TIMER_WRITE] = 30000, [TIMER_LINGER] = 2000,
};

static struct timers timers;

static void without_deadlines_the_wait_is_for_ever(void)
{
    timers_init(&timers, durations);
    CHECK_EQUAL(timers_wait(&timers, 0), -1);
    CHECK(!timers_due(&timers, INT64_MAX));
    CHECK(!timers_oldest(&timers, TIMER_IDLE));
}

static void the_nearest_of_all_kinds_comes_first(void)
{
    struct timer idle, head, body;
    timers_init(&timers, durations);
    timer_init(&idle);
    timer_init(&head);
    timer_init(&body);
    timer_set(&idle, &timers, TIMER_IDLE, 1000);
    timer_set(&body, &timers, TIMER_BODY, 1000);
    timer_set(&head, &timers, TIMER_HEAD, 5000);
    CHECK_EQUAL(timers_wait(&timers, 5000), 10000);
    CHECK(!timers_due(&timers, 14999));
    CHECK(timers_due(&timers, 15000) == &head);
    CHECK(timers_due(&timers, 15000) == &head); /* it stays until it is moved */
    timer_clear(&head);
    CHECK(!timers_due(&timers, 15000));
    CHECK(timers_due(&timers, 80000) == &body);
    timer_clear(&body);
    CHECK(timers_due(&timers, 80000) == &idle);
    CHECK_EQUAL(timers_wait(&timers, 80000), 0);
}

static void within_a_kind_the_oldest_comes_first_and_setting_again_renews(void)
{
    struct timer first, second;
    timers_init(&timers, durations);
    timer_init(&first);
    timer_init(&second);
    timer_set(&first, &timers, TIMER_IDLE, 0);
    timer_set(&second, &timers, TIMER_IDLE, 10);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &first);
    timer_set(&first, &timers, TIMER_IDLE, 20);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &second);
    timer_set(&second, &timers, TIMER_HANDLER, 20);
    CHECK(timers_oldest(&timers, TIMER_IDLE) == &first);
    CHECK(timers_oldest(&timers, TIMER_HANDLER) == &second);
    timer_clear(&second);
    timer_clear(&second);
    CHECK(!timers_oldest(&timers, TIMER_HANDLER));
}

static void a_far_moment_does_not_overflow_the_wait(void)
{
    struct timer timer;
    timers_init(&timers, durations);
    timer_init(&timer);
    timer_set(&timer, &timers, TIMER_IDLE, (int64_t)INT_MAX * 4);
    CHECK_EQUAL(timers_wait(&timers, 0), INT_MAX);
}

static void shortened_deadlines_come_earlier_in_the_same_order(void)
{
    struct timer first, second, third, body;
    timers_init(&timers, durations);
    timer_init(&first);
    timer_init(&second);
    timer_init(&third);
    timer_init(&body);
    timer_set(&first, &timers, TIMER_IDLE, 1000);
    timer_set(&second, &timers, TIMER_IDLE, 50000);
    timer_set(&body, &timers, TIMER_BODY, 50000);
    timers_shorten(&timers, TIMER_IDLE, 1000);
    timer_set(&third, &timers, TIMER_IDLE, 50001);
    CHECK_EQUAL(first.moment, 2000);
    CHECK_EQUAL(second.moment, 51000);
    CHECK_EQUAL(third.moment, 51001);
    CHECK_EQUAL(body.moment, 80000);
    timers_shorten(&timers, TIMER_IDLE, 5000); /* it is shorter already */
    CHECK_EQUAL(third.moment, 51001);
    CHECK(timers_due(&timers, 51001) == &first);
}

int main(void)
{
    RUN(an_open_door_hears_clients);
    RUN(a_shut_door_hears_nobody_until_it_is_open_again);
    RUN(an_end_closes_the_door_s_names_of_the_listeners_only);
    RUN(a_door_has_room_for_so_many_listeners);
    RUN(an_acceptor_that_is_ahead_leaves_clients_to_others_for_a_time);
    RUN(a_ready_descriptor_is_told_again_until_it_is_dealt_with);
    RUN(what_is_watched_for_can_change);
    RUN(what_is_removed_is_not_told_although_another_descriptor_names_it);
    RUN(an_ended_poller_is_ended_once);
    RUN(without_deadlines_the_wait_is_for_ever);
    RUN(the_nearest_of_all_kinds_comes_first);
    RUN(within_a_kind_the_oldest_comes_first_and_setting_again_renews);
    RUN(a_far_moment_does_not_overflow_the_wait);
    RUN(shortened_deadlines_come_earlier_in_the_same_order);
    return check_end();
}
