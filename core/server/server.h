/* A server: its workers, the mailbox of requests for Python, the purge table and the subscriber
 * counts, all of which it owns. Its functions run in threads that hold the GIL, one at a time,
 * except `server_join`, which waits without it. */
#ifndef CORE_SERVER_SERVER_H
#define CORE_SERVER_SERVER_H

#include "base/limits.h"
#include "bridge/mailbox.h"
#include "cache/purge.h"
#include "io/balance.h"
#include "io/listener.h"
#include "server/worker.h"

#include <stdbool.h>
#include <stdint.h>

enum server_state { SERVER_NEW, SERVER_RUNNING, SERVER_STOPPING, SERVER_ENDED };

struct server {
    struct limits limits;
    struct endpoint endpoint; /* of the first listener */
    struct hash_key key;
    struct mailbox requests;
    int listeners[LIMIT_LISTENERS]; /* owns; the workers have duplicates of them */
    uint32_t listener_count;
    bool borrowed;          /* another process opened the listeners: their path is not ours */
    struct worker *workers; /* owns */
    uint32_t worker_count;  /* as asked for */
    uint32_t running;       /* with a thread */
    enum server_state state;
    bool corked;
    struct balance balance;
    struct purge_table purges;
    struct subscribers subscribers;
};

/* Make a server that does not run yet; NULL with errno. */
struct server *server_new(const struct endpoint *endpoint, uint32_t workers,
                          const struct limits *limits);

/* Free the server; stop it immediately if it runs. */
void server_free(struct server *server);

/* Sockets opened by another process: a service manager, or the previous server. */
struct sockets {
    const int *listeners; /* none: the server opens its own */
    uint32_t listener_count;
    bool borrowed;
    const struct handed_over *connections;
    uint32_t connection_count;
};

/* Before the start: share the clients evenly with other processes, see balance_init. 0, or -1 with
 * errno. */
int server_balance(struct server *server, int fd, uint32_t own, uint32_t size);

/* Bind and start; take the descriptors in `sockets`, also after a failure. 0, or -1 with errno and
 * then nothing runs. Call it once only. */
int server_start(struct server *server, const struct sockets *sockets);

/* Begin a graceful stop that ends after at most `grace` milliseconds. With `for_handover`, which
 * the first call decides, the sockets are kept, to be taken for another server after the end. */
void server_stop(struct server *server, int64_t grace, bool for_handover);

/* Wait for the end of a stop that has begun. */
void server_join(struct server *server);

/* After the end: a listener, or a connection to hand over, which the caller then owns; -1 if none
 * is left. */
int server_take_listener(struct server *server);
struct handed_over server_take_connection(struct server *server);

/* Take the waiting requests, linked by their messages; the caller owns them. */
struct request *server_drain(struct server *server);

/* Take `reply`, send it to its worker and return true. If it begins a stream, and the limit of
 * streams is reached, return false and take nothing. */
bool server_send(struct server *server, struct reply *reply);

/* Between these two calls, which only the sending thread may make, replies are held back; the
 * second one wakes each worker once for all of them. */
void server_cork(struct server *server);
void server_uncork(struct server *server);

/* Send the event `data`, of 1 to LIMIT_EVENT bytes, on all streams that follow `tag`. Streams that
 * have begun before get it, in the order of the calls. False if none gets it, without memory or
 * because the workers have too many events to deliver: publish again later. */
bool server_publish(struct server *server, struct slice tag, struct slice data);

/* The sums of all workers' counters, and the depths of the mailboxes. */
void server_stats(struct server *server, struct stats *sum);

/* Read lines of the trace as text, some from every worker; `room` is at least TRACE_LINE for each
 * of them. Return the number of bytes. One thread at a time, after the start. */
size_t server_read_trace(struct server *server, char *text, size_t room);

#endif
