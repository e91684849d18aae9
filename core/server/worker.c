/* The worker's loop.
 *
 * A pass takes a batch of events, gives each connection its turn, delivers replies, and handles
 * deadlines. Pointers to connections live no longer than a turn: events, replies and deadlines find
 * them by slot and serial, or by the timer inside the connection. An event for a connection that
 * was closed earlier in the same batch is expected, and finds another serial. */
#include "server/worker.h"

#include "io/listener.h"
#include "server/conn_pieces.h"
#include "server/conn_stream.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* Keys of the descriptors that are not connections; a slot number is never that large. */
#define KEY_LISTENER UINT64_MAX
#define KEY_MAILBOX (UINT64_MAX - 1)

/* Milliseconds between two notices that descriptors ran out. */
enum { NOTICE_INTERVAL_MS = 1000 };

/* The memory that one worker may hold for its clients: at least one body, whatever the settings
 * say. */
static size_t client_bytes(const struct worker_setup *setup)
{
    size_t share = setup->limits->client_bytes / setup->workers;
    size_t least = LIMIT_READ + LIMIT_UNSENT + 2 * setup->limits->body;
    return share > least ? share : least;
}

int worker_init(struct worker *worker, uint32_t index, const struct worker_setup *setup)
{
    *worker = (struct worker){
        .index = index,
        .requests = setup->requests,
        .balance = setup->balance,
        .poller = {-1},
        .out_of_fds_at = -NOTICE_INTERVAL_MS,
        .replies = {.event = -1},
    };
    size_t cache_bytes = setup->limits->cache_bytes / setup->workers;
    uint32_t limit = setup->limits->connections / setup->workers + 1;
    acceptor_init(&worker->acceptor, setup->balance);
    if (context_init(&worker->context, setup->limits, cache_bytes, setup->purges,
                     setup->subscribers, setup->key) < 0 ||
        conn_table_init(&worker->conns, limit, setup->adopted) < 0) {
        errno = ENOMEM;
        return -1;
    }
    worker->context.budget.limit = client_bytes(setup);
    holders_init(&worker->holders, &worker->context.budget);
    counter_set(&worker->context.stats.max_connections, limit);
    counter_set(&worker->context.stats.max_client_bytes, worker->context.budget.limit);
    /* Replies need no limit of their own: there is at most one for each request in flight. */
    if (mailbox_init(&worker->replies, UINT32_MAX) < 0 || poller_init(&worker->poller) < 0)
        return -1;
    return poller_add(&worker->poller, worker->replies.event, EPOLLIN, KEY_MAILBOX);
}

int worker_listen(struct worker *worker, int listener)
{
    return acceptor_add(&worker->acceptor, listener);
}

/* Give a request that has begun back to Python: its client wants more, or has left. It is never
 * refused, since Python waits for it, and there is one at most for each connection. */
static void give_back(struct worker *worker, struct request *request, bool left)
{
    request->left = left;
    mailbox_return(worker->requests, &request->message);
    worker->python_pending = true;
}

/* Free a connection; nobody holds a pointer to it afterwards. */
static void release(struct worker *worker, struct conn *conn)
{
    struct stats *stats = &worker->context.stats;
    if (conn->in_pieces && conn->request)
        give_back(worker, conn_take_request(conn), true);
    else if (conn->line && !conn->in_pieces && (conn->state == CONN_WAITING || conn->request))
        trace_end(worker->context.trace, conn->line, TRACE_ABORTED, SLICE(""), 0);
    holders_remove(&worker->holders, conn);
    counter_add(&stats->closed[conn->closed], 1);
    counter_set(&stats->connections, stats->connections - 1);
    balance_add(worker->balance, false);
    conn_table_remove(&worker->conns, conn);
}

/* Free a connection for a reason of the worker. */
static void end_conn(struct worker *worker, struct conn *conn, enum closed reason)
{
    conn->closed = reason;
    release(worker, conn);
}

/* Keep an idle connection until it is taken. Its slot gets a new serial, since an event for it may
 * already have been fetched. */
static void hand_over(struct worker *worker, struct conn *conn)
{
    poller_remove(&worker->poller, conn->fd);
    timer_clear(&conn->timer);
    conn_table_hand_over(&worker->conns, conn);
    counter_add(&worker->context.stats.closed[CLOSED_STOPPED], 1); /* as seen from this server */
    counter_set(&worker->context.stats.connections, worker->context.stats.connections - 1);
    balance_add(worker->balance, false);
}

