/* The common part of the two messages between workers and Python.
 *
 * A `struct request` goes from a worker to Python, a `struct reply` from Python to a worker. Each
 * is one malloc block and has copies of its content. Pushing one into a mailbox gives it away,
 * taking it receives it, and its owner frees it. A reply is addressed by worker, slot and serial,
 * never by a pointer. */
#ifndef CORE_BRIDGE_MESSAGE_H
#define CORE_BRIDGE_MESSAGE_H

#include <stdint.h>

/* The link of a mailbox; the first member of both messages. */
struct message {
    struct message *next;
};

/* Where a reply goes: a worker, a slot in it, and the serial that the slot had. */
struct address {
    uint32_t worker;
    uint32_t slot;
    uint32_t serial;
};

#endif
