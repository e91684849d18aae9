/* The output of one client: sends what the socket takes, and owns a copy of the rest. It runs in
 * the worker's thread. */
#ifndef CORE_IO_SEND_BUFFER_H
#define CORE_IO_SEND_BUFFER_H

#include "base/buffer.h"
#include "base/counter.h"
#include "base/slice.h"

struct send_buffer {
    struct buffer unsent; /* bytes not yet sent, from `sent` on; empty when all is sent */
    size_t sent;
};

enum send_result {
    SEND_OK,   /* sent, or stored: see `send_buffer_has_unsent` */
    SEND_GONE, /* the client has disconnected */
    SEND_NO_MEMORY,
};

void send_buffer_fini(struct send_buffer *send_buffer);

/* True while the client has not taken everything. */
static inline bool send_buffer_has_unsent(const struct send_buffer *send_buffer)
{
    return send_buffer->unsent.size > 0;
}

/* Send the unsent bytes, then `first`, then `second`, to the socket `fd`; both are borrowed for the
 * call. `*taken` becomes the number of bytes that were sent. */
enum send_result send_buffer_send(struct send_buffer *send_buffer, int fd, struct slice first,
                                  struct slice second, size_t *taken, counter *writes);

#endif
