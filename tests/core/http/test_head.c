/* The head parser. Each input is parsed three times: whole up to a forbidden page, byte by byte,
 * and with a follower; all three must have the same result. The cases that a reader should know
 * are in tests/wire; here are the limits. */
#include "base/limits.h"
#include "check.h"
#include "http/head.h"

#include <stdlib.h>

static char text[40 * 1024];
static struct head head;

/* Parse growing slices until the result is known, and set `*taken` to the bytes that it took. */
static int parse_bytewise(struct slice input, size_t *taken)
{
    size_t scanned = 0;
    for (size_t size = 1; size <= input.size; size++) {
        int result = head_parse(at_forbidden_page(slice_of(input.data, size)), &scanned, &head);
        *taken = size;
        if (result != HEAD_NEED_MORE)
            return result;
    }
    return HEAD_NEED_MORE;
}

/* Returns the result of `input`, the same in all three ways; `head` is that of the run with a
 * follower, in `text`. */
static int parse(struct slice input)
{
    size_t scanned = 0, taken = 0;
    int whole = head_parse(at_forbidden_page(input), &scanned, &head);
    size_t size = head.size;
    int bytewise = parse_bytewise(input, &taken);
    CHECK_EQUAL(bytewise, whole);
    if (whole == HEAD_DONE) {
        CHECK_EQUAL(head.size, size);
        CHECK_EQUAL(taken, size);
    }
    memmove(text, input.data, input.size);
    memcpy(text + input.size, "GET /follower HTTP/1.1\r\n", 24);
    scanned = 0;
    int followed = head_parse(slice_of(text, input.size + 24), &scanned, &head);
    if (whole != HEAD_NEED_MORE)
        CHECK_EQUAL(followed, whole);
    if (whole == HEAD_DONE)
        CHECK_EQUAL(head.size, size);
    return whole;
}

#define PARSE(literal) parse(SLICE(literal))
#define HEAD_OF(line) line "\r\nHost: a\r\n\r\n"
#define WITH(field) "GET / HTTP/1.1\r\nHost: a\r\n" field "\r\n\r\n"

static void a_whole_head_is_taken_apart(void)
{
    CHECK_EQUAL(PARSE("POST /a?b=c HTTP/1.1\r\nHost: example.org:80\r\nX: 1\r\n"
                      "Content-Length: 12\r\n\r\nbody"),
                HEAD_DONE);
    CHECK_EQUAL(head.method, METHOD_POST);
    CHECK_TEXT(head.target, "/a?b=c");
    CHECK_TEXT(head.fields, "Host: example.org:80\r\nX: 1\r\nContent-Length: 12\r\n");
    CHECK_EQUAL(head.content_length, 12);
    CHECK(head.keep_alive && !head.http10 && !head.chunked && !head.expect_continue);
    CHECK_EQUAL(head.if_none_match.size, 0);
}

static void every_known_method_is_known_and_no_other(void)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (enum method method = METHOD_GET; method <= METHOD_OPTIONS; method++) {
        char line[64];
        int size = snprintf(line, sizeof line, "%s / HTTP/1.0\r\n\r\n", names[method]);
        CHECK_EQUAL(parse(slice_of(line, (size_t)size)), HEAD_DONE);
        CHECK_EQUAL(head.method, method);
        CHECK(slice_equal(method_name(method), slice_of(names[method], strlen(names[method]))));
    }
    CHECK_EQUAL(PARSE(HEAD_OF("CONNECT a:80 HTTP/1.1")), 501);
    CHECK_EQUAL(PARSE(HEAD_OF("get / HTTP/1.1")), 501);
    CHECK_EQUAL(PARSE(HEAD_OF("GETS / HTTP/1.1")), 501);
    CHECK_EQUAL(PARSE(HEAD_OF(" GET / HTTP/1.1")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("G(T / HTTP/1.1")), 400);
}

