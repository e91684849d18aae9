/* The acceptor of a worker: its listening sockets, which it owns and the worker's poller watches.
 * It runs in the worker's thread.
 *
 * If no descriptor is left for a new client, the acceptor pauses: otherwise the waiting client
 * would wake the worker again and again.
 *
 * If other processes accept from the same sockets, it also pauses while this process is ahead, so
 * that the others come first; see balance.h. After the pause it takes some of the clients that
 * nobody has taken, however far it is ahead. */
#ifndef CORE_IO_ACCEPTOR_H
#define CORE_IO_ACCEPTOR_H

#include "base/limits.h"
#include "io/balance.h"
#include "io/poller.h"

#include <stdbool.h>
#include <stdint.h>

struct acceptor {
    int listeners[LIMIT_LISTENERS]; /* owns */
    uint32_t count;
    int64_t resume_at;             /* monotonic milliseconds: the end of a pause; 0: no pause */
    const struct balance *balance; /* borrows; NULL after acceptor_stop_yielding */
    uint32_t unyielding;           /* clients to take before it pauses again for other processes */
};

/* Make an acceptor without listeners; fini is safe in any state, and closes the listeners. */
void acceptor_init(struct acceptor *acceptor, const struct balance *balance);
void acceptor_fini(struct acceptor *acceptor, struct poller *poller);

/* Add a duplicate of `listener`, which the caller keeps. 0, or -1 with errno. */
int acceptor_add(struct acceptor *acceptor, int listener);

/* Watch all listeners under `key`. 0, or -1 with errno; then none is watched. */
int acceptor_start(struct acceptor *acceptor, struct poller *poller, uint64_t key);

/* Whether the other processes are to accept the next client. Then it pauses; the pause begins
 * `now`. */
bool acceptor_yields(struct acceptor *acceptor, struct poller *poller, int64_t now);

/* From now on, take whoever waits. */
void acceptor_stop_yielding(struct acceptor *acceptor);

/* Stop watching until `acceptor_resume` is called after the pause, which begins `now`. */
void acceptor_pause(struct acceptor *acceptor, struct poller *poller, int64_t now);
void acceptor_resume(struct acceptor *acceptor, struct poller *poller, uint64_t key, int64_t now);

#endif
