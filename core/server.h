/* A server: its workers, the mailbox of requests that Python drains, and the table of purges. */
#ifndef CORE_SERVER_H
#define CORE_SERVER_H

#include "limit.h"
#include "listener.h"
#include "mailbox.h"
#include "purges.h"
#include "worker.h"

#include <stdbool.h>
#include <stdint.h>

enum server_state { SERVER_NEW, SERVER_RUNNING, SERVER_STOPPING, SERVER_ENDED };

struct server {
    struct limits limits;
    struct endpoint endpoint;
    struct hash_key key;
    struct mailbox requests;
    struct worker *workers; /* owns */
    uint32_t worker_count;  /* as asked for */
    uint32_t running;       /* with a pthread */
    enum server_state state;
    struct purges purges;
};

/* A server that does not run yet; NULL with errno. */
struct server *server_new(const struct endpoint *endpoint, uint32_t workers,
                          const struct limits *limits);

/* Stops at once if it runs. */
void server_free(struct server *server);

/* Bind and start. 0, or -1 with errno and then nothing runs. Once only. */
int server_start(struct server *server);

/* Begin a graceful stop that ends in `grace` milliseconds at the latest. */
void server_stop(struct server *server, int64_t grace);

/* Wait for the end of a stop that has begun. */
void server_join(struct server *server);

/* The requests that wait, linked by their messages; the caller owns them. */
struct request *server_drain(struct server *server);

/* Takes `reply` and sends it to its worker. */
void server_send(struct server *server, struct reply *reply);

/* The sums of all workers' counters, and the depths of the mailboxes. */
void server_sum(struct server *server, struct counters *sum);

#endif
