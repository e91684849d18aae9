/* The acceptor; see acceptor.h. */
#include "io/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Milliseconds until accepting is tried again after descriptors ran out. */
enum { PAUSE_MS = 100 };

/* Milliseconds that other processes have to accept the clients that this one leaves to them: some
 * times as long as a thread takes to wake. And how many it takes itself afterwards. */
enum { YIELD_MS = 2, TAKEN_AFTER_YIELD = 8 };

void acceptor_init(struct acceptor *acceptor, const struct balance *balance)
{
    *acceptor = (struct acceptor){.balance = balance};
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
    acceptor_init(acceptor, NULL);
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
    /* EPOLLEXCLUSIVE matters if workers share a socket: it wakes one of them, not all. If that one
     * may leave the client to others, all have to wake. */
    uint32_t alone = acceptor->balance && acceptor->balance->counts ? 0 : EPOLLEXCLUSIVE;
    for (uint32_t i = 0; i < acceptor->count; i++) {
        if (poller_add(poller, acceptor->listeners[i], EPOLLIN | alone, key) < 0) {
            int error = errno;
            unwatch(acceptor, poller);
            errno = error;
            return -1;
        }
    }
    acceptor->resume_at = 0;
    return 0;
}

bool acceptor_yields(struct acceptor *acceptor, struct poller *poller, int64_t now)
{
    if (!acceptor->balance || !balance_is_ahead(acceptor->balance)) {
        acceptor->unyielding = 0;
        return false;
    }
    if (acceptor->resume_at > now)
        return true;
    if (acceptor->unyielding > 0) {
        acceptor->unyielding--;
        return false;
    }
    unwatch(acceptor, poller);
    acceptor->resume_at = now + YIELD_MS;
    acceptor->unyielding = TAKEN_AFTER_YIELD;
    return true;
}

void acceptor_stop_yielding(struct acceptor *acceptor)
{
    acceptor->balance = NULL;
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
