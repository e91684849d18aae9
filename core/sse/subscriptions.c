/* The streams; see subscriptions.h. */
#include "sse/subscriptions.h"

#include <stdlib.h>
#include <string.h>

/* With 5,000 streams, the default, a bucket holds one or two. */
enum { BUCKETS = 4096 };

int streams_init(struct streams *streams, struct audience *audience)
{
    *streams = (struct streams){.audience = audience};
    streams->end = &streams->events;
    streams->buckets = calloc(BUCKETS, sizeof *streams->buckets);
    return streams->buckets ? 0 : -1;
}

/* Free the oldest event in hand. */
static void drop_event(struct streams *streams)
{
    struct message *first = streams->events;
    streams->events = first->next;
    if (!streams->events)
        streams->end = &streams->events;
    streams->number = 0;
    reply_free((struct reply *)first);
    atomic_fetch_sub(&streams->audience->events, 1);
}

void streams_fini(struct streams *streams)
{
    while (streams->events)
        drop_event(streams);
    free(streams->buckets);
    *streams = (struct streams){0};
}

static struct stream **bucket_of(struct streams *streams, uint32_t place)
{
    return &streams->buckets[place % BUCKETS];
}

struct stream *stream_new(struct streams *streams, const struct reply *reply, uint32_t slot)
{
    struct slice tag = reply_target(reply);
    struct stream *stream = malloc(sizeof *stream + tag.size);
    if (!stream) {
        streams_forgo(streams, reply);
        return NULL;
    }
    *stream = (struct stream){
        .streams = streams,
        .begun = streams->taken,
        .slot = slot,
        .place = tag_index(tag),
        .chunked = reply->chunked,
        .tag_size = tag.size,
    };
    memcpy(stream->tag, tag.data, tag.size);
    struct stream **bucket = bucket_of(streams, stream->place);
    stream->link = bucket;
    stream->later = *bucket;
    if (stream->later)
        stream->later->link = &stream->later;
    *bucket = stream;
    return stream;
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    struct streams *streams = stream->streams;
    if (streams->next == stream)
        streams->next = stream->later;
    *stream->link = stream->later;
    if (stream->later)
        stream->later->link = stream->link;
    audience_leave(streams->audience, stream->place);
    free(stream);
}

void streams_forgo(struct streams *streams, const struct reply *reply)
{
    audience_leave(streams->audience, tag_index(reply_target(reply)));
}

void streams_take(struct streams *streams, struct reply *event)
{
    event->sequence = ++streams->taken;
    event->message.next = NULL;
    *streams->end = &event->message;
    streams->end = &event->message.next;
}

static bool is_for(const struct reply *event, const struct stream *stream)
{
    return stream->begun < event->sequence &&
           slice_equal(slice_of(stream->tag, stream->tag_size), reply_target(event));
}

struct stream *streams_deal(struct streams *streams, const struct reply **event)
{
    while (streams->events) {
        struct reply *first = (struct reply *)streams->events;
        if (streams->number != first->sequence) {
            streams->number = first->sequence;
            streams->next = *bucket_of(streams, tag_index(reply_target(first)));
        }
        while (streams->next) {
            struct stream *stream = streams->next;
            streams->next = stream->later;
            if (is_for(first, stream)) {
                *event = first;
                return stream;
            }
        }
        drop_event(streams);
    }
    return NULL;
}
