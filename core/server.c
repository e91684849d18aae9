/* The server. Its functions run in the interpreter's pthreads; the workers are on their own. */
#include "server.h"

#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/un.h>
#include <unistd.h>

struct server *server_new(const struct endpoint *endpoint, uint32_t workers,
                          const struct limits *limits)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return NULL;
    server->limits = *limits;
    server->endpoint = *endpoint;
    server->worker_count = workers;
    server->requests.event = -1;
    server->workers = calloc(workers, sizeof *server->workers);
    if (server->workers && hash_key_random(&server->key) == 0 &&
        mailbox_init(&server->requests, limits->waiting) == 0)
        return server;
    int error = errno;
    server_free(server);
    errno = error;
    return NULL;
}

/* Open the listener of worker `index`: its own TCP socket, or one more name of the unix socket. */
static int open_listener(struct server *server, uint32_t index)
{
    if (endpoint_is_unix(&server->endpoint) && index > 0)
        return fcntl(server->workers[0].listener, F_DUPFD_CLOEXEC, 0);
    return listener_open(&server->endpoint, server->worker_count > 1);
}

static int init_workers(struct server *server, uint32_t *initialised)
{
    const struct worker_setup setup = {
        .limits = &server->limits,
        .purges = &server->purges,
        .requests = &server->requests,
        .key = server->key,
        .workers = server->worker_count,
    };
    for (uint32_t i = 0; i < server->worker_count; i++) {
        int listener = open_listener(server, i);
        if (listener < 0)
            return -1;
        *initialised = i + 1;
        if (worker_init(&server->workers[i], i, &setup, listener) < 0)
            return -1;
    }
    return 0;
}

/* A unix socket stays in its folder when it is closed. */
static void remove_socket(const struct server *server)
{
    if (endpoint_is_unix(&server->endpoint))
        unlink(((const struct sockaddr_un *)&server->endpoint.address)->sun_path);
}

int server_start(struct server *server)
{
    assert(server->state == SERVER_NEW);
    uint32_t initialised = 0;
    if (endpoint_claim(&server->endpoint) < 0)
        return -1;
    bool ready = init_workers(server, &initialised) == 0;
    while (ready && server->running < server->worker_count) {
        ready = worker_start(&server->workers[server->running]) == 0;
        server->running += ready;
    }
    if (ready) {
        server->state = SERVER_RUNNING;
        return 0;
    }
    int error = errno;
    for (uint32_t i = 0; i < server->running; i++) {
        worker_stop(&server->workers[i], 1);
        worker_join(&server->workers[i]);
    }
    server->running = 0;
    for (uint32_t i = 0; i < initialised; i++)
        worker_fini(&server->workers[i]);
    if (initialised > 0)
        remove_socket(server);
    errno = error;
    return -1;
}

void server_stop(struct server *server, int64_t grace)
{
    if (server->state != SERVER_RUNNING && server->state != SERVER_STOPPING)
        return;
    struct clock clock = {0};
    clock_update(&clock);
    server->state = SERVER_STOPPING;
    for (uint32_t i = 0; i < server->running; i++)
        worker_stop(&server->workers[i], clock.now + (grace > 0 ? grace : 0));
}

void server_join(struct server *server)
{
    if (server->state != SERVER_STOPPING)
        return;
    for (uint32_t i = 0; i < server->running; i++)
        worker_join(&server->workers[i]);
    server->state = SERVER_ENDED;
    remove_socket(server);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    server_stop(server, 0);
    server_join(server);
    for (uint32_t i = 0; i < server->running; i++)
        worker_fini(&server->workers[i]);
    mailbox_fini(&server->requests);
    free(server->workers);
    free(server);
}

struct request *server_drain(struct server *server)
{
    return (struct request *)mailbox_take(&server->requests);
}

void server_send(struct server *server, struct reply *reply)
{
    worker_send(&server->workers[reply->address.worker], reply);
}

void server_sum(struct server *server, struct counters *sum)
{
    *sum = (struct counters){.waiting = mailbox_depth(&server->requests)};
    for (uint32_t i = 0; i < server->running; i++) {
        counters_add(sum, &server->workers[i].tools.counters);
        counter_add(&sum->returning, mailbox_depth(&server->workers[i].replies));
    }
}
