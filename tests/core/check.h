/* The checks of the C tests, without a framework.
 *
 * A test is a function whose name is a sentence about behaviour; `main` runs each with RUN and ends
 * with `return check_end();`. The output is TAP, which meson counts: one line for each test. A
 * check that fails says where, and the test goes on, so that one run shows all that is wrong.
 */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned check_tests, check_failed_tests, check_failures;

static inline void check_report(const char *file, int line, const char *what)
{
    check_failures++;
    printf("# %s:%d: %s\n", file, line, what);
}

static inline void check_equal(const char *file, int line, const char *what, long long actual,
                               long long expected)
{
    if (actual == expected)
        return;
    check_report(file, line, what);
    printf("#   is %lld, should be %lld\n", actual, expected);
}

static inline void check_text(const char *file, int line, const char *what, struct slice actual,
                              struct slice expected)
{
    if (slice_equal(actual, expected))
        return;
    check_report(file, line, what);
    printf("#   is \"%.*s\", should be \"%.*s\"\n", (int)actual.size, actual.data,
           (int)expected.size, expected.data);
}

static inline void check_run(const char *name, void (*test)(void))
{
    unsigned before = check_failures;
    test();
    check_tests++;
    bool good = check_failures == before;
    check_failed_tests += !good;
    printf("%sok %u - %s\n", good ? "" : "not ", check_tests, name);
    fflush(stdout);
}

static inline int check_end(void)
{
    printf("1..%u\n", check_tests);
    return check_failed_tests == 0 ? 0 : 1;
}

#define CHECK(condition)                                                                           \
    ((condition) ? (void)0 : check_report(__FILE__, __LINE__, #condition " does not hold"))
#define CHECK_EQUAL(actual, expected)                                                              \
    check_equal(__FILE__, __LINE__, #actual, (long long)(actual), (long long)(expected))
/* Compare a slice with a string literal. */
#define CHECK_TEXT(actual, literal)                                                                \
    check_text(__FILE__, __LINE__, #actual, (actual), SLICE(literal))
#define RUN(test) check_run(#test, test)

/* Returns a copy of `text` whose last byte is the last of a readable page: reading beyond it
 * ends the program. Valid until the next call. `text` has at most 64 KiB. */
static inline struct slice at_forbidden_page(struct slice text)
{
    enum { ROOM = 64 * 1024 };
    static char *room;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!room) {
        room = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED || mprotect(room + ROOM, page, PROT_NONE) < 0) {
            perror("no forbidden page");
            _exit(2);
        }
    }
    char *start = room + ROOM - text.size;
    if (text.size > 0)
        memcpy(start, text.data, text.size);
    return slice_of(start, text.size);
}

#endif
