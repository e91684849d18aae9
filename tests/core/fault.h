/* One fault of the system in a run of the core: the n-th call of a kind fails, or does less than
 * it was asked to. The test's own calls do not count: its thread says when it is inside the core,
 * and all other threads are. The kinds stand in meson.build as linker wraps, too. */
#ifndef TESTS_FAULT_H
#define TESTS_FAULT_H

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct fault {
    const char *call; /* its name; "allocate" for malloc, calloc and realloc */
    int error;        /* its errno; 0: it takes one byte only */
    long first;       /* the first call that fails, from 1 on; 0: none */
    long length;      /* so many in a row */
};

/* Calls of one kind in a run: with more, a sweep would not end. */
enum { FAULT_MOST = 1000 };

static struct fault fault;
static _Atomic long fault_calls; /* of that kind so far */
static _Thread_local bool fault_outside;
static unsigned fault_failures; /* checks that had failed before it */

/* Run `expression` as the core. */
#define INSIDE(expression)                                                                         \
    ({                                                                                             \
        fault_outside = false;                                                                     \
        __auto_type inside_result = (expression);                                                  \
        fault_outside = true;                                                                      \
        inside_result;                                                                             \
    })

static inline void fault_begin(struct fault wanted)
{
    fault_outside = true;
    fault_calls = 0;
    fault_failures = check_failures;
    fault = wanted;
}

/* A sweep: the first call fails, the second, … After a run with `wanted` in which its call was made
 * so often, let it be the next one. False when none has failed, or a check, which is told. */
static inline bool fault_moves_on(struct fault *wanted, long calls)
{
    CHECK(wanted->first <= FAULT_MOST);
    if (check_failures > fault_failures) {
        printf("# %s fails with %d from call %ld on, %ld in a row\n", wanted->call, wanted->error,
               wanted->first, wanted->length);
        return false;
    }
    if (calls < wanted->first)
        return false;
    wanted->first++;
    return true;
}

/* Whether the calls that fail are over, or none of them came. */
static inline bool fault_is_over(void)
{
    return fault_calls >= fault.first + fault.length - 1;
}

/* Whether the core's call named `call` is one that is played; errno is set then. */
static inline bool fault_strikes(const char *call)
{
    if (fault_outside || fault.first == 0 || strcmp(call, fault.call) != 0)
        return false;
    long number = ++fault_calls;
    if (number < fault.first || number >= fault.first + fault.length)
        return false;
    errno = fault.error;
    return true;
}

/* The wrapped function NAME: fails with -1 when the fault strikes. */
#define FAULTY(type, name, parameters, arguments)                                                  \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fault_strikes(#name) ? -1 : __real_##name arguments;                                \
    }

/* The same with a size that a fault without an errno cuts to one byte. */
#define FAULTY_SIZED(name, parameters, arguments)                                                  \
    ssize_t __real_##name parameters;                                                              \
    ssize_t __wrap_##name parameters;                                                              \
    ssize_t __wrap_##name parameters                                                               \
    {                                                                                              \
        if (fault_strikes(#name)) {                                                                \
            if (errno != 0)                                                                        \
                return -1;                                                                         \
            size = size > 0;                                                                       \
        }                                                                                          \
        return __real_##name arguments;                                                            \
    }

/* The same for memory. */
#define FAULTY_BLOCK(name, parameters, arguments)                                                  \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return fault_strikes("allocate") ? NULL : __real_##name arguments;                         \
    }

#endif
