/* Slots and their tenants; that nobody gets what is meant for a former one. */
#include "pair.h"

#include "server/conn_table.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool no_memory;

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

static struct slots slots;

static struct conn *tenant(void)
{
    pair_connect();
    close(client);
    slots_take(&slots, conn);
    return conn;
}

static void a_connection_is_found_by_its_key_until_it_leaves(void)
{
    make_tools();
    CHECK_EQUAL(slots_init(&slots, 2, 0), 0);
    struct conn *first = tenant(), *second = tenant();
    uint64_t key = slots_key(&slots, first);
    CHECK(slots_find(&slots, key) == first &&
          slots_find(&slots, slots_key(&slots, second)) == second);
    CHECK(slots_are_full(&slots));
    slots_free(&slots, first);
    CHECK(!slots_are_full(&slots) && slots_find(&slots, key) == NULL);
    struct conn *third = tenant();
    CHECK_EQUAL((uint32_t)slots_key(&slots, third), (uint32_t)key);
    CHECK(slots_find(&slots, key) == NULL && slots_find(&slots, slots_key(&slots, third)) == third);
    CHECK(slots_find(&slots, 2) == NULL);
    slots_free(&slots, second);
    slots_free(&slots, third);
    slots_fini(&slots);
    tools_fini(&tools);
}

static void a_parked_one_is_found_no_more_and_taken_once(void)
{
    make_tools();
    CHECK_EQUAL(slots_init(&slots, 3, 0), 0);
    CHECK(slots_take_parked(&slots) == NULL);
    struct conn *stays = tenant(), *first = tenant(), *second = tenant();
    uint64_t key = slots_key(&slots, first);
    slots_park(&slots, first);
    slots_park(&slots, second);
    CHECK(slots_find(&slots, key) == NULL && slots_find(&slots, slots_key(&slots, stays)) == stays);
    CHECK(slots_are_full(&slots));
    CHECK(slots_take_parked(&slots) == second);
    CHECK(slots_take_parked(&slots) == first);
    CHECK(slots_take_parked(&slots) == NULL);
    conn_free(first);
    conn_free(second);
    slots_free(&slots, stays);
    slots_fini(&slots);
    tools_fini(&tools);
}

static void beyond_the_limit_those_of_another_server_find_room_and_are_counted(void)
{
    make_tools();
    CHECK_EQUAL(slots_init(&slots, 1, 3), 0);
    struct conn *tenants[] = {tenant(), tenant(), tenant()};
    slots_free(&slots, tenants[0]);
    slots_park(&slots, tenants[1]);
    CHECK(slots_are_full(&slots));
    conn_free(slots_take_parked(&slots));
    CHECK(slots_are_full(&slots));
    slots_free(&slots, tenants[2]);
    CHECK(!slots_are_full(&slots));
    slots_fini(&slots);
    tools_fini(&tools);
}

static void without_memory_there_are_none_and_the_end_is_safe(void)
{
    no_memory = true;
    CHECK_EQUAL(slots_init(&slots, 3, 0), -1);
    no_memory = false;
    slots_fini(&slots);
    slots_fini(&slots);
}

int main(void)
{
    RUN(a_connection_is_found_by_its_key_until_it_leaves);
    RUN(a_parked_one_is_found_no_more_and_taken_once);
    RUN(beyond_the_limit_those_of_another_server_find_room_and_are_counted);
    RUN(without_memory_there_are_none_and_the_end_is_safe);
    return check_end();
}