static void a_target_is_a_path_an_http_uri_or_the_star_of_options(void)
{
    CHECK_EQUAL(PARSE(HEAD_OF("GET http://a HTTP/1.1")), HEAD_DONE);
    CHECK_TEXT(head.target, "/");
    CHECK_EQUAL(PARSE(HEAD_OF("GET HTTPS://a.b:443/c?d HTTP/1.1")), HEAD_DONE);
    CHECK_TEXT(head.target, "/c?d");
    CHECK_EQUAL(PARSE(HEAD_OF("OPTIONS * HTTP/1.1")), HEAD_DONE);
    CHECK_TEXT(head.target, "*");
    static const char *const wrong[] = {
        "*",          "a",           "?a",          "http://",      "http:///a",
        "http://a?b", "http://u@a/", "ftp://a/",    "/a#b",         "/a\tb",
        "/a\x7f",     "/\xc3\xa4",   "http://a:b/", "http://[::1/", "http://[]/",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[64];
        int size = snprintf(line, sizeof line, HEAD_OF("GET %s HTTP/1.1"), wrong[i]);
        CHECK_EQUAL(parse(slice_of(line, (size_t)size)), 400);
    }
}

static void only_two_versions_are_spoken(void)
{
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/1.0")), HEAD_DONE);
    CHECK(head.http10 && !head.keep_alive);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/1.2")), 505);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/2.0")), 505);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/0.9")), 505);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / http/1.1")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/11")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/1.1 ")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("GET /")), 400);
}

static void one_host_is_due_in_1_1(void)
{
    CHECK_EQUAL(PARSE("GET / HTTP/1.1\r\n\r\n"), 400);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\n\r\n"), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Host: a")), 400);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
    static const char *const hosts[] = {"a", "a.b:8080", "[::1]", "[::ffff:1.2.3.4]:80", "a:"};
    static const char *const wrong[] = {"", "a b", "a/b", "a,b", "a:b", "a:123456", "[::1", "u@a"};
    char line[64];
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        int size = snprintf(line, sizeof line, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
        CHECK_EQUAL(parse(slice_of(line, (size_t)size)), HEAD_DONE);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int size = snprintf(line, sizeof line, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", wrong[i]);
        CHECK_EQUAL(parse(slice_of(line, (size_t)size)), 400);
    }
}

/* A byte inserted anywhere in a head either does not change its frame or is refused. */
static void no_control_character_passes_anywhere(void)
{
    static const char plain[] = "GET /a HTTP/1.1\r\nHost: a\r\nX: b c\r\n\r\n";
    enum { SIZE = sizeof plain - 1 };
    for (int byte = 0; byte < 256; byte++) {
        bool control = (byte < ' ' && byte != '\t') || byte == 0x7f;
        for (size_t at = 0; control && at < SIZE - 1; at++) {
            char input[SIZE + 1];
            memcpy(input, plain, at);
            input[at] = (char)byte;
            memcpy(input + at + 1, plain + at, SIZE - at);
            size_t scanned = 0;
            struct slice slice = at_forbidden_page(slice_of(input, SIZE + 1));
            int result = head_parse(slice, &scanned, &head);
            /* "\r" and "\n" may yield one empty line before, or end the head early. */
            bool good = result == 400 || ((byte == '\r' || byte == '\n') && result != HEAD_DONE);
            if (!good)
                printf("# byte %d at %zu gives %d\n", byte, at, result);
            CHECK(good);
        }
    }
}

static void one_empty_line_before_is_forgiven(void)
{
    CHECK_EQUAL(PARSE("\r\n" HEAD_OF("GET / HTTP/1.1")), HEAD_DONE);
    CHECK_EQUAL(PARSE("\r\n\r\n" HEAD_OF("GET / HTTP/1.1")), 400);
    CHECK_EQUAL(PARSE("\n" HEAD_OF("GET / HTTP/1.1")), 400);
}

static void a_length_is_digits_once(void)
{
    CHECK_EQUAL(PARSE(WITH("Content-Length: 0")), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Content-Length: 007")), HEAD_DONE);
    CHECK_EQUAL(head.content_length, 7);
    CHECK_EQUAL(PARSE(WITH("Content-Length: 18446744073709551609")), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Content-Length: 18446744073709551616")), 413);
    CHECK_EQUAL(PARSE(WITH("Content-Length: 99999999999999999999999")), 413);
    static const char *const wrong[] = {"",
                                        "+1",
                                        "-1",
                                        "1 1",
                                        "0x1",
                                        "1,1",
                                        "1.0",
                                        "1\t1",
                                        "1\t",
                                        "1 \t ",
                                        "1\r\nContent-Length: 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[128];
        int size = snprintf(line, sizeof line, WITH("Content-Length: %s"), wrong[i]);
        CHECK_EQUAL(parse(slice_of(line, (size_t)size)), 400);
    }
}

static void the_line_is_judged_before_its_version_and_that_before_its_method(void)
{
    CHECK_EQUAL(PARSE(HEAD_OF("PROXY TCP4 1.2.3.4 5.6.7.8 1 2")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW /")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW / HTTP/1.1 x")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW  / HTTP/1.1")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW / http/1.1")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("GET / HTTP/2.0 x")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("GET a HTTP/2.0")), 400);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW / HTTP/2.0")), 505);
    CHECK_EQUAL(PARSE(HEAD_OF("PRI * HTTP/2.0")), 505);
    CHECK_EQUAL(PARSE(HEAD_OF("BREW pot HTTP/1.0")), 501);
    CHECK_EQUAL(PARSE("BREW / HTTP/1.1"), HEAD_NEED_MORE);
}

