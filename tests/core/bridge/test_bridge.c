/* bridge/: the mailbox between the threads, requests, replies and tags. */
#include "base/limits.h"
#include "bridge/mailbox.h"
#include "bridge/piece.h"
#include "bridge/request.h"
#include "bridge/tag.h"
#include "check.h"
#include "http/etag.h"
#include "make.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The mailbox: nothing is lost, each pusher's order is kept, it is bounded, and a burst causes
 * one wake-up. */

struct letter {
    struct message message;
    unsigned pusher;
    unsigned number;
};

static struct message *new_letter(unsigned pusher, unsigned number)
{
    struct letter *letter = malloc(sizeof *letter);
    *letter = (struct letter){.pusher = pusher, .number = number};
    return &letter->message;
}

static bool is_readable(const struct mailbox *mailbox)
{
    struct pollfd poll_fd = {.fd = mailbox->event, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static unsigned free_all(struct message *message)
{
    unsigned count = 0;
    while (message) {
        struct message *next = message->next;
        free(message);
        message = next;
        count++;
    }
    return count;
}

static void messages_come_out_oldest_first(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(!mailbox_take(&mailbox));
    for (unsigned i = 0; i < 3; i++)
        CHECK(mailbox_push(&mailbox, new_letter(0, i)));
    CHECK_EQUAL(mailbox_depth(&mailbox), 3);
    struct message *first = mailbox_take(&mailbox);
    unsigned number = 0;
    for (struct message *message = first; message; message = message->next)
        CHECK_EQUAL(((struct letter *)message)->number, number++);
    CHECK_EQUAL(free_all(first), 3);
    CHECK_EQUAL(mailbox_depth(&mailbox), 0);
    mailbox_fini(&mailbox);
}

static void a_full_mailbox_takes_nothing(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 2), 0);
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_push(&mailbox, new_letter(0, 1)));
    struct message *third = new_letter(0, 2);
    CHECK(!mailbox_push(&mailbox, third));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 2);
    CHECK(mailbox_push(&mailbox, third));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 1);
    mailbox_fini(&mailbox);
}

static void the_descriptor_tells_when_something_waits(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(!is_readable(&mailbox));
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_push(&mailbox, new_letter(0, 1)));
    CHECK(is_readable(&mailbox));
    free_all(mailbox_take(&mailbox));
    CHECK(!is_readable(&mailbox));
    mailbox_wake(&mailbox);
    CHECK(is_readable(&mailbox));
    CHECK(!mailbox_take(&mailbox));
    CHECK(!is_readable(&mailbox));
    mailbox_fini(&mailbox);
}

static void a_burst_writes_the_descriptor_once(void)
{
    struct mailbox mailbox;
    uint64_t wakes = 0;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    for (unsigned i = 0; i < 5; i++)
        CHECK(mailbox_push(&mailbox, new_letter(0, i)));
    CHECK_EQUAL(read(mailbox.event, &wakes, sizeof wakes), sizeof wakes);
    CHECK_EQUAL(wakes, 1);
    mailbox_fini(&mailbox);
}

static void what_is_added_wakes_nobody(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 2), 0);
    CHECK(mailbox_add(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_add(&mailbox, new_letter(0, 1)));
    struct message *third = new_letter(0, 2);
    CHECK(!mailbox_add(&mailbox, third));
    CHECK_EQUAL(free_all(third), 1);
    CHECK(!is_readable(&mailbox));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 2);
    mailbox_fini(&mailbox);
}

static void what_is_left_is_freed_at_the_end(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    mailbox_fini(&mailbox); /* the leak checker watches this */
    CHECK_EQUAL(mailbox.event, -1);
    mailbox_fini(&mailbox);
}

enum { PUSHERS = 4, LETTERS = 20000, LIMIT = 64 };

struct pusher {
    struct mailbox *mailbox;
    unsigned index;
    unsigned refused;
    pthread_t pthread;
};

static void *push_all(void *argument)
{
    struct pusher *pusher = argument;
    for (unsigned i = 0; i < LETTERS; i++) {
        struct message *letter = new_letter(pusher->index, i);
        while (!mailbox_push(pusher->mailbox, letter)) {
            pusher->refused++;
            sched_yield();
        }
    }
    return NULL;
}

