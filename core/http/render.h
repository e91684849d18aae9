/* Heads and refusals as bytes. */
#ifndef CORE_HTTP_RENDER_H
#define CORE_HTTP_RENDER_H

#include "base/buffer.h"
#include "base/clock.h"
#include "seam/reply.h"

#include <stdbool.h>
#include <stddef.h>

/* What a head says of the connection. */
enum persistence {
    PERSIST,        /* nothing: HTTP/1.1 keeps alive by itself */
    PERSIST_SAY_SO, /* "keep-alive", to a client of HTTP/1.0 that asked */
    PERSIST_NOT,    /* "close" */
};

/* True when a handler may send this field: a token, a value that cannot end its line, and none of
 * the fields that the core itself decides. */
bool render_may_send(struct slice name, struct slice value);

/* Append the line of one field; false without memory. */
bool render_field(struct buffer *lines, struct slice name, struct slice value);

/* At least the bytes that `render_whole` or `render_brief` write for this response. */
size_t render_bound(const struct response *response, struct slice etag);

/* Write head and body at `at`; fill `part` but its start. Returns the end. */
char *render_whole(char *at, const struct response *response, struct slice etag, struct part *part);

/* Write the head of an answer that goes on, and what it begins with; fill `part` but its start.
 * Returns the end. */
char *render_stream(char *at, const struct response *response, bool chunked, struct part *part);

/* Write `data`, which is not empty, as one chunk (RFC 9112 section 7.1). Returns the end. */
char *render_chunk(char *at, struct slice data);

/* Write the head of the 304 answer in its place (RFC 9110 section 15.4.5). */
char *render_brief(char *at, const struct response *response, struct slice etag, struct part *part);

/* Append an answer, dated now, with the lines `own` that only this client gets; false without
 * memory. */
bool render_reply(struct buffer *out, const struct pieces *pieces, enum persistence persistence,
                  struct slice own, const struct clock *clock);

/* The status of the refusal at `index` in the table of them; 0 behind the last. */
int render_refused_status(size_t index);

/* Append the refusal with this status, from the one table of them, with or without its body, and
 * with the lines `own`; it always says "close". False without memory. */
bool render_refusal(struct buffer *out, int status, bool with_body, struct slice own,
                    const struct clock *clock);

#endif
