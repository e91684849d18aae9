/* The subscribers: places for streams, and which tags are followed. */
#include "check.h"

#include "sse/subscribers.h"

static struct subscribers subscribers;

static void a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last(void)
{
    subscribers = (struct subscribers){.limit = 10};
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK(subscribers_add(&subscribers, 7, 0, 0) && subscribers_add(&subscribers, 7, 0, 0));
    CHECK(subscribers_exist(&subscribers, 7) && !subscribers_exist(&subscribers, 8));
    subscribers_remove(&subscribers, 7, 0);
    CHECK(subscribers_exist(&subscribers, 7));
    subscribers_remove(&subscribers, 7, 0);
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK_EQUAL(subscribers.count, 0);
}

static void whoever_finds_no_place_is_counted_and_follows_nothing(void)
{
    subscribers = (struct subscribers){.limit = 2};
    CHECK(subscribers_add(&subscribers, 1, 0, 0) && subscribers_add(&subscribers, 2, 0, 0));
    CHECK(!subscribers_add(&subscribers, 3, 0, 0));
    CHECK(!subscribers_exist(&subscribers, 3));
    CHECK_EQUAL(subscribers.count, 2);
    CHECK_EQUAL(subscribers.refused, 1);
    subscribers_remove(&subscribers, 1, 0);
    CHECK(subscribers_add(&subscribers, 3, 0, 0));
}

static void a_group_has_a_bound_of_its_own(void)
{
    subscribers = (struct subscribers){.limit = 10};
    CHECK(subscribers_add(&subscribers, 1, 5, 2) && subscribers_add(&subscribers, 2, 5, 2));
    CHECK(!subscribers_add(&subscribers, 1, 5, 2));
    CHECK(!subscribers_add(&subscribers, 3, 5, 2) && !subscribers_exist(&subscribers, 3));
    CHECK_EQUAL(subscribers.count, 2);
    CHECK_EQUAL(subscribers.refused, 2);
    CHECK(subscribers_add(&subscribers, 1, 6, 2));
    subscribers_remove(&subscribers, 1, 5);
    CHECK(subscribers_add(&subscribers, 3, 5, 2));
    CHECK(subscribers_add(&subscribers, 3, 5, 0)); /* no bound */
}

int main(void)
{
    RUN(a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last);
    RUN(whoever_finds_no_place_is_counted_and_follows_nothing);
    RUN(a_group_has_a_bound_of_its_own);
    return check_end();
}
