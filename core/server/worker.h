/* A worker: one thread with its own poller, acceptor, connections and cache, all of which it owns.
 * It never takes the GIL. It shares two mailboxes, the purge table and the subscriber counts with
 * other threads. */
#ifndef CORE_SERVER_WORKER_H
#define CORE_SERVER_WORKER_H

#include "base/hash.h"
#include "bridge/mailbox.h"
#include "io/acceptor.h"
#include "io/poller.h"
#include "server/conn_table.h"
#include "server/context.h"
#include "server/holders.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct worker {
    uint32_t index;
    pthread_t pthread;
    struct mailbox replies;
    struct mailbox *requests; /* borrows: the one to Python */
    struct balance *balance;  /* borrows: with other processes */
    struct poller poller;
    struct acceptor acceptor;
    struct conn_table conns;
    struct context context;
    struct holders holders;
    size_t most_held;        /* the maximum since memory was last returned to the system */
    int64_t trim_at;         /* monotonic milliseconds: the earliest next time */
    bool python_pending;     /* requests were added for which Python was not woken */
    int64_t out_of_fds_at;   /* monotonic milliseconds: of the last notice to Python */
    bool for_handover;       /* at a stop; set before `stop_at` */
    bool stopping;           /* the stop has begun */
    _Atomic int64_t stop_at; /* monotonic milliseconds; 0: go on */
};

/* What all workers of a server share; borrowed for their lifetime. */
struct worker_setup {
    const struct limits *limits;
    struct purge_table *purges;
    struct subscribers *subscribers;
    struct mailbox *requests;
    struct balance *balance;
    struct hash_key key;
    uint32_t workers;
    uint32_t adopted; /* the most connections of another server for each of them */
};

/* 0, or -1 with errno; fini is safe in either case. */
int worker_init(struct worker *worker, uint32_t index, const struct worker_setup *setup);
void worker_fini(struct worker *worker);

/* Before the start: also accept clients from `listener`, which the caller keeps. 0, or -1 with
 * errno. */
int worker_listen(struct worker *worker, int listener);

/* Before the start: continue a connection of another server, even beyond the limit, since its
 * client expects an answer. Take its descriptor. */
void worker_adopt(struct worker *worker, const struct handed_over *handed_over);

/* Start the thread, and wait for its end. 0, or -1 with errno. */
int worker_start(struct worker *worker);
void worker_join(struct worker *worker);

/* From any thread: stop when all requests are answered, and at the latest at the time `moment`
 * (monotonic milliseconds); unanswered requests then get 503. Waiting clients are accepted and
 * served, and idle ones closed. With `for_handover`, which only the first call sets, neither is
 * done: they are left to another server. */
void worker_stop(struct worker *worker, int64_t moment, bool for_handover);

/* After the end: a connection to hand over, whose descriptor the caller then owns. */
struct handed_over worker_take_handed_over(struct worker *worker);

/* From any thread: take `reply` and deliver it, or free it if its client has left; an event is sent
 * on all streams that follow its tag. */
void worker_send(struct worker *worker, struct reply *reply);

/* The same for many replies: the worker is woken once, after all of them were added. */
void worker_add(struct worker *worker, struct reply *reply);
void worker_wake(struct worker *worker);

#endif
