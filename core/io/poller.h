/* The epoll instance of one worker; it runs in the worker's thread. Listeners and mailboxes are
 * watched level-triggered, connections edge-triggered (`poller_edges`): each change of a connection
 * is reported once, so unread bytes need a `poller_change` to be reported again. */
#ifndef CORE_IO_POLLER_H
#define CORE_IO_POLLER_H

#include <stdint.h>
#include <sys/epoll.h>

struct poller {
    int fd;
};

/* 0, or -1 with errno. */
int poller_init(struct poller *poller);
void poller_fini(struct poller *poller);

/* The edge-triggered form of `interest`, including the end of the client's bytes. Level-triggered,
 * the kernel would check every socket a second time: 8 % of a request. */
static inline uint32_t poller_edges(uint32_t interest)
{
    return interest | EPOLLET | (interest & EPOLLIN ? EPOLLRDHUP : 0);
}

/* Watch `fd` for `events` (EPOLLIN …) under the name `key`; 0, or -1 with errno. */
int poller_add(struct poller *poller, int fd, uint32_t events, uint64_t key);

/* Change the events of a watched `fd`; 0, or -1 with errno. */
int poller_change(struct poller *poller, int fd, uint32_t events, uint64_t key);

/* Stop watching `fd`. Closing it is not enough if there is a duplicate of the descriptor. */
void poller_remove(struct poller *poller, int fd);

/* Fill `events` with what is ready, waiting at most `milliseconds` (-1: for ever). Return their
 * number, 0 also after a signal. */
int poller_wait(struct poller *poller, struct epoll_event *events, int count, int milliseconds);

#endif