/* Whether one more request may be passed to Python: if clients hold too much, another one must have
 * held memory for longer, which will be closed soon. */
static bool has_room(const struct worker *worker, const struct conn *conn)
{
    const struct conn *oldest = worker->holders.oldest;
    return !budget_is_exceeded(&worker->context.budget) || (oldest && oldest != conn);
}

static enum conn_next submit(struct worker *worker, struct conn *conn)
{
    struct request *request = conn_take_request(conn);
    uint64_t key = conn_table_key(&worker->conns, conn);
    if (request->begun) {
        give_back(worker, request, false);
        return CONN_GO_ON;
    }
    request->address = (struct address){worker->index, (uint32_t)key, (uint32_t)(key >> 32)};
    bool fits = has_room(worker, conn);
    if (fits && mailbox_add(worker->requests, &request->message)) {
        worker->python_pending = true;
        return CONN_GO_ON;
    }
    request_free(request);
    counter_add(&worker->context.stats.mailbox_full, fits);
    return conn_refuse(conn, &worker->context, 503);
}

/* Do what a connection asks for after its turn; it may be gone then. */
static void finish_turn(struct worker *worker, struct conn *conn, enum conn_next next)
{
    worker->context.out.size = 0;
    if (worker->context.out.capacity > LIMIT_OUTPUT_KEPT)
        buffer_fini(&worker->context.out);
    if (next == CONN_MISS)
        next = submit(worker, conn);
    if (next == CONN_GO_ON) {
        holders_update(&worker->holders, conn);
        uint32_t interest = conn_interest(conn);
        if (worker->stopping && worker->for_handover && conn_is_idle(conn)) {
            hand_over(worker, conn);
            return;
        }
        if (interest == conn->watched && !conn->rearm)
            return;
        conn->watched = interest;
        conn->rearm = false;
        if (poller_change(&worker->poller, conn->fd, poller_edges(interest),
                          conn_table_key(&worker->conns, conn)) == 0)
            return;
        conn->closed = CLOSED_SYSTEM_ERROR;
    }
    release(worker, conn);
}

/* While clients hold too much memory, close those that have held some for the longest time. A
 * client that is still sending a request gets 503; the others have not taken earlier responses. */
static void enforce_budget(struct worker *worker)
{
    while (budget_is_exceeded(&worker->context.budget) && worker->holders.oldest) {
        struct conn *oldest = worker->holders.oldest;
        if (oldest->state == CONN_READING)
            finish_turn(worker, oldest, conn_refuse(oldest, &worker->context, 503));
        else
            end_conn(worker, oldest, CLOSED_MEMORY);
    }
}

/* Give a connection its turn because of these events. */
static void handle_conn_events(struct worker *worker, struct conn *conn, uint32_t events)
{
    struct context *context = &worker->context;
    enum conn_next next = CONN_GO_ON;
    if (events & EPOLLIN && !(conn->input_pending && conn->state == CONN_WAITING)) {
        /* The end of the client's bytes is no separate event if it came with the last of them. */
        conn->rearm = events & EPOLLRDHUP && conn->state != CONN_WAITING;
        next = conn_read(conn, context);
    } else if (events & (EPOLLERR | EPOLLHUP)) {
        next = conn_hang_up(conn);
    }
    if (next == CONN_GO_ON && events & EPOLLOUT)
        next = conn->state == CONN_SENDING ? conn_pieces_write(conn, context)
                                           : conn_write(conn, context);
    finish_turn(worker, conn, next);
    enforce_budget(worker);
}

struct handed_over worker_take_handed_over(struct worker *worker)
{
    struct conn *conn = conn_table_take_handed_over(&worker->conns);
    return conn ? conn_detach(conn) : (struct handed_over){.fd = -1};
}

/* Free the replies that came too late, and the requests of pieces. */
static void free_replies(struct worker *worker)
{
    struct reply *next;
    for (struct reply *each = (struct reply *)mailbox_take(&worker->replies); each; each = next) {
        next = (struct reply *)each->message.next;
        reply_free(each);
    }
}

void worker_fini(struct worker *worker)
{
    for (int fd; (fd = worker_take_handed_over(worker).fd) >= 0;)
        close(fd);
    for (uint32_t i = 0; i < worker->conns.count; i++)
        if (worker->conns.all[i].conn)
            end_conn(worker, worker->conns.all[i].conn, CLOSED_STOPPED);
    free_replies(worker);
    conn_table_fini(&worker->conns);
    context_fini(&worker->context);
    mailbox_fini(&worker->replies);
    acceptor_fini(&worker->acceptor, &worker->poller);
    poller_fini(&worker->poller);
}

