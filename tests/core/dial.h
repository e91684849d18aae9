/* Clients of a running worker or server. Each wait is for a condition, ends after half a minute,
 * since a machine may be busy, and then says what it waited for. */
#ifndef TESTS_DIAL_H
#define TESTS_DIAL_H

#include "make.h"

#include "io/listener.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <time.h>

static inline void give_up(const char *file, int line, const char *what)
{
    printf("# %s:%d: waited in vain for %s\nBail out!\n", file, line, what);
    exit(2);
}

enum { PATIENCE_MS = 30000 };

/* Wait until `condition` holds, looking every millisecond. */
#define AWAIT(condition)                                                                           \
    for (int tries = 0; !(condition); tries++) {                                                   \
        if (tries == PATIENCE_MS)                                                                  \
            give_up(__FILE__, __LINE__, #condition);                                               \
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);                                   \
    }

/* The limits of a whole server that no test of it reaches, as initializers. */
#define WIDE_LIMITS                                                                                \
    .body = 1000, .client_bytes = 64 << 20, .connections = 100, .waiting = 100,                    \
    .keep_alive = 60000, .head_deadline = 60000, .body_deadline = 60000

static inline int count_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

static inline struct endpoint endpoint_of(const char *text)
{
    struct endpoint endpoint;
    if (!endpoint_read(&endpoint, text))
        give_up(__FILE__, __LINE__, text);
    return endpoint;
}

static inline int dial(const struct endpoint *endpoint)
{
    int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->size) < 0)
        give_up(__FILE__, __LINE__, "a connection");
    return fd;
}

/* Returns whether nobody listens there. */
static inline bool refuses(const struct endpoint *endpoint)
{
    int fd = socket(endpoint->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int result = connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->size);
    close(fd);
    return result < 0;
}

static inline void put(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        give_up(__FILE__, __LINE__, "the socket to take a request");
}

/* Receive until the text contains `wanted`, or until the end if that is NULL. Valid until the
 * next call in the same thread. */
static inline struct slice hear(int fd, const char *wanted)
{
    static _Thread_local char text[256 * 1024];
    size_t size = 0;
    while (!wanted || !has(slice_of(text, size), wanted)) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        if (poll(&poll_fd, 1, PATIENCE_MS) != 1)
            give_up(__FILE__, __LINE__, wanted ? wanted : "the end of the connection");
        ssize_t count = recv(fd, text + size, sizeof text - size, 0);
        if (count <= 0) {
            if (wanted)
                give_up(__FILE__, __LINE__, wanted);
            break;
        }
        size += (size_t)count;
    }
    return slice_of(text, size);
}

static inline bool is_silent(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Close the connection so that the other side is told at once (after a plain close it would be
 * half-open). */
static inline void leave(int fd)
{
    struct linger linger = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    close(fd);
}

#endif
