#ifndef CLIENT_H
#define CLIENT_H

/* One keep-alive connection: it sends a batch, waits for all of its answers, and is free again. */
#include <stdint.h>

#include "plan.h"

struct client {
    int fd;
    size_t waiting; /* answers under way */
    size_t next;    /* position of the next answer in the plan's order */
    uint64_t begin; /* when the batch was sent, in ns */
    size_t rest_size;
    char *rest; /* owns ANSWER_BYTES: the beginning of an incomplete answer */
};

/* The counters that all clients share. */
struct tally {
    uint64_t answered;
    uint64_t wrong;          /* of these, because of the status or the body */
    uint64_t statuses[1000]; /* number of answers by status; 0 for an invalid status */
};

/* Connect to the port on this machine, and register the client with `poller` for each event. */
void client_connect(struct client *client, int poller, int port);

/* Send the batch; `now` is the time in ns. */
void client_send(struct client *client, struct batch batch, size_t depth, uint64_t now);

/* Read what has arrived and judge it by the plan; `ended` says that the server has closed the
 * connection. Return whether the last answer of the batch came. */
bool client_read(struct client *client, struct plan *plan, struct tally *tally, bool ended);

#endif
