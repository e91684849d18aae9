/* What is sent on a stream after its beginning.
 *
 * An event is a reply without an address, for all streams that follow a tag. Each worker gets a
 * copy, which serves both kinds of clients: with HTTP/1.1 every event is a chunk, with HTTP/1.0 the
 * body ends with the connection (RFC 9112 section 6.3). The heartbeat is a line that readers of
 * text/event-stream ignore (WHATWG, Server-sent events, section 9.2.5); all streams have this
 * format. */
#ifndef CORE_SSE_EVENT_H
#define CORE_SSE_EVENT_H

#include "bridge/reply.h"

#include <stdbool.h>

/* The event `data` for `tag`; NULL without memory. */
struct reply *event_new(struct slice tag, struct slice data);

/* The bytes of `event` for one kind of client. */
struct slice event_piece(const struct reply *event, bool chunked);

/* The bytes of a heartbeat. */
struct slice event_heartbeat(bool chunked);

/* The bytes that end a stream. */
struct slice event_end(bool chunked);

#endif
