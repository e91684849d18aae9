/* The counts of subscribers; see subscribers.h. */
#include "sse/subscribers.h"

bool subscribers_add(struct subscribers *subscribers, uint32_t index)
{
    if (atomic_fetch_add(&subscribers->count, 1) >= subscribers->limit) {
        atomic_fetch_sub(&subscribers->count, 1);
        atomic_fetch_add(&subscribers->refused, 1);
        return false;
    }
    atomic_fetch_add(&subscribers->by_tag[index], 1);
    return true;
}

void subscribers_remove(struct subscribers *subscribers, uint32_t index)
{
    atomic_fetch_sub(&subscribers->by_tag[index], 1);
    atomic_fetch_sub(&subscribers->count, 1);
}

bool subscribers_exist(struct subscribers *subscribers, uint32_t index)
{
    return atomic_load(&subscribers->by_tag[index]) > 0;
}
