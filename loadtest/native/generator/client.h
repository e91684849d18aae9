#ifndef CLIENT_H
#define CLIENT_H

/* One keep-alive connection: it sends a batch, waits for all of its answers, and is free again. */
#include <stdint.h>

#include "plan.h"

struct client {
    int fd;
    size_t waiting; /* answers under way */
    size_t place;   /* in the plan's order, of the next answer */
    uint64_t begin; /* when the batch was sent, in ns */
    size_t rest_size;
    char *rest; /* owns ANSWER_BYTES: the beginning of an answer that is not whole */
};

/* What all clients count together. */
struct tally {
    uint64_t answered;
    uint64_t wrong;          /* of these; in their status or body */
    uint64_t statuses[1000]; /* how many answers had each; 0 for what is none */
};

/* Connect to the port on this machine, and have `poller` give the client at each event. */
void client_connect(struct client *client, int poller, int port);

/* Send the batch; `now` is the time in ns. */
void client_send(struct client *client, struct batch batch, size_t depth, uint64_t now);

/* Read what there is and judge it by the plan; `ended` when there is the server's end, too. Returns
 * whether the last answer of the batch came. */
bool client_read(struct client *client, struct plan *plan, struct tally *tally, bool ended);

#endif
