/* Pieces; see piece.h. */
#include "bridge/piece.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Bytes around the data of a chunk and of the last one, and a NUL. */
enum { CHUNK_ROOM = 32 };

static char *write_piece(char *at, struct slice data, enum piece_kind kind, bool chunked)
{
    static const char end[] = "0\r\n\r\n";
    if (!chunked) {
        memcpy(at, data.data, data.size);
        return at + data.size;
    }
    if (data.size > 0)
        at = response_write_chunk(at, data);
    if (kind != PIECE_LAST)
        return at;
    memcpy(at, end, sizeof end - 1);
    return at + sizeof end - 1;
}

struct reply *piece_new(struct request *request, struct slice data, enum piece_kind kind)
{
    assert(request->begun && (data.size > 0) >= (kind == PIECE_MORE) &&
           (data.size == 0) >= (kind == PIECE_ABORT));
    struct reply *piece = malloc(sizeof *piece + CHUNK_ROOM + data.size);
    if (!piece)
        return NULL;
    *piece = (struct reply){
        .kind = REPLY_PIECE,
        .address = request->address,
        .aborted = kind == PIECE_ABORT,
    };
    char *start = (char *)piece->tags;
    piece->full.start = (uint32_t)(start - (char *)piece);
    piece->full.body_size = (uint32_t)(write_piece(start, data, kind, !request->http10) - start);
    if (kind == PIECE_MORE)
        piece->request = request;
    else
        request_free(request);
    return piece;
}
