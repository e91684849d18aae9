/* Slots and their connections; no connection gets what is meant for an earlier one in its slot. */
#include "pair.h"

#include "server/conn_table.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool no_memory;

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

static struct conn_table table;

static struct conn *tenant(void)
{
    pair_connect();
    close(client);
    conn_table_add(&table, conn);
    return conn;
}

static void a_connection_is_found_by_its_key_until_it_leaves(void)
{
    make_context();
    CHECK_EQUAL(conn_table_init(&table, 2, 0), 0);
    struct conn *first = tenant(), *second = tenant();
    uint64_t key = conn_table_key(&table, first);
    CHECK(conn_table_find(&table, key) == first &&
          conn_table_find(&table, conn_table_key(&table, second)) == second);
    CHECK(conn_table_is_full(&table));
    conn_table_remove(&table, first);
    CHECK(!conn_table_is_full(&table) && conn_table_find(&table, key) == NULL);
    struct conn *third = tenant();
    CHECK_EQUAL((uint32_t)conn_table_key(&table, third), (uint32_t)key);
    CHECK(conn_table_find(&table, key) == NULL &&
          conn_table_find(&table, conn_table_key(&table, third)) == third);
    CHECK(conn_table_find(&table, 2) == NULL);
    conn_table_remove(&table, second);
    conn_table_remove(&table, third);
    conn_table_fini(&table);
    context_fini(&context);
}

static void a_parked_one_is_found_no_more_and_taken_once(void)
{
    make_context();
    CHECK_EQUAL(conn_table_init(&table, 3, 0), 0);
    CHECK(conn_table_take_handed_over(&table) == NULL);
    struct conn *stays = tenant(), *first = tenant(), *second = tenant();
    uint64_t key = conn_table_key(&table, first);
    conn_table_hand_over(&table, first);
    conn_table_hand_over(&table, second);
    CHECK(conn_table_find(&table, key) == NULL &&
          conn_table_find(&table, conn_table_key(&table, stays)) == stays);
    CHECK(conn_table_is_full(&table));
    CHECK(conn_table_take_handed_over(&table) == second);
    CHECK(conn_table_take_handed_over(&table) == first);
    CHECK(conn_table_take_handed_over(&table) == NULL);
    conn_free(first);
    conn_free(second);
    conn_table_remove(&table, stays);
    conn_table_fini(&table);
    context_fini(&context);
}

static void beyond_the_limit_those_of_another_server_find_room_and_are_counted(void)
{
    make_context();
    CHECK_EQUAL(conn_table_init(&table, 1, 3), 0);
    struct conn *tenants[] = {tenant(), tenant(), tenant()};
    conn_table_remove(&table, tenants[0]);
    conn_table_hand_over(&table, tenants[1]);
    CHECK(conn_table_is_full(&table));
    conn_free(conn_table_take_handed_over(&table));
    CHECK(conn_table_is_full(&table));
    conn_table_remove(&table, tenants[2]);
    CHECK(!conn_table_is_full(&table));
    conn_table_fini(&table);
    context_fini(&context);
}

static void without_memory_there_are_none_and_the_end_is_safe(void)
{
    no_memory = true;
    CHECK_EQUAL(conn_table_init(&table, 3, 0), -1);
    no_memory = false;
    conn_table_fini(&table);
    conn_table_fini(&table);
}

int main(void)
{
    RUN(a_connection_is_found_by_its_key_until_it_leaves);
    RUN(a_parked_one_is_found_no_more_and_taken_once);
    RUN(beyond_the_limit_those_of_another_server_find_room_and_are_counted);
    RUN(without_memory_there_are_none_and_the_end_is_safe);
    return check_end();
}
