/* The purge table; see purge.h. */
#include "cache/purge.h"

#include "base/clock.h"

uint64_t purge_now(struct purge_table *purges)
{
    return atomic_load(&purges->sequence);
}

/* Purges may arrive in the wrong order: the later number stays. */
static void raise_to(_Atomic uint64_t *number, uint64_t moment)
{
    uint64_t last = atomic_load(number);
    while (last < moment && !atomic_compare_exchange_weak(number, &last, moment))
        continue;
}

void purge_add(struct purge_table *purges, uint32_t slot)
{
    raise_to(&purges->last[slot], atomic_fetch_add(&purges->sequence, 1) + 1);
}

void purge_all(struct purge_table *purges)
{
    raise_to(&purges->all, atomic_fetch_add(&purges->sequence, 1) + 1);
}

void purge_set_lease(struct purge_table *purges, int64_t moment)
{
    atomic_store(&purges->lease, moment);
}

bool purge_has_lease(const struct purge_table *purges)
{
    return atomic_load(&purges->lease) != 0;
}

bool purge_lease_holds(const struct purge_table *purges, int64_t now)
{
    int64_t lease = atomic_load(&purges->lease);
    return lease == 0 || now + CLOCK_LATE_MS < lease;
}

bool purge_is_fresh(struct purge_table *purges, const uint32_t *slots, size_t count, uint64_t since)
{
    if (atomic_load_explicit(&purges->all, memory_order_acquire) > since)
        return false;
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&purges->last[slots[i]], memory_order_acquire) > since)
            return false;
    return true;
}
