/* A response as bytes: what a handler says, what is rendered of it once, what is sent of it each
 * time, and the refusals of the core itself. */
#ifndef CORE_HTTP_RESPONSE_H
#define CORE_HTTP_RESPONSE_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What Python answers; all slices are borrowed. */
struct response {
    int status;
    struct slice fields; /* lines, each with its CRLF, without those the core writes */
    struct slice body;
    const uint32_t *tags; /* places in the table of purges */
    size_t tag_count;     /* 0: not to be stored */
    struct slice follows; /* the tag of whose events the answer goes on; empty: it ends */
};

/* A part of a block: a head whose date is written at each use, and the body behind it. The lines up
 * to that of the date are the same in many heads; those behind it tell of the body. */
struct part {
    uint32_t start;     /* from the start of the block */
    uint32_t head_size; /* with its empty line */
    uint32_t body_size;
    uint32_t date; /* from `start` to the 29 bytes of the date */
};

/* What is sent one behind the other; it borrows the bytes from where they are kept. */
struct pieces {
    struct slice common; /* status line and fields, the last one that of the date */
    uint32_t date;       /* from the start of `common` to the date */
    uint32_t body_size;
    struct slice rest; /* further fields, the empty line, and the body */
};

/* Bytes of a head up to the end of its date's line. */
static inline uint32_t part_common_size(const struct part *part)
{
    return part->date + CLOCK_DATE_SIZE + 2;
}

static inline struct pieces part_pieces(const void *block, const struct part *part)
{
    const char *head = (const char *)block + part->start;
    uint32_t common = part_common_size(part);
    return (struct pieces){
        .common = slice_of(head, common),
        .date = part->date,
        .body_size = part->body_size,
        .rest = slice_of(head + common, part->head_size - common + part->body_size),
    };
}

/* Cut the body off. */
static inline struct slice pieces_take_body(struct pieces *pieces)
{
    size_t size = pieces->body_size;
    pieces->rest.size -= size;
    pieces->body_size = 0;
    return slice_of(pieces->rest.data + pieces->rest.size, size);
}

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
