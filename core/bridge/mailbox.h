/* A bounded queue of messages, with a descriptor that is readable while it is not empty.
 *
 * Any thread may push, one takes. The lock covers a few pointers and is never held across a system
 * call or another module's function. The descriptor is written only if the mailbox was empty, so
 * many messages wake the other side once. */
#ifndef CORE_BRIDGE_MAILBOX_H
#define CORE_BRIDGE_MAILBOX_H

#include "bridge/message.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct mailbox {
    pthread_mutex_t lock;
    struct message *first; /* owns the whole list */
    struct message **end;
    uint32_t count;
    uint32_t limit;
    int event; /* an eventfd */
};

/* 0, or -1 with errno. `limit` is the number of messages it holds at most. */
int mailbox_init(struct mailbox *mailbox, uint32_t limit);

/* Nobody may push any more; remaining messages are freed with `free`, without what they own. */
void mailbox_fini(struct mailbox *mailbox);

/* Takes `message` and returns true; when the mailbox is full returns false and takes nothing. */
bool mailbox_push(struct mailbox *mailbox, struct message *message);

/* As `mailbox_push`, but wakes nobody: after adding some, the caller calls `mailbox_wake` once,
 * soon. */
bool mailbox_add(struct mailbox *mailbox, struct message *message);

/* As `mailbox_add`, but also when the mailbox is full. */
void mailbox_return(struct mailbox *mailbox, struct message *message);

/* Take all messages, oldest first, linked by `next`; the caller owns them. NULL if it is empty. The
 * descriptor is not readable after this. */
struct message *mailbox_take(struct mailbox *mailbox);

/* Make the descriptor readable although no message came. */
void mailbox_wake(struct mailbox *mailbox);

/* How many messages wait. */
uint32_t mailbox_depth(struct mailbox *mailbox);

#endif
