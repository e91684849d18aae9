/* Buffers: growing, consuming, and what happens without memory (malloc is played by the test). */
#include "base/buffer.h"
#include "check.h"

#include <stdint.h>
#include <stdlib.h>

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

int main(void)
{
    RUN(what_is_appended_comes_out_in_order);
    RUN(an_emptied_buffer_holds_no_memory);
    RUN(a_part_consumed_leaves_the_rest);
    RUN(reserved_room_is_there);
    RUN(nothing_is_no_reason_to_allocate);
    RUN(without_memory_nothing_is_lost);
    return check_end();
}
