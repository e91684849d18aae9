/* The server; see server.h. */
#include "server/server.h"

#include "base/clock.h"
#include "sse/event.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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
    server->subscribers.limit = limits->streams;
    server->workers = calloc(workers, sizeof *server->workers);
    if (server->workers && hash_key_random(&server->key) == 0 &&
        mailbox_init(&server->requests, limits->waiting) == 0)
        return server;
    int error = errno;
    server_free(server);
    errno = error;
    return NULL;
}

static void close_listeners(struct server *server)
{
    while (server->listener_count > 0)
        close(server->listeners[--server->listener_count]);
}

static int open_listener(struct server *server, bool shared)
{
    int listener = listener_open(&server->endpoint, shared);
    if (listener < 0)
        return -1;
    server->listeners[server->listener_count++] = listener;
    return 0;
}

/* If TCP sockets can share the port, each worker gets its own: the kernel distributes clients more
 * evenly than the workers would. */
static int open_listeners(struct server *server)
{
    if (server->listener_count == 0 && (endpoint_claim(&server->endpoint) < 0 ||
                                        open_listener(server, server->worker_count > 1) < 0))
        return -1;
    if (endpoint_is_unix(&server->endpoint) || !listener_is_shared(server->listeners[0]))
        return 0;
    while (server->listener_count < server->worker_count)
        if (open_listener(server, true) < 0)
            return -1;
    return 0;
}

/* Listeners that share a port belong to one worker each; all others to every worker. */
static int listen_to(struct server *server, uint32_t index)
{
    for (uint32_t i = 0; i < server->listener_count; i++) {
        int listener = server->listeners[i];
        bool ours = i % server->worker_count == index || !listener_is_shared(listener);
        if (ours && worker_listen(&server->workers[index], listener) < 0)
            return -1;
    }
    return 0;
}

static int init_workers(struct server *server, uint32_t adopted, uint32_t *initialised)
{
    const struct worker_setup setup = {
        .limits = &server->limits,
        .purges = &server->purges,
        .subscribers = &server->subscribers,
        .requests = &server->requests,
        .balance = &server->balance,
        .key = server->key,
        .workers = server->worker_count,
        .adopted = adopted / server->worker_count + 1,
    };
    for (uint32_t i = 0; i < server->worker_count; i++) {
        *initialised = i + 1;
        if (worker_init(&server->workers[i], i, &setup) < 0 || listen_to(server, i) < 0)
            return -1;
    }
    return 0;
}

/* Remove the path of a Unix socket, which remains when it is closed. */
static void remove_socket(const struct server *server)
{
    if (endpoint_is_unix(&server->endpoint) && !server->borrowed)
        unlink(((const struct sockaddr_un *)&server->endpoint.address)->sun_path);
}

static int take_listeners(struct server *server, const struct sockets *sockets)
{
    assert(sockets->listener_count <= LIMIT_LISTENERS);
    server->borrowed = sockets->borrowed;
    server->listener_count = sockets->listener_count;
    for (uint32_t i = 0; i < sockets->listener_count; i++)
        server->listeners[i] = sockets->listeners[i];
    struct endpoint endpoint;
    /* From the last to the first, whose address is the server's. */
    for (uint32_t i = sockets->listener_count; i-- > 0; server->endpoint = endpoint)
        if (listener_inherit(&endpoint, sockets->listeners[i]) < 0)
            return -1;
    return 0;
}

static void take_connections(struct server *server, const struct sockets *sockets, bool ready)
{
    for (uint32_t i = 0; i < sockets->connection_count; i++)
        if (ready)
            worker_adopt(&server->workers[i % server->worker_count], &sockets->connections[i]);
        else
            close(sockets->connections[i].fd);
}

int server_balance(struct server *server, int fd, uint32_t own, uint32_t size)
{
    assert(server->state == SERVER_NEW);
    balance_fini(&server->balance);
    return balance_init(&server->balance, fd, own, size);
}

int server_start(struct server *server, const struct sockets *sockets)
{
    assert(server->state == SERVER_NEW);
    uint32_t initialised = 0;
    bool ready = take_listeners(server, sockets) == 0 && open_listeners(server) == 0 &&
                 init_workers(server, sockets->connection_count, &initialised) == 0;
    int failure = errno;
    take_connections(server, sockets, ready);
    errno = failure;
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
        worker_stop(&server->workers[i], 1, false);
        worker_join(&server->workers[i]);
    }
    server->running = 0;
    for (uint32_t i = 0; i < initialised; i++)
        worker_fini(&server->workers[i]);
    /* An inherited one keeps its path: the process that passed it may go on with it. */
    if (initialised > 0 && sockets->listener_count == 0)
        remove_socket(server);
    close_listeners(server);
    errno = error;
    return -1;
}

