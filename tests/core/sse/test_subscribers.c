/* The subscribers: places for streams, and which tags are followed. */
#include "check.h"

#include "sse/subscribers.h"

static struct subscribers subscribers;

static void a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last(void)
{
    subscribers = (struct subscribers){.limit = 10};
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK(subscribers_add(&subscribers, 7) && subscribers_add(&subscribers, 7));
    CHECK(subscribers_exist(&subscribers, 7) && !subscribers_exist(&subscribers, 8));
    subscribers_remove(&subscribers, 7);
    CHECK(subscribers_exist(&subscribers, 7));
    subscribers_remove(&subscribers, 7);
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK_EQUAL(subscribers.count, 0);
}

static void whoever_finds_no_place_is_counted_and_follows_nothing(void)
{
    subscribers = (struct subscribers){.limit = 2};
    CHECK(subscribers_add(&subscribers, 1) && subscribers_add(&subscribers, 2));
    CHECK(!subscribers_add(&subscribers, 3));
    CHECK(!subscribers_exist(&subscribers, 3));
    CHECK_EQUAL(subscribers.count, 2);
    CHECK_EQUAL(subscribers.refused, 1);
    subscribers_remove(&subscribers, 1);
    CHECK(subscribers_add(&subscribers, 3));
}

int main(void)
{
    RUN(a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last);
    RUN(whoever_finds_no_place_is_counted_and_follows_nothing);
    return check_end();
}
