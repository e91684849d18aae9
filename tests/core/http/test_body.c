/* The body decoder. Each input is decoded three times: whole up to a forbidden page, byte by byte,
 * and with a follower that must stay untouched. */
#include "base/limits.h"
#include "check.h"
#include "http/body.h"

#include <stdlib.h>

enum { LIMIT = 1000 };

static char out[64 * 1024];
static size_t out_size;

/* Feed `input`, `step` bytes at a time, and collect the payload. `*left` is what was not
 * consumed. */
static int decode_in_steps(const struct head *head, struct slice input, size_t step, size_t *left)
{
    struct body body;
    int result = body_init(&body, head, LIMIT);
    out_size = 0;
    *left = input.size;
    if (result != 0)
        return result;
    result = BODY_NEED_MORE;
    do {
        size_t size = step < input.size ? step : input.size;
        struct slice part = at_forbidden_page(slice_of(input.data, size)), piece;
        while ((result = body_next(&body, &part, &piece)) == BODY_PIECE) {
            memcpy(out + out_size, piece.data, piece.size);
            out_size += piece.size;
        }
        slice_skip(&input, size - part.size);
        *left = input.size;
        if (result == BODY_NEED_MORE)
            CHECK_EQUAL(part.size, 0);
    } while (result == BODY_NEED_MORE && input.size > 0);
    return result;
}

static int decode(const struct head *head, struct slice input)
{
    static char followed[70 * 1024];
    size_t left, left_bytewise, left_followed;
    int whole = decode_in_steps(head, input, input.size, &left);
    size_t size = out_size;
    CHECK_EQUAL(decode_in_steps(head, input, 1, &left_bytewise), whole);
    CHECK_EQUAL(out_size, size);
    if (whole == BODY_DONE) {
        memcpy(followed, input.data, input.size);
        memcpy(followed + input.size, "GET / HTTP/1.1", 14);
        struct slice both = slice_of(followed, input.size + 14);
        CHECK_EQUAL(decode_in_steps(head, both, both.size, &left_followed), BODY_DONE);
        CHECK_EQUAL(left_followed, left + 14);
        CHECK_EQUAL(left_bytewise, left);
        CHECK_EQUAL(out_size, size);
    }
    return whole;
}

static int decode_chunked(const char *text)
{
    const struct head head = {.chunked = true};
    return decode(&head, slice_of(text, strlen(text)));
}

static int decode_length(uint64_t length, struct slice input)
{
    const struct head head = {.content_length = length};
    return decode(&head, input);
}

#define OUT slice_of(out, out_size)

static void a_length_is_taken_exactly(void)
{
    CHECK_EQUAL(decode_length(5, SLICE("hello")), BODY_DONE);
    CHECK_TEXT(OUT, "hello");
    CHECK_EQUAL(decode_length(5, SLICE("hell")), BODY_NEED_MORE);
    CHECK_TEXT(OUT, "hell");
    CHECK_EQUAL(decode_length(3, SLICE("a\0b")), BODY_DONE);
    CHECK_TEXT(OUT, "a\0b");
}

static void presence_follows_the_head(void)
{
    CHECK(!body_is_present(&(struct head){0}));
    CHECK(body_is_present(&(struct head){.content_length = 1}));
    CHECK(body_is_present(&(struct head){.chunked = true}));
}

static void chunks_are_joined(void)
{
    CHECK_EQUAL(decode_chunked("5\r\nhello\r\n1\r\n \r\n6\r\nworld!\r\n0\r\n\r\n"), BODY_DONE);
    CHECK_TEXT(OUT, "hello world!");
    CHECK_EQUAL(decode_chunked("0\r\n\r\n"), BODY_DONE);
    CHECK_TEXT(OUT, "");
    CHECK_EQUAL(decode_chunked("00a\r\n0123456789\r\n000\r\n\r\n"), BODY_DONE);
    CHECK_TEXT(OUT, "0123456789");
    CHECK_EQUAL(decode_chunked("A\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\n\r\n"), BODY_DONE);
    CHECK_EQUAL(out_size, 10);
}

static void an_unfinished_body_needs_more_at_every_byte(void)
{
    static const char text[] = "3;a=b\r\nabc\r\n0\r\nX: y\r\n\r\n";
    for (size_t size = 0; size + 1 < sizeof text; size++) {
        const struct head head = {.chunked = true};
        CHECK_EQUAL(decode(&head, slice_of(text, size)), BODY_NEED_MORE);
    }
    CHECK_EQUAL(decode_chunked(text), BODY_DONE);
}

static void faults_of_the_chunk_frame_are_refused(void)
{
    static const char *const wrong[] = {
        "\r\n",                    /* no size */
        ";a\r\n",                  /* nor here */
        "g\r\n",                   /* no hex digit */
        "-1\r\n",                  /* signed */
        "+1\r\n",                  /**/
        "0x1\r\n",                 /* a prefix */
        " 1\r\n",                  /* blanks around it */
        "1 \r\n",                  /**/
        "1\t;a\r\n",               /**/
        "1\na\r\n",                /* bare LF */
        "1\ra\r\n",                /* bare CR */
        "1;a\nb\r\n",              /**/
        "1;a\rb\r\n",              /**/
        "1;a\x01\r\n",             /* a control character */
        "1\r\nab",                 /* payload over the size */
        "1\r\na\n0\r\n\r\n",       /**/
        "1\r\na\r0\r\n\r\n",       /**/
        "1\r\na0\r\n\r\n",         /* no line end behind it */
        "0\r\n\n",                 /**/
        "0\r\n\r\r\n",             /**/
        "00000000000000001\r\n",   /* 17 digits */
        "0\r\nX : y\r\n\r\n",      /* trailers as strict as fields */
        "0\r\n X: y\r\n\r\n",      /**/
        "0\r\nX: y\r\n z\r\n\r\n", /* folded */
        "0\r\nX: y\n\r\n",         /**/
        "0\r\nX: \x7f\r\n\r\n",    /**/
        "0\r\n: y\r\n\r\n",        /**/
        "0\r\nX\r\n\r\n",          /**/
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int result = decode_chunked(wrong[i]);
        if (result != 400)
            printf("# case %zu: %d\n", i, result);
        CHECK_EQUAL(result, 400);
    }
}

