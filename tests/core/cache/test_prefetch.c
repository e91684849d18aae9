/* The prefetch: a guess is used where it is right, and does no harm where it is wrong. */
#include "make.h"

#include "cache/prefetch.h"

#define NEXT(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"

static struct purge_table purges;
static struct cache cache;
static struct prefetch prefetch;

/* Parse the head of the first request of `text`; what follows it is prefetched. */
static struct head look(const char *text)
{
    struct head head = {0};
    size_t scanned = 0;
    CHECK_EQUAL(head_parse_next(text_of(text), &scanned, &head), HEAD_DONE);
    struct slice rest = text_of(text);
    slice_skip(&rest, head.size);
    prefetch_init(&prefetch);
    CHECK(prefetch_is_used_up(&prefetch));
    prefetch_scan(&prefetch, &cache, rest, &head);
    return head;
}

static void the_next_targets_are_foreseen_in_their_order(void)
{
    const char *text = NEXT("/first") NEXT("/a?b=c") NEXT("/") NEXT("/third");
    look(text);
    CHECK_EQUAL(prefetch.count, 3);
    CHECK_TEXT(prefetch.targets[0], "/a?b=c");
    CHECK_TEXT(prefetch.targets[1], "/");
    CHECK_TEXT(prefetch.targets[2], "/third");
}

/* A wrong hash marks a guess. */
static void a_right_guess_is_taken_and_a_wrong_one_is_not(void)
{
    look(NEXT("/1") NEXT("/2") NEXT("/3"));
    struct slice target = prefetch.targets[0];
    prefetch.hashes[0] ^= 1;
    CHECK_EQUAL(prefetch_take_hash(&prefetch, &cache, target), cache_hash(&cache, target) ^ 1);
    /* The same bytes elsewhere, or more bytes, are another target. */
    target = prefetch.targets[1];
    prefetch.hashes[1] ^= 1;
    CHECK_EQUAL(prefetch_take_hash(&prefetch, &cache, SLICE("/3")),
                cache_hash(&cache, SLICE("/3")));
    CHECK(prefetch_is_used_up(&prefetch));
    CHECK_EQUAL(prefetch_take_hash(&prefetch, &cache, target), cache_hash(&cache, target));
    look(NEXT("/1") NEXT("/22"));
    prefetch.hashes[0] ^= 1;
    target = slice_of(prefetch.targets[0].data, 2);
    CHECK_EQUAL(prefetch_take_hash(&prefetch, &cache, target), cache_hash(&cache, target));
}

static void what_does_not_look_alike_ends_it(void)
{
    look(NEXT("/first") "GET /cut");
    CHECK_EQUAL(prefetch.count, 0);
    look(NEXT("/first") NEXT("/second") "GE");
    CHECK_EQUAL(prefetch.count, 1);
    look(NEXT("/first") "GET /shorter HTTP/1.1\r\n\r\n");
    CHECK_EQUAL(prefetch.count, 1);
    look(NEXT("/first"));
    CHECK_EQUAL(prefetch.count, 0);
}

static void no_more_is_foreseen_than_the_store_takes(void)
{
    static char text[4096];
    for (int i = 0; i < CACHE_PREFETCH_MAX + 2; i++)
        strcat(text, NEXT("/"));
    look(text);
    CHECK_EQUAL(prefetch.count, CACHE_PREFETCH_MAX);
}

int main(void)
{
    CHECK_EQUAL(cache_init(&cache, 1 << 20, &purges, (struct hash_key){1, 2}), 0);
    RUN(the_next_targets_are_foreseen_in_their_order);
    RUN(a_right_guess_is_taken_and_a_wrong_one_is_not);
    RUN(what_does_not_look_alike_ends_it);
    RUN(no_more_is_foreseen_than_the_store_takes);
    cache_fini(&cache);
    return check_end();
}
