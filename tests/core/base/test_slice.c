/* Slices: comparison, trimming, comma-separated lists. */
#include "check.h"

static void slices_of_the_same_bytes_are_equal(void)
{
    CHECK(slice_equal(SLICE("abc"), slice_of("abcd", 3)));
    CHECK(!slice_equal(SLICE("abc"), SLICE("abd")));
    CHECK(!slice_equal(SLICE("abc"), SLICE("ab")));
    CHECK(slice_equal(slice_of(NULL, 0), SLICE("")));
}

static void nothing_can_be_skipped_of_nothing(void)
{
    struct slice slice = slice_of(NULL, 0);
    slice_skip(&slice, 0); /* clang's sanitizer is the judge */
    CHECK(slice.data == NULL);
    slice = SLICE("abc");
    slice_skip(&slice, 2);
    CHECK_TEXT(slice, "c");
}

static void case_is_ignored_for_ascii_letters_only(void)
{
    CHECK(slice_equal_nocase(SLICE("Content-LENGTH"), SLICE("content-length")));
    CHECK(!slice_equal_nocase(SLICE("content_length"), SLICE("content-length")));
    CHECK(!slice_equal_nocase(SLICE("content"), SLICE("content-length")));
    /* A careless "| 0x20" makes these equal. */
    CHECK(!slice_equal_nocase(SLICE("\x01"), SLICE("!")));
    CHECK(!slice_equal_nocase(SLICE("["), SLICE("{")));
    CHECK(!slice_equal_nocase(SLICE("@"), SLICE("`")));
}

static void blanks_at_both_ends_are_trimmed(void)
{
    CHECK_TEXT(slice_trim(SLICE(" \t a b\t ")), "a b");
    CHECK_TEXT(slice_trim(SLICE(" \t ")), "");
    CHECK_TEXT(slice_trim(SLICE("")), "");
    CHECK_TEXT(slice_trim(SLICE("\n")), "\n");
}

static void a_list_yields_its_members_trimmed_and_none_that_is_empty(void)
{
    struct slice list = at_forbidden_page(SLICE(" ,a,\tb c ,, d")), member;
    CHECK(slice_next_member(&list, &member));
    CHECK_TEXT(member, "a");
    CHECK(slice_next_member(&list, &member));
    CHECK_TEXT(member, "b c");
    CHECK(slice_next_member(&list, &member));
    CHECK_TEXT(member, "d");
    CHECK(!slice_next_member(&list, &member));
    list = SLICE(" , ,");
    CHECK(!slice_next_member(&list, &member));
}

int main(void)
{
    RUN(slices_of_the_same_bytes_are_equal);
    RUN(nothing_can_be_skipped_of_nothing);
    RUN(case_is_ignored_for_ascii_letters_only);
    RUN(blanks_at_both_ends_are_trimmed);
    RUN(a_list_yields_its_members_trimmed_and_none_that_is_empty);
    return check_end();
}