/* Take until all have come, sleeping on the descriptor alone: a lost wake-up would hang here. */
static unsigned take_all(struct mailbox *mailbox, unsigned next[PUSHERS])
{
    unsigned wrong = 0;
    for (unsigned taken = 0; taken < PUSHERS * LETTERS;) {
        struct pollfd poll_fd = {.fd = mailbox->event, .events = POLLIN};
        if (poll(&poll_fd, 1, 30000) != 1)
            return wrong + 1;
        struct message *first = mailbox_take(mailbox);
        for (struct message *message = first; message; message = message->next) {
            struct letter *letter = (struct letter *)message;
            wrong += letter->number != next[letter->pusher]++;
        }
        unsigned count = free_all(first);
        wrong += count > LIMIT;
        taken += count;
    }
    return wrong;
}

static void several_pushers_lose_nothing_and_keep_their_order(void)
{
    struct mailbox mailbox;
    struct pusher pushers[PUSHERS];
    unsigned next[PUSHERS] = {0};
    CHECK_EQUAL(mailbox_init(&mailbox, LIMIT), 0);
    for (unsigned i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.mailbox = &mailbox, .index = i};
        CHECK_EQUAL(pthread_create(&pushers[i].pthread, NULL, push_all, &pushers[i]), 0);
    }
    CHECK_EQUAL(take_all(&mailbox, next), 0);
    for (unsigned i = 0; i < PUSHERS; i++) {
        pthread_join(pushers[i].pthread, NULL);
        CHECK_EQUAL(next[i], LETTERS);
    }
    CHECK_EQUAL(mailbox_depth(&mailbox), 0);
    mailbox_fini(&mailbox);
}

/* Replies: they are rendered when they are made. */

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
    CHECK(!reply->etag_matches); /* a field that is given twice is ignored */
    reply_free(reply);
}

/* Returns what a client with these field lines gets of an answer that has all variants. */
static struct slice variant_sent(const char *lines, bool storable, struct buffer *out)
{
    const uint32_t tag = 1;
    const struct response response = {.status = 200,
                                      .body = SLICE("plain"),
                                      .gzip = SLICE("coded"),
                                      .brotli = SLICE("brief"),
                                      .tags = &tag,
                                      .tag_count = 1};
    char text[256];
    snprintf(text, sizeof text, "GET /x HTTP/1.0\r\n%s\r\n", lines);
    struct request *request = make_request(text);
    request->storable = storable;
    struct reply *reply = reply_new(request, &response);
    request_free(request);
    struct response_view view = reply_view(reply);
    struct clock clock = {.date = "Sun, 06 Nov 1994 08:49:37 GMT"};
    buffer_init(out);
    CHECK(response_append(out, &view, PERSIST, SLICE(""), &clock));
    reply_free(reply);
    return buffer_slice(out);
}

static void the_first_answer_too_is_the_variant_that_the_client_prefers(void)
{
    struct buffer out;
    CHECK(has(variant_sent("", true, &out), "\r\n\r\nplain"));
    CHECK(has(buffer_slice(&out), "Vary: Accept-Encoding\r\n"));
    buffer_fini(&out);
    CHECK(has(variant_sent("Accept-Encoding: gzip\r\n", true, &out), "\r\n\r\ncoded"));
    CHECK(has(buffer_slice(&out), "Content-Encoding: gzip\r\n"));
    buffer_fini(&out);
    CHECK(has(variant_sent("Accept-Encoding: gzip, br\r\n", true, &out), "\r\n\r\nbrief"));
    CHECK(has(buffer_slice(&out), "Content-Encoding: br\r\n"));
    buffer_fini(&out);
    CHECK(has(variant_sent("Accept-Encoding: gzip\r\n", false, &out), "\r\n\r\nplain"));
    CHECK(!has(buffer_slice(&out), "Vary: "));
    buffer_fini(&out);
    char etag[ETAG_SIZE + 1] = {0}, lines[128];
    etag_make(SLICE("coded"), etag);
    snprintf(lines, sizeof lines, "If-None-Match: %s\r\n", etag);
    CHECK(has(variant_sent(lines, true, &out), " 200 OK"));
    buffer_fini(&out);
    snprintf(lines, sizeof lines, "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", etag);
    CHECK(has(variant_sent(lines, true, &out), " 304 Not Modified"));
    CHECK(has(buffer_slice(&out), etag));
    buffer_fini(&out);
}

