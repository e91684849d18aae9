/* The pieces of an answer whose length is not known at its beginning.
 *
 * The request goes back and forth: with the beginning and each piece to the worker, and back to
 * Python when the client has taken them. So one piece for each connection is in memory, and to ask
 * for the next one needs no memory that could be missing. With HTTP/1.1 a piece is a chunk
 * (RFC 9112 section 7.1); with HTTP/1.0 the body ends with the connection. */
#ifndef CORE_BRIDGE_PIECE_H
#define CORE_BRIDGE_PIECE_H

#include "base/slice.h"
#include "bridge/reply.h"

enum piece_kind {
    PIECE_MORE,  /* of at least a byte; another one follows */
    PIECE_LAST,  /* may be empty */
    PIECE_ABORT, /* empty: the connection ends without the end of the body */
};

/* A piece of the answer to `request`, which has begun and is taken; NULL without memory, and then
 * nothing is taken. */
struct reply *piece_new(struct request *request, struct slice data, enum piece_kind kind);

static inline struct slice piece_bytes(const struct reply *piece)
{
    return slice_of(reply_bytes(piece, &piece->full), piece->full.body_size);
}

#endif
