/* epoll; handles the errors that can happen, and excludes the others. */
#include "io/poller.h"

#include <unistd.h>

int poller_init(struct poller *poller)
{
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    return poller->fd < 0 ? -1 : 0;
}

void poller_fini(struct poller *poller)
{
    if (poller->fd >= 0)
        close(poller->fd);
    poller->fd = -1;
}

static int control(struct poller *poller, int operation, int fd, uint32_t events, uint64_t key)
{
    struct epoll_event event = {.events = events, .data.u64 = key};
    return epoll_ctl(poller->fd, operation, fd, &event);
}

int poller_add(struct poller *poller, int fd, uint32_t events, uint64_t key)
{
    return control(poller, EPOLL_CTL_ADD, fd, events, key);
}

int poller_change(struct poller *poller, int fd, uint32_t events, uint64_t key)
{
    return control(poller, EPOLL_CTL_MOD, fd, events, key);
}

void poller_remove(struct poller *poller, int fd)
{
    /* It fails only for a descriptor that is not watched. */
    epoll_ctl(poller->fd, EPOLL_CTL_DEL, fd, NULL);
}

int poller_wait(struct poller *poller, struct epoll_event *events, int count, int milliseconds)
{
    int ready = epoll_wait(poller->fd, events, count, milliseconds);
    /* EINTR is the only error of a valid call, and means that nothing is ready. */
    return ready < 0 ? 0 : ready;
}
