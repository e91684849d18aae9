/* Requests; see request.h. A message has one holder at a time: nothing here is shared. */
#include "bridge/request.h"

#include "base/limits.h"

#include <stdlib.h>
#include <string.h>

static char *copy(char *to, struct slice from)
{
    if (from.size > 0)
        memcpy(to, from.data, from.size);
    return to + from.size;
}

/* Bytes allocated for a body from the start: enough for a usual form. A larger body, or one of
 * unknown length, gets memory as it arrives: announcing a length must cost us nothing. */
enum { FIRST_BODY = 16 * 1024 };

static size_t smaller(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Bytes of the block. */
static size_t block_size(const struct request *request)
{
    return sizeof *request + request->target_size + request->fields_size + request->body_capacity;
}

struct request *request_new(const struct head *head, struct budget *budget)
{
    size_t limit = head->chunked ? SIZE_MAX : (size_t)head->content_length;
    size_t capacity = head->chunked ? 0 : smaller(limit, FIRST_BODY);
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
        .body_limit = limit,
        .budget = budget,
    };
    if (budget)
        budget_take(budget, block_size(request));
    copy(copy(request->bytes, head->target), head->fields);
    return request;
}

struct request *request_append(struct request *request, struct slice piece)
{
    if (piece.size > request->body_capacity - request->body_size) {
        size_t capacity = smaller(2 * request->body_capacity + piece.size, request->body_limit);
        size_t more = capacity - request->body_capacity;
        struct request *grown = realloc(request, block_size(request) + more);
        if (!grown) {
            request_free(request);
            return NULL;
        }
        request = grown;
        request->body_capacity = capacity;
        if (request->budget)
            budget_take(request->budget, more);
    }
    copy(request->bytes + request->target_size + request->fields_size + request->body_size, piece);
    request->body_size += piece.size;
    return request;
}

void request_free(struct request *request)
{
    if (!request)
        return;
    if (request->budget)
        budget_return(request->budget, block_size(request));
    free(request->stale);
    free(request);
}

void request_begin(struct request *request, uint64_t number)
{
    free(request->stale);
    request->stale = NULL;
    request->begun = true;
    request->number = number;
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

bool request_has_key(const struct request *request)
{
    return request->method == METHOD_POST && request->body_size > 0 &&
           request->body_size <= LIMIT_KEY_BODY &&
           request->target_size + 1 + request->body_size <= LIMIT_TARGET;
}

struct slice request_field(const struct request *request, struct slice lower)
{
    struct slice fields = request_fields(request), value, second;
    if (!head_next_field(&fields, lower, &value) || head_next_field(&fields, lower, &second))
        return slice_of("", 0);
    return value;
}

struct slice request_origin(const struct request *request)
{
    struct slice origin = request_field(request, SLICE("origin"));
    return request_key_size(request, origin) <= LIMIT_TARGET ? origin : slice_of("", 0);
}

size_t request_key_size(const struct request *request, struct slice origin)
{
    return request->target_size + (origin.size > 0 ? 1 + origin.size : 0) +
           (request_has_key(request) ? 1 + request->body_size : 0);
}

char *request_write_key(const struct request *request, struct slice origin, char *to)
{
    to = copy(to, request_target(request));
    if (origin.size > 0) {
        *to = '\n';
        to = copy(to + 1, origin);
    }
    if (!request_has_key(request))
        return to;
    *to = ' ';
    return copy(to + 1, request_body(request));
}
