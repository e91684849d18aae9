/* The streams of one worker by their tags, and the events still to be sent on them. It runs in the
 * worker's thread.
 *
 * A stream has no Python object and no buffer, only a block with its tag. An event is sent on a few
 * streams in each pass of the worker, so that hits do not wait for a long list. Events keep the
 * order in which they were published, and a stream gets none that was published before it began:
 * mailboxes keep their order, and events are numbered when they arrive. */
#ifndef CORE_SSE_SUBSCRIPTIONS_H
#define CORE_SSE_SUBSCRIPTIONS_H

#include "bridge/reply.h"
#include "sse/subscribers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream, owned by its connection. */
struct subscription {
    struct subscription *later; /* in the same bucket */
    struct subscription **link; /* to this one */
    struct subscriptions *subscriptions;
    uint64_t begun; /* the number of events before it began */
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
    struct message *events;          /* owns: those to deliver, the oldest first */
    struct message **end;            /* of that list */
    struct subscription *next;       /* the next candidate for the first event */
    uint64_t taken;                  /* events, ever */
    uint64_t number;                 /* of the event that is being delivered; 0: none */
};

/* 0, or -1 without memory; fini is safe in either case. */
int subscriptions_init(struct subscriptions *subscriptions, struct subscribers *subscribers);
void subscriptions_fini(struct subscriptions *subscriptions);

/* Make the stream that `reply` begins on the connection in `slot`. `subscribers_add` has counted
 * it; NULL without memory, and then it is not counted any more. */
struct subscription *subscription_new(struct subscriptions *subscriptions,
                                      const struct reply *reply, uint32_t slot);

/* Counts one subscriber less; NULL is allowed. */
void subscription_free(struct subscription *subscription);

/* The client of the stream that `reply` would begin has left: count one subscriber less. */
void subscriptions_cancel(struct subscriptions *subscriptions, const struct reply *reply);

/* Take `event` for delivery. */
void subscriptions_add_event(struct subscriptions *subscriptions, struct reply *event);

/* The next stream that gets an event, and `*event` to send, which is borrowed until the next call;
 * NULL if nothing is left to deliver. */
struct subscription *subscriptions_next(struct subscriptions *subscriptions,
                                        const struct reply **event);

/* Whether events are left for `subscriptions_next`. */
static inline bool subscriptions_pending(const struct subscriptions *subscriptions)
{
    return subscriptions->events != NULL;
}

#endif