static void names_that_pass_for_framing_are_refused(void)
{
    CHECK_EQUAL(PARSE(WITH("Transfer_Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("transfer_encoding: x")), 400);
    CHECK_EQUAL(PARSE(WITH("TRANSFER_ENCODING:")), 400);
    CHECK_EQUAL(PARSE(WITH("Content_Length: 5")), 400);
    CHECK_EQUAL(PARSE(WITH("cONTENT_lENGTH: 0")), 400);
    CHECK_EQUAL(PARSE(WITH("Content_Lengths: 5")), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Content_Type_1: a")), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Transfer_Encoded_: a")), HEAD_DONE);
}

static void several_lines_of_codings_are_one_list(void)
{
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked")), 501);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: a, b\r\nA: b\r\nTransfer-Encoding: chunked")), 501);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding:\r\nTransfer-Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding:")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: ,\r\nTransfer-Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: gzip\r\nTransfer-Encoding: gzip")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: gzip, chunked\r\nContent-Length: 1")), 400);
}

static void one_final_chunked_is_the_only_coding(void)
{
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: Chunked")), HEAD_DONE);
    CHECK(head.chunked);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: gzip, chunked")), 501);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked, gzip")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked, chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: identity")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding:")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked;a=b")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: \vchunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding:\tchunked ")), HEAD_DONE);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked \t")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE(WITH("Transfer-Encoding: chunked\r\nContent-Length: 3")), 400);
    CHECK_EQUAL(PARSE(WITH("Content-Length: 3\r\nTransfer-Encoding: chunked")), 400);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

static void the_connection_field_decides_who_stays(void)
{
    CHECK_EQUAL(PARSE(WITH("Connection: Close")), HEAD_DONE);
    CHECK(!head.keep_alive);
    CHECK_EQUAL(PARSE(WITH("Connection: upgrade , close")), HEAD_DONE);
    CHECK(!head.keep_alive);
    CHECK_EQUAL(PARSE(WITH("Connection: closed")), HEAD_DONE);
    CHECK(head.keep_alive);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"), HEAD_DONE);
    CHECK(head.keep_alive);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n"), HEAD_DONE);
    CHECK(!head.keep_alive);
}

static void expectations_and_conditions_are_found(void)
{
    CHECK_EQUAL(PARSE(WITH("Expect: 100-Continue")), HEAD_DONE);
    CHECK(head.expect_continue);
    CHECK_EQUAL(PARSE(WITH("Expect: 200-ok")), 417);
    CHECK_EQUAL(PARSE("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"), HEAD_DONE);
    CHECK(!head.expect_continue);
    CHECK_EQUAL(PARSE(WITH("If-None-Match: \"a\", \"b\"")), HEAD_DONE);
    CHECK_TEXT(head.if_none_match, "\"a\", \"b\"");
    CHECK_EQUAL(PARSE(WITH("If-None-Match: \"a\"\r\nIf-None-Match: \"b\"")), HEAD_DONE);
    CHECK_EQUAL(head.if_none_match.size, 0);
    CHECK_EQUAL(PARSE(WITH("ACCEPT-Encoding: gzip, br")), HEAD_DONE);
    CHECK_TEXT(head.accept_encoding, "gzip, br");
    CHECK_EQUAL(PARSE(WITH("Accept-Encoding: gzip\r\nAccept-Encoding: br")), HEAD_DONE);
    CHECK_EQUAL(head.accept_encoding.size, 0);
}

static char long_text[36 * 1024];

