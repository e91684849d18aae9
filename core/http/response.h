/* A response as bytes: what a handler says, what is rendered of it once, what is sent of it each
 * time, and the refusals of the core itself. */
#ifndef CORE_HTTP_RESPONSE_H
#define CORE_HTTP_RESPONSE_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/slice.h"
#include "http/etag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What Python answers; all slices are borrowed. */
struct response {
    int status;
    struct slice fields; /* lines, each with its CRLF, without those the core writes */
    struct slice body;
    struct slice gzip;    /* the body with this coding, for clients that prefer it; empty: none */
    const uint32_t *tags; /* indexes, see seam/tag.h */
    size_t tag_count;     /* 0: not to be stored */
    struct slice follows; /* the tag of whose events the answer goes on; empty: it ends */
    uint32_t group;       /* of clients that share a bound of answers that go on, by any number */
    uint32_t group_limit; /* that bound; 0: none */
};

/* A part of a block: a head whose date is written at each use, and the body behind it. The lines up
 * to that of the date are the same in many heads; those behind it depend on the body. */
struct rendered {
    uint32_t start;     /* from the start of the block */
    uint32_t head_size; /* with its empty line */
    uint32_t body_size;
    uint32_t date; /* from `start` to the 29 bytes of the date */
};

/* The same, for an answer that differs from another one by its own lines, which come behind that of
 * the date, and by its body behind them. */
struct rendered_variant {
    uint32_t start;    /* from the start of the block */
    uint32_t own_size; /* of its own lines and the empty one */
    uint32_t body_size;
};

/* What is sent one behind the other; it borrows the bytes from where they are kept. */
struct response_view {
    struct slice shared; /* status line and fields, the last one that of the date */
    uint32_t date;       /* from the start of `shared` to the date */
    uint32_t body_size;
    struct slice rest; /* further fields, the empty line, and the body */
};

/* Bytes of a head up to the end of its date's line. */
static inline uint32_t rendered_shared_size(const struct rendered *rendered)
{
    return rendered->date + CLOCK_DATE_SIZE + 2;
}

static inline struct response_view rendered_view(const void *block, const struct rendered *rendered)
{
    const char *head = (const char *)block + rendered->start;
    uint32_t size = rendered_shared_size(rendered);
    return (struct response_view){
        .shared = slice_of(head, size),
        .date = rendered->date,
        .body_size = rendered->body_size,
        .rest = slice_of(head + size, rendered->head_size - size + rendered->body_size),
    };
}

/* What ends the own lines of an answer with an entity tag, and is all of them in its 304. */
enum { RESPONSE_TAIL_SIZE = sizeof "ETag: " - 1 + ETAG_SIZE + sizeof "\r\n\r\n" - 1 };

/* The entity tag in own lines. */
static inline struct slice response_own_etag(struct slice own)
{
    return slice_of(own.data + own.size - (sizeof "\r\n\r\n" - 1) - ETAG_SIZE, ETAG_SIZE);
}

/* The part of own lines that a 304 has. */
static inline struct slice response_own_tail(struct slice own)
{
    return slice_of(own.data + own.size - RESPONSE_TAIL_SIZE, RESPONSE_TAIL_SIZE);
}

/* Cut the body off. */
static inline struct slice response_view_cut_body(struct response_view *view)
{
    size_t size = view->body_size;
    view->rest.size -= size;
    view->body_size = 0;
    return slice_of(view->rest.data + view->rest.size, size);
}

/* What a head says of the connection. */
enum persistence {
    PERSIST,        /* nothing: HTTP/1.1 keeps alive by itself */
    PERSIST_SAY_SO, /* "keep-alive", to a client of HTTP/1.0 that asked */
    PERSIST_NOT,    /* "close" */
};

/* True when a handler may send this field: a token, a value that cannot end its line, and none of
 * the fields that the core itself decides. */
bool response_may_send(struct slice name, struct slice value);

/* Append the line of one field; false without memory. */
bool response_append_field(struct buffer *lines, struct slice name, struct slice value);

/* At least the bytes that `response_write_full` or `response_write_not_modified` write for this
 * response. */
size_t response_max_size(const struct response *response, struct slice etag);

/* Write head and body at `at`; fill `rendered` but its start. Returns the end. */
char *response_write_full(char *at, const struct response *response, struct slice etag,
                          struct rendered *rendered);

/* Write the own lines and the body of the compressed variant at `at`; fill `variant` but its start.
 * Returns the end. */
char *response_write_gzip(char *at, const struct response *response, struct slice etag,
                          struct rendered_variant *variant);

/* Write the head of an answer that goes on, and what it begins with; fill `rendered` but its start.
 * Returns the end. */
char *response_write_stream(char *at, const struct response *response, bool chunked,
                            struct rendered *rendered);

/* Write `data`, which is not empty, as one chunk (RFC 9112 section 7.1). Returns the end. */
char *response_write_chunk(char *at, struct slice data);

/* Write the head of the 304 answer in its place (RFC 9110 section 15.4.5). */
char *response_write_not_modified(char *at, const struct response *response, struct slice etag,
                                  struct rendered *rendered);

/* Append an answer, dated now, with the lines `own` that only this client gets; false without
 * memory. */
bool response_append(struct buffer *out, const struct response_view *view,
                     enum persistence persistence, struct slice own, const struct clock *clock);

/* How many statuses the core refuses with by itself. */
enum { REFUSALS = 10 };

/* The bodies of refusals; all slices are borrowed. */
struct refusals {
    struct slice type;             /* of all bodies: the value of Content-Type */
    struct slice bodies[REFUSALS]; /* in the order of `response_refusal_status` */
    struct slice unanswered;       /* of the 500 to a request that died unanswered */
};

/* The status of the refusal at `index` in the table of them; 0 behind the last. */
int response_refusal_status(size_t index);

/* Append the refusal with this status, with or without its body in `refusals` (NULL: there is
 * none), and with the lines `own`; it always says "close". False without memory. */
bool response_append_refusal(struct buffer *out, const struct refusals *refusals, int status,
                             bool with_body, struct slice own, const struct clock *clock);

#endif
