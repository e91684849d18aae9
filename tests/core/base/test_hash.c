/* The hash: every byte counts, the key counts, and buckets fill evenly. */
#include "base/hash.h"
#include "check.h"

#include <stdlib.h>

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
    /* 100 on average with a deviation of 10: outside of 6 deviations means a fault. */
    for (int i = 0; i < BUCKETS; i++)
        uneven += low[i] < 40 || low[i] > 160 || high[i] < 40 || high[i] > 160;
    CHECK_EQUAL(uneven, 0);
}

int main(void)
{
    RUN(every_bit_of_every_length_changes_the_hash);
    RUN(no_byte_behind_the_end_is_read);
    RUN(another_key_gives_another_hash);
    RUN(buckets_fill_evenly);
    return check_end();
}