/* Returns the answer with this status to a request that may be cached or not. */
static size_t tags_kept(const char *head, bool storable, int status)
{
    const uint32_t slot = 1;
    const struct response response = {.status = status, .tags = &slot, .tag_count = 1};
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

/* Returns the key of a request with this method and so many bytes of body; "" if it has no key. */
static struct slice key_of(const char *method, int size)
{
    static char body[LIMIT_KEY_BODY + 1], key[LIMIT_TARGET], head[128];
    memset(body, 'x', sizeof body);
    snprintf(head, sizeof head, "%s /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", method,
             size);
    struct request *request = make_request(head);
    request = request_append(request, slice_of(body, (size_t)size));
    size_t wanted = 0;
    if (request_has_key(request)) {
        struct slice none = slice_of("", 0);
        wanted = (size_t)(request_write_key(request, none, key) - key);
        CHECK_EQUAL(wanted, request_key_size(request, none));
    }
    request_free(request);
    return slice_of(key, wanted);
}

/* Returns the key under which a reply with `Vary: Origin` to this request is stored; "" if none. */
static struct slice varying_key_of(const char *text, const char *body)
{
    static char key[LIMIT_TARGET];
    uint32_t tag = 7;
    struct response response = {
        .status = 200, .fields = SLICE("Vary: Origin\r\n"), .tags = &tag, .tag_count = 1};
    struct request *request = make_request(text);
    request = request_append(request, text_of(body));
    request->storable = true;
    struct reply *reply = reply_new(request, &response);
    size_t size = reply->tag_count > 0 ? reply->target_size : 0;
    CHECK_EQUAL(reply->by_origin, size > 0);
    memcpy(key, reply_target(reply).data, size);
    reply_free(reply);
    request_free(request);
    return slice_of(key, size);
}

static void a_response_that_varies_by_origin_has_a_key_with_it(void)
{
    CHECK_TEXT(varying_key_of("GET /a HTTP/1.0\r\nOrigin: http://b\r\n\r\n", ""), "/a\nhttp://b");
    CHECK_TEXT(varying_key_of("GET /a HTTP/1.0\r\n\r\n", ""), "");
    CHECK_TEXT(varying_key_of("GET /a HTTP/1.0\r\nOrigin: b\r\nOrigin: b\r\n\r\n", ""), "");
    CHECK_TEXT(varying_key_of("POST /a HTTP/1.0\r\nContent-Length: 1\r\norigin: b\r\n\r\n", "x"),
               "/a\nb x");
    static char text[LIMIT_TARGET + 100];
    snprintf(text, sizeof text, "GET /a HTTP/1.0\r\nOrigin: %0*d\r\n\r\n", LIMIT_TARGET - 3, 0);
    CHECK_EQUAL(varying_key_of(text, "").size, LIMIT_TARGET);
    snprintf(text, sizeof text, "GET /a HTTP/1.0\r\nOrigin: %0*d\r\n\r\n", LIMIT_TARGET - 2, 0);
    CHECK_EQUAL(varying_key_of(text, "").size, 0);
}

static void a_short_post_has_a_key_of_its_target_and_body(void)
{
    CHECK(slice_equal(key_of("POST", 3), SLICE("/a xxx")));
    CHECK_EQUAL(key_of("POST", LIMIT_KEY_BODY).size, 3 + LIMIT_KEY_BODY);
    CHECK_EQUAL(key_of("POST", LIMIT_KEY_BODY + 1).size, 0);
    CHECK_EQUAL(key_of("POST", 0).size, 0);
    CHECK_EQUAL(key_of("PUT", 3).size, 0);
    CHECK_EQUAL(key_of("GET", 3).size, 0);
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

/* Requests: what they hold, and how a body grows. */

static void a_request_holds_copies(void)
{
    char text[] = "POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n";
    struct request *request = make_request(text);
    memset(text, 'x', sizeof text);
    CHECK_EQUAL(request->method, METHOD_POST);
    CHECK_TEXT(request_target(request), "/a?b");
    CHECK_TEXT(request_fields(request), "Host: h\r\nContent-Length: 4\r\n");
    CHECK_TEXT(request_body(request), "");
    request_free(request);
    request_free(NULL);
}

static void a_body_of_known_length_does_not_move_the_block(void)
{
    struct request *request = make_request("POST / HTTP/1.0\r\nContent-Length: 6\r\n\r\n");
    struct request *before = request;
    request = request_append(request, SLICE("abc"));
    request = request_append(request, SLICE("def"));
    CHECK(request == before);
    CHECK_TEXT(request_body(request), "abcdef");
    request_free(request);
}

static void a_chunked_body_grows(void)
{
    struct request *request =
        make_request("POST /t HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10000; i++)
        request = request_append(request, SLICE("0123456789"));
    struct slice body = request_body(request);
    CHECK_EQUAL(body.size, 100000);
    for (size_t i = 0; i < body.size; i++)
        if (body.data[i] != (char)('0' + i % 10))
            CHECK_EQUAL(i, -1);
    CHECK_TEXT(request_target(request), "/t");
    request_free(request);
}

static void a_length_that_is_said_costs_nothing_until_the_body_comes(void)
{
    struct head head;
    size_t scanned = 0;
    struct slice text = SLICE("POST / HTTP/1.0\r\nContent-Length: 100000\r\n\r\n");
    CHECK_EQUAL(head_parse(text, &scanned, &head), HEAD_DONE);
    struct budget budget = {0};
    struct request *request = request_new(&head, &budget);
    CHECK(budget_used(&budget) < 20000);
    for (int i = 0; i < 100; i++) {
        char piece[1000] = {(char)i};
        request = request_append(request, slice_of(piece, sizeof piece));
    }
    CHECK_EQUAL(request_body(request).data[99000], 99);
    CHECK_EQUAL(request->body_capacity, 100000);
    CHECK(budget_used(&budget) > 100000 && budget_used(&budget) < 101000);
    request_free(request);
    CHECK_EQUAL(budget_used(&budget), 0);
}

/* Tags: their indexes are evenly distributed and bounded. */

static void tags_spread_over_the_indexes(void)
{
    static bool taken[TAG_INDEXES];
    unsigned shared = 0;
    for (int i = 0; i < 10000; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "thread:%d", i);
        uint32_t index = tag_index(slice_of(tag, strlen(tag)));
        CHECK(index < TAG_INDEXES);
        shared += taken[index];
        taken[index] = true;
    }
    /* By chance alone, about 725 of them share an index with another. */
    CHECK(shared < 1000);
}

/* Pieces. */

static void what_a_piece_is(const char *head, enum piece_kind kind, const char *data,
                            const char *bytes)
{
    struct request *request = make_request(head);
    request->address = (struct address){1, 2, 3};
    request_begin(request, 7);
    struct reply *piece = piece_new(request, text_of(data), kind);
    CHECK(slice_equal(piece_bytes(piece), text_of(bytes)));
    CHECK_EQUAL(piece->address.serial, 3);
    CHECK(piece->aborted == (kind == PIECE_ABORT));
    CHECK(piece->request == (kind == PIECE_MORE ? request : NULL)); /* it travels on, or is freed */
    reply_free(piece);
}

static void a_piece_is_a_chunk_or_the_bytes_alone(void)
{
    const char *new = GET("/"), *old = "GET / HTTP/1.0\r\n\r\n";
    what_a_piece_is(new, PIECE_MORE, "0123456789abcdef", "10\r\n0123456789abcdef\r\n");
    what_a_piece_is(new, PIECE_LAST, "last", "4\r\nlast\r\n0\r\n\r\n");
    what_a_piece_is(new, PIECE_LAST, "", "0\r\n\r\n");
    what_a_piece_is(new, PIECE_ABORT, "", "");
    what_a_piece_is(old, PIECE_MORE, "more", "more");
    what_a_piece_is(old, PIECE_LAST, "last", "last");
    what_a_piece_is(old, PIECE_LAST, "", "");
}

static void what_is_returned_is_taken_by_a_full_mailbox(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 1), 0);
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    mailbox_return(&mailbox, new_letter(0, 1));
    CHECK_EQUAL(mailbox_depth(&mailbox), 2);
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 2);
    mailbox_fini(&mailbox);
}

