/* Purges: what was asked for before a purge is stale, what was asked for after it is fresh. */
#include "cache/purge.h"
#include "check.h"

#include <pthread.h>

static struct purge_table purges;

static uint32_t place_of(const char *tag)
{
    return tag_index(slice_of(tag, strlen(tag)));
}

static bool spares(const char *tag, uint64_t since)
{
    uint32_t place = place_of(tag);
    return purge_is_fresh(&purges, &place, 1, since);
}

static void a_purge_makes_stale_what_was_asked_for_before_it(void)
{
    uint64_t before = purge_now(&purges);
    CHECK(spares("thread:1", before));
    purge_add(&purges, place_of("thread:1"));
    uint64_t after = purge_now(&purges);
    CHECK(!spares("thread:1", before));
    CHECK(spares("thread:1", after));
    CHECK(spares("thread:2", before));
    purge_add(&purges, place_of("thread:1"));
    CHECK(!spares("thread:1", after));
}

static void one_purged_tag_of_many_is_enough(void)
{
    uint32_t places[3] = {place_of("a"), place_of("b"), place_of("c")};
    uint64_t before = purge_now(&purges);
    CHECK(purge_is_fresh(&purges, places, 3, before));
    purge_add(&purges, places[2]);
    CHECK(!purge_is_fresh(&purges, places, 3, before));
    CHECK(purge_is_fresh(&purges, places, 2, before));
    CHECK(purge_is_fresh(&purges, places, 0, before));
}

enum { ROUNDS = 200000, PURGERS = 3 };

static void *purge_often(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t before = purge_now(&purges);
        uint32_t place = *(uint32_t *)argument;
        purge_add(&purges, place);
        if (purge_is_fresh(&purges, &place, 1, before))
            return argument;
    }
    return NULL;
}

/* Several purge one tag: nobody's purge is undone by another that was numbered earlier. */
static void purges_of_one_tag_at_once_all_count(void)
{
    pthread_t pthreads[PURGERS];
    uint32_t place = place_of("contended");
    uint64_t before = purge_now(&purges);
    for (int i = 0; i < PURGERS; i++)
        CHECK_EQUAL(pthread_create(&pthreads[i], NULL, purge_often, &place), 0);
    for (int i = 0; i < PURGERS; i++) {
        void *lost;
        pthread_join(pthreads[i], &lost);
        CHECK(lost == NULL);
    }
    uint64_t after = purge_now(&purges);
    CHECK_EQUAL(after - before, PURGERS * ROUNDS);
    CHECK(!purge_is_fresh(&purges, &place, 1, after - 1));
    CHECK(purge_is_fresh(&purges, &place, 1, after));
}

int main(void)
{
    RUN(a_purge_makes_stale_what_was_asked_for_before_it);
    RUN(one_purged_tag_of_many_is_enough);
    RUN(purges_of_one_tag_at_once_all_count);
    return check_end();
}
