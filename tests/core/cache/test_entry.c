/* Kept answers: all of a reply is sent again from less than a third of its bytes. */
#include "make.h"

#include "base/limits.h"
#include "cache/entry.h"
#include "http/etag.h"
#include "http/response.h"

#include <malloc.h>

static struct stencils stencils;
static struct clock clock_;

/* What is sent of these pieces. */
static struct slice sent(struct buffer *out, struct response_view view)
{
    out->size = 0;
    clock_write_date(784111777, clock_.date);
    CHECK(response_append(out, &view, PERSIST, SLICE(""), &clock_));
    return buffer_slice(out);
}

static void drop(struct kept *kept)
{
    kept_strip(&stencils, kept);
    free(kept);
    CHECK_EQUAL(stencils.bytes, 0);
}

static void what_is_sent_is_what_the_reply_would_send(void)
{
    static const char *const bodies[] = {"", "1", "a longer body than that"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply *reply = make_answer("/a?b=c", bodies[i], "t", 5);
        struct kept *kept = kept_new(&stencils, reply);
        struct buffer one, other;
        buffer_init(&one);
        buffer_init(&other);
        struct slice whole = sent(&one, kept_whole(kept));
        CHECK(slice_equal(whole, sent(&other, rendered_view(reply, &reply->full))));
        CHECK(has(whole, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "));
        CHECK(slice_equal(sent(&one, kept_brief(kept)),
                          sent(&other, rendered_view(reply, &reply->not_modified))));
        struct response_view view = kept_whole(kept);
        CHECK(slice_equal(response_view_cut_body(&view), text_of(bodies[i])));
        CHECK(slice_equal(slice_of(view.rest.data + view.rest.size - 4, 4), SLICE("\r\n\r\n")));
        char text[ETAG_SIZE];
        CHECK(slice_equal(kept_etag(kept), etag_make(text_of(bodies[i]), text)));
        CHECK_TEXT(kept_target(kept), "/a?b=c");
        CHECK_EQUAL(kept->sequence, 5);
        CHECK_EQUAL(kept->tags[0], tag_index(SLICE("t")));
        buffer_fini(&one);
        buffer_fini(&other);
        reply_free(reply);
        drop(kept);
    }
}

static void the_largest_that_may_be_asked_for_is_kept_whole(void)
{
    static char target[LIMIT_TARGET + 1], text[LIMIT_TARGET + 64];
    memset(target, 'x', LIMIT_TARGET);
    target[0] = '/';
    snprintf(text, sizeof text, "GET %s HTTP/1.0\r\n\r\n", target);
    uint32_t tags[LIMIT_TAGS];
    for (uint32_t i = 0; i < LIMIT_TAGS; i++)
        tags[i] = i;
    const struct response response = {
        .status = 200, .body = SLICE("body"), .tags = tags, .tag_count = LIMIT_TAGS};
    struct request *request = make_request(text);
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    struct kept *kept = kept_new(&stencils, reply);
    reply_free(reply);
    CHECK(slice_equal(kept_target(kept), text_of(target)));
    CHECK_EQUAL(kept->tag_count, LIMIT_TAGS);
    CHECK_EQUAL(memcmp(kept->tags, tags, sizeof tags), 0);
    struct response_view view = kept_whole(kept);
    CHECK_TEXT(response_view_cut_body(&view), "body");
    drop(kept);
}

/* A count is read from three cache lines of 64 bytes; what is kept for long holds no spare room. */
static void a_small_answer_takes_three_cache_lines(void)
{
    struct reply *reply =
        make_answer("/api/comments/count?url=/post/1234/", "{\"count\":12}", "t", 0);
    struct kept *kept = kept_new(&stencils, reply);
    CHECK(kept_cost(kept) <= 3 * 64);
    CHECK(kept_cost(kept) >= malloc_usable_size(kept));
    CHECK(kept_cost(kept) <= malloc_usable_size(kept) + 32);
    CHECK(kept_cost(kept) + stencils.bytes <= kept_bound(reply));
    reply_free(reply);
    drop(kept);
}

int main(void)
{
    RUN(what_is_sent_is_what_the_reply_would_send);
    RUN(the_largest_that_may_be_asked_for_is_kept_whole);
    RUN(a_small_answer_takes_three_cache_lines);
    return check_end();
}
