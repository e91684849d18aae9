/* Entries: all of a reply is sent again from less than a third of its bytes. */
#include "make.h"

#include "base/limits.h"
#include "cache/entry.h"
#include "http/etag.h"
#include "http/response.h"

#include <malloc.h>

static struct shared_heads shared_heads;
static struct clock clock_;

/* What is sent of these pieces. */
static struct slice sent(struct buffer *out, struct response_view view)
{
    out->size = 0;
    clock_write_date(784111777, clock_.date);
    CHECK(response_append(out, &view, PERSIST, SLICE(""), &clock_));
    return buffer_slice(out);
}

static void drop(struct entry *entry)
{
    entry_release_head(&shared_heads, entry);
    free(entry);
    CHECK_EQUAL(shared_heads.bytes, 0);
}

static void what_is_sent_is_what_the_reply_would_send(void)
{
    static const char *const bodies[] = {"", "1", "a longer body than that"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct reply *reply = make_answer("/a?b=c", bodies[i], "t", 5);
        struct entry *entry = entry_new(&shared_heads, reply);
        struct buffer one, other;
        buffer_init(&one);
        buffer_init(&other);
        struct slice whole = sent(&one, entry_full(entry));
        CHECK(slice_equal(whole, sent(&other, rendered_view(reply, &reply->full))));
        CHECK(has(whole, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: "));
        CHECK(slice_equal(sent(&one, entry_not_modified(entry)),
                          sent(&other, rendered_view(reply, &reply->not_modified))));
        struct response_view view = entry_full(entry);
        CHECK(slice_equal(response_view_cut_body(&view), text_of(bodies[i])));
        CHECK(slice_equal(slice_of(view.rest.data + view.rest.size - 4, 4), SLICE("\r\n\r\n")));
        char text[ETAG_SIZE];
        CHECK(slice_equal(entry_etag(entry), etag_make(text_of(bodies[i]), text)));
        CHECK_TEXT(entry_target(entry), "/a?b=c");
        CHECK_EQUAL(entry->sequence, 5);
        CHECK_EQUAL(entry->tags[0], tag_index(SLICE("t")));
        buffer_fini(&one);
        buffer_fini(&other);
        reply_free(reply);
        drop(entry);
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
    struct entry *entry = entry_new(&shared_heads, reply);
    reply_free(reply);
    CHECK(slice_equal(entry_target(entry), text_of(target)));
    CHECK_EQUAL(entry->tag_count, LIMIT_TAGS);
    CHECK_EQUAL(memcmp(entry->tags, tags, sizeof tags), 0);
    struct response_view view = entry_full(entry);
    CHECK_TEXT(response_view_cut_body(&view), "body");
    drop(entry);
}

/* A count is read from three cache lines of 64 bytes; what is kept for long holds no spare room. */
static void a_small_answer_takes_three_cache_lines(void)
{
    struct reply *reply =
        make_answer("/api/comments/count?url=/post/1234/", "{\"count\":12}", "t", 0);
    struct entry *entry = entry_new(&shared_heads, reply);
    CHECK(entry_cost(entry) <= 3 * 64);
    CHECK(entry_cost(entry) >= malloc_usable_size(entry));
    CHECK(entry_cost(entry) <= malloc_usable_size(entry) + 32);
    CHECK(entry_cost(entry) + shared_heads.bytes <= entry_max_size(reply));
    reply_free(reply);
    drop(entry);
}

int main(void)
{
    RUN(what_is_sent_is_what_the_reply_would_send);
    RUN(the_largest_that_may_be_asked_for_is_kept_whole);
    RUN(a_small_answer_takes_three_cache_lines);
    return check_end();
}
