/* The acceptor of a worker: its listening sockets, which it owns and the worker's poller watches.
 * It runs in the worker's thread.
 *
 * If no descriptor is left for a new client, the acceptor pauses: otherwise the waiting client
 * would wake the worker again and again. */
#ifndef CORE_IO_ACCEPTOR_H
#define CORE_IO_ACCEPTOR_H

#include "base/limits.h"
#include "io/poller.h"

#include <stdint.h>

struct acceptor {
    int listeners[LIMIT_LISTENERS]; /* owns */
    uint32_t count;
    int64_t resume_at; /* monotonic milliseconds: the end of a pause; 0: no pause */
};

/* Make an acceptor without listeners; fini is safe in any state, and closes the listeners. */
void acceptor_init(struct acceptor *acceptor);
void acceptor_fini(struct acceptor *acceptor, struct poller *poller);

/* Add a duplicate of `listener`, which the caller keeps. 0, or -1 with errno. */
int acceptor_add(struct acceptor *acceptor, int listener);

/* Watch all listeners under `key`. 0, or -1 with errno; then none is watched. */
int acceptor_start(struct acceptor *acceptor, struct poller *poller, uint64_t key);

/* Stop watching until `acceptor_resume` is called after the pause, which begins `now`. */
void acceptor_pause(struct acceptor *acceptor, struct poller *poller, int64_t now);
void acceptor_resume(struct acceptor *acceptor, struct poller *poller, uint64_t key, int64_t now);

#endif
