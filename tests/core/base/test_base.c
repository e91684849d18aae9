/* base/: buffers, the clock, hashes and slices. */
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

/* Buffers: growing, consuming, and running out of memory (the test replaces malloc). */

void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);

static bool no_memory;

void *__wrap_realloc(void *block, size_t size)
{
    return no_memory ? NULL : __real_realloc(block, size);
}

static void what_is_appended_comes_out_in_order(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    for (int i = 0; i < 1000; i++)
        CHECK(buffer_append(&buffer, "0123456789", 10));
    CHECK_EQUAL(buffer.size, 10000);
    for (int i = 0; i < 1000; i++) {
        CHECK(slice_equal(slice_of(buffer.data, 10), SLICE("0123456789")));
        buffer_consume(&buffer, 10);
    }
    CHECK_EQUAL(buffer.size, 0);
    buffer_fini(&buffer);
}

static void an_emptied_buffer_holds_no_memory(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    CHECK(buffer_append(&buffer, "abc", 3));
    buffer_consume(&buffer, 3);
    CHECK(buffer.data == NULL);
    CHECK_EQUAL(buffer.capacity, 0);
    buffer_fini(&buffer);
    buffer_fini(&buffer);
}

static void a_part_consumed_leaves_the_rest(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    CHECK(buffer_append(&buffer, "abcdef", 6));
    buffer_consume(&buffer, 0);
    buffer_consume(&buffer, 4);
    CHECK_TEXT(buffer_slice(&buffer), "ef");
    buffer_fini(&buffer);
}

static void reserved_room_is_there(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    CHECK(buffer_append(&buffer, "ab", 2));
    CHECK(buffer_reserve(&buffer, 5000));
    CHECK(buffer.capacity - buffer.size >= 5000);
    memset(buffer.data + buffer.size, 'x', 5000);
    CHECK_TEXT(buffer_slice(&buffer), "ab");
    buffer_fini(&buffer);
}

static void nothing_is_no_reason_to_allocate(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    CHECK(buffer_append(&buffer, NULL, 0));
    CHECK(buffer.data == NULL);
}

static void without_memory_nothing_is_lost(void)
{
    struct buffer buffer;
    buffer_init(&buffer);
    CHECK(buffer_append(&buffer, "abc", 3));
    no_memory = true;
    char more[4096] = {0};
    CHECK(!buffer_append(&buffer, more, sizeof more));
    CHECK(!buffer_reserve(&buffer, sizeof more));
    no_memory = false;
    CHECK(!buffer_reserve(&buffer, SIZE_MAX));
    CHECK(!buffer_reserve(&buffer, SIZE_MAX - 3));
    CHECK_TEXT(buffer_slice(&buffer), "abc");
    buffer_fini(&buffer);
}

/* The clock: the format of the date, and that time never goes back. */

static struct slice date_of(time_t second)
{
    static char date[CLOCK_DATE_SIZE + 1];
    memset(date, 'x', sizeof date);
    clock_write_date(second, date);
    CHECK_EQUAL(date[CLOCK_DATE_SIZE], 0);
    return slice_of(date, CLOCK_DATE_SIZE);
}

