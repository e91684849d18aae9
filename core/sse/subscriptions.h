/* The streams of one worker by the tags that they follow, and the events still to be sent to them.
 * It runs in the worker's thread.
 *
 * A stream is a connection whose response goes on: no Python object and no buffer belongs to it,
 * only a block with its tag. An event goes to a few streams in each pass of the worker, so that
 * hits do not wait for a long list. Events keep the order in which they were published, and a
 * stream gets none that was published before it began: mailboxes keep their order, and events are
 * numbered as they come. */
#ifndef CORE_SSE_SUBSCRIPTIONS_H
#define CORE_SSE_SUBSCRIPTIONS_H

#include "seam/reply.h"
#include "sse/subscribers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream, owned by its connection. */
struct subscription {
    struct subscription *later; /* in the same bucket */
    struct subscription **link; /* to this one */
    struct subscriptions *subscriptions;
    uint64_t begun; /* behind so many events */
    uint32_t slot;  /* of the connection */
    uint32_t index; /* of the tag */
    uint32_t group; /* of the client */
    bool chunked;
    size_t tag_size;
    char tag[];
};

struct subscriptions {
    struct subscribers *subscribers; /* borrows */
    struct subscription **buckets;   /* owns */
    struct message *events;          /* owns: those in hand, the oldest first */
    struct message **end;            /* of that list */
    struct subscription *next;       /* gets the first event in hand, or is passed over by it */
    uint64_t taken;                  /* events, ever */
    uint64_t number;                 /* of the event that is dealt out; 0: none is */
};

/* 0, or -1 without memory; fini is safe in either case. */
int subscriptions_init(struct subscriptions *subscriptions, struct subscribers *subscribers);
void subscriptions_fini(struct subscriptions *subscriptions);

/* The stream that `reply` begins on the connection in `slot`, which
 * `subscribers_add` has counted; NULL without memory, and then it is counted no more. */
struct subscription *subscription_new(struct subscriptions *subscriptions,
                                      const struct reply *reply, uint32_t slot);

/* Counts one subscriber less; NULL is allowed. */
void subscription_free(struct subscription *subscription);

/* The client of the stream that `reply` would begin has left: count one subscriber less. */
void subscriptions_cancel(struct subscriptions *subscriptions, const struct reply *reply);

/* Takes `event`, to deal it out. */
void subscriptions_add_event(struct subscriptions *subscriptions, struct reply *event);

/* The next stream that gets an event, and `*event` to send, which is borrowed until the next call;
 * NULL when everybody has everything. */
struct subscription *subscriptions_next(struct subscriptions *subscriptions,
                                        const struct reply **event);

/* Whether `subscriptions_next` has something to give. */
static inline bool subscriptions_pending(const struct subscriptions *subscriptions)
{
    return subscriptions->events != NULL;
}

#endif
