/* The door of a worker; it runs in the worker's pthread. */
#include "io/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Milliseconds until accepting is tried again when there were no descriptors. */
enum { PAUSE_MS = 100 };

void door_init(struct door *door)
{
    *door = (struct door){0};
}

static void unwatch(struct door *door, struct poller *poller)
{
    for (uint32_t i = 0; i < door->count; i++)
        poller_remove(poller, door->listeners[i]);
}

void door_fini(struct door *door, struct poller *poller)
{
    /* Others may hold the same socket, and then closing our name of it would leave it watched. */
    unwatch(door, poller);
    for (uint32_t i = 0; i < door->count; i++)
        close(door->listeners[i]);
    door_init(door);
}

int door_add(struct door *door, int listener)
{
    if (door->count == LIMIT_LISTENERS) {
        errno = EMFILE;
        return -1;
    }
    int own = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return -1;
    door->listeners[door->count++] = own;
    return 0;
}

int door_open(struct door *door, struct poller *poller, uint64_t key)
{
    /* EPOLLEXCLUSIVE matters where workers share a socket: one of them wakes, not all. */
    for (uint32_t i = 0; i < door->count; i++) {
        if (poller_add(poller, door->listeners[i], EPOLLIN | EPOLLEXCLUSIVE, key) < 0) {
            int error = errno;
            unwatch(door, poller);
            errno = error;
            return -1;
        }
    }
    door->open_at = 0;
    return 0;
}

void door_shut(struct door *door, struct poller *poller, int64_t now)
{
    unwatch(door, poller);
    door->open_at = now + PAUSE_MS;
}

void door_reopen(struct door *door, struct poller *poller, uint64_t key, int64_t now)
{
    if (door->open_at > 0 && door->open_at <= now && door_open(door, poller, key) < 0)
        door->open_at = now + PAUSE_MS;
}
