/* The audience: places for streams, and which tags are followed. */
#include "check.h"

#include "sse/subscribers.h"

static struct audience audience;

static void a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last(void)
{
    audience = (struct audience){.limit = 10};
    CHECK(!audience_follows(&audience, 7));
    CHECK(audience_join(&audience, 7) && audience_join(&audience, 7));
    CHECK(audience_follows(&audience, 7) && !audience_follows(&audience, 8));
    audience_leave(&audience, 7);
    CHECK(audience_follows(&audience, 7));
    audience_leave(&audience, 7);
    CHECK(!audience_follows(&audience, 7));
    CHECK_EQUAL(audience.streams, 0);
}

static void whoever_finds_no_place_is_counted_and_follows_nothing(void)
{
    audience = (struct audience){.limit = 2};
    CHECK(audience_join(&audience, 1) && audience_join(&audience, 2));
    CHECK(!audience_join(&audience, 3));
    CHECK(!audience_follows(&audience, 3));
    CHECK_EQUAL(audience.streams, 2);
    CHECK_EQUAL(audience.refused, 1);
    audience_leave(&audience, 1);
    CHECK(audience_join(&audience, 3));
}

int main(void)
{
    RUN(a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last);
    RUN(whoever_finds_no_place_is_counted_and_follows_nothing);
    return check_end();
}
