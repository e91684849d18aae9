/* The worker's loop.
 *
 * A pass takes a batch of events, gives each connection its turn, delivers replies, lets deadlines
 * expire. Pointers to connections live no longer than a turn: events, replies and deadlines lead to
 * them through slot and serial, or through the deadline inside the connection itself. An event for
 * a connection that was closed earlier in the same batch is expected and finds another serial.
 */
#include "server/worker.h"

#include "io/listener.h"
#include "server/conn_stream.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* Names of the descriptors that are no connections; a slot number is never that large. */
#define KEY_LISTENER UINT64_MAX
#define KEY_MAILBOX (UINT64_MAX - 1)

/* Milliseconds between two tellings of one and the same misery. */
enum { TELL_MS = 1000 };

int worker_init(struct worker *worker, uint32_t index, const struct worker_setup *setup)
{
    *worker = (struct worker){
        .index = index,
        .requests = setup->requests,
        .poller = {-1},
        .starved_at = -TELL_MS,
        .replies = {.event = -1},
    };
    size_t cache_bytes = setup->limits->cache_bytes / setup->workers;
    uint32_t limit = setup->limits->connections / setup->workers + 1;
    if (tools_init(&worker->tools, setup->limits, cache_bytes, setup->purges, setup->subscribers,
                   setup->key) < 0 ||
        slots_init(&worker->slots, limit, setup->adopted) < 0) {
        errno = ENOMEM;
        return -1;
    }
    counter_set(&worker->tools.counters.slots, limit);
    /* Replies need no bound of their own: there is one at most for each request in flight. */
    if (mailbox_init(&worker->replies, UINT32_MAX) < 0 || poller_init(&worker->poller) < 0)
        return -1;
    return poller_add(&worker->poller, worker->replies.event, EPOLLIN, KEY_MAILBOX);
}

int worker_listen(struct worker *worker, int listener)
{
    return acceptor_add(&worker->acceptor, listener);
}

/* Free a connection; nobody holds a pointer to it afterwards. */
static void release(struct worker *worker, struct conn *conn)
{
    struct counters *counters = &worker->tools.counters;
    if (conn->line && (conn->state == CONN_WAITING || conn->request))
        trace_end(worker->tools.trace, conn->line, TRACE_LEFT, SLICE(""), 0);
    counter_add(&counters->closed[conn->closed], 1);
    counter_set(&counters->connections, counters->connections - 1);
    slots_free(&worker->slots, conn);
}

/* Free a connection for a reason of the worker's. */
static void end_conn(struct worker *worker, struct conn *conn, enum closed reason)
{
    conn->closed = reason;
    release(worker, conn);
}

/* Leave an idle connection alone until it is taken away. Its slot has another tenant from now on,
 * since an event for it may already have been fetched. */
static void park(struct worker *worker, struct conn *conn)
{
    poller_remove(&worker->poller, conn->fd);
    timer_clear(&conn->timer);
    slots_park(&worker->slots, conn);
    counter_add(&worker->tools.counters.closed[CLOSED_STOPPED], 1); /* as far as we know */
    counter_set(&worker->tools.counters.connections, worker->tools.counters.connections - 1);
}

static enum conn_next submit(struct worker *worker, struct conn *conn)
{
    struct request *request = conn_take_request(conn);
    uint64_t key = slots_key(&worker->slots, conn);
    request->address = (struct address){worker->index, (uint32_t)key, (uint32_t)(key >> 32)};
    if (mailbox_add(worker->requests, &request->message)) {
        worker->asks = true;
        return CONN_GO_ON;
    }
    request_free(request);
    counter_add(&worker->tools.counters.overflows, 1);
    return conn_refuse(conn, &worker->tools, 503);
}

/* Do what a connection asks for after its turn; it may be gone then. */
static void settle(struct worker *worker, struct conn *conn, enum conn_next next)
{
    worker->tools.out.size = 0;
    if (worker->tools.out.capacity > LIMIT_OUTPUT_KEPT)
        buffer_fini(&worker->tools.out);
    if (next == CONN_MISS)
        next = submit(worker, conn);
    if (next == CONN_GO_ON) {
        uint32_t interest = conn_interest(conn);
        if (worker->stopping && worker->parks && conn_is_idle(conn)) {
            park(worker, conn);
            return;
        }
        if (interest == conn->watched && !conn->again)
            return;
        conn->watched = interest;
        conn->again = false;
        if (poller_change(&worker->poller, conn->fd, poller_edges(interest),
                          slots_key(&worker->slots, conn)) == 0)
            return;
        conn->closed = CLOSED_FAILED;
    }
    release(worker, conn);
}

