/* All clients read into one buffer, which therefore stays in the processor's cache. Only the
 * beginning of an incomplete answer is kept with its client and put before the next read. Events
 * are edge-triggered: a read that does not fill the buffer has emptied the socket, unless the event
 * also reports that the server closed the connection. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "die.h"

enum {
    INPUT_BYTES = 4 * ANSWER_BYTES, /* of one read */
    SHOWN_BYTES = 500,              /* of the first wrong answer */
};

void client_connect(struct client *client, int poller, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    client->rest = malloc(ANSWER_BYTES);
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = client};
    if (client->fd < 0 || !client->rest ||
        connect(client->fd, (struct sockaddr *)&address, sizeof(address)) ||
        setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
        epoll_ctl(poller, EPOLL_CTL_ADD, client->fd, &event))
        die("cannot connect");
}

void client_send(struct client *client, struct batch batch, size_t depth, uint64_t now)
{
    client->begin = now;
    client->waiting = depth;
    client->next = batch.first;
    errno = 0;
    /* All answers to the last batch are read, so the socket's buffer is empty and takes this
     * one. */
    if (send(client->fd, batch.bytes, batch.size, MSG_DONTWAIT | MSG_NOSIGNAL) !=
        (ssize_t)batch.size)
        die("cannot send a batch whole");
}

static void count(struct tally *tally, struct verdict verdict, const char *bytes)
{
    bool known = verdict.status > 99 && verdict.status < 1000;
    tally->statuses[known ? verdict.status : 0]++;
    tally->answered++;
    if (verdict.right || tally->wrong++)
        return;
    size_t shown = verdict.size < SHOWN_BYTES ? verdict.size : SHOWN_BYTES;
    fprintf(stderr, "generator: the first wrong answer:\n%.*s\n", (int)shown, bytes);
}

/* Judge the complete answers. Return how many bytes they have. */
static size_t judge(struct client *client, struct plan *plan, struct tally *tally,
                    const char *bytes, size_t have)
{
    size_t used = 0;
    while (used < have) {
        errno = 0;
        if (!client->waiting)
            die("there are more bytes than answers");
        struct expected *expected = plan_expected(plan, client->next);
        struct verdict verdict = answer_judge(expected, bytes + used, have - used);
        if (!verdict.size)
            break;
        count(tally, verdict, bytes + used);
        used += verdict.size;
        client->next++;
        client->waiting--;
    }
    return used;
}

bool client_read(struct client *client, struct plan *plan, struct tally *tally, bool ended)
{
    static char input[ANSWER_BYTES + INPUT_BYTES];
    bool waited = client->waiting > 0;
    ssize_t got;
    do {
        size_t rest = client->rest_size;
        memcpy(input, client->rest, rest);
        got = recv(client->fd, input + rest, INPUT_BYTES, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN)
            break;
        if (got <= 0) {
            errno = got ? errno : 0;
            die("the server closed a connection");
        }
        size_t have = rest + (size_t)got;
        size_t used = judge(client, plan, tally, input, have);
        client->rest_size = have - used;
        memcpy(client->rest, input + used, client->rest_size);
    } while (got == INPUT_BYTES || ended);
    return waited && !client->waiting;
}
