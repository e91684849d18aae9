/* The streams of one worker by the tags that they follow, and the events to be dealt out to them.
 *
 * DESIGN. A stream is a connection whose answer goes on: no Python object and no buffer stands
 * behind it, only a block with its tag. An event goes to one stream after the other, a few in each
 * pass of the worker, so that those who read stored answers wait for no long list. Events keep the
 * order in which they were published, and a stream gets none that was published before it began:
 * mailboxes keep the order in which Python says things, and events are numbered as they come.
 *
 * All of it runs in the worker's pthread; only the audience is everybody's.
 */
#ifndef CORE_SSE_SUBSCRIPTIONS_H
#define CORE_SSE_SUBSCRIPTIONS_H

#include "seam/reply.h"
#include "sse/subscribers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One stream, owned by its connection. */
struct stream {
    struct stream *later; /* in the same bucket */
    struct stream **link; /* to this one */
    struct streams *streams;
    uint64_t begun; /* behind so many events */
    uint32_t slot;  /* of the connection */
    uint32_t place; /* of the tag */
    bool chunked;
    size_t tag_size;
    char tag[];
};

struct streams {
    struct audience *audience; /* borrows */
    struct stream **buckets;   /* owns */
    struct message *events;    /* owns: those in hand, the oldest first */
    struct message **end;      /* of that list */
    struct stream *next;       /* gets the first event in hand, or is passed over by it */
    uint64_t taken;            /* events, ever */
    uint64_t number;           /* of the event that is dealt out; 0: none is */
};

/* 0, or -1 without memory; fini is safe in either case. */
int streams_init(struct streams *streams, struct audience *audience);
void streams_fini(struct streams *streams);

/* The stream that `reply` begins on the connection in `slot`, with the place in the audience that
 * the reply has; NULL without memory, and then the place is left. */
struct stream *stream_new(struct streams *streams, const struct reply *reply, uint32_t slot);

/* Out of the audience; NULL is allowed. */
void stream_free(struct stream *stream);

/* Nobody is there for the stream that `reply` would begin: leave the audience. */
void streams_forgo(struct streams *streams, const struct reply *reply);

/* Takes `event`, to deal it out. */
void streams_take(struct streams *streams, struct reply *event);

/* The next stream that gets an event, and `*event` to send, which is borrowed until the next call;
 * NULL when everybody has everything. */
struct stream *streams_deal(struct streams *streams, const struct reply **event);

/* Whether `streams_deal` has something to give. */
static inline bool streams_owe(const struct streams *streams)
{
    return streams->events != NULL;
}

#endif