static struct slice long_head(size_t target, size_t fields, size_t field)
{
    char *at = long_text + sprintf(long_text, "GET /");
    memset(at, 'a', target - 1);
    at += target - 1;
    at += sprintf(at, " HTTP/1.1\r\nHost: a\r\n");
    for (size_t i = 0; i < fields; i++) {
        at += sprintf(at, "X: ");
        memset(at, 'b', field);
        at += field;
        at += sprintf(at, "\r\n");
    }
    at += sprintf(at, "\r\n");
    return slice_of(long_text, (size_t)(at - long_text));
}

static void every_limit_holds_at_its_border(void)
{
    CHECK_EQUAL(parse(long_head(LIMIT_TARGET, 0, 0)), HEAD_DONE);
    CHECK_EQUAL(parse(long_head(LIMIT_TARGET + 1, 0, 0)), 414);
    CHECK_EQUAL(parse(long_head(1, LIMIT_FIELDS - 1, 1)), HEAD_DONE);
    CHECK_EQUAL(parse(long_head(1, LIMIT_FIELDS, 1)), 431);
    size_t rest = long_head(1, 1, 0).size;
    CHECK_EQUAL(parse(long_head(1, 1, LIMIT_HEAD - rest)), HEAD_DONE);
    CHECK_EQUAL(head.size, LIMIT_HEAD);
    CHECK_EQUAL(parse(long_head(1, 1, LIMIT_HEAD - rest + 1)), 431);
    struct slice endless = long_head(1, 1, 2 * LIMIT_HEAD);
    CHECK_EQUAL(parse(slice_of(endless.data, LIMIT_HEAD + 1)), 431);
    CHECK_EQUAL(parse(slice_of(endless.data, LIMIT_HEAD)), HEAD_NEED_MORE);
}

/* RFC 9112 section 3: 501 for a method longer than any that is implemented, once its line is
 * complete. */
static void a_long_method_is_not_implemented(void)
{
    CHECK_EQUAL(PARSE("AAAAAAAABBBBBBBBCCCCCCCCDDDDDDDD@ / HTTP/1.1\r\n\r\n"), 400);
    CHECK_EQUAL(PARSE("AAAAAAAABBBBBBBBCCCCCCCCDDDDDDDDEEEEEEEE / HTTP/1.1\r\n\r\n"), 501);
    memset(long_text, 'A', LIMIT_HEAD + 1);
    CHECK_EQUAL(parse(slice_of(long_text, LIMIT_HEAD)), HEAD_NEED_MORE);
    CHECK_EQUAL(parse(slice_of(long_text, LIMIT_HEAD + 1)), 431);
}

/* Bytes beyond the limit change nothing; otherwise the answer would depend on how much arrives
 * at once. */
static void behind_the_limit_nothing_is_read(void)
{
    struct slice endless = long_head(1, 1, 2 * LIMIT_HEAD);
    long_text[LIMIT_HEAD] = '\0';
    CHECK_EQUAL(parse(endless), 431);
    long_text[LIMIT_HEAD - 1] = '\0';
    CHECK_EQUAL(parse(endless), 400);
}

static void fields_are_found_again_by_name(void)
{
    CHECK_EQUAL(PARSE(WITH("X-A: 1\r\nx-b:\r\nX-a:\t 2 3 ")), HEAD_DONE);
    struct slice fields = at_forbidden_page(head.fields), value;
    CHECK(head_next_field(&fields, SLICE("x-a"), &value));
    CHECK_TEXT(value, "1");
    CHECK(head_next_field(&fields, SLICE("x-a"), &value));
    CHECK_TEXT(value, "2 3");
    CHECK(!head_next_field(&fields, SLICE("x-a"), &value));
    fields = head.fields;
    CHECK(head_next_field(&fields, SLICE("x-b"), &value));
    CHECK_TEXT(value, "");
}

/* 16 KiB that come byte by byte and never end must not be parsed again for each byte; the alarm
 * ends a program that takes quadratic time. */
static void a_head_that_comes_byte_by_byte_costs_linear_time(void)
{
    struct slice input = long_head(1, LIMIT_FIELDS - 1, 150);
    for (int round = 0; round < 20; round++) {
        size_t scanned = 0;
        for (size_t size = 1; size < input.size; size++)
            CHECK_EQUAL(head_parse(slice_of(input.data, size), &scanned, &head), HEAD_NEED_MORE);
    }
}

static bool same_slice(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || a.data == b.data);
}

