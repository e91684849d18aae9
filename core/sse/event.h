/* What is sent on a stream once it has begun.
 *
 * An event is a reply without an address, for all streams that follow a tag. Each worker gets a
 * block of its own, which fits both kinds of clients: with HTTP/1.1 every event is a chunk, with
 * HTTP/1.0 the body ends with the connection (RFC 9112 section 6.3). The heartbeat is a
 * line that readers of text/event-stream skip (WHATWG, Server-sent events, section 9.2.5); we know
 * streams of no other format. */
#ifndef CORE_SSE_EVENT_H
#define CORE_SSE_EVENT_H

#include "seam/reply.h"

#include <stdbool.h>

/* The event `data` for `tag`; NULL without memory. */
struct reply *event_new(struct slice tag, struct slice data);

/* The bytes of `event` for one kind of client. */
struct slice event_piece(const struct reply *event, bool chunked);

/* What says that we are still there. */
struct slice event_heartbeat(bool chunked);

/* What ends a stream. */
struct slice event_end(bool chunked);

#endif
