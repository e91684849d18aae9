/* The envelopes. Nothing here is shared: an envelope has one holder at a time. */
#include "message.h"

#include "etag.h"
#include "render.h"

#include <stdint.h>
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
            free(request);
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

/* Whether the client holds the answer named `etag` already (RFC 9110 section 13.1.2). */
static bool is_known(const struct request *request, struct slice etag)
{
    struct slice fields = request_fields(request), value, second;
    if (!request->storable || !parse_next_field(&fields, SLICE("if-none-match"), &value))
        return false;
    return !parse_next_field(&fields, SLICE("if-none-match"), &second) &&
           etag_is_named(value, etag);
}

struct reply *reply_new(const struct request *request, const struct response *response)
{
    size_t tag_count = request->storable && response->status == 200 ? response->tag_count : 0;
    char etag_text[ETAG_SIZE];
    struct slice etag = slice_of(etag_text, 0);
    if (tag_count > 0)
        etag = etag_make(response->body, etag_text);

    struct slice target = request_target(request);
    size_t size = sizeof(struct reply) + tag_count * sizeof(uint32_t) + target.size +
                  render_bound(response, etag);
    if (tag_count > 0)
        size += render_bound(response, etag) - response->body.size; /* a 304 has none */
    struct reply *reply = malloc(size);
    if (!reply)
        return NULL;
    *reply = (struct reply){
        .address = request->address,
        .without_body = request->method == METHOD_HEAD,
        .sequence = request->sequence,
        .target_size = target.size,
        .size = size,
        .tag_count = tag_count,
    };
    if (tag_count > 0)
        memcpy(reply->tags, response->tags, tag_count * sizeof(uint32_t));
    char *start = (char *)reply, *at = (char *)(reply->tags + tag_count);
    reply->target_start = (size_t)(at - start);
    at = copy(at, target);
    reply->whole.start = (size_t)(at - start);
    at = render_whole(at, response, etag, &reply->whole, &reply->etag);
    if (tag_count > 0) {
        reply->brief.start = (size_t)(at - start);
        render_brief(at, response, etag, &reply->brief);
        reply->not_modified = is_known(request, etag);
    }
    return reply;
}

void reply_free(struct reply *reply)
{
    free(reply);
}

struct slice reply_target(const struct reply *reply)
{
    return slice_of((const char *)reply + reply->target_start, reply->target_size);
}
