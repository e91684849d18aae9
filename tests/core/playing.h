/* A running worker, with the test in Python's place. */
#ifndef TESTS_PLAYING_H
#define TESTS_PLAYING_H

#include "dial.h"

#include "server/worker.h"

static struct limits limits;
static struct purge_table purges;
static struct subscribers subscribers;
static struct mailbox requests;
static struct balance balance; /* with no other process, unless a test makes it */
static struct worker worker;
static struct endpoint endpoint;

/* The memory that clients of the worker may make it hold. */
enum { CLIENT_BYTES = 4 << 20 };

static inline int64_t now(void)
{
    struct clock clock = {0};
    clock_update(&clock);
    return clock.now;
}

/* Make a worker that does not run yet. */
static inline void prepare(uint32_t connections, uint32_t waiting)
{
    limits = (struct limits){
        .body = 1000,
        .cache_bytes = 1 << 20,
        .client_bytes = CLIENT_BYTES,
        .connections = connections,
        .waiting = waiting,
        .keep_alive = 60000,
        .head_deadline = 60000,
        .body_deadline = 60000,
        .handler_deadline = 60000,
    };
    endpoint = endpoint_of("127.0.0.1:0");
    CHECK_EQUAL(mailbox_init(&requests, limits.waiting), 0);
    const struct worker_setup setup = {
        .limits = &limits,
        .purges = &purges,
        .subscribers = &subscribers,
        .requests = &requests,
        .balance = &balance,
        .key = {1, 2},
        .workers = 1,
    };
    int listener = listener_open(&endpoint, false);
    CHECK_EQUAL(worker_init(&worker, 0, &setup), 0);
    CHECK_EQUAL(worker_listen(&worker, listener), 0);
    close(listener);
}

static inline void begin(uint32_t connections, uint32_t waiting)
{
    prepare(connections, waiting);
    CHECK_EQUAL(worker_start(&worker), 0);
}

/* Wait for the end of a stop; if it hangs, the test fails. */
static inline void join(void)
{
    worker_join(&worker);
    worker_fini(&worker);
    mailbox_fini(&requests);
}

static inline void end(void)
{
    worker_stop(&worker, now(), false);
    join();
    uint64_t closed = 0;
    for (int reason = 0; reason < CLOSED_REASONS; reason++)
        closed += worker.context.stats.closed[reason];
    CHECK_EQUAL(closed, worker.context.stats.accepted); /* each has its reason */
}

/* Returns the next request that comes through the mailbox. */
static inline struct request *next_request(void)
{
    AWAIT(mailbox_depth(&requests) > 0);
    struct message *message = mailbox_take(&requests);
    CHECK(message->next == NULL);
    return (struct request *)message;
}

#endif