/* Parse consecutive heads, each with the one before as reference, as in a pipeline. */
static void what_an_earlier_head_taught_changes_no_result(void)
{
    static const char *const starts[] = {"GET /a ", "GET /longer?b ", "HEAD /a ", "OPTIONS * ",
                                         "POST /c "};
    static const char *const rests[] = {
        "HTTP/1.1\r\nHost: a\r\n\r\n",
        "HTTP/1.0\r\nHost: a\r\n\r\n",
        "HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n",
        "HTTP/1.1\r\nHost: a\r\nX: c\r\n\r\n",
        "HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"b\"\r\nConnection: close\r\n\r\n",
        "HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n",
        "HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    };
    enum { STARTS = sizeof starts / sizeof *starts, RESTS = sizeof rests / sizeof *rests };
    srandom(1);
    for (int turn = 0; turn < 300; turn++) {
        char *end = text;
        for (int i = 0; i < 20; i++)
            end += sprintf(end, "%s%s", starts[random() % STARTS],
                           rests[random() % 2 ? 0 : random() % RESTS]);
        struct head next = {0};
        for (const char *at = text; at < end; at += head.size) {
            struct slice input = slice_of(at, (size_t)(end - at));
            size_t scanned = 0, next_scanned = 0;
            CHECK_EQUAL(head_parse(input, &scanned, &head), HEAD_DONE);
            CHECK_EQUAL(head_parse_next(input, &next_scanned, &next), HEAD_DONE);
            CHECK(next.method == head.method && next.http10 == head.http10 &&
                  next.keep_alive == head.keep_alive && next.chunked == head.chunked &&
                  next.expect_continue == head.expect_continue &&
                  next.content_length == head.content_length && next.size == head.size);
            CHECK(same_slice(next.target, head.target) && same_slice(next.fields, head.fields) &&
                  same_slice(next.if_none_match, head.if_none_match) &&
                  same_slice(next.accept_encoding, head.accept_encoding));
        }
    }
}

static void an_earlier_head_forgives_nothing(void)
{
    static const char good[] = "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
    enum { SIZE = sizeof good - 1 };
    for (size_t at = 14; at < SIZE; at++) {
        memcpy(text, good, SIZE);
        memcpy(text + SIZE, good, SIZE);
        text[SIZE + at] = '\x01';
        size_t scanned = 0;
        struct head next = {0};
        CHECK_EQUAL(head_parse_next(slice_of(text, 2 * SIZE), &scanned, &next), HEAD_DONE);
        struct slice input = slice_of(text + SIZE, SIZE);
        CHECK_EQUAL(head_parse_next(input, &scanned, &next), 400);
        /* When cut short, it waits for the rest. */
        memcpy(text + SIZE, good, SIZE);
        input.size = at;
        CHECK_EQUAL(head_parse_next(input, &scanned, &next), HEAD_NEED_MORE);
    }
    /* Many equal fields must not carry a head over its bound. */
    struct slice large = long_head(1, 1, LIMIT_HEAD - 40), again = large;
    struct head next = {0};
    size_t scanned = 0;
    CHECK_EQUAL(head_parse_next(large, &scanned, &next), HEAD_DONE);
    memcpy(text, "GET /0123456789", 15);
    memcpy(text + 15, again.data + 5, again.size - 5);
    CHECK_EQUAL(head_parse_next(slice_of(text, again.size + 10), &scanned, &next), 431);
}

int main(void)
{
    alarm(60);
    RUN(a_whole_head_is_taken_apart);
    RUN(every_known_method_is_known_and_no_other);
    RUN(a_target_is_a_path_an_http_uri_or_the_star_of_options);
    RUN(only_two_versions_are_spoken);
    RUN(one_host_is_due_in_1_1);
    RUN(no_control_character_passes_anywhere);
    RUN(one_empty_line_before_is_forgiven);
    RUN(a_length_is_digits_once);
    RUN(the_line_is_judged_before_its_version_and_that_before_its_method);
    RUN(names_that_pass_for_framing_are_refused);
    RUN(several_lines_of_codings_are_one_list);
    RUN(one_final_chunked_is_the_only_coding);
    RUN(the_connection_field_decides_who_stays);
    RUN(expectations_and_conditions_are_found);
    RUN(every_limit_holds_at_its_border);
    RUN(a_long_method_is_not_implemented);
    RUN(behind_the_limit_nothing_is_read);
    RUN(fields_are_found_again_by_name);
    RUN(what_an_earlier_head_taught_changes_no_result);
    RUN(an_earlier_head_forgives_nothing);
    RUN(a_head_that_comes_byte_by_byte_costs_linear_time);
    return check_end();
}