int main(void)
{
    RUN(a_piece_is_a_chunk_or_the_bytes_alone);
    RUN(what_is_returned_is_taken_by_a_full_mailbox);
    RUN(messages_come_out_oldest_first);
    RUN(a_full_mailbox_takes_nothing);
    RUN(the_descriptor_tells_when_something_waits);
    RUN(a_burst_writes_the_descriptor_once);
    RUN(what_is_added_wakes_nobody);
    RUN(what_is_left_is_freed_at_the_end);
    RUN(several_pushers_lose_nothing_and_keep_their_order);
    RUN(a_reply_is_rendered_whole);
    RUN(a_tagged_reply_has_an_etag_and_a_304);
    RUN(a_known_etag_makes_the_first_answer_a_304_too);
    RUN(the_first_answer_too_is_the_variant_that_the_client_prefers);
    RUN(only_200_to_a_storable_request_keeps_its_tags);
    RUN(a_short_post_has_a_key_of_its_target_and_body);
    RUN(a_response_that_varies_by_origin_has_a_key_with_it);
    RUN(a_head_request_marks_its_reply_as_without_body);
    RUN(a_reply_keeps_the_address_of_its_request);
    RUN(a_request_holds_copies);
    RUN(a_body_of_known_length_does_not_move_the_block);
    RUN(a_chunked_body_grows);
    RUN(a_length_that_is_said_costs_nothing_until_the_body_comes);
    RUN(tags_spread_over_the_indexes);
    return check_end();
}
