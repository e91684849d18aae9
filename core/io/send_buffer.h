/* The way out to one client: sends what it takes, keeps what it does not take yet. */
#ifndef CORE_IO_SEND_BUFFER_H
#define CORE_IO_SEND_BUFFER_H

#include "base/buffer.h"
#include "base/counter.h"
#include "base/slice.h"

struct outlet {
    struct buffer kept; /* bytes not yet sent, from `sent` on; empty when nothing is owed */
    size_t sent;
};

enum outlet_result {
    OUTLET_SENT, /* or kept: see `outlet_owes` */
    OUTLET_GONE, /* the client does not listen any more */
    OUTLET_NO_MEMORY,
};

void outlet_fini(struct outlet *outlet);

/* True while the client has not taken everything. */
static inline bool outlet_owes(const struct outlet *outlet)
{
    return outlet->kept.size > 0;
}

/* Send what is owed, then `first`, then `second`, to the socket `fd`; both are borrowed for the
 * call. `*taken` becomes the number of bytes that the client took. */
enum outlet_result outlet_send(struct outlet *outlet, int fd, struct slice first,
                               struct slice second, size_t *taken, counter *writes);

#endif
