/* The acceptor of a worker: its listening sockets, which it owns, watched by the worker's poller.
 * It runs in the worker's thread.
 *
 * When no descriptor is left for a new client, the acceptor pauses: otherwise the client that waits
 * would wake the worker without end. */
#ifndef CORE_IO_ACCEPTOR_H
#define CORE_IO_ACCEPTOR_H

#include "base/limits.h"
#include "io/poller.h"

#include <stdint.h>

struct acceptor {
    int listeners[LIMIT_LISTENERS]; /* owns */
    uint32_t count;
    int64_t resume_at; /* monotonic milliseconds: it is shut until then; 0: it is open */
};

/* An acceptor without listeners; fini is safe in any state, and closes the listeners. */
void acceptor_init(struct acceptor *acceptor);
void acceptor_fini(struct acceptor *acceptor, struct poller *poller);

/* Take one more name of `listener`, which the caller keeps. 0, or -1 with errno. */
int acceptor_add(struct acceptor *acceptor, int listener);

/* Watch all listeners under `key`. 0, or -1 with errno and then none is watched. */
int acceptor_start(struct acceptor *acceptor, struct poller *poller, uint64_t key);

/* Watch none of them until `acceptor_resume` is called after the pause, which begins `now`. */
void acceptor_pause(struct acceptor *acceptor, struct poller *poller, int64_t now);
void acceptor_resume(struct acceptor *acceptor, struct poller *poller, uint64_t key, int64_t now);

#endif
