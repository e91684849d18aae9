/* Where a worker's clients come in: its listening sockets, watched by its poller.
 *
 * When no descriptor is left for a client, the door is shut for a while, so that the client that
 * waits does not wake the worker without end. */
#ifndef CORE_IO_ACCEPTOR_H
#define CORE_IO_ACCEPTOR_H

#include "base/limits.h"
#include "io/poller.h"

#include <stdint.h>

struct door {
    int listeners[LIMIT_LISTENERS]; /* owns */
    uint32_t count;
    int64_t open_at; /* monotonic milliseconds: it is shut until then; 0: it is open */
};

/* A closed door; fini is safe in any state, and closes the listeners. */
void door_init(struct door *door);
void door_fini(struct door *door, struct poller *poller);

/* Take one more name of `listener`, which the caller keeps. 0, or -1 with errno. */
int door_add(struct door *door, int listener);

/* Watch all listeners under `key`. 0, or -1 with errno and then none is watched. */
int door_open(struct door *door, struct poller *poller, uint64_t key);

/* Watch none of them until `door_reopen` is called after the pause, which begins `now`. */
void door_shut(struct door *door, struct poller *poller, int64_t now);
void door_reopen(struct door *door, struct poller *poller, uint64_t key, int64_t now);

#endif
