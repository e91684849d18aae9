/* A server: its workers, the mailbox of requests that Python drains, the purge table and the
 * subscriber counts, all of which it owns. Its functions run in threads that hold the GIL, one at a
 * time, but `server_join`, which waits without it. */
#ifndef CORE_SERVER_SERVER_H
#define CORE_SERVER_SERVER_H

#include "base/limits.h"
#include "cache/purge.h"
#include "io/listener.h"
#include "seam/mailbox.h"
#include "server/worker.h"

#include <stdbool.h>
#include <stdint.h>

enum server_state { SERVER_NEW, SERVER_RUNNING, SERVER_STOPPING, SERVER_ENDED };

struct server {
    struct limits limits;
    struct endpoint endpoint; /* of the first listener */
    struct hash_key key;
    struct mailbox requests;
    int listeners[LIMIT_LISTENERS]; /* owns; the workers have names of their own for them */
    uint32_t listener_count;
    bool borrowed;          /* whoever opened the listeners keeps them: their path is not ours */
    struct worker *workers; /* owns */
    uint32_t worker_count;  /* as asked for */
    uint32_t running;       /* with a thread */
    enum server_state state;
    bool corked;
    struct purge_table purges;
    struct subscribers subscribers;
};

/* A server that does not run yet; NULL with errno. */
struct server *server_new(const struct endpoint *endpoint, uint32_t workers,
                          const struct limits *limits);

/* Stops at once if it runs. */
void server_free(struct server *server);

/* Sockets that were opened elsewhere: by a service manager, or by the server that ran before us. */
struct sockets {
    const int *listeners; /* none: the server opens its own */
    uint32_t listener_count;
    bool borrowed;
    const struct handed_over *connections;
    uint32_t connection_count;
};

/* Bind and start. Takes the descriptors in `sockets`, also when it fails. 0, or -1 with errno and
 * then nothing runs. Once only. */
int server_start(struct server *server, const struct sockets *sockets);

/* Begin a graceful stop that ends in `grace` milliseconds at the latest. Where it `keeps` its
 * sockets (the first call says so), they are to be taken after the end, for another server. */
void server_stop(struct server *server, int64_t grace, bool for_handover);

/* Wait for the end of a stop that has begun. */
void server_join(struct server *server);

/* After the end: a listener, a parked connection, which the caller owns; -1 when none is left. */
int server_take_listener(struct server *server);
struct handed_over server_take_connection(struct server *server);

/* The requests that wait, linked by their messages; the caller owns them. */
struct request *server_drain(struct server *server);

/* Takes `reply`, sends it to its worker and returns true. When it begins a stream, and there is no
 * place for one more, returns false and takes nothing. */
bool server_send(struct server *server, struct reply *reply);

/* Between the two, which one thread calls as it sends, replies wait for the second: it wakes each
 * worker once for all of them. */
void server_cork(struct server *server);
void server_uncork(struct server *server);

/* Let all streams that follow `tag` have the event `data`, of 1 to LIMIT_EVENT bytes. Those that
 * were sent before have it, in the order of the calls. False where none has it, for want of memory
 * or since the workers have too many events to deal out: publish again, later. */
bool server_publish(struct server *server, struct slice tag, struct slice data);

/* The sums of all workers' counters, and the depths of the mailboxes. */
void server_stats(struct server *server, struct stats *sum);

/* Take lines of the trace as text, from every worker some; `room` is at least TRACE_LINE for each
 * of them. Returns their bytes. For one thread at a time, after the start. */
size_t server_read_trace(struct server *server, char *text, size_t room);

#endif
