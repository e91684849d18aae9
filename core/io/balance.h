/* The number of connections of each of several processes that accept clients from the same sockets,
 * in memory that these processes share. It lets them share the clients evenly: a process that is
 * ahead lets the others accept first.
 *
 * The numbers are hints. A process that died leaves the last one of its slot, until it starts
 * again; one that hangs keeps the others waiting for YIELD_MS of the acceptor, not for ever. Any
 * thread may call these functions. */
#ifndef CORE_IO_BALANCE_H
#define CORE_IO_BALANCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct balance {
    _Atomic uint32_t *counts; /* owns the mapping; NULL: no other process */
    uint32_t own, size;       /* slots */
};

/* Map the memory behind `fd`, which the caller keeps, with a slot for each of `size` processes.
 * Ours is `own`, and begins at 0. 0, or -1 with errno: EINVAL if it is too small, or has no such
 * slot. */
int balance_init(struct balance *balance, int fd, uint32_t own, uint32_t size);

/* Give the memory back; safe without a mapping. */
void balance_fini(struct balance *balance);

/* Count a connection of this process, or its end. */
static inline void balance_add(struct balance *balance, bool begins)
{
    if (balance->counts)
        atomic_fetch_add_explicit(&balance->counts[balance->own], begins ? 1U : UINT32_MAX,
                                  memory_order_relaxed);
}

/* Whether this process has more connections than another one, by more than one and an eighth. */
bool balance_is_ahead(const struct balance *balance);

#endif
