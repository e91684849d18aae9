/* The message of an answer: it is rendered when it is made. */
#include "make.h"

#include "http/etag.h"

static void a_reply_is_rendered_whole(void)
{
    struct reply *reply = make_reply(make_request("GET /x HTTP/1.0\r\n\r\n"), "hello", NULL);
    CHECK_TEXT(rendered_text(reply, &reply->full),
               "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
               "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 5\r\n\r\nhello");
    CHECK_EQUAL(reply->tag_count, 0);
    CHECK_TEXT(reply_target(reply), "/x");
    reply_free(reply);
}

static void a_tagged_reply_has_an_etag_and_a_304(void)
{
    char text[ETAG_SIZE + 1] = {0};
    etag_make(SLICE("hello"), text);
    struct reply *reply = make_reply(make_request("GET /x HTTP/1.0\r\n\r\n"), "hello", "t");
    CHECK(has(rendered_text(reply, &reply->full), text));
    CHECK(has(rendered_text(reply, &reply->not_modified), "HTTP/1.1 304 Not Modified\r\nDate: "));
    CHECK(has(rendered_text(reply, &reply->not_modified), text));
    CHECK_EQUAL(reply->not_modified.body_size, 0);
    CHECK_EQUAL(reply->tag_count, 1);
    CHECK_EQUAL(reply->tags[0], tag_index(SLICE("t")));
    CHECK(!reply->etag_matches);
    reply_free(reply);
}

static void a_known_etag_makes_the_first_answer_a_304_too(void)
{
    char etag[ETAG_SIZE + 1] = {0}, text[256];
    etag_make(SLICE("hello"), etag);
    snprintf(text, sizeof text, "GET / HTTP/1.0\r\nIf-None-Match: %s\r\n\r\n", etag);
    struct reply *reply = make_reply(make_request(text), "hello", "t");
    CHECK(reply->etag_matches);
    reply_free(reply);
    reply = make_reply(make_request(text), "other", "t");
    CHECK(!reply->etag_matches);
    reply_free(reply);
    snprintf(text, sizeof text, "GET / HTTP/1.0\r\nIf-None-Match: %s\r\nIf-None-Match: %s\r\n\r\n",
             etag, etag);
    reply = make_reply(make_request(text), "hello", "t");
    CHECK(!reply->etag_matches); /* given twice it is read by nobody */
    reply_free(reply);
}

/* The answer with this status to a request that may be stored or not. */
static size_t tags_kept(const char *head, bool storable, int status)
{
    const uint32_t place = 1;
    const struct response response = {.status = status, .tags = &place, .tag_count = 1};
    struct request *request = make_request(head);
    request->storable = storable;
    struct reply *reply = reply_new(request, &response);
    size_t count = reply->tag_count;
    reply_free(reply);
    request_free(request);
    return count;
}

static void only_200_to_a_storable_request_keeps_its_tags(void)
{
    CHECK_EQUAL(tags_kept("GET / HTTP/1.0\r\n\r\n", true, 200), 1);
    CHECK_EQUAL(tags_kept("HEAD / HTTP/1.0\r\n\r\n", true, 200), 1);
    CHECK_EQUAL(tags_kept("GET / HTTP/1.0\r\n\r\n", true, 404), 0);
    CHECK_EQUAL(tags_kept("GET / HTTP/1.0\r\n\r\n", true, 201), 0);
    CHECK_EQUAL(tags_kept("POST / HTTP/1.0\r\n\r\n", false, 200), 0);
}

static void a_head_request_marks_its_reply_as_without_body(void)
{
    struct reply *reply = make_reply(make_request("HEAD / HTTP/1.0\r\n\r\n"), "hello", "t");
    CHECK(reply->without_body);
    CHECK_EQUAL(reply->full.body_size, 5); /* kept for a GET */
    reply_free(reply);
}

static void a_reply_keeps_the_address_of_its_request(void)
{
    struct request *request = make_request("GET / HTTP/1.0\r\n\r\n");
    request->address = (struct address){.worker = 3, .slot = 4, .serial = 5};
    request->sequence = 6;
    struct reply *reply = make_reply(request, "", NULL);
    CHECK_EQUAL(reply->address.worker, 3);
    CHECK_EQUAL(reply->address.slot, 4);
    CHECK_EQUAL(reply->address.serial, 5);
    CHECK_EQUAL(reply->sequence, 6);
    reply_free(reply);
}

int main(void)
{
    RUN(a_reply_is_rendered_whole);
    RUN(a_tagged_reply_has_an_etag_and_a_304);
    RUN(a_known_etag_makes_the_first_answer_a_304_too);
    RUN(only_200_to_a_storable_request_keeps_its_tags);
    RUN(a_head_request_marks_its_reply_as_without_body);
    RUN(a_reply_keeps_the_address_of_its_request);
    return check_end();
}
