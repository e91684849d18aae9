/* The least work that a server can do for a pipelined GET, on one thread.
 *
 *     limit PORT ANSWER
 *
 * The program reads, counts the ends of requests, and sends the contents of the file ANSWER once
 * for each of them, with one write per read. It looks at nothing else and handles neither requests
 * with a body nor malformed ones. The CPU time per request that a server needs beyond this is its
 * own work.
 *
 * Events are edge-triggered, which saves the kernel from checking each socket after its read. After
 * a read that fills the input buffer, another one follows; a shorter read has emptied the socket,
 * and whatever arrives later causes a new event. The client's closing is reported by the event
 * itself. An end of a request that is split over two reads is found because up to CARRY bytes
 * before it are kept with the connection. The program prints its port when it listens; PORT 0
 * chooses a free one. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ends.h"

enum {
    CLIENTS = 16 * 1024, /* highest number of a file descriptor */
    EVENTS = 256,
    INPUT = 64 * 1024,       /* bytes of one read */
    CARRY = 3,               /* bytes of an end from the read before */
    MOST = INPUT / 4 + 1,    /* ends in one read */
    ANSWER_BYTES = 4 * 1024, /* largest answer */
};

struct limit {
    int poller, listener;
    size_t answer_size;
    char *answers; /* owns MOST copies, one after the other */
    struct {
        char bytes[CARRY];
        unsigned char size;
    } carried[CLIENTS];
    char input[CARRY + INPUT + ENDS_SLACK];
};

static void die(const char *what)
{
    fprintf(stderr, "limit: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void read_answer(struct limit *limit, const char *path)
{
    char answer[ANSWER_BYTES];
    FILE *file = fopen(path, "rb");
    limit->answer_size = file ? fread(answer, 1, sizeof(answer), file) : 0;
    limit->answers = malloc(MOST * sizeof(answer));
    if (limit->answer_size == 0 || !limit->answers)
        die(path);
    for (size_t i = 0; i < MOST; i++)
        memcpy(limit->answers + i * limit->answer_size, answer, limit->answer_size);
    fclose(file);
}

static void add(struct limit *limit, int fd, unsigned events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(limit->poller, EPOLL_CTL_ADD, fd, &event))
        die("epoll_ctl");
}

static int listen_on_port(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((unsigned short)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
        /* Inherited by the clients' sockets. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
        bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, SOMAXCONN) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        die("cannot listen");
    printf("limit listens on 127.0.0.1:%d\n", ntohs(address.sin_port));
    return fd;
}

static void begin(struct limit *limit, const char *port)
{
    limit->poller = epoll_create1(EPOLL_CLOEXEC);
    if (limit->poller < 0)
        die("epoll_create1");
    limit->listener = listen_on_port(port);
    add(limit, limit->listener, EPOLLIN);
    fflush(stdout);
}

static void accept_one(struct limit *limit)
{
    int fd = accept(limit->listener, NULL, NULL);
    if (fd < 0 || fd >= CLIENTS)
        die("accept");
    limit->carried[fd].size = 0;
    add(limit, fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
}

/* Answer the requests that end in the `got` bytes after the carried ones. Return whether everything
 * was sent. */
static int answer(struct limit *limit, int fd, size_t got)
{
    size_t carried = limit->carried[fd].size, size = carried + got;
    char *bytes = limit->input + CARRY - carried;
    memcpy(bytes, limit->carried[fd].bytes, carried);
    struct ends ends = ends_count(bytes, size);
    size_t kept = size - ends.rest < CARRY ? size - ends.rest : CARRY;
    memcpy(limit->carried[fd].bytes, bytes + size - kept, kept);
    limit->carried[fd].size = (unsigned char)kept;
    size_t whole = ends.count * limit->answer_size;
    /* A client that does not read its answers is useless for a measurement: close it. */
    return whole == 0 ||
           send(fd, limit->answers, whole, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)whole;
}

static void serve(struct limit *limit, int fd, bool ended)
{
    ssize_t got;
    do {
        got = recv(fd, limit->input + CARRY, INPUT, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0 || !answer(limit, fd, (size_t)got)) {
            close(fd);
            return;
        }
    } while (got == INPUT || ended);
}

int main(int argc, char **argv)
{
    static struct limit limit;
    struct epoll_event events[EVENTS];
    if (argc != 3) {
        fprintf(stderr, "usage: limit PORT ANSWER\n");
        return 2;
    }
    read_answer(&limit, argv[2]);
    begin(&limit, argv[1]);
    for (;;) {
        int ready = epoll_wait(limit.poller, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == limit.listener)
                accept_one(&limit);
            else
                serve(&limit, events[i].data.fd, events[i].events & EPOLLRDHUP);
        }
    }
}
