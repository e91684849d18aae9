/* A worker: one pthread with its own poller, listener, connections and store. It never takes the
 * interpreter's lock, and shares with others only two kinds of mailboxes and the table of purges. */
#ifndef CORE_WORKER_H
#define CORE_WORKER_H

#include "conn.h"
#include "hash.h"
#include "mailbox.h"
#include "poller.h"
#include "tools.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A place for a connection. The serial counts its tenants. */
struct slot {
    struct conn *conn; /* owns */
    uint32_t serial;
    uint32_t next_free;
};

struct worker {
    uint32_t index;
    pthread_t pthread;
    struct mailbox replies;
    struct mailbox *requests; /* borrows: the one to Python */
    struct poller poller;
    int listener;       /* owns; -1 when closed */
    int64_t resume_at;  /* monotonic milliseconds: no descriptor was left for an accept; or 0 */
    struct slot *slots; /* owns */
    uint32_t slot_count;
    uint32_t first_free; /* slot_count when there is none */
    struct tools tools;
    _Atomic int64_t stop_at; /* monotonic milliseconds; 0: go on */
};

/* What all workers of a server have in common; borrowed for their lifetime. */
struct worker_setup {
    const struct limits *limits;
    struct purges *purges;
    struct mailbox *requests;
    struct hash_key key;
    uint32_t workers;
};

/* Takes `listener`, also when it fails. 0, or -1 with errno; fini is safe in either case. */
int worker_init(struct worker *worker, uint32_t index, const struct worker_setup *setup,
                int listener);
void worker_fini(struct worker *worker);

/* Start the pthread, and wait for its end. 0, or -1 with errno. */
int worker_start(struct worker *worker);
void worker_join(struct worker *worker);

/* From any pthread: stop when nothing is owed any more, and at `moment` (monotonic milliseconds)
 * at the latest. */
void worker_stop(struct worker *worker, int64_t moment);

/* From any pthread: takes `reply` and delivers it, or frees it if its client has left. */
void worker_send(struct worker *worker, struct reply *reply);

#endif
