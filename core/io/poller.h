/* The epoll of one worker; it runs in the worker's thread. Listeners and mailboxes are watched
 * level-triggered, connections edge-triggered (`poller_edges`): each change of theirs is reported
 * once, so bytes that were not read need a `poller_change` to be reported again. */
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

/* The edge-triggered form of `interest`, with the end of the client's bytes as one of the changes.
 * Level-triggered, the kernel would check every socket a second time: 8 % of a request. */
static inline uint32_t poller_edges(uint32_t interest)
{
    return interest | EPOLLET | (interest & EPOLLIN ? EPOLLRDHUP : 0);
}

/* Watch `fd` for `events` (EPOLLIN …) under the name `key`; 0, or -1 with errno. */
int poller_add(struct poller *poller, int fd, uint32_t events, uint64_t key);

/* Change what a watched `fd` is watched for; 0, or -1 with errno. */
int poller_change(struct poller *poller, int fd, uint32_t events, uint64_t key);

/* Watch `fd` no more. To close it is not enough where another descriptor names the same socket. */
void poller_remove(struct poller *poller, int fd);

/* Fill `events` with what is ready, waiting `milliseconds` at most (-1: for ever). Returns their
 * number, 0 also when a signal came. */
int poller_wait(struct poller *poller, struct epoll_event *events, int count, int milliseconds);

#endif
