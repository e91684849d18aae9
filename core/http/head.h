/* The head of a request (RFC 9112 sections 2 to 5), parsed strictly: what two servers could
 * interpret differently is refused. */
#ifndef CORE_HTTP_HEAD_H
#define CORE_HTTP_HEAD_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_POST,
    METHOD_PUT,
    METHOD_PATCH,
    METHOD_DELETE,
    METHOD_OPTIONS,
};

/* What `head_parse` returns; any other value is the status of a refusal. */
enum head_result { HEAD_DONE, HEAD_NEED_MORE };

/* A parsed head. Every slice borrows from the bytes that were parsed. */
struct head {
    enum method method;
    bool http10;
    bool keep_alive;
    bool chunked;         /* the body comes in chunks; never together with a length */
    bool expect_continue; /* the client waits for "100 Continue" */
    uint64_t content_length;
    struct slice target;          /* path?query, or "*" for OPTIONS */
    struct slice fields;          /* the field lines, each with its CRLF */
    struct slice if_none_match;   /* empty when absent or given twice */
    struct slice accept_encoding; /* the same */
    struct slice rest;            /* from the version to the empty line, for head_parse_next */
    size_t size;                  /* bytes of the whole head */
};

struct slice method_name(enum method method);

/* Parse the head at the start of `input`. `*scanned` is 0 for a new request; the caller keeps it
 * while more bytes are needed, so that a head that arrives byte by byte is read twice, not a
 * thousand times. `head` has a result only after HEAD_DONE. */
int head_parse(struct slice input, size_t *scanned, struct head *head);

/* The same for the next request of a pipeline: `head` is that of the previous one, with its bytes
 * still in place, or all zero. If only method and target differ, the results from the rest are
 * reused. Only benchmarks profit, as browsers and proxies do not pipeline: without it, a
 * pipelined hit costs a tenth more (loadtest/NOTES.md). */
int head_parse_next(struct slice input, size_t *scanned, struct head *head);

/* Find the next line of the field `lower` (a name in small letters) in validated field lines, and
 * cut `fields` behind it; false if there is none left. */
bool head_next_field(struct slice *fields, struct slice lower, struct slice *value);

#endif