/* Free the connection that has been idle longest, or whose PROXY header has not arrived; false if
 * there is none. A connection with unread bytes is not idle: it may have just been accepted. */
static bool reap(struct worker *worker)
{
    struct timers *timers = &worker->context.timers;
    for (int tries = 0; tries < LIMIT_ACCEPTS; tries++) {
        struct timer *oldest = timers_oldest(timers, TIMER_IDLE);
        if (!oldest)
            oldest = timers_oldest(timers, TIMER_PROXY_HEADER);
        if (!oldest)
            return false;
        struct conn *conn = (struct conn *)oldest;
        int64_t moment = oldest->moment;
        uint64_t key = conn_table_key(&worker->conns, conn);
        finish_turn(worker, conn, conn_read(conn, &worker->context));
        conn = conn_table_find(&worker->conns, key);
        if (conn && (conn_is_idle(conn) || conn->peer.header_pending) &&
            conn->timer.moment == moment)
            end_conn(worker, conn, CLOSED_REAPED);
        if (!conn_table_find(&worker->conns, key))
            return true;
    }
    return false;
}

/* All connections are busy: send a refusal, as far as the socket takes it, and close. */
static void reject_overload(struct worker *worker, int fd)
{
    struct context *context = &worker->context;
    char head[2048]; /* what most browsers send; it stays unread */
    ssize_t size = recv(fd, head, sizeof head, MSG_PEEK | MSG_DONTWAIT);
    struct refusal_form form = {
        .with_body = true,
        .for_person = size > 0 && response_refuses_with_page(context->limits->refusals,
                                                             slice_of(head, (size_t)size)),
        .own = SLICE(""),
    };
    if (response_append_refusal(&context->out, context->limits->refusals, 503, form,
                                &context->clock))
        (void)!write(fd, context->out.data, context->out.size);
    context->out.size = 0;
    counter_add(&context->stats.accepted, 1);
    stats_count_refusal(&context->stats, 503);
    counter_add(&context->stats.closed[CLOSED_OVERLOAD], 1);
    close(fd);
}

/* Give the client at `fd` a connection, for which there is a slot. */
static void register_conn(struct worker *worker, int fd, const struct peer *peer)
{
    struct context *context = &worker->context;
    counter_add(&context->stats.accepted, 1);
    struct conn *conn = conn_new(fd, peer, context);
    if (!conn) {
        counter_add(&context->stats.closed[CLOSED_SYSTEM_ERROR], 1);
        return;
    }
    conn_table_add(&worker->conns, conn);
    counter_add(&context->stats.connections, 1);
    balance_add(worker->balance, true);
    conn->watched = EPOLLIN;
    if (poller_add(&worker->poller, fd, poller_edges(EPOLLIN),
                   conn_table_key(&worker->conns, conn)) < 0)
        end_conn(worker, conn, CLOSED_SYSTEM_ERROR);
}

/* Whether a failed accept concerned only that client, so that the next one may be tried. */
static bool is_transient(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == EPERM;
}

void worker_adopt(struct worker *worker, const struct handed_over *handed_over)
{
    struct peer peer = {0};
    if (!peer_read_note(&peer, handed_over->note) || listener_adopt(handed_over->fd, &peer) < 0)
        close(handed_over->fd); /* it was reset during the handover */
    else
        register_conn(worker, handed_over->fd, &peer);
}

/* No descriptor or memory is left: make room, or pause. Python checks the counter when it is woken
 * without a request. Return whether there is room. */
static bool make_room(struct worker *worker)
{
    int64_t now = worker->context.clock.now;
    counter_add(&worker->context.stats.out_of_fds, 1);
    if (now - worker->out_of_fds_at >= NOTICE_INTERVAL_MS) {
        worker->out_of_fds_at = now;
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
        if (acceptor_yields(&worker->acceptor, &worker->poller, worker->context.clock.now))
            return false;
        struct peer peer = {.header_pending = worker->context.limits->proxy_protocol};
        int fd = listener_accept(listener, &peer);
        if (fd >= 0 && conn_table_is_full(&worker->conns) && !reap(worker)) {
            reject_overload(worker, fd);
        } else if (fd >= 0) {
            register_conn(worker, fd, &peer);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            if (!make_room(worker))
                return false;
        } else if (!is_transient(errno)) {
            return false;
        }
    }
    return true;
}

