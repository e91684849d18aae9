/* The connection table. Free slots form a list, and those that are parked another. */
#include "server/conn_table.h"

#include <assert.h>
#include <stdlib.h>

int slots_init(struct slots *slots, uint32_t limit, uint32_t adopted)
{
    uint32_t count = limit > adopted ? limit : adopted;
    *slots = (struct slots){.limit = limit};
    slots->all = calloc(count, sizeof *slots->all);
    if (!slots->all)
        return -1;
    slots->count = slots->parked = count;
    for (uint32_t i = 0; i < count; i++)
        slots->all[i].next = i + 1;
    return 0;
}

void slots_fini(struct slots *slots)
{
    free(slots->all);
    *slots = (struct slots){0};
}

bool slots_are_full(const struct slots *slots)
{
    return slots->taken >= slots->limit;
}

void slots_take(struct slots *slots, struct conn *conn)
{
    assert(slots->free < slots->count);
    struct slot *slot = &slots->all[slots->free];
    conn->slot = slots->free;
    slots->free = slot->next;
    slots->taken++;
    slot->conn = conn;
}

void slots_free(struct slots *slots, struct conn *conn)
{
    struct slot *slot = &slots->all[conn->slot];
    slot->conn = NULL;
    slot->serial++;
    slot->next = slots->free;
    slots->free = conn->slot;
    slots->taken--;
    conn_free(conn);
}

struct conn *slots_find(const struct slots *slots, uint64_t key)
{
    uint32_t index = (uint32_t)key, serial = (uint32_t)(key >> 32);
    if (index >= slots->count || slots->all[index].serial != serial)
        return NULL;
    return slots->all[index].conn;
}

uint64_t slots_key(const struct slots *slots, const struct conn *conn)
{
    return (uint64_t)slots->all[conn->slot].serial << 32 | conn->slot;
}

void slots_park(struct slots *slots, struct conn *conn)
{
    struct slot *slot = &slots->all[conn->slot];
    slot->serial++;
    slot->next = slots->parked;
    slots->parked = conn->slot;
}

struct conn *slots_take_parked(struct slots *slots)
{
    if (slots->parked == slots->count)
        return NULL;
    struct slot *slot = &slots->all[slots->parked];
    struct conn *conn = slot->conn;
    slots->parked = slot->next;
    slots->taken--;
    slot->conn = NULL;
    return conn;
}
