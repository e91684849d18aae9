/* Make messages for the tests from text. */
#ifndef TESTS_MAKE_H
#define TESTS_MAKE_H

#include "bridge/reply.h"
#include "cache/purge.h"
#include "check.h"
#include "http/head.h"

#include <stdlib.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: h\r\n\r\n"

static inline struct slice text_of(const char *text)
{
    return slice_of(text, strlen(text));
}

/* Returns the message of a request with this head, which must be complete and correct. */
static inline struct request *make_request(const char *text)
{
    struct head head;
    size_t scanned = 0;
    if (head_parse(text_of(text), &scanned, &head) != HEAD_DONE) {
        printf("# the test's own head is wrong: %s\n", text);
        exit(2);
    }
    struct request *request = request_new(&head, NULL);
    request->storable = head.method <= METHOD_HEAD;
    return request;
}

/* Returns the reply to `request`, which is freed, with one tag, or without if `tag` is NULL. */
static inline struct reply *make_reply(struct request *request, const char *body, const char *tag)
{
    uint32_t slot = tag ? tag_index(text_of(tag)) : 0;
    const struct response response = {
        .status = 200,
        .fields = SLICE("Content-Type: text/plain\r\n"),
        .body = text_of(body),
        .tags = &slot,
        .tag_count = tag != NULL,
    };
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    return reply;
}

/* Returns the reply to a request for `target`, made at purge number `sequence`. */
static inline struct reply *make_answer(const char *target, const char *body, const char *tag,
                                        uint64_t sequence)
{
    static char text[16 * 1024];
    snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", target);
    struct request *request = make_request(text);
    request->sequence = sequence;
    return make_reply(request, body, tag);
}

/* Return head and body of a part, as they are in the block. */
static inline struct slice rendered_text(const struct reply *reply, const struct rendered *rendered)
{
    return slice_of(reply_bytes(reply, rendered), rendered->head_size + rendered->body_size);
}

static inline bool has(struct slice text, const char *wanted)
{
    return text.data && memmem(text.data, text.size, wanted, strlen(wanted)) != NULL;
}

static inline int times(struct slice text, const char *wanted)
{
    int count = 0;
    const char *found;
    while (text.data && (found = memmem(text.data, text.size, wanted, strlen(wanted)))) {
        count++;
        slice_skip(&text, (size_t)(found - text.data) + strlen(wanted));
    }
    return count;
}

#endif