/* Accept from all listeners; true if more clients may wait. */
static bool accept_some(struct worker *worker)
{
    bool more = false;
    for (uint32_t i = 0; i < worker->acceptor.count; i++)
        more |= accept_from(worker, worker->acceptor.listeners[i]);
    return more;
}

static enum conn_next reply_to(struct worker *worker, struct conn *conn, struct reply *reply)
{
    if (reply->kind == REPLY_ANSWER || conn->state != CONN_WAITING)
        return conn_reply(conn, &worker->context, reply);
    if (reply->kind == REPLY_BEGINNING)
        return conn_pieces_begin(conn, &worker->context, reply);
    if (reply->kind == REPLY_PIECE)
        return conn_pieces_send(conn, &worker->context, reply);
    enum conn_next next = conn_stream_begin(conn, &worker->context, reply);
    bool is_late = worker->stopping && next == CONN_GO_ON;
    return is_late ? conn_stream_end(conn, &worker->context) : next;
}

static void deliver_replies(struct worker *worker)
{
    struct message *message = mailbox_take(&worker->replies);
    while (message) {
        struct reply *reply = (struct reply *)message;
        message = message->next;
        if (reply->kind == REPLY_EVENT) {
            subscriptions_add_event(&worker->context.subscriptions, reply);
            continue;
        }
        /* First store it, so that the rest of the same pipeline finds it in the cache. */
        if (reply->tag_count > 0)
            cache_put(&worker->context.cache, reply);
        uint64_t key = (uint64_t)reply->address.serial << 32 | reply->address.slot;
        struct conn *conn = conn_table_find(&worker->conns, key);
        if (reply->kind == REPLY_STREAM && !(conn && conn->state == CONN_WAITING))
            subscriptions_cancel(&worker->context.subscriptions, reply);
        if (conn)
            finish_turn(worker, conn, reply_to(worker, conn, reply));
        else
            counter_add(&worker->context.stats.late_replies, 1);
        if (reply->request) {
            give_back(worker, reply->request, true);
            reply->request = NULL;
        }
        reply_free(reply);
        enforce_budget(worker);
    }
    counter_set(&worker->context.stats.cache_entries, worker->context.cache.count);
    counter_set(&worker->context.stats.cache_bytes, cache_bytes(&worker->context.cache));
    counter_set(&worker->context.stats.evictions, worker->context.cache.evictions);
    counter_set(&worker->context.stats.stale, worker->context.cache.stale);
}

/* Send events on some streams. */
static void deliver_events(struct worker *worker)
{
    const struct reply *event;
    for (int i = 0; i < LIMIT_PER_PASS; i++) {
        struct subscription *subscription =
            subscriptions_next(&worker->context.subscriptions, &event);
        if (!subscription)
            break;
        struct conn *conn = worker->conns.all[subscription->slot].conn;
        finish_turn(worker, conn, conn_stream_send(conn, &worker->context, event));
    }
    enforce_budget(worker);
}

/* Whether much of the memory that was held for clients is free again. */
static bool is_to_trim(const struct worker *worker)
{
    return worker->most_held >= budget_used(&worker->context.budget) + LIMIT_FREE_KEPT;
}

/* Return memory to the system after many clients have left. Otherwise the allocator keeps all
 * memory below a block in use, which was nearly half of what a flood of clients had taken. */
static void trim(struct worker *worker)
{
    size_t used = budget_used(&worker->context.budget);
    counter_set(&worker->context.stats.client_bytes, used);
    if (worker->most_held < used)
        worker->most_held = used;
    if (!is_to_trim(worker) || worker->context.clock.now < worker->trim_at)
        return;
    malloc_trim(0);
    worker->most_held = used;
    worker->trim_at = worker->context.clock.now + LIMIT_TRIM_MS;
}

static void end_streams(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->conns.count; i++) {
        struct conn *conn = worker->conns.all[i].conn;
        if (conn && conn->state == CONN_STREAMING)
            finish_turn(worker, conn, conn_stream_end(conn, &worker->context));
    }
}

static void hand_over_idle(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->conns.count; i++) {
        struct conn *conn = worker->conns.all[i].conn;
        if (conn && conn_is_idle(conn))
            hand_over(worker, conn);
    }
}

