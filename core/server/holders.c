/* The connections that hold memory; see holders.h. */
#include "server/holders.h"

void holders_init(struct holders *holders, struct budget *budget)
{
    *holders = (struct holders){.budget = budget};
}

static void link_newest(struct holders *holders, struct conn *conn)
{
    conn->is_holder = true;
    conn->older = holders->newest;
    conn->newer = NULL;
    if (holders->newest)
        holders->newest->newer = conn;
    else
        holders->oldest = conn;
    holders->newest = conn;
}

static void unlink_holder(struct holders *holders, struct conn *conn)
{
    conn->is_holder = false;
    if (conn->older)
        conn->older->newer = conn->newer;
    else
        holders->oldest = conn->newer;
    if (conn->newer)
        conn->newer->older = conn->older;
    else
        holders->newest = conn->older;
}

/* Set the counted bytes of `conn` to `held`. */
static void count(struct holders *holders, struct conn *conn, size_t held)
{
    if (held > conn->counted)
        budget_take(holders->budget, held - conn->counted);
    else
        budget_return(holders->budget, conn->counted - held);
    conn->counted = held;
}

void holders_recount(struct holders *holders, struct conn *conn)
{
    count(holders, conn, conn_held(conn));
    bool is_holder = conn_is_holder(conn);
    if (is_holder && !conn->is_holder)
        link_newest(holders, conn);
    else if (!is_holder && conn->is_holder)
        unlink_holder(holders, conn);
}

void holders_remove(struct holders *holders, struct conn *conn)
{
    count(holders, conn, 0);
    if (conn->is_holder)
        unlink_holder(holders, conn);
}
