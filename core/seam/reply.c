/* Replies; see reply.h. A message has one holder at a time: nothing here is shared. */
#include "seam/reply.h"

#include "base/clock.h"
#include "http/etag.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whether the client holds the answer named `etag` already (RFC 9110 section 13.1.2). */
static bool is_known(const struct request *request, struct slice etag)
{
    struct slice fields = request_fields(request), value, second;
    if (!request->storable || !head_next_field(&fields, SLICE("if-none-match"), &value))
        return false;
    return !head_next_field(&fields, SLICE("if-none-match"), &second) && etag_is_named(value, etag);
}

/* HEAD is answered by the head that a stream would have, and that is all. */
static bool is_stream(const struct request *request, const struct response *response)
{
    return response->follows.size > 0 && request->method != METHOD_HEAD;
}

/* What stands in the place of the target: a stream has one request, and is known by its tag. */
static struct slice subject(const struct request *request, const struct response *response)
{
    return is_stream(request, response) ? response->follows : request_target(request);
}

/* Write target, answer and 304 behind the tags; the end of it all. */
static char *render(struct reply *reply, const struct request *request,
                    const struct response *response, struct slice etag)
{
    char *start = (char *)reply, *at = (char *)(reply->tags + reply->tag_count);
    struct slice target = subject(request, response);
    memcpy(at, target.data, target.size);
    at += target.size;
    reply->full.start = (uint32_t)(at - start);
    if (response->follows.size > 0)
        return response_write_stream(at, response, reply->chunked, &reply->full);
    at = response_write_full(at, response, etag, &reply->full);
    if (reply->tag_count == 0)
        return at;
    reply->not_modified.start = (uint32_t)(at - start);
    return response_write_not_modified(at, response, etag, &reply->not_modified);
}

/* The bytes that all of it takes at most. */
static size_t bound(const struct request *request, const struct response *response,
                    struct slice etag, size_t tag_count)
{
    size_t size = sizeof(struct reply) + tag_count * sizeof(uint32_t) +
                  subject(request, response).size + response_max_size(response, etag);
    if (tag_count > 0)
        size += response_max_size(response, etag) - response->body.size; /* a 304 has none */
    return size;
}

struct reply *reply_new(const struct request *request, const struct response *response)
{
    size_t tag_count = request->storable && response->status == 200 ? response->tag_count : 0;
    char etag_text[ETAG_SIZE];
    struct slice etag = slice_of(etag_text, 0);
    if (tag_count > 0)
        etag = etag_make(response->body, etag_text);
    size_t most = bound(request, response, etag, tag_count);
    struct reply *reply = most <= UINT32_MAX ? malloc(most) : NULL;
    if (!reply)
        return NULL;
    *reply = (struct reply){
        .address = request->address,
        .without_body = request->method == METHOD_HEAD,
        .etag_matches = tag_count > 0 && is_known(request, etag),
        .python_us = (uint32_t)((clock_exact() - request->drained_at) / 1000),
        .sequence = request->sequence,
        .target_size = (uint32_t)subject(request, response).size,
        .kind = is_stream(request, response) ? REPLY_STREAM : REPLY_ANSWER,
        .chunked = !request->http10,
        .group = response->group,
        .group_limit = response->group_limit,
        .tag_count = (uint32_t)tag_count,
    };
    if (tag_count > 0)
        memcpy(reply->tags, response->tags, tag_count * sizeof(uint32_t));
    reply->size = (uint32_t)(render(reply, request, response, etag) - (char *)reply);
    return reply;
}

void reply_free(struct reply *reply)
{
    free(reply);
}