/* Accept no new connections. For a handover, waiting and idle connections are left to the other
 * server. Otherwise waiting ones are accepted, and idle ones closed after a time of silence: a busy
 * client may have a request on its way, which closing would lose. */
static void begin_stop(struct worker *worker)
{
    worker->stopping = true;
    acceptor_stop_yielding(&worker->acceptor);
    /* As many as can wait now: further clients do not delay the stop. */
    for (int passes = LIMIT_BACKLOG / LIMIT_ACCEPTS; passes > 0 && !worker->for_handover; passes--)
        if (!accept_some(worker))
            break;
    acceptor_fini(&worker->acceptor, &worker->poller);
    worker->context.stopping = !worker->for_handover;
    end_streams(worker);
    if (worker->for_handover) {
        hand_over_idle(worker);
        return;
    }
    timers_shorten(&worker->context.timers, TIMER_IDLE, LIMIT_QUIET_MS);
    timers_shorten(&worker->context.timers, TIMER_PROXY_HEADER, LIMIT_QUIET_MS);
}

/* The time for a stop is over: a client that sent a request, or a part of one, gets 503. */
static void end_stop(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->conns.count; i++) {
        struct conn *conn = worker->conns.all[i].conn;
        bool waits = conn && (conn->state == CONN_WAITING ||
                              (conn->state == CONN_READING && !conn_is_idle(conn)));
        if (waits)
            finish_turn(worker, conn, conn_refuse(conn, &worker->context, 503));
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
        struct conn *conn = conn_table_find(&worker->conns, key);
        if (conn)
            handle_conn_events(worker, conn, event->events);
    }
}

static void expire(struct worker *worker)
{
    struct context *context = &worker->context;
    for (int i = 0; i < LIMIT_PER_PASS; i++) {
        struct timer *due = timers_due(&context->timers, context->clock.now);
        if (!due)
            break;
        struct conn *conn = (struct conn *)due;
        finish_turn(worker, conn,
                    due->kind == TIMER_STREAM ? conn_stream_heartbeat(conn, context)
                                              : conn_expire(conn, context));
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
    int64_t stop_at = atomic_load(&worker->stop_at), now = worker->context.clock.now;
    int wait = timers_wait(&worker->context.timers, now);
    if (subscriptions_pending(&worker->context.subscriptions))
        wait = 0;
    if (worker->acceptor.resume_at > 0)
        wait = shorter(wait, worker->acceptor.resume_at - now);
    if (is_to_trim(worker))
        wait = shorter(wait, worker->trim_at - now);
    return stop_at > 0 ? shorter(wait, stop_at - now) : wait;
}

static bool is_done(struct worker *worker)
{
    int64_t stop_at = atomic_load(&worker->stop_at);
    if (stop_at == 0)
        return false;
    if (!worker->stopping)
        begin_stop(worker);
    return worker->context.stats.connections == 0 || worker->context.clock.now >= stop_at;
}

/* Wake Python once for all requests of a pass. On a single CPU, Python would otherwise preempt the
 * worker at the first of them, and each request would cost two thread switches. */
static void wake_python(struct worker *worker)
{
    if (worker->python_pending)
        mailbox_wake(worker->requests);
    worker->python_pending = false;
}

static void *run(void *argument)
{
    struct worker *worker = argument;
    struct epoll_event events[LIMIT_EVENTS];
    while (!is_done(worker)) {
        wake_python(worker);
        int count = poller_wait(&worker->poller, events, LIMIT_EVENTS, wait_at_most(worker));
        clock_update(&worker->context.clock);
        cache_check_lease(&worker->context.cache, worker->context.clock.now);
        for (int i = 0; i < count; i++)
            handle(worker, &events[i]);
        deliver_events(worker);
        expire(worker);
        trim(worker);
        acceptor_resume(&worker->acceptor, &worker->poller, KEY_LISTENER,
                        worker->context.clock.now);
    }
    end_stop(worker);
    wake_python(worker);
    return NULL;
}

int worker_start(struct worker *worker)
{
    if (acceptor_start(&worker->acceptor, &worker->poller, KEY_LISTENER) < 0)
        return -1;
    /* The interpreter handles signals. */
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

void worker_stop(struct worker *worker, int64_t moment, bool for_handover)
{
    if (atomic_load(&worker->stop_at) == 0)
        worker->for_handover = for_handover;
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
