/* Entity tags: the same body the same tag, and the lists of If-None-Match. */
#include "check.h"
#include "http/etag.h"

static void a_tag_is_strong_and_follows_the_body(void)
{
    char first[ETAG_SIZE], second[ETAG_SIZE], third[ETAG_SIZE];
    struct slice etag = etag_make(SLICE("{\"count\":1}"), first);
    CHECK_EQUAL(etag.size, ETAG_SIZE);
    CHECK_EQUAL(etag.data[0], '"');
    CHECK_EQUAL(etag.data[ETAG_SIZE - 1], '"');
    CHECK_EQUAL(strspn(etag.data + 1, "0123456789abcdef"), ETAG_SIZE - 2);
    CHECK(slice_equal(etag, etag_make(SLICE("{\"count\":1}"), second)));
    CHECK(!slice_equal(etag, etag_make(SLICE("{\"count\":2}"), third)));
    CHECK(!slice_equal(etag, etag_make(SLICE(""), third)));
}

/* Whether `value` names "abc", read whole and up to a forbidden page. */
static bool names(struct slice value)
{
    bool named = etag_is_named(value, SLICE("\"abc\""));
    CHECK_EQUAL(etag_is_named(at_forbidden_page(value), SLICE("\"abc\"")), named);
    return named;
}

static void a_list_names_its_members(void)
{
    CHECK(names(SLICE("\"abc\"")));
    CHECK(names(SLICE("\"x\", \"abc\"")));
    CHECK(names(SLICE("\"x\",\"abc\"")));
    CHECK(names(SLICE(", ,\t\"abc\" ,\"y\"")));
    CHECK(!names(SLICE("\"ab\"")));
    CHECK(!names(SLICE("\"abcd\"")));
    CHECK(!names(SLICE("")));
}

static void a_weak_tag_names_the_strong_one(void)
{
    CHECK(names(SLICE("W/\"abc\"")));
    CHECK(names(SLICE("\"x\", W/\"abc\"")));
    CHECK(!names(SLICE("w/\"abc\"")));
}

static void the_star_names_everything_but_only_alone(void)
{
    CHECK(names(SLICE("*")));
    CHECK(!names(SLICE("*, \"x\"")));
    CHECK(!names(SLICE("\"*\"")));
}

static void a_comma_within_a_tag_does_not_part_it(void)
{
    CHECK(!names(SLICE("\"x,\"abc\"")));
    CHECK(names(SLICE("\"x,y\",\"abc\"")));
}

static void a_malformed_value_names_nothing(void)
{
    CHECK(!names(SLICE("abc")));
    CHECK(!names(SLICE("\"abc")));
    CHECK(!names(SLICE("\"")));
    CHECK(!names(SLICE("W/")));
    CHECK(!names(SLICE("W/abc")));
    CHECK(!names(SLICE("x \"abc\"")));
}

int main(void)
{
    RUN(a_tag_is_strong_and_follows_the_body);
    RUN(a_list_names_its_members);
    RUN(a_weak_tag_names_the_strong_one);
    RUN(the_star_names_everything_but_only_alone);
    RUN(a_comma_within_a_tag_does_not_part_it);
    RUN(a_malformed_value_names_nothing);
    return check_end();
}
