/* The connection table. Free slots form a list; those to be handed over form another. */
#include "server/conn_table.h"

#include <assert.h>
#include <stdlib.h>

int conn_table_init(struct conn_table *table, uint32_t limit, uint32_t adopted)
{
    uint32_t count = limit > adopted ? limit : adopted;
    *table = (struct conn_table){.limit = limit};
    table->all = calloc(count, sizeof *table->all);
    if (!table->all)
        return -1;
    table->count = table->handed_over = count;
    for (uint32_t i = 0; i < count; i++)
        table->all[i].next = i + 1;
    return 0;
}

void conn_table_fini(struct conn_table *table)
{
    free(table->all);
    *table = (struct conn_table){0};
}

bool conn_table_is_full(const struct conn_table *table)
{
    return table->taken >= table->limit;
}

void conn_table_add(struct conn_table *table, struct conn *conn)
{
    assert(table->free < table->count);
    struct slot *slot = &table->all[table->free];
    conn->slot = table->free;
    table->free = slot->next;
    table->taken++;
    slot->conn = conn;
}

void conn_table_remove(struct conn_table *table, struct conn *conn)
{
    struct slot *slot = &table->all[conn->slot];
    slot->conn = NULL;
    slot->serial++;
    slot->next = table->free;
    table->free = conn->slot;
    table->taken--;
    conn_free(conn);
}

struct conn *conn_table_find(const struct conn_table *table, uint64_t key)
{
    uint32_t index = (uint32_t)key, serial = (uint32_t)(key >> 32);
    if (index >= table->count || table->all[index].serial != serial)
        return NULL;
    return table->all[index].conn;
}

uint64_t conn_table_key(const struct conn_table *table, const struct conn *conn)
{
    return (uint64_t)table->all[conn->slot].serial << 32 | conn->slot;
}

void conn_table_hand_over(struct conn_table *table, struct conn *conn)
{
    struct slot *slot = &table->all[conn->slot];
    slot->serial++;
    slot->next = table->handed_over;
    table->handed_over = conn->slot;
}

struct conn *conn_table_take_handed_over(struct conn_table *table)
{
    if (table->handed_over == table->count)
        return NULL;
    struct slot *slot = &table->all[table->handed_over];
    struct conn *conn = slot->conn;
    table->handed_over = slot->next;
    table->taken--;
    slot->conn = NULL;
    return conn;
}
