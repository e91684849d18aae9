/* A response as bytes: what a handler returns, what is rendered of it once, what is sent each time,
 * and the refusals of the core itself. */
#ifndef CORE_HTTP_RESPONSE_H
#define CORE_HTTP_RESPONSE_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/slice.h"
#include "http/coding.h"
#include "http/etag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The answer of Python; all slices are borrowed. */
struct response {
    int status;
    struct slice fields; /* lines, each with its CRLF, without those the core writes */
    struct slice body;
    struct slice gzip; /* the body in these codings, for clients that prefer one; empty: none */
    struct slice brotli;
    const uint32_t *tags; /* indexes, see bridge/tag.h */
    size_t tag_count;     /* 0: it is not cached */
    bool in_pieces;       /* `body` is only its beginning: its length is not known yet */
    struct slice follows; /* of a stream: the tag whose events it sends; empty: no stream */
    uint32_t group;       /* of clients that share a limit of streams, any number */
    uint32_t group_limit; /* that limit; 0: none */
};

/* A part of a block: a head whose date is written at each use, and the body behind it. The lines up
 * to that of the date are the same in many heads; those behind it depend on the body. */
struct rendered {
    uint32_t start;     /* from the start of the block */
    uint32_t head_size; /* with its empty line */
    uint32_t body_size;
    uint32_t date; /* from `start` to the 29 bytes of the date */
};

/* The same for a compressed variant of another response: its own lines, behind that of the date,
 * and its body, which follow this structure. */
struct rendered_variant {
    uint32_t own_size; /* of its own lines and the empty one */
    uint32_t body_size;
};

/* What is sent, part after part; it borrows the bytes from where they are stored. */
struct response_view {
    struct slice shared; /* status line and fields up to the date's line */
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

/* The end of the own lines of a response with an entity tag, which are all of a 304's own lines. */
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

/* What a head says about the connection. */
enum persistence {
    PERSIST,        /* nothing: HTTP/1.1 is persistent by default */
    PERSIST_SAY_SO, /* "keep-alive", for a client of HTTP/1.0 that asked for it */
    PERSIST_NOT,    /* "close" */
};

/* True if a handler may send this field: its name is a token, its value cannot end the line, and
 * the core does not write the field itself. */
bool response_may_send(struct slice name, struct slice value);

/* Append the line of one field; false without memory. */
bool response_append_field(struct buffer *lines, struct slice name, struct slice value);

/* An upper bound for the bytes that `response_write_full` or `response_write_not_modified` write
 * for this response. */
size_t response_max_size(const struct response *response, struct slice etag);

/* Write head and body at `at`; fill `rendered` except its start. Return the end. */
char *response_write_full(char *at, const struct response *response, struct slice etag,
                          struct rendered *rendered);

/* The body in a coding; empty if there is none. */
static inline struct slice response_body(const struct response *response, enum coding coding)
{
    return coding == CODING_BROTLI ? response->brotli
           : coding == CODING_GZIP ? response->gzip
                                   : response->body;
}

/* The codings in which there is a compressed variant, as bits `1 << coding`. */
unsigned response_codings(const struct response *response);

/* Write all compressed variants at `at`, one behind the other, with their entity tags, by coding.
 * Return the end. */
char *response_write_variants(char *at, const struct response *response, const struct slice *etags);

/* Find a variant among those in `codings`, which were written at `at`: copy its sizes to `found`,
 * and return its own lines, behind which its body lies. */
const char *response_find_variant(const char *at, unsigned codings, enum coding coding,
                                  struct rendered_variant *found);

/* Write the head of a response without a length, and its first bytes; fill `rendered` except its
 * start. Return the end. */
char *response_write_open(char *at, const struct response *response, bool chunked,
                          struct rendered *rendered);

/* Write `data`, which is not empty, as one chunk (RFC 9112 section 7.1). Return the end. */
char *response_write_chunk(char *at, struct slice data);

/* Write the head of the 304 response (RFC 9110 section 15.4.5). */
char *response_write_not_modified(char *at, const struct response *response, struct slice etag,
                                  struct rendered *rendered);

/* Append a response with the current date and the lines `own` for this client only; false without
 * memory. */
bool response_append(struct buffer *out, const struct response_view *view,
                     enum persistence persistence, struct slice own, const struct clock *clock);

/* The number of statuses of the core's own refusals. */
enum { REFUSALS = 10 };

/* The bodies of refusals; all slices are borrowed. */
struct refusals {
    struct slice type;             /* of all bodies: the value of Content-Type */
    struct slice bodies[REFUSALS]; /* in the order of `response_refusal_status` */
    struct slice unanswered;       /* of the 500 for a request that Python dropped */
    struct slice page_type;        /* without parameters, as clients name it */
    struct slice page_field;       /* the value of Content-Type for pages */
    struct slice pages[REFUSALS];  /* the same for people; empty: none */
    struct slice unanswered_page;
};

/* The status of the refusal at `index` in their table; 0 after the last. */
int response_refusal_status(size_t index);

/* How a refusal is sent. */
struct refusal_form {
    bool with_body;
    bool for_person;  /* as a page, if there is one */
    struct slice own; /* lines of this client's own */
};

/* Whether the client of these field lines, which may be malformed, gets pages. */
bool response_refuses_with_page(const struct refusals *refusals, struct slice lines);

/* Append the refusal with this status, with its body in `refusals` (NULL: none); it always has
 * "Connection: close". False without memory. */
bool response_append_refusal(struct buffer *out, const struct refusals *refusals, int status,
                             struct refusal_form form, const struct clock *clock);

#endif
