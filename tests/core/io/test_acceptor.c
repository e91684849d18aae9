/* The acceptor: clients knock while it is open, and are not heard while it is shut. */
#include "dial.h"

#include "io/acceptor.h"

enum { KEY = 7 };

static struct poller poller;
static struct acceptor acceptor;
static struct endpoint endpoint;

static void begin(void)
{
    endpoint = endpoint_of("127.0.0.1:0");
    int listener = listener_open(&endpoint, false);
    CHECK_EQUAL(poller_init(&poller), 0);
    acceptor_init(&acceptor);
    CHECK_EQUAL(acceptor_add(&acceptor, listener), 0);
    close(listener); /* the acceptor has a name of its own */
    CHECK_EQUAL(acceptor_start(&acceptor, &poller, KEY), 0);
}

static void end(void)
{
    acceptor_fini(&acceptor, &poller);
    poller_fini(&poller);
}

/* Whether somebody knocks within `milliseconds`. */
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
    CHECK(!hears(0)); /* although the socket lives on, and a client waits there */
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

int main(void)
{
    RUN(an_open_door_hears_clients);
    RUN(a_shut_door_hears_nobody_until_it_is_open_again);
    RUN(an_end_closes_the_door_s_names_of_the_listeners_only);
    RUN(a_door_has_room_for_so_many_listeners);
    return check_end();
}
