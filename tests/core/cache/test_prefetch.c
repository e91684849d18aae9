/* The foresight: a guess is used where it is right, and does no harm where it is wrong. */
#include "make.h"

#include "cache/prefetch.h"

#define NEXT(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"

static struct purges purges;
static struct store store;
static struct foresight foresight;

/* The head of the first request of `text`; what is behind it is foreseen. */
static struct head look(const char *text)
{
    struct head head = {0};
    size_t scanned = 0;
    CHECK_EQUAL(head_parse_next(text_of(text), &scanned, &head), HEAD_DONE);
    struct slice rest = text_of(text);
    slice_skip(&rest, head.size);
    foresight_init(&foresight);
    CHECK(foresight_is_spent(&foresight));
    foresight_look(&foresight, &store, rest, &head);
    return head;
}

static void the_next_targets_are_foreseen_in_their_order(void)
{
    const char *text = NEXT("/first") NEXT("/a?b=c") NEXT("/") NEXT("/third");
    look(text);
    CHECK_EQUAL(foresight.count, 3);
    CHECK_TEXT(foresight.targets[0], "/a?b=c");
    CHECK_TEXT(foresight.targets[1], "/");
    CHECK_TEXT(foresight.targets[2], "/third");
}

/* A guess is marked by a wrong hash. */
static void a_right_guess_is_taken_and_a_wrong_one_is_not(void)
{
    look(NEXT("/1") NEXT("/2") NEXT("/3"));
    struct slice target = foresight.targets[0];
    foresight.hashes[0] ^= 1;
    CHECK_EQUAL(foresight_take(&foresight, &store, target), store_hash(&store, target) ^ 1);
    /* The same bytes elsewhere, or more of them, are another target. */
    target = foresight.targets[1];
    foresight.hashes[1] ^= 1;
    CHECK_EQUAL(foresight_take(&foresight, &store, SLICE("/3")), store_hash(&store, SLICE("/3")));
    CHECK(foresight_is_spent(&foresight));
    CHECK_EQUAL(foresight_take(&foresight, &store, target), store_hash(&store, target));
    look(NEXT("/1") NEXT("/22"));
    foresight.hashes[0] ^= 1;
    target = slice_of(foresight.targets[0].data, 2);
    CHECK_EQUAL(foresight_take(&foresight, &store, target), store_hash(&store, target));
}

static void what_does_not_look_alike_ends_it(void)
{
    look(NEXT("/first") "GET /cut");
    CHECK_EQUAL(foresight.count, 0);
    look(NEXT("/first") NEXT("/second") "GE");
    CHECK_EQUAL(foresight.count, 1);
    look(NEXT("/first") "GET /shorter HTTP/1.1\r\n\r\n");
    CHECK_EQUAL(foresight.count, 1);
    look(NEXT("/first"));
    CHECK_EQUAL(foresight.count, 0);
}

static void no_more_is_foreseen_than_the_store_takes(void)
{
    static char text[4096];
    for (int i = 0; i < STORE_FORESEEN + 2; i++)
        strcat(text, NEXT("/"));
    look(text);
    CHECK_EQUAL(foresight.count, STORE_FORESEEN);
}

int main(void)
{
    CHECK_EQUAL(store_init(&store, 1 << 20, &purges, (struct hash_key){1, 2}), 0);
    RUN(the_next_targets_are_foreseen_in_their_order);
    RUN(a_right_guess_is_taken_and_a_wrong_one_is_not);
    RUN(what_does_not_look_alike_ends_it);
    RUN(no_more_is_foreseen_than_the_store_takes);
    store_fini(&store);
    return check_end();
}
