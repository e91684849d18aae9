/* A reply, on its way from Python to a worker. It is rendered when it is made, in the thread that
 * holds the GIL, so that the worker only copies bytes. */
#ifndef CORE_BRIDGE_REPLY_H
#define CORE_BRIDGE_REPLY_H

#include "base/slice.h"
#include "bridge/message.h"
#include "bridge/request.h"
#include "http/response.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A beginning and a piece are parts of an answer, see piece.h. The target of a stream is the tag
 * that it follows, since its response is for one client only; that of an event is the tag of the
 * streams that get it, and it has no address. */
enum reply_kind { REPLY_ANSWER, REPLY_BEGINNING, REPLY_PIECE, REPLY_STREAM, REPLY_EVENT };

struct reply {
    struct message message;
    struct address address;
    uint64_t sequence; /* of the request, by `purge_now` */
    uint32_t size;     /* of the block */
    uint32_t target_size;
    uint32_t tag_count; /* 0: it is not cached */
    struct rendered full;
    struct rendered not_modified; /* the 304 answer; empty unless there are tags */
    uint32_t variants;            /* where the compressed variants start */
    uint32_t variants_size;       /* of all of them */
    unsigned codings;             /* in which there are some, as bits */
    enum coding coding;           /* of the variant that its client gets */
    bool without_body;            /* the request was HEAD */
    bool etag_matches;            /* the request's If-None-Match names the ETag of its variant */
    enum reply_kind kind;
    bool by_origin; /* its key has the origin */
    bool chunked;   /* the body of a beginning or a stream is, since its client speaks HTTP/1.1 */
    bool aborted;   /* a piece: there is no more of it, and its client must notice */
    struct request *request; /* owns: of a beginning or a piece, unless it is the last; or NULL */
    uint32_t group;          /* of clients, as in the response */
    uint32_t group_limit;
    uint32_t python_us; /* microseconds from Python's taking the request to this answer */
    uint32_t tags[];    /* followed by the bytes of target, full, not_modified, variants */
};

/* Render the response to `request`; NULL without memory, or if it would take 4 GiB. */
struct reply *reply_new(const struct request *request, const struct response *response);

void reply_free(struct reply *reply);

static inline struct slice reply_target(const struct reply *reply)
{
    return slice_of((const char *)(reply->tags + reply->tag_count), reply->target_size);
}

/* What its client gets. */
struct response_view reply_view(const struct reply *reply);

static inline const char *reply_bytes(const struct reply *reply, const struct rendered *rendered)
{
    return (const char *)reply + rendered->start;
}

#endif
