/* Replies; see reply.h. A message has one holder at a time: nothing here is shared. */
#include "bridge/reply.h"

#include "base/clock.h"
#include "http/coding.h"
#include "http/etag.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Whether the client has the response named `etag` already (RFC 9110 section 13.1.2). */
static bool is_known(const struct request *request, struct slice etag)
{
    return etag_is_named(request_field(request, SLICE("if-none-match")), etag);
}

/* HEAD gets only the head that a stream would have. */
static bool is_stream(const struct request *request, const struct response *response)
{
    return response->follows.size > 0 && request->method != METHOD_HEAD;
}

static enum reply_kind kind_of(const struct request *request, const struct response *response)
{
    if (is_stream(request, response))
        return REPLY_STREAM;
    return response->in_pieces && request->method != METHOD_HEAD ? REPLY_BEGINNING : REPLY_ANSWER;
}

/* Whether the response is only for pages of the origin that the request names. */
static bool varies_by_origin(const struct response *response)
{
    struct slice fields = response->fields, value;
    while (head_next_field(&fields, SLICE("vary"), &value))
        if (slice_equal_nocase(value, SLICE("origin")))
            return true;
    return false;
}

/* Bytes of what the reply is found by: a stream's tag, since it is for one client only, or the key
 * of the request with this origin. */
static size_t subject_size(const struct request *request, const struct response *response,
                           struct slice origin)
{
    return is_stream(request, response) ? response->follows.size
                                        : request_key_size(request, origin);
}

static char *write_subject(const struct request *request, const struct response *response,
                           struct slice origin, char *at)
{
    if (!is_stream(request, response))
        return request_write_key(request, origin, at);
    memcpy(at, response->follows.data, response->follows.size);
    return at + response->follows.size;
}

/* The entity tags of an answer that is stored, by coding; empty where there is no such variant. */
struct etags {
    char texts[CODINGS][ETAG_SIZE];
    struct slice of[CODINGS];
};

static void make_etags(struct etags *etags, const struct response *response, size_t tag_count)
{
    for (enum coding coding = CODING_IDENTITY; coding < CODINGS; coding++) {
        struct slice body = response_body(response, coding);
        bool is_made = coding == CODING_IDENTITY ? tag_count > 0 : body.size > 0;
        etags->of[coding] = is_made ? etag_make(body, etags->texts[coding]) : slice_of("", 0);
    }
}

/* Write target, full response, 304 and compressed variants behind the tags; return the end. */
static char *render(struct reply *reply, const struct request *request,
                    const struct response *response, const struct etags *etags, struct slice origin)
{
    char *start = (char *)reply, *at = (char *)(reply->tags + reply->tag_count);
    at = write_subject(request, response, origin, at);
    reply->full.start = (uint32_t)(at - start);
    if (response->follows.size > 0 || response->in_pieces)
        return response_write_open(at, response, reply->chunked, &reply->full);
    at = response_write_full(at, response, etags->of[CODING_IDENTITY], &reply->full);
    if (reply->tag_count == 0)
        return at;
    reply->not_modified.start = (uint32_t)(at - start);
    at =
        response_write_not_modified(at, response, etags->of[CODING_IDENTITY], &reply->not_modified);
    reply->variants = (uint32_t)(at - start);
    at = response_write_variants(at, response, etags->of);
    reply->variants_size = (uint32_t)(at - start) - reply->variants;
    return at;
}

/* An upper bound for the bytes of all of it. */
static size_t bound(const struct response *response, const struct etags *etags, size_t tag_count,
                    size_t subject)
{
    size_t head = response_max_size(response, etags->of[CODING_IDENTITY]) - response->body.size;
    size_t size =
        sizeof(struct reply) + tag_count * sizeof(uint32_t) + subject + head + response->body.size;
    if (tag_count > 0)
        size += head; /* of the 304 */
    for (enum coding coding = CODING_GZIP; coding < CODINGS; coding++)
        if (etags->of[coding].size > 0)
            size += head + sizeof(struct rendered_variant) + response_body(response, coding).size;
    return size;
}

struct reply *reply_new(const struct request *request, const struct response *given)
{
    struct response response = *given;
    size_t tag_count = request->storable && response.status == 200 ? response.tag_count : 0;
    struct slice origin = slice_of("", 0);
    if (tag_count > 0 && varies_by_origin(&response)) {
        origin = request_origin(request);
        tag_count = origin.size > 0 ? tag_count : 0;
    }
    if (tag_count == 0)
        response.gzip = response.brotli = slice_of("", 0);
    struct etags etags;
    make_etags(&etags, &response, tag_count);
    unsigned codings = response_codings(&response);
    enum coding coding =
        codings ? coding_choose(request_field(request, SLICE("accept-encoding")), codings)
                : CODING_IDENTITY;
    size_t subject = subject_size(request, &response, origin);
    size_t most = bound(&response, &etags, tag_count, subject);
    struct reply *reply = most <= UINT32_MAX ? malloc(most) : NULL;
    if (!reply)
        return NULL;
    *reply = (struct reply){
        .address = request->address,
        .without_body = request->method == METHOD_HEAD,
        .codings = codings,
        .coding = coding,
        .etag_matches =
            tag_count > 0 && request->method <= METHOD_HEAD && is_known(request, etags.of[coding]),
        .python_us = (uint32_t)((clock_exact() - request->drained_at) / 1000),
        .sequence = request->sequence,
        .target_size = (uint32_t)subject,
        .kind = kind_of(request, &response),
        .chunked = !request->http10,
        .group = response.group,
        .group_limit = response.group_limit,
        .tag_count = (uint32_t)tag_count,
        .by_origin = origin.size > 0,
    };
    if (tag_count > 0)
        memcpy(reply->tags, response.tags, tag_count * sizeof(uint32_t));
    reply->size = (uint32_t)(render(reply, request, &response, &etags, origin) - (char *)reply);
    return reply;
}

struct response_view reply_view(const struct reply *reply)
{
    bool known = reply->etag_matches;
    struct response_view view = rendered_view(reply, known ? &reply->not_modified : &reply->full);
    if (reply->coding != CODING_IDENTITY) {
        struct rendered_variant variant;
        const char *variants = (const char *)reply + reply->variants;
        const char *lines =
            response_find_variant(variants, reply->codings, reply->coding, &variant);
        struct slice own = slice_of(lines, variant.own_size);
        view.body_size = known ? 0 : variant.body_size;
        view.rest = known ? response_own_tail(own) : slice_of(own.data, own.size + view.body_size);
    }
    if (reply->without_body)
        response_view_cut_body(&view);
    return view;
}

void reply_free(struct reply *reply)
{
    if (!reply)
        return;
    request_free(reply->request);
    free(reply);
}
