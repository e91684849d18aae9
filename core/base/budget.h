/* A memory limit that many blocks share. Any thread may take bytes from it and return them. */
#ifndef CORE_BASE_BUDGET_H
#define CORE_BASE_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct budget {
    size_t limit;        /* bytes */
    _Atomic size_t used; /* may exceed the limit until its owner reacts */
};

static inline void budget_take(struct budget *budget, size_t size)
{
    atomic_fetch_add_explicit(&budget->used, size, memory_order_relaxed);
}

static inline void budget_return(struct budget *budget, size_t size)
{
    atomic_fetch_sub_explicit(&budget->used, size, memory_order_relaxed);
}

static inline size_t budget_used(const struct budget *budget)
{
    return atomic_load_explicit(&budget->used, memory_order_relaxed);
}

static inline bool budget_is_exceeded(const struct budget *budget)
{
    return budget_used(budget) > budget->limit;
}

#endif