/* Give a connection its turn because of these events. */
static void take_turn(struct worker *worker, struct conn *conn, uint32_t events)
{
    struct tools *tools = &worker->tools;
    enum conn_next next = CONN_GO_ON;
    if (events & EPOLLIN && !(conn->muted && conn->state == CONN_WAITING)) {
        /* The end of its bytes makes no event of its own when it came with the last of them. */
        conn->again = events & EPOLLRDHUP && conn->state != CONN_WAITING;
        next = conn_read(conn, tools);
    } else if (events & (EPOLLERR | EPOLLHUP)) {
        next = conn_hang_up(conn);
    }
    if (next == CONN_GO_ON && events & EPOLLOUT)
        next = conn_write(conn, tools);
    settle(worker, conn, next);
}

struct parked worker_take_parked(struct worker *worker)
{
    struct conn *conn = slots_take_parked(&worker->slots);
    return conn ? conn_detach(conn) : (struct parked){.fd = -1};
}

void worker_fini(struct worker *worker)
{
    for (int fd; (fd = worker_take_parked(worker).fd) >= 0;)
        close(fd);
    for (uint32_t i = 0; i < worker->slots.count; i++)
        if (worker->slots.all[i].conn)
            end_conn(worker, worker->slots.all[i].conn, CLOSED_STOPPED);
    slots_fini(&worker->slots);
    tools_fini(&worker->tools);
    mailbox_fini(&worker->replies);
    acceptor_fini(&worker->acceptor, &worker->poller);
    poller_fini(&worker->poller);
}

/* Free the connection that has been idle longest, or whose PROXY header is still to come; false
 * when there is none. One that has sent something which we have not read is none: it may have been
 * accepted a moment ago. */
static bool reap(struct worker *worker)
{
    struct timers *timers = &worker->tools.timers;
    for (int tries = 0; tries < LIMIT_ACCEPTS; tries++) {
        struct timer *oldest = timers_oldest(timers, TIMER_IDLE);
        if (!oldest)
            oldest = timers_oldest(timers, TIMER_PROXY_HEADER);
        if (!oldest)
            return false;
        struct conn *conn = (struct conn *)oldest;
        int64_t moment = oldest->moment;
        uint64_t key = slots_key(&worker->slots, conn);
        settle(worker, conn, conn_read(conn, &worker->tools));
        conn = slots_find(&worker->slots, key);
        if (conn && (conn_is_idle(conn) || conn->peer.header_pending) &&
            conn->timer.moment == moment)
            end_conn(worker, conn, CLOSED_REAPED);
        if (!slots_find(&worker->slots, key))
            return true;
    }
    return false;
}

/* Every connection is at work: say so, as far as the socket takes it, and close. */
static void turn_away(struct worker *worker, int fd)
{
    struct tools *tools = &worker->tools;
    if (response_append_refusal(&tools->out, 503, true, SLICE(""), &tools->clock))
        (void)!write(fd, tools->out.data, tools->out.size);
    tools->out.size = 0;
    counter_add(&tools->counters.accepted, 1);
    counters_refuse(&tools->counters, 503);
    counter_add(&tools->counters.closed[CLOSED_FULL], 1);
    close(fd);
}

/* Give the client at `fd` a connection, for which there is a slot. */
static void admit(struct worker *worker, int fd, const struct peer *peer)
{
    struct tools *tools = &worker->tools;
    counter_add(&tools->counters.accepted, 1);
    struct conn *conn = conn_new(fd, peer, tools);
    if (!conn) {
        counter_add(&tools->counters.closed[CLOSED_FAILED], 1);
        return;
    }
    slots_take(&worker->slots, conn);
    counter_add(&tools->counters.connections, 1);
    conn->watched = EPOLLIN;
    if (poller_add(&worker->poller, fd, poller_edges(EPOLLIN), slots_key(&worker->slots, conn)) < 0)
        end_conn(worker, conn, CLOSED_FAILED);
}

