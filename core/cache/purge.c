/* The purge table; see purge.h. */
#include "cache/purge.h"

uint64_t purge_now(struct purge_table *purges)
{
    return atomic_load(&purges->sequence);
}

uint64_t purge_last(struct purge_table *purges, uint32_t place)
{
    return atomic_load(&purges->last[place]);
}

void purge_add(struct purge_table *purges, uint32_t place)
{
    uint64_t moment = atomic_fetch_add(&purges->sequence, 1) + 1;
    uint64_t last = atomic_load(&purges->last[place]);
    /* Two purges of one tag may arrive in the wrong order: the later number stays. */
    while (last < moment && !atomic_compare_exchange_weak(&purges->last[place], &last, moment))
        continue;
}

bool purge_is_fresh(struct purge_table *purges, const uint32_t *places, size_t count,
                    uint64_t since)
{
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&purges->last[places[i]], memory_order_acquire) > since)
            return false;
    return true;
}
