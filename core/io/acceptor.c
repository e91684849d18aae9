/* The acceptor; see acceptor.h. */
#include "io/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Milliseconds until accepting is tried again after descriptors ran out. */
enum { PAUSE_MS = 100 };

void acceptor_init(struct acceptor *acceptor)
{
    *acceptor = (struct acceptor){0};
}

static void unwatch(struct acceptor *acceptor, struct poller *poller)
{
    for (uint32_t i = 0; i < acceptor->count; i++)
        poller_remove(poller, acceptor->listeners[i]);
}

void acceptor_fini(struct acceptor *acceptor, struct poller *poller)
{
    /* Others may have a duplicate of the socket; then closing our descriptor would leave it
     * watched. */
    unwatch(acceptor, poller);
    for (uint32_t i = 0; i < acceptor->count; i++)
        close(acceptor->listeners[i]);
    acceptor_init(acceptor);
}

int acceptor_add(struct acceptor *acceptor, int listener)
{
    if (acceptor->count == LIMIT_LISTENERS) {
        errno = EMFILE;
        return -1;
    }
    int own = fcntl(listener, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return -1;
    acceptor->listeners[acceptor->count++] = own;
    return 0;
}

int acceptor_start(struct acceptor *acceptor, struct poller *poller, uint64_t key)
{
    /* EPOLLEXCLUSIVE matters if workers share a socket: it wakes one of them, not all. */
    for (uint32_t i = 0; i < acceptor->count; i++) {
        if (poller_add(poller, acceptor->listeners[i], EPOLLIN | EPOLLEXCLUSIVE, key) < 0) {
            int error = errno;
            unwatch(acceptor, poller);
            errno = error;
            return -1;
        }
    }
    acceptor->resume_at = 0;
    return 0;
}

void acceptor_pause(struct acceptor *acceptor, struct poller *poller, int64_t now)
{
    unwatch(acceptor, poller);
    acceptor->resume_at = now + PAUSE_MS;
}

void acceptor_resume(struct acceptor *acceptor, struct poller *poller, uint64_t key, int64_t now)
{
    if (acceptor->resume_at > 0 && acceptor->resume_at <= now &&
        acceptor_start(acceptor, poller, key) < 0)
        acceptor->resume_at = now + PAUSE_MS;
}
