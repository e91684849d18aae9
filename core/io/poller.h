/* The epoll of one worker. Watching is level-triggered: what is not dealt with is told again. */
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

/* The events to ask for where each change is to be told once, with the end of the client's bytes as
 * one of them. To tell states the kernel would look at every socket a second time. */
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