static void too_large_a_body_is_refused(void)
{
    static char text[LIMIT + 100];
    memset(text, 'x', sizeof text);
    CHECK_EQUAL(decode_length(LIMIT, slice_of(text, LIMIT)), BODY_DONE);
    CHECK_EQUAL(out_size, LIMIT);
    CHECK_EQUAL(decode_length(LIMIT + 1, slice_of(text, LIMIT + 1)), 413);
    CHECK_EQUAL(decode_length(UINT64_MAX, slice_of(text, 10)), 413);
    CHECK_EQUAL(decode_chunked("3e9\r\n"), 413);
    CHECK_EQUAL(decode_chunked("3e8\r\n"), BODY_NEED_MORE);
    CHECK_EQUAL(decode_chunked("ffffffffffffffff\r\n"), 413);
    CHECK_EQUAL(decode_chunked("8000000000000000\r\n"), 413);
    memcpy(text, "1f4\r\n", 5);
    memcpy(text + 505, "\r\n1f5\r\n", 8);
    text[513] = '\0';
    CHECK_EQUAL(decode_chunked(text), 413); /* 500 and 501 */
}

/* Returns `count` bytes between `before` and `after`. */
static const char *filled(const char *before, size_t count, const char *after)
{
    static char text[16 * 1024];
    char *at = text + sprintf(text, "%s", before);
    memset(at, 'x', count);
    strcpy(at + count, after);
    return text;
}

static void extensions_and_trailers_are_dropped_and_bounded(void)
{
    CHECK_EQUAL(decode_chunked("1;a=\"b c\"\r\nx\r\n0;d\r\nTrailer: e\r\nF:\r\n\r\n"), BODY_DONE);
    CHECK_TEXT(OUT, "x");
    CHECK_EQUAL(decode_chunked(filled("0;", LIMIT_CHUNK_EXTENSIONS, "\r\n\r\n")), BODY_DONE);
    CHECK_EQUAL(decode_chunked(filled("0;", LIMIT_CHUNK_EXTENSIONS + 1, "\r\n\r\n")), 400);
    CHECK_EQUAL(decode_chunked(filled("0\r\nX: ", LIMIT_TRAILERS - 7, "\r\n\r\n")), BODY_DONE);
    CHECK_EQUAL(decode_chunked(filled("0\r\nX: ", LIMIT_TRAILERS, "\r\n\r\n")), 431);
}

static void extensions_are_parsed(void)
{
    static const char *const good[] = {
        "a",           "a;b",          "a=b",
        "a=b;c=\"d\"", "a=\"\"",       "a=\"b\\\"c\"",
        "a=\";\"",     "a=\"=\";b",    "!#$%&'*+-.^_`|~",
        "a=\"\\\\\"",  "a=\"\t\x80\"",
    };
    static const char *const bad[] = {
        "",          ";",          "a;",    "=",          "=a",
        "a=",        "a=;b",       "a==b",  "a b",        " a",
        "a ",        "a =b",       "a= b",  "bad[=x",     "a=[",
        "a=\"x",     "a=\"x\\",    "a=b\"", "\"a\"",      "a=\"b\"c",
        "a=\"b\"\"", "a=\"b\"=",   "a,b",   "a=\"\x01\"", "a=\"\\\x01\"",
        "a=\x80",    "a=\"b\" ;c",
    };
    char text[64];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "1;%s\r\nx\r\n0;%s\r\n\r\n", good[i], good[i]);
        CHECK_EQUAL(decode_chunked(text), BODY_DONE);
        CHECK_TEXT(OUT, "x");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "1;%s\r\nx\r\n0\r\n\r\n", bad[i]);
        CHECK_EQUAL(decode_chunked(text), 400);
        snprintf(text, sizeof text, "0;%s\r\n\r\n", bad[i]);
        CHECK_EQUAL(decode_chunked(text), 400);
    }
}

/* The bound holds for all extensions of a body together, not for each. */
static void small_extensions_add_up(void)
{
    char text[8 * 1024], *at = text;
    for (int i = 0; i < LIMIT_CHUNK_EXTENSIONS / 2 + 1; i++)
        at += sprintf(at, "1;ab\r\nx\r\n");
    CHECK_EQUAL(decode_chunked(text), 400);
}

int main(void)
{
    RUN(a_length_is_taken_exactly);
    RUN(presence_follows_the_head);
    RUN(chunks_are_joined);
    RUN(an_unfinished_body_needs_more_at_every_byte);
    RUN(faults_of_the_chunk_frame_are_refused);
    RUN(too_large_a_body_is_refused);
    RUN(extensions_and_trailers_are_dropped_and_bounded);
    RUN(extensions_are_parsed);
    RUN(small_extensions_add_up);
    return check_end();
}
