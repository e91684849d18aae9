/* The audience; see subscribers.h. */
#include "sse/subscribers.h"

bool audience_join(struct audience *audience, uint32_t place)
{
    if (atomic_fetch_add(&audience->streams, 1) >= audience->limit) {
        atomic_fetch_sub(&audience->streams, 1);
        atomic_fetch_add(&audience->refused, 1);
        return false;
    }
    atomic_fetch_add(&audience->places[place], 1);
    return true;
}

void audience_leave(struct audience *audience, uint32_t place)
{
    atomic_fetch_sub(&audience->places[place], 1);
    atomic_fetch_sub(&audience->streams, 1);
}

bool audience_follows(struct audience *audience, uint32_t place)
{
    return atomic_load(&audience->places[place]) > 0;
}
