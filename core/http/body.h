/* The body of a request (RFC 9112 sections 6 and 7), decoded from its transfer coding. */
#ifndef CORE_HTTP_BODY_H
#define CORE_HTTP_BODY_H

#include "base/slice.h"
#include "http/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `body_next` returns; any other value is the status of a refusal. */
enum body_result {
    BODY_DONE = 0,
    BODY_NEED_MORE = 1,
    BODY_PIECE = 2, /* `piece` holds payload; call again */
};

/* The state between two calls; nothing in it is allocated. */
struct body {
    unsigned char state;
    unsigned char digits; /* of the current chunk size */
    uint64_t left;        /* payload bytes until the end of the body or of the chunk */
    size_t room;          /* payload bytes that the limit still allows */
    size_t extensions;    /* bytes of chunk extensions so far */
    size_t trailers;      /* bytes of trailer fields so far */
};

/* True when a body follows `head`. */
static inline bool body_is_present(const struct head *head)
{
    return head->chunked || head->content_length > 0;
}

/* Begin the body that follows `head`; 0, or 413 if its length is over `limit` bytes. */
int body_init(struct body *body, const struct head *head, size_t limit);

/* Decode the next bytes of `input` and cut them off. After BODY_DONE, `input` starts with the next
 * request. */
int body_next(struct body *body, struct slice *input, struct slice *piece);

#endif
