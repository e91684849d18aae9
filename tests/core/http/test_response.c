/* http/: entity tags and responses. */
#include "check.h"
#include "http/etag.h"
#include "http/response.h"
#include "make.h"

/* Entity tags: equal bodies have equal tags; lists in If-None-Match. */

#define BASE64URL "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

static void a_tag_is_strong_and_follows_the_body(void)
{
    char first[ETAG_SIZE], second[ETAG_SIZE], third[ETAG_SIZE];
    struct slice etag = etag_make(SLICE("{\"count\":1}"), first);
    CHECK_EQUAL(etag.size, ETAG_SIZE);
    CHECK_EQUAL(etag.data[0], '"');
    CHECK_EQUAL(etag.data[ETAG_SIZE - 1], '"');
    CHECK_EQUAL(strspn(etag.data + 1, BASE64URL), ETAG_SIZE - 2);
    CHECK(slice_equal(etag, etag_make(SLICE("{\"count\":1}"), second)));
    CHECK(!slice_equal(etag, etag_make(SLICE("{\"count\":2}"), third)));
    CHECK(!slice_equal(etag, etag_make(SLICE(""), third)));
}

/* Returns whether `value` names "abc"; it is read whole and up to a forbidden page. */
static bool names(struct slice value)
{
    bool named = etag_is_named(value, SLICE("\"abc\""));
    CHECK_EQUAL(etag_is_named(at_forbidden_page(value), SLICE("\"abc\"")), named);
    return named;
}

static void a_list_names_its_members(void)
{
    CHECK(names(SLICE("\"abc\"")));
    CHECK(names(SLICE("\"x\", \"abc\"")));
    CHECK(names(SLICE("\"x\",\"abc\"")));
    CHECK(names(SLICE(", ,\t\"abc\" ,\"y\"")));
    CHECK(!names(SLICE("\"ab\"")));
    CHECK(!names(SLICE("\"abcd\"")));
    CHECK(!names(SLICE("")));
}

static void a_weak_tag_names_the_strong_one(void)
{
    CHECK(names(SLICE("W/\"abc\"")));
    CHECK(names(SLICE("\"x\", W/\"abc\"")));
    CHECK(!names(SLICE("w/\"abc\"")));
}

static void the_star_names_everything_but_only_alone(void)
{
    CHECK(names(SLICE("*")));
    CHECK(!names(SLICE("*, \"x\"")));
    CHECK(!names(SLICE("\"*\"")));
}

static void a_comma_within_a_tag_does_not_part_it(void)
{
    CHECK(!names(SLICE("\"x,\"abc\"")));
    CHECK(names(SLICE("\"x,y\",\"abc\"")));
}

static void a_malformed_value_names_nothing(void)
{
    CHECK(!names(SLICE("abc")));
    CHECK(!names(SLICE("\"abc")));
    CHECK(!names(SLICE("\"")));
    CHECK(!names(SLICE("W/")));
    CHECK(!names(SLICE("W/abc")));
    CHECK(!names(SLICE("x \"abc\"")));
}

/* Rendering: length, date and connection in heads, and the table of refusals. */

static struct clock clock_at(time_t second)
{
    struct clock clock = {.now = 1, .second = second};
    clock_write_date(second, clock.date);
    return clock;
}

static struct reply *reply_with(int status, const char *fields, const char *body, bool tagged)
{
    static const uint32_t slot = 7;
    const struct response response = {
        .status = status,
        .fields = text_of(fields),
        .body = text_of(body),
        .tags = &slot,
        .tag_count = tagged,
    };
    struct request *request = make_request("GET / HTTP/1.0\r\nOrigin: http://a\r\n\r\n");
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    return reply;
}

static void each_use_is_dated_now(void)
{
    struct reply *reply = reply_with(200, "", "hi", false);
    struct buffer out;
    buffer_init(&out);
    struct clock clock = clock_at(784111777);
    struct response_view view = rendered_view(reply, &reply->full);
    CHECK(response_append(&out, &view, PERSIST, SLICE(""), &clock));
    clock = clock_at(0);
    CHECK(response_append(&out, &view, PERSIST, SLICE(""), &clock));
    CHECK_TEXT(buffer_slice(&out),
               "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 2\r\n\r\n"
               "hi"
               "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 2\r\n\r\n"
               "hi");
    buffer_fini(&out);
    reply_free(reply);
}

