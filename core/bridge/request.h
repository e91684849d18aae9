/* A request, on its way from a worker to Python. */
#ifndef CORE_BRIDGE_REQUEST_H
#define CORE_BRIDGE_REQUEST_H

#include "base/budget.h"
#include "base/slice.h"
#include "bridge/message.h"
#include "http/head.h"
#include "http/proxy_header.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request {
    struct message message;
    struct address address;
    uint64_t sequence;  /* of the purges, when Python took it */
    int64_t drained_at; /* when Python took it, by `clock_exact` */
    enum method method;
    bool http10;
    bool storable; /* a GET or HEAD without a body, or a POST that has a key */
    bool begun;    /* it has the head of its answer, and comes back for each piece; see piece.h */
    bool left;     /* its client has left meanwhile, or was closed: no more pieces are wanted */
    struct peer peer;
    struct budget *budget; /* borrows: where the block is counted, or NULL */
    void *stale;           /* owns: the stale entry that the new response replaces, or NULL */
    uint64_t number;       /* once it has begun: by which Python knows the answer */
    size_t target_size, fields_size;
    size_t body_size, body_capacity;
    size_t body_limit; /* bytes of the body, at most */
    char bytes[];      /* target, fields, body */
};

/* Make a message for `head`, counted in `budget` (NULL: nowhere) until it is freed; NULL without
 * memory. */
struct request *request_new(const struct head *head, struct budget *budget);

/* Append to the body. Returns the block, perhaps moved; NULL without memory, and then `request`
 * is freed. */
struct request *request_append(struct request *request, struct slice piece);

void request_free(struct request *request);

/* Note that its answer begins, and comes in pieces; see piece.h. */
void request_begin(struct request *request, uint64_t number);

struct slice request_target(const struct request *request);
struct slice request_fields(const struct request *request);
struct slice request_body(const struct request *request);

/* The value of a field, as `struct head` has it: empty when absent or given twice. `lower` is its
 * name in small letters. */
struct slice request_field(const struct request *request, struct slice lower);

/* Whether this is a POST with a body so short that its response may be cached. */
bool request_has_key(const struct request *request);

/* The origin of the page that asks, for a key; empty when the request has none, or too long a one.
 */
struct slice request_origin(const struct request *request);

/* Bytes of the key under which a response is cached, and the key itself, written to `to`. It is the
 * target; that of a response with `Vary: Origin` goes on with a line feed and the origin, which is
 * empty for others, and that of a POST with a space and the body. No target has either. */
size_t request_key_size(const struct request *request, struct slice origin);
char *request_write_key(const struct request *request, struct slice origin, char *to);

#endif