/* Whether a failed accept concerned only that client, so that the next one may be tried. */
static bool is_passing(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

void worker_adopt(struct worker *worker, const struct parked *parked)
{
    struct peer peer = {0};
    if (!peer_read_note(&peer, parked->note) || listener_adopt(parked->fd, &peer) < 0)
        close(parked->fd); /* it was reset on its way */
    else
        admit(worker, parked->fd, &peer);
}

/* No descriptor is left, or no memory: make room, or wait a while. Python looks at the counter when
 * it is woken without a request. Whether there is room. */
static bool make_room(struct worker *worker)
{
    int64_t now = worker->tools.clock.now;
    counter_add(&worker->tools.counters.starved, 1);
    if (now - worker->starved_at >= TELL_MS) {
        worker->starved_at = now;
        mailbox_wake(worker->requests);
    }
    if (reap(worker))
        return true;
    acceptor_pause(&worker->acceptor, &worker->poller, now);
    return false;
}

/* True when more clients may wait. */
static bool accept_from(struct worker *worker, int listener)
{
    for (int i = 0; i < LIMIT_ACCEPTS; i++) {
        struct peer peer = {.header_pending = worker->tools.limits->proxy_protocol};
        int fd = listener_accept(listener, &peer);
        if (fd >= 0 && slots_are_full(&worker->slots) && !reap(worker)) {
            turn_away(worker, fd);
        } else if (fd >= 0) {
            admit(worker, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (!make_room(worker))
                return false;
        } else if (!is_passing(errno)) {
            return false;
        }
    }
    return true;
}

/* The same, from all listeners. */
static bool accept_some(struct worker *worker)
{
    bool more = false;
    for (uint32_t i = 0; i < worker->acceptor.count; i++)
        more |= accept_from(worker, worker->acceptor.listeners[i]);
    return more;
}

static enum conn_next reply_to(struct worker *worker, struct conn *conn, const struct reply *reply)
{
    if (reply->kind != REPLY_STREAM || conn->state != CONN_WAITING)
        return conn_reply(conn, &worker->tools, reply);
    enum conn_next next = conn_stream_begin(conn, &worker->tools, reply);
    bool is_late = worker->stopping && next == CONN_GO_ON;
    return is_late ? conn_stream_end(conn, &worker->tools) : next;
}

static void deliver_replies(struct worker *worker)
{
    struct message *message = mailbox_take(&worker->replies);
    while (message) {
        struct reply *reply = (struct reply *)message;
        message = message->next;
        if (reply->kind == REPLY_EVENT) {
            subscriptions_add_event(&worker->tools.subscriptions, reply);
            continue;
        }
        /* First into the cache, so that the rest of the same pipeline finds it there. */
        if (reply->tag_count > 0)
            cache_put(&worker->tools.cache, reply);
        uint64_t key = (uint64_t)reply->address.serial << 32 | reply->address.slot;
        struct conn *conn = slots_find(&worker->slots, key);
        if (reply->kind == REPLY_STREAM && !(conn && conn->state == CONN_WAITING))
            subscriptions_cancel(&worker->tools.subscriptions, reply);
        if (conn)
            settle(worker, conn, reply_to(worker, conn, reply));
        else
            counter_add(&worker->tools.counters.dropped, 1);
        reply_free(reply);
    }
    counter_set(&worker->tools.counters.stored, worker->tools.cache.count);
    counter_set(&worker->tools.counters.stored_bytes, cache_bytes(&worker->tools.cache));
    counter_set(&worker->tools.counters.evictions, worker->tools.cache.evictions);
    counter_set(&worker->tools.counters.stale, worker->tools.cache.stale);
}

/* Let some streams have their events. */
static void deliver_events(struct worker *worker)
{
    const struct reply *event;
    for (int i = 0; i < LIMIT_PER_PASS; i++) {
        struct subscription *subscription =
            subscriptions_next(&worker->tools.subscriptions, &event);
        if (!subscription)
            break;
        struct conn *conn = worker->slots.all[subscription->slot].conn;
        settle(worker, conn, conn_stream_send(conn, &worker->tools, event));
    }
}

static void end_streams(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->slots.count; i++) {
        struct conn *conn = worker->slots.all[i].conn;
        if (conn && conn->state == CONN_STREAMING)
            settle(worker, conn, conn_stream_end(conn, &worker->tools));
    }
}

static void park_idle(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->slots.count; i++) {
        struct conn *conn = worker->slots.all[i].conn;
        if (conn && conn_is_idle(conn))
            park(worker, conn);
    }
}

/* No new connections. Either another server has those who wait and those who are idle from now on,
 * or the former are let in, and the latter go when they have been quiet for a while: a client in
 * the midst of its work has a request under way, which a close would lose. */
static void begin_stop(struct worker *worker)
{
    worker->stopping = true;
    /* As many as can wait now: who goes on dialling does not put off the end. */
    for (int passes = LIMIT_BACKLOG / LIMIT_ACCEPTS; passes > 0 && !worker->parks; passes--)
        if (!accept_some(worker))
            break;
    acceptor_fini(&worker->acceptor, &worker->poller);
    worker->tools.stopping = !worker->parks;
    end_streams(worker);
    if (worker->parks) {
        park_idle(worker);
        return;
    }
    timers_shorten(&worker->tools.timers, TIMER_IDLE, LIMIT_QUIET_MS);
    timers_shorten(&worker->tools.timers, TIMER_PROXY_HEADER, LIMIT_QUIET_MS);
}