void server_stop(struct server *server, int64_t grace, bool for_handover)
{
    if (server->state != SERVER_RUNNING && server->state != SERVER_STOPPING)
        return;
    struct clock clock = {0};
    clock_update(&clock);
    if (server->state == SERVER_RUNNING && !for_handover)
        close_listeners(server); /* the workers close theirs after accepting the waiting clients */
    server->state = SERVER_STOPPING;
    for (uint32_t i = 0; i < server->running; i++)
        worker_stop(&server->workers[i], clock.now + (grace > 0 ? grace : 0), for_handover);
}

void server_join(struct server *server)
{
    if (server->state != SERVER_STOPPING)
        return;
    for (uint32_t i = 0; i < server->running; i++)
        worker_join(&server->workers[i]);
    server->state = SERVER_ENDED;
    if (server->listener_count == 0)
        remove_socket(server);
}

int server_take_listener(struct server *server)
{
    if (server->state != SERVER_ENDED || server->listener_count == 0)
        return -1;
    int first = server->listeners[0];
    server->listener_count--;
    memmove(server->listeners, server->listeners + 1,
            server->listener_count * sizeof *server->listeners);
    return first;
}

struct handed_over server_take_connection(struct server *server)
{
    struct handed_over handed_over = {.fd = -1};
    for (uint32_t i = 0; i < server->running && server->state == SERVER_ENDED; i++)
        if ((handed_over = worker_take_handed_over(&server->workers[i])).fd >= 0)
            break;
    return handed_over;
}

/* Free the waiting requests; a request may also own a stale entry. */
static void free_requests(struct server *server)
{
    struct request *next;
    for (struct request *each = server_drain(server); each; each = next) {
        next = (struct request *)each->message.next;
        request_free(each);
    }
}

void server_free(struct server *server)
{
    if (!server)
        return;
    server_stop(server, 0, false);
    server_join(server);
    if (server->state == SERVER_ENDED)
        free_requests(server);
    for (uint32_t i = 0; i < server->running; i++)
        worker_fini(&server->workers[i]);
    close_listeners(server);
    balance_fini(&server->balance);
    mailbox_fini(&server->requests);
    free(server->workers);
    free(server);
}

struct request *server_drain(struct server *server)
{
    struct request *first = (struct request *)mailbox_take(&server->requests);
    int64_t now = clock_exact();
    /* Python reads its data after this, so earlier purges do not affect its responses. */
    uint64_t sequence = purge_now(&server->purges);
    for (struct request *each = first; each; each = (struct request *)each->message.next) {
        each->drained_at = now;
        each->sequence = sequence;
    }
    return first;
}

bool server_send(struct server *server, struct reply *reply)
{
    if (reply->kind == REPLY_STREAM &&
        !subscribers_add(&server->subscribers, tag_index(reply_target(reply)), reply->group,
                         reply->group_limit))
        return false;
    struct worker *worker = &server->workers[reply->address.worker];
    if (server->corked)
        worker_add(worker, reply);
    else
        worker_send(worker, reply);
    return true;
}

void server_cork(struct server *server)
{
    server->corked = true;
}

void server_uncork(struct server *server)
{
    server->corked = false;
    for (uint32_t i = 0; i < server->running; i++)
        worker_wake(&server->workers[i]);
}

bool server_publish(struct server *server, struct slice tag, struct slice data)
{
    assert(data.size > 0 && data.size <= LIMIT_EVENT);
    if (!subscribers_exist(&server->subscribers, tag_index(tag)))
        return true;
    if (atomic_load(&server->subscribers.events) + server->running > LIMIT_UNDELIVERED)
        return false;
    struct reply *events[LIMIT_WORKERS];
    for (uint32_t i = 0; i < server->running; i++) {
        events[i] = event_new(tag, data);
        if (!events[i]) {
            while (i > 0)
                reply_free(events[--i]);
            return false;
        }
    }
    atomic_fetch_add(&server->subscribers.events, server->running);
    for (uint32_t i = 0; i < server->running; i++)
        worker_send(&server->workers[i], events[i]);
    return true;
}

void server_stats(struct server *server, struct stats *sum)
{
    *sum = (struct stats){
        .requests_waiting = mailbox_depth(&server->requests),
        .streams = atomic_load(&server->subscribers.count),
        .streams_refused = atomic_load(&server->subscribers.refused),
    };
    for (uint32_t i = 0; i < server->running; i++) {
        stats_add(sum, &server->workers[i].context.stats);
        counter_add(&sum->replies_waiting, mailbox_depth(&server->workers[i].replies));
    }
}

size_t server_read_trace(struct server *server, char *text, size_t room)
{
    size_t size = 0;
    for (uint32_t i = 0; i < server->running && server->limits.trace_lines > 0; i++)
        size += trace_read(server->workers[i].context.trace, text + size, room / server->running);
    return size;
}
