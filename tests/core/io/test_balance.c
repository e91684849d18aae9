/* The balance: what processes know of each other's connections. */
#include "check.h"

#include "io/balance.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static int memory_of(off_t size)
{
    int fd = memfd_create("counts", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQUAL(ftruncate(fd, size), 0);
    return fd;
}

static void add(struct balance *balance, int number)
{
    for (int i = 0; i < number; i++)
        balance_add(balance, true);
}

static void without_memory_nobody_is_ahead(void)
{
    struct balance alone = {0};
    add(&alone, 100);
    CHECK(!balance_is_ahead(&alone));
    balance_fini(&alone);
}

static void a_process_is_ahead_of_the_one_that_has_least(void)
{
    int fd = memory_of(12);
    struct balance first, second, third;
    CHECK_EQUAL(balance_init(&first, fd, 0, 3), 0);
    CHECK_EQUAL(balance_init(&second, fd, 1, 3), 0);
    CHECK_EQUAL(balance_init(&third, fd, 2, 3), 0);
    close(fd);
    add(&first, 1);
    CHECK(!balance_is_ahead(&first));
    add(&first, 1);
    CHECK(balance_is_ahead(&first));
    add(&second, 50);
    CHECK(balance_is_ahead(&first)); /* of the third one */
    CHECK(!balance_is_ahead(&third));
    add(&third, 1);
    CHECK(!balance_is_ahead(&first));
    balance_add(&third, false);
    CHECK(balance_is_ahead(&first));
    add(&third, 50);
    add(&first, 55); /* 57: one and an eighth above 50 */
    CHECK(!balance_is_ahead(&first));
    add(&first, 1);
    CHECK(balance_is_ahead(&first));
    balance_fini(&first);
    balance_fini(&second);
    balance_fini(&third);
}

static void a_process_that_starts_again_begins_at_zero(void)
{
    int fd = memory_of(8);
    struct balance before, other, after;
    CHECK_EQUAL(balance_init(&before, fd, 0, 2), 0);
    CHECK_EQUAL(balance_init(&other, fd, 1, 2), 0);
    add(&before, 9);
    add(&other, 5);
    balance_fini(&before);
    CHECK(!balance_is_ahead(&other)); /* nobody waits for a process that has ended */
    CHECK_EQUAL(balance_init(&after, fd, 0, 2), 0);
    CHECK(balance_is_ahead(&other));
    balance_fini(&after);
    balance_fini(&other);
    close(fd);
}

static void memory_that_is_too_small_is_refused(void)
{
    struct balance balance = {0};
    int fd = memory_of(8);
    CHECK_EQUAL(balance_init(&balance, fd, 0, 3), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK_EQUAL(balance_init(&balance, fd, 2, 2), -1);
    CHECK_EQUAL(errno, EINVAL);
    CHECK_EQUAL(balance_init(&balance, fd, 0, 0), -1);
    CHECK_EQUAL(errno, EINVAL);
    close(fd);
    CHECK_EQUAL(balance_init(&balance, fd, 0, 1), -1);
    CHECK_EQUAL(errno, EBADF);
    CHECK(!balance.counts);
}

int main(void)
{
    RUN(without_memory_nobody_is_ahead);
    RUN(a_process_is_ahead_of_the_one_that_has_least);
    RUN(a_process_that_starts_again_begins_at_zero);
    RUN(memory_that_is_too_small_is_refused);
    return check_end();
}
