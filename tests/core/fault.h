/* One system fault in a run of the core: the n-th call of a kind fails, or does less than it was
 * asked to. The test's own calls do not count: the test's thread marks when it is inside the
 * core, and all other threads always are. meson.build lists the kinds too, as linker wraps. */
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
    int error;        /* its errno; 0: the call handles only one byte */
    long first;       /* the first call that fails, counted from 1; 0: none */
    long length;      /* how many calls in a row fail */
};

/* Calls of one kind in a run: with more, a sweep would not end. */
enum { FAULT_MOST = 1000 };

static struct fault fault;
static _Atomic long fault_calls; /* calls of that kind so far */
static _Thread_local bool fault_outside;
static unsigned fault_failures; /* checks that had failed before the run */

/* Run `expression` as part of the core. */
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

/* A sweep fails the first call, then the second, … After a run with `wanted` in which the call
 * was made often enough, go on with the next one. Returns false when no call has failed, or when
 * a check has, which is reported. */
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

/* Returns whether the failing calls are over, or were never made. */
static inline bool fault_is_over(void)
{
    return fault_calls >= fault.first + fault.length - 1;
}

/* Returns whether the core's call named `call` has to fail; sets errno then. */
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

/* Define the wrapped function NAME, which fails with -1 when the fault strikes. */
#define FAULTY(type, name, parameters, arguments)                                                  \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fault_strikes(#name) ? -1 : __real_##name arguments;                                \
    }

/* The same with a size, which a fault without an errno cuts to one byte. */
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

/* The same for functions that return memory. */
#define FAULTY_BLOCK(name, parameters, arguments)                                                  \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        return fault_strikes("allocate") ? NULL : __real_##name arguments;                         \
    }

#endif
