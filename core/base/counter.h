/* A number that one worker writes and anybody may read at any time. */
#ifndef CORE_BASE_COUNTER_H
#define CORE_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t counter;

static inline void counter_add(counter *number, uint64_t amount)
{
    /* One writer: no locked instruction is needed. */
    uint64_t value = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, value + amount, memory_order_relaxed);
}

static inline void counter_set(counter *number, uint64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

#endif