/* Time is up: whoever sent a request, or a part of one, is told to come again. */
static void end_stop(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->slots.count; i++) {
        struct conn *conn = worker->slots.all[i].conn;
        bool owed = conn && (conn->state == CONN_WAITING ||
                             (conn->state == CONN_READING && !conn_is_idle(conn)));
        if (owed)
            settle(worker, conn, conn_refuse(conn, &worker->tools, 503));
    }
}

static void handle(struct worker *worker, const struct epoll_event *event)
{
    uint64_t key = event->data.u64;
    if (key == KEY_MAILBOX) {
        deliver_replies(worker);
    } else if (key == KEY_LISTENER) {
        accept_some(worker);
    } else {
        struct conn *conn = slots_find(&worker->slots, key);
        if (conn)
            take_turn(worker, conn, event->events);
    }
}

static void expire(struct worker *worker)
{
    struct tools *tools = &worker->tools;
    for (int i = 0; i < LIMIT_PER_PASS; i++) {
        struct timer *due = timers_due(&tools->timers, tools->clock.now);
        if (!due)
            break;
        struct conn *conn = (struct conn *)due;
        settle(worker, conn,
               due->kind == TIMER_STREAM ? conn_stream_heartbeat(conn, tools)
                                         : conn_expire(conn, tools));
    }
}

/* The shorter of `wait` (-1: for ever) and `left` milliseconds, at least 0. */
static int shorter(int wait, int64_t left)
{
    if (left < 0)
        left = 0;
    return wait < 0 || left < wait ? (int)left : wait;
}

static int wait_at_most(struct worker *worker)
{
    int64_t stop_at = atomic_load(&worker->stop_at), now = worker->tools.clock.now;
    int wait = timers_wait(&worker->tools.timers, now);
    if (subscriptions_pending(&worker->tools.subscriptions))
        wait = 0;
    if (worker->acceptor.resume_at > 0)
        wait = shorter(wait, worker->acceptor.resume_at - now);
    return stop_at > 0 ? shorter(wait, stop_at - now) : wait;
}

static bool is_done(struct worker *worker)
{
    int64_t stop_at = atomic_load(&worker->stop_at);
    if (stop_at == 0)
        return false;
    if (!worker->stopping)
        begin_stop(worker);
    return worker->tools.counters.connections == 0 || worker->tools.clock.now >= stop_at;
}

/* Wake Python once for all requests of a pass. On one core it would else push the worker aside at
 * the first of them, and each request would cost two changes of threads. */
static void wake_python(struct worker *worker)
{
    if (worker->asks)
        mailbox_wake(worker->requests);
    worker->asks = false;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    struct epoll_event events[LIMIT_EVENTS];
    while (!is_done(worker)) {
        wake_python(worker);
        int count = poller_wait(&worker->poller, events, LIMIT_EVENTS, wait_at_most(worker));
        clock_update(&worker->tools.clock);
        for (int i = 0; i < count; i++)
            handle(worker, &events[i]);
        deliver_events(worker);
        expire(worker);
        acceptor_resume(&worker->acceptor, &worker->poller, KEY_LISTENER, worker->tools.clock.now);
    }
    end_stop(worker);
    wake_python(worker);
    return NULL;
}

int worker_start(struct worker *worker)
{
    if (acceptor_start(&worker->acceptor, &worker->poller, KEY_LISTENER) < 0)
        return -1;
    /* Signals are for the interpreter. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->pthread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return error == 0 ? 0 : -1;
}

void worker_join(struct worker *worker)
{
    pthread_join(worker->pthread, NULL);
}

void worker_stop(struct worker *worker, int64_t moment, bool parks)
{
    if (atomic_load(&worker->stop_at) == 0)
        worker->parks = parks;
    atomic_store(&worker->stop_at, moment);
    mailbox_wake(&worker->replies);
}

void worker_send(struct worker *worker, struct reply *reply)
{
    if (!mailbox_push(&worker->replies, &reply->message))
        reply_free(reply);
}

void worker_add(struct worker *worker, struct reply *reply)
{
    if (!mailbox_add(&worker->replies, &reply->message))
        reply_free(reply);
}

void worker_wake(struct worker *worker)
{
    if (mailbox_depth(&worker->replies) > 0)
        mailbox_wake(&worker->replies);
}
