/* The turns; see turn.h. */
#include "server/turn.h"

static void release(struct worker *worker, struct conn *conn)
{
    struct counters *counters = &worker->tools.counters;
    if (conn->line && (conn->state == CONN_WAITING || conn->request))
        trace_end(worker->tools.trace, conn->line, TRACE_LEFT, SLICE(""), 0);
    counter_add(&counters->closed[conn->closed], 1);
    counter_set(&counters->connections, counters->connections - 1);
    slots_free(&worker->slots, conn);
}

void turn_end(struct worker *worker, struct conn *conn, enum closed reason)
{
    conn->closed = reason;
    release(worker, conn);
}

void turn_park(struct worker *worker, struct conn *conn)
{
    poller_remove(&worker->poller, conn->fd);
    deadline_clear(&conn->deadline);
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

void turn_settle(struct worker *worker, struct conn *conn, enum conn_next next)
{
    worker->tools.out.size = 0;
    if (worker->tools.out.capacity > LIMIT_OUTPUT_KEPT)
        buffer_fini(&worker->tools.out);
    if (next == CONN_MISS)
        next = submit(worker, conn);
    if (next == CONN_GO_ON) {
        uint32_t interest = conn_interest(conn);
        if (worker->stopping && worker->parks && conn_is_idle(conn)) {
            turn_park(worker, conn);
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

void turn_take(struct worker *worker, struct conn *conn, uint32_t events)
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
    turn_settle(worker, conn, next);
}
