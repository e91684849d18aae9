/* The counts of subscribers; see subscribers.h. */
#include "sse/subscribers.h"

/* Add one; false if that would exceed `limit`. */
static bool take(_Atomic uint32_t *count, uint32_t limit)
{
    if (atomic_fetch_add(count, 1) < limit)
        return true;
    atomic_fetch_sub(count, 1);
    return false;
}

static _Atomic uint32_t *group_of(struct subscribers *subscribers, uint32_t group)
{
    return &subscribers->by_group[group % GROUP_INDEXES];
}

bool subscribers_add(struct subscribers *subscribers, uint32_t index, uint32_t group,
                     uint32_t group_limit)
{
    bool has_slot = take(&subscribers->count, subscribers->limit);
    if (!has_slot || !take(group_of(subscribers, group), group_limit ? group_limit : UINT32_MAX)) {
        if (has_slot)
            atomic_fetch_sub(&subscribers->count, 1);
        atomic_fetch_add(&subscribers->refused, 1);
        return false;
    }
    atomic_fetch_add(&subscribers->by_tag[index], 1);
    return true;
}

void subscribers_remove(struct subscribers *subscribers, uint32_t index, uint32_t group)
{
    atomic_fetch_sub(group_of(subscribers, group), 1);
    atomic_fetch_sub(&subscribers->by_tag[index], 1);
    atomic_fetch_sub(&subscribers->count, 1);
}

bool subscribers_exist(struct subscribers *subscribers, uint32_t index)
{
    return atomic_load(&subscribers->by_tag[index]) > 0;
}
