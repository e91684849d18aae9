/* Requests; see request.h. A message has one holder at a time: nothing here is shared. */
#include "seam/request.h"

#include <stdlib.h>
#include <string.h>

static char *copy(char *to, struct slice from)
{
    if (from.size > 0)
        memcpy(to, from.data, from.size);
    return to + from.size;
}

struct request *request_new(const struct head *head)
{
    /* The length has been checked against the limit; a chunked body grows as it comes. */
    size_t capacity = head->chunked ? 0 : (size_t)head->content_length;
    size_t fixed = sizeof(struct request) + head->target.size + head->fields.size;
    struct request *request = malloc(fixed + capacity);
    if (!request)
        return NULL;
    *request = (struct request){
        .method = head->method,
        .http10 = head->http10,
        .target_size = head->target.size,
        .fields_size = head->fields.size,
        .body_capacity = capacity,
    };
    copy(copy(request->bytes, head->target), head->fields);
    return request;
}

struct request *request_append(struct request *request, struct slice piece)
{
    if (piece.size > request->body_capacity - request->body_size) {
        size_t capacity = 2 * request->body_capacity + piece.size;
        size_t fixed = sizeof *request + request->target_size + request->fields_size;
        struct request *grown = realloc(request, fixed + capacity);
        if (!grown) {
            request_free(request);
            return NULL;
        }
        request = grown;
        request->body_capacity = capacity;
    }
    copy(request->bytes + request->target_size + request->fields_size + request->body_size, piece);
    request->body_size += piece.size;
    return request;
}

void request_free(struct request *request)
{
    if (request)
        free(request->stale);
    free(request);
}

struct slice request_target(const struct request *request)
{
    return slice_of(request->bytes, request->target_size);
}

struct slice request_fields(const struct request *request)
{
    return slice_of(request->bytes + request->target_size, request->fields_size);
}

struct slice request_body(const struct request *request)
{
    return slice_of(request->bytes + request->target_size + request->fields_size,
                    request->body_size);
}