static void the_date_has_the_form_of_rfc_9110(void)
{
    CHECK_TEXT(date_of(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
    CHECK_TEXT(date_of(0), "Thu, 01 Jan 1970 00:00:00 GMT");
    CHECK_TEXT(date_of(1709164800), "Thu, 29 Feb 2024 00:00:00 GMT");
    CHECK_TEXT(date_of(4102444799), "Thu, 31 Dec 2099 23:59:59 GMT");
}

static void an_update_reads_both_clocks(void)
{
    struct clock clock = {0};
    clock_update(&clock);
    CHECK(clock.now > 0);
    CHECK(clock.second > 1600000000);
    CHECK(slice_equal(slice_of(clock.date, CLOCK_DATE_SIZE), date_of(clock.second)));
    int64_t before = clock.now;
    for (int i = 0; i < 1000; i++) {
        clock_update(&clock);
        CHECK(clock.now >= before);
        before = clock.now;
    }
}

static void the_date_follows_the_second(void)
{
    struct clock clock = {0};
    clock_update(&clock);
    clock.second -= 3600;
    clock_write_date(clock.second, clock.date);
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME_COARSE, &before);
    clock_update(&clock);
    clock_gettime(CLOCK_REALTIME, &after);
    CHECK(slice_equal(slice_of(clock.date, CLOCK_DATE_SIZE), date_of(clock.second)));
    CHECK(before.tv_sec <= clock.second && clock.second <= after.tv_sec);
}

static void the_exact_clock_runs_with_the_coarse_one(void)
{
    enum { COARSE_MS = 1000 }; /* at most; usually it is one tick of the kernel */
    struct clock clock = {0};
    int64_t first = clock_exact();
    clock_update(&clock);
    int64_t second = clock_exact();
    CHECK(second >= first);
    CHECK(first / 1000000 - COARSE_MS < clock.now && clock.now <= second / 1000000 + 1);
}

/* The hash: every byte and the key matter, and the buckets fill evenly. */

static const struct hash_key key = {0x0123456789abcdefu, 0xfedcba9876543210u};

static void every_bit_of_every_length_changes_the_hash(void)
{
    char text[70];
    memset(text, 'a', sizeof text);
    unsigned same = 0;
    for (size_t size = 0; size <= 64; size++) {
        uint64_t hash = hash_bytes(&key, text, size);
        for (size_t bit = 0; bit < size * 8; bit++) {
            text[bit / 8] ^= (char)(1 << bit % 8);
            same += hash_bytes(&key, text, size) == hash;
            text[bit / 8] ^= (char)(1 << bit % 8);
        }
        same += hash_bytes(&key, text, size + 1) == hash;
    }
    CHECK_EQUAL(same, 0);
}

static void no_byte_behind_the_end_is_read(void)
{
    char text[40];
    memset(text, 'b', sizeof text);
    for (size_t size = 0; size <= sizeof text; size++) {
        struct slice slice = at_forbidden_page(slice_of(text, size));
        CHECK_EQUAL(hash_bytes(&key, slice.data, size), hash_bytes(&key, text, size));
    }
}

static void another_key_gives_another_hash(void)
{
    struct hash_key first, second;
    CHECK_EQUAL(hash_key_random(&first), 0);
    CHECK_EQUAL(hash_key_random(&second), 0);
    CHECK(hash_bytes(&first, "/a", 2) != hash_bytes(&second, "/a", 2));
    const struct hash_key near = {key.a, key.b + 1};
    CHECK(hash_bytes(&near, "/a", 2) != hash_bytes(&key, "/a", 2));
}

static void buckets_fill_evenly(void)
{
    enum { BUCKETS = 1024, TARGETS = 100 * BUCKETS };
    static unsigned low[BUCKETS], high[BUCKETS];
    for (int i = 0; i < TARGETS; i++) {
        char target[64];
        int size = snprintf(target, sizeof target, "/api/comments/count?url=/%d/", i);
        uint64_t hash = hash_bytes(&key, target, (size_t)size);
        low[hash % BUCKETS]++;
        high[hash >> 54]++;
    }
    unsigned uneven = 0;
    /* 100 on average with a standard deviation of 10: more than 6 deviations off means a fault. */
    for (int i = 0; i < BUCKETS; i++)
        uneven += low[i] < 40 || low[i] > 160 || high[i] < 40 || high[i] > 160;
    CHECK_EQUAL(uneven, 0);
}

/* Slices: comparison, trimming, comma-separated lists. */

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
    slice_skip(&slice, 0); /* clang's sanitizer checks this */
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
    /* A careless "| 0x20" would make these equal. */
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
    RUN(what_is_appended_comes_out_in_order);
    RUN(an_emptied_buffer_holds_no_memory);
    RUN(a_part_consumed_leaves_the_rest);
    RUN(reserved_room_is_there);
    RUN(nothing_is_no_reason_to_allocate);
    RUN(without_memory_nothing_is_lost);
    RUN(the_date_has_the_form_of_rfc_9110);
    RUN(an_update_reads_both_clocks);
    RUN(the_date_follows_the_second);
    RUN(the_exact_clock_runs_with_the_coarse_one);
    RUN(every_bit_of_every_length_changes_the_hash);
    RUN(no_byte_behind_the_end_is_read);
    RUN(another_key_gives_another_hash);
    RUN(buckets_fill_evenly);
    RUN(slices_of_the_same_bytes_are_equal);
    RUN(nothing_can_be_skipped_of_nothing);
    RUN(case_is_ignored_for_ascii_letters_only);
    RUN(blanks_at_both_ends_are_trimmed);
    RUN(a_list_yields_its_members_trimmed_and_none_that_is_empty);
    return check_end();
}