static void the_connection_field_stands_where_it_is_due(void)
{
    struct reply *reply = reply_with(200, "", "hi", false);
    struct clock clock = clock_at(0);
    static const struct {
        enum persistence persistence;
        const char *text;
    } cases[] = {
        {PERSIST, "GMT\r\nContent-Length: 2\r\n\r\nhi"},
        {PERSIST_SAY_SO, "GMT\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"},
        {PERSIST_NOT, "GMT\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer out;
        buffer_init(&out);
        struct response_view view = rendered_view(reply, &reply->full);
        CHECK(response_append(&out, &view, cases[i].persistence, SLICE(""), &clock));
        CHECK(has(buffer_slice(&out), cases[i].text));
        buffer_fini(&out);
    }
    reply_free(reply);
}

static void head_says_the_length_and_sends_no_body(void)
{
    struct reply *reply = reply_with(200, "", "hello", false);
    struct buffer out;
    struct clock clock = clock_at(0);
    buffer_init(&out);
    struct response_view view = rendered_view(reply, &reply->full);
    CHECK_TEXT(response_view_cut_body(&view), "hello");
    CHECK(response_append(&out, &view, PERSIST_NOT, SLICE(""), &clock));
    CHECK(has(buffer_slice(&out), "Content-Length: 5\r\n"));
    CHECK(!has(buffer_slice(&out), "hello"));
    CHECK_EQUAL(memcmp(out.data + out.size - 4, "\r\n\r\n", 4), 0);
    buffer_fini(&out);
    reply_free(reply);
}

static void no_content_has_neither_length_nor_body(void)
{
    struct reply *reply = reply_with(204, "Allow: GET\r\n", "surplus", false);
    struct slice text = rendered_text(reply, &reply->full);
    CHECK(has(text, "HTTP/1.1 204 No Content\r\nAllow: GET\r\n"));
    CHECK(!has(text, "Content-Length"));
    CHECK(!has(text, "surplus"));
    reply_free(reply);
}

static void an_unknown_status_has_an_empty_phrase(void)
{
    struct reply *reply = reply_with(299, "", "", false);
    CHECK(has(rendered_text(reply, &reply->full), "HTTP/1.1 299 \r\n"));
    reply_free(reply);
}

static void the_304_keeps_the_fields_that_do_not_describe_the_body(void)
{
    struct reply *reply = reply_with(200,
                                     "Content-Type: text/plain\r\nCache-Control: no-cache\r\n"
                                     "CONTENT-Language: en\r\nVary: Origin\r\n",
                                     "hello", true);
    struct slice text = rendered_text(reply, &reply->not_modified);
    CHECK(has(text, "HTTP/1.1 304 Not Modified\r\nCache-Control: no-cache\r\nVary: Origin\r\n"
                    "Date: "));
    CHECK(has(text, "GMT\r\nETag: \""));
    CHECK(!has(text, "ontent-"));
    CHECK(!has(text, "CONTENT-"));
    CHECK(!has(text, "hello"));
    reply_free(reply);
}

static void every_refusal_is_whole_and_closes(void)
{
    static const int statuses[] = {400, 408, 413, 414, 417, 431, 501, 503, 504, 505};
    struct clock clock = clock_at(784111777);
    struct refusal_form with_body = {.with_body = true, .own = SLICE("")};
    struct refusal_form without = {.own = SLICE("")};
    struct refusals refusals = {.type = SLICE("text/x-refusal")};
    for (size_t i = 0; i < REFUSALS; i++)
        refusals.bodies[i] = slice_of("0123456789", i);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct buffer out;
        char line[32];
        buffer_init(&out);
        CHECK(response_append_refusal(&out, &refusals, statuses[i], with_body, &clock));
        struct slice text = buffer_slice(&out);
        snprintf(line, sizeof line, "HTTP/1.1 %d ", statuses[i]);
        CHECK_EQUAL(memcmp(text.data, line, strlen(line)), 0);
        CHECK(text.data[strlen(line)] != '\r');
        CHECK(has(text, "\r\nConnection: close\r\n"));
        CHECK(has(text, "\r\nContent-Type: text/x-refusal\r\n"));
        CHECK(has(text, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
        CHECK_EQUAL(has(text, "\r\nRetry-After: 1\r\n"), statuses[i] == 503);
        const char *body = memmem(text.data, text.size, "\r\n\r\n", 4);
        const char *length = memmem(text.data, text.size, "Content-Length: ", 16);
        CHECK(body && length);
        CHECK_EQUAL(atoi(length + 16), i);
        CHECK_EQUAL(atoi(length + 16), text.data + text.size - (body + 4));
        size_t head_size = (size_t)(body + 4 - text.data), full_size = text.size;
        CHECK(response_append_refusal(&out, &refusals, statuses[i], without, &clock));
        CHECK_EQUAL(out.size - full_size, head_size);
        CHECK_EQUAL(memcmp(out.data, out.data + full_size, head_size), 0);
        buffer_fini(&out);
    }
}

static void a_person_gets_the_page_of_a_refusal_if_there_is_one(void)
{
    struct clock clock = clock_at(784111777);
    struct refusal_form form = {.with_body = true, .for_person = true, .own = SLICE("")};
    struct refusals refusals = {.type = SLICE("text/x-refusal")};
    struct buffer out;
    buffer_init(&out);
    refusals.bodies[0] = SLICE("for programs");
    CHECK(response_append_refusal(&out, &refusals, 400, form, &clock));
    CHECK(has(buffer_slice(&out), "\r\nContent-Type: text/x-refusal\r\n"));
    buffer_fini(&out);
    buffer_init(&out);
    refusals.page_field = SLICE("text/x-page; x=y");
    refusals.pages[0] = SLICE("<p>for people");
    CHECK(response_append_refusal(&out, &refusals, 400, form, &clock));
    CHECK(has(buffer_slice(&out), "\r\nContent-Type: text/x-page; x=y\r\n"));
    CHECK(has(buffer_slice(&out), "\r\n\r\n<p>for people"));
    buffer_fini(&out);
}

static void a_refusal_may_have_no_body(void)
{
    struct refusal_form form = {.with_body = true, .own = SLICE("A: b\r\n")};
    struct clock clock = clock_at(784111777);
    struct buffer out;
    buffer_init(&out);
    CHECK(response_append_refusal(&out, NULL, 400, form, &clock));
    struct slice text = buffer_slice(&out);
    CHECK(has(text, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n"));
    CHECK(has(text, "\r\nA: b\r\n") && !has(text, "Content-Type"));
    buffer_fini(&out);
}

static void the_bound_holds_for_the_longest_head(void)
{
    const struct response response = {
        .status = 431,
        .fields = SLICE("A: b\r\n"),
        .body = SLICE("0123456789"),
    };
    struct slice etag = SLICE("\"0123456789abcdef0123456789abcdef\"");
    struct rendered rendered = {0};
    char *room = malloc(response_max_size(&response, etag)); /* the sanitizer watches its end */
    char *end = response_write_full(room, &response, etag, &rendered);
    CHECK((size_t)(end - room) <= response_max_size(&response, etag));
    free(room);
}

int main(void)
{
    RUN(a_tag_is_strong_and_follows_the_body);
    RUN(a_list_names_its_members);
    RUN(a_weak_tag_names_the_strong_one);
    RUN(the_star_names_everything_but_only_alone);
    RUN(a_comma_within_a_tag_does_not_part_it);
    RUN(a_malformed_value_names_nothing);
    RUN(each_use_is_dated_now);
    RUN(the_connection_field_stands_where_it_is_due);
    RUN(head_says_the_length_and_sends_no_body);
    RUN(no_content_has_neither_length_nor_body);
    RUN(an_unknown_status_has_an_empty_phrase);
    RUN(the_304_keeps_the_fields_that_do_not_describe_the_body);
    RUN(every_refusal_is_whole_and_closes);
    RUN(a_person_gets_the_page_of_a_refusal_if_there_is_one);
    RUN(a_refusal_may_have_no_body);
    RUN(the_bound_holds_for_the_longest_head);
    return check_end();
}
