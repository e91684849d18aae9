/* The balance of clients; see balance.h. */
#include "io/balance.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

int balance_init(struct balance *balance, int fd, uint32_t own, uint32_t size)
{
    struct stat memory;
    if (fstat(fd, &memory) < 0)
        return -1;
    size_t needed = size * sizeof *balance->counts;
    if (own >= size || memory.st_size < 0 || (size_t)memory.st_size < needed) {
        errno = EINVAL;
        return -1;
    }
    void *counts = mmap(NULL, needed, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return -1;
    *balance = (struct balance){counts, own, size};
    atomic_store(&balance->counts[own], 0);
    return 0;
}

void balance_fini(struct balance *balance)
{
    if (balance->counts)
        munmap((void *)balance->counts, balance->size * sizeof *balance->counts);
    *balance = (struct balance){0};
}

bool balance_is_ahead(const struct balance *balance)
{
    if (!balance->counts)
        return false;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = 0; i < balance->size; i++) {
        uint32_t count = atomic_load_explicit(&balance->counts[i], memory_order_relaxed);
        if (i != balance->own && count < least)
            least = count;
    }
    uint32_t own = atomic_load_explicit(&balance->counts[balance->own], memory_order_relaxed);
    return own > least && own - least > 1 + least / 8;
}
