/* Events; see event.h. */
#include "sse/event.h"

#include "http/response.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a chunk around its data, and a NUL. */
enum { CHUNK_ROOM = 24 };

struct reply *event_new(struct slice tag, struct slice data)
{
    assert(data.size > 0); /* an empty chunk would be the last one */
    struct reply *event = malloc(sizeof *event + tag.size + CHUNK_ROOM + data.size);
    if (!event)
        return NULL;
    *event = (struct reply){.kind = REPLY_EVENT, .target_size = (uint32_t)tag.size};
    char *at = (char *)event->tags;
    memcpy(at, tag.data, tag.size);
    at += tag.size;
    event->full.start = (uint32_t)(at - (char *)event);
    event->full.body_size = (uint32_t)data.size;
    event->full.head_size =
        (uint32_t)(response_write_chunk(at, data) - at - (ptrdiff_t)data.size - 2);
    return event;
}

struct slice event_piece(const struct reply *event, bool chunked)
{
    const struct rendered *rendered = &event->full;
    const char *bytes = reply_bytes(event, rendered);
    return chunked ? slice_of(bytes, rendered->head_size + rendered->body_size + 2)
                   : slice_of(bytes + rendered->head_size, rendered->body_size);
}

struct slice event_heartbeat(bool chunked)
{
    return chunked ? SLICE("3\r\n:\n\n\r\n") : SLICE(":\n\n");
}

struct slice event_end(bool chunked)
{
    return chunked ? SLICE("0\r\n\r\n") : SLICE("");
}
