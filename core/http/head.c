/* The head parser.
 *
 * It makes one pass over a complete head, which nearly every head is at its first read. If it is
 * not, the next calls only search for its end among the new bytes, and the pass is made again when
 * the end has arrived. So the cost is linear however the bytes arrive, and the only state between
 * calls is one offset.
 *
 * A cursor walks the bytes; each `take_` function moves it over one element and returns HEAD_DONE,
 * HEAD_NEED_MORE at the end of the bytes, or the status of a refusal. */
#include "http/head.h"

#include "base/limits.h"
#include "http/scan.h"

#include <assert.h>

struct cursor {
    const char *at;
    const char *end;
};

static struct slice take_run(struct cursor *cursor, enum scan_class class)
{
    const char *start = cursor->at;
    cursor->at = scan_run(start, cursor->end, class);
    return slice_of(start, (size_t)(cursor->at - start));
}

/* Exactly CRLF: servers treat a bare CR or LF differently. */
static int take_line_end(struct cursor *cursor)
{
    if (cursor->at == cursor->end)
        return HEAD_NEED_MORE;
    if (*cursor->at != '\r')
        return 400;
    if (cursor->at + 1 == cursor->end)
        return HEAD_NEED_MORE;
    if (cursor->at[1] != '\n')
        return 400;
    cursor->at += 2;
    return HEAD_DONE;
}

static const struct slice METHODS[] = {
    [METHOD_GET] = SLICE("GET"),         [METHOD_HEAD] = SLICE("HEAD"),
    [METHOD_POST] = SLICE("POST"),       [METHOD_PUT] = SLICE("PUT"),
    [METHOD_PATCH] = SLICE("PATCH"),     [METHOD_DELETE] = SLICE("DELETE"),
    [METHOD_OPTIONS] = SLICE("OPTIONS"),
};

struct slice method_name(enum method method)
{
    return METHODS[method];
}

/* 501: the method is not implemented, and the cursor is behind it. */
static int take_method(struct cursor *cursor, struct head *head)
{
    if (cursor->end - cursor->at > 4 && memcmp(cursor->at, "GET ", 4) == 0) {
        cursor->at += 4;
        head->method = METHOD_GET;
        return HEAD_DONE;
    }
    struct slice name = take_run(cursor, SCAN_TOKEN);
    if (cursor->at == cursor->end)
        return HEAD_NEED_MORE;
    if (name.size == 0 || *cursor->at != ' ')
        return 400;
    cursor->at++;
    for (enum method method = METHOD_GET; method <= METHOD_OPTIONS; method++) {
        if (slice_equal(name, METHODS[method])) {
            head->method = method;
            return HEAD_DONE;
        }
    }
    return 501;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* host [":" port], RFC 9110 section 7.2. An empty host is refused: no http URI has one. */
static bool is_authority(struct slice text)
{
    struct cursor cursor = {text.data, text.data + text.size};
    if (text.size > 0 && text.data[0] == '[') {
        cursor.at++;
        while (cursor.at < cursor.end &&
               (is_digit(*cursor.at) || *cursor.at == ':' || *cursor.at == '.' ||
                ((*cursor.at | 0x20) >= 'a' && (*cursor.at | 0x20) <= 'f')))
            cursor.at++;
        if (cursor.at == cursor.end || *cursor.at != ']' || cursor.at == text.data + 1)
            return false;
        cursor.at++;
    } else if (take_run(&cursor, SCAN_HOST).size == 0) {
        return false;
    }
    if (cursor.at == cursor.end)
        return true;
    if (*cursor.at++ != ':')
        return false;
    size_t digits = (size_t)(cursor.end - cursor.at);
    while (cursor.at < cursor.end && is_digit(*cursor.at))
        cursor.at++;
    return cursor.at == cursor.end && digits <= 5;
}

/* Reduce an absolute-form target (RFC 9112 section 3.2.2) to its path and query. A query directly
 * after the authority is refused: its origin-form needs a "/", which is not among the bytes. */
static int reduce_absolute(struct slice *target)
{
    struct slice rest = *target;
    if (rest.size > 7 && slice_equal_nocase(slice_of(rest.data, 7), SLICE("http://")))
        slice_skip(&rest, 7);
    else if (rest.size > 8 && slice_equal_nocase(slice_of(rest.data, 8), SLICE("https://")))
        slice_skip(&rest, 8);
    else
        return 400;
    const char *slash = memchr(rest.data, '/', rest.size);
    size_t size = slash ? (size_t)(slash - rest.data) : rest.size;
    if (!is_authority(slice_of(rest.data, size)))
        return 400;
    slice_skip(&rest, size);
    *target = rest.size > 0 ? rest : SLICE("/");
    return HEAD_DONE;
}

/* A target of any form. */
static int take_word(struct cursor *cursor, struct slice *target)
{
    *target = take_run(cursor, SCAN_TARGET);
    if (target->size > LIMIT_TARGET)
        return 414;
    if (cursor->at == cursor->end)
        return HEAD_NEED_MORE;
    if (target->size == 0 || *cursor->at != ' ')
        return 400;
    cursor->at++;
    return HEAD_DONE;
}

static int take_target(struct cursor *cursor, struct head *head)
{
    int result = take_word(cursor, &head->target);
    if (result != HEAD_DONE || head->target.data[0] == '/')
        return result;
    if (slice_equal(head->target, SLICE("*")))
        return head->method == METHOD_OPTIONS ? HEAD_DONE : 400;
    return reduce_absolute(&head->target);
}

static int take_version(struct cursor *cursor, struct head *head)
{
    static const char pattern[] = "HTTP/#.#";
    size_t i = 0;
    for (; pattern[i] && cursor->at + i < cursor->end; i++)
        if (pattern[i] == '#' ? !is_digit(cursor->at[i]) : cursor->at[i] != pattern[i])
            return 400;
    if (pattern[i])
        return HEAD_NEED_MORE;
    char major = cursor->at[5], minor = cursor->at[7];
    cursor->at += i;
    head->http10 = minor == '0';
    int result = take_line_end(cursor);
    return result == HEAD_DONE && (major != '1' || minor > '1') ? 505 : result;
}

/* What the fields read so far say about the framing of the message. */
struct framing {
    unsigned hosts;
    bool has_length;
    bool is_chunked_last; /* of all codings, in any number of lines */
    unsigned codings;
    unsigned chunked; /* how many of them are "chunked" */
    bool close;
    bool keep_alive;
    bool conditional;
    bool accepts_codings;
};

/* A tab after a value does not belong to it (RFC 9110 section 5.5), but some servers think so, and
 * then do not recognise the length or the coding. */
static bool has_tab_behind(struct slice value)
{
    const char *at = value.data + value.size;
    while (*at == ' ') /* the line ends in CRLF */
        at++;
    return *at == '\t';
}

static int read_length(struct slice value, struct head *head, struct framing *framing)
{
    if (framing->has_length || value.size == 0 || has_tab_behind(value))
        return 400;
    framing->has_length = true;
    uint64_t length = 0;
    for (size_t i = 0; i < value.size; i++) {
        if (!is_digit(value.data[i]))
            return 400;
        if (length > (UINT64_MAX - 9) / 10)
            return 413;
        length = length * 10 + (uint64_t)(value.data[i] - '0');
    }
    head->content_length = length;
    return HEAD_DONE;
}

/* Several lines are one list (RFC 9110 section 5.3). Empty members and an empty list are refused:
 * "chunked" must be the whole value of its line. */
static int read_codings(struct slice value, const struct head *head, struct framing *framing)
{
    if (head->http10 || value.size == 0 || has_tab_behind(value))
        return 400;
    struct slice member = value;
    bool is_list = memchr(value.data, ',', value.size) != NULL;
    unsigned before = framing->codings;
    while (slice_next_member(&value, &member)) {
        framing->is_chunked_last = slice_equal_nocase(member, SLICE("chunked"));
        framing->chunked += framing->is_chunked_last;
        framing->codings++;
    }
    return is_list && framing->codings - before < 2 ? 400 : HEAD_DONE;
}

/* RFC 9112 section 6.1: a single, final "chunked" is supported; other codings are not implemented.
 */
static int check_codings(struct head *head, const struct framing *framing)
{
    if (framing->codings == 0)
        return HEAD_DONE;
    if (framing->has_length || framing->chunked != 1 || !framing->is_chunked_last)
        return 400;
    head->chunked = true;
    return framing->codings == 1 ? HEAD_DONE : 501;
}

/* Behind an interface like CGI, names that differ in "-" and "_" are the same (RFC 3875 section
 * 4.1.18), so such programs could see framing fields that others do not. */
static bool is_alias(struct slice name, struct slice lower)
{
    char dashed[32];
    assert(name.size <= sizeof dashed);
    for (size_t i = 0; i < name.size; i++)
        dashed[i] = (char)(name.data[i] == '_' ? '-' : name.data[i]);
    return slice_equal_nocase(slice_of(dashed, name.size), lower);
}

static void read_connection(struct slice value, struct framing *framing)
{
    struct slice member;
    while (slice_next_member(&value, &member)) {
        framing->close |= slice_equal_nocase(member, SLICE("close"));
        framing->keep_alive |= slice_equal_nocase(member, SLICE("keep-alive"));
    }
}

/* Handle the few fields that matter to the core; the length of a name excludes most others. */
static int read_field(struct slice name, struct slice value, struct head *head,
                      struct framing *framing)
{
    switch (name.size) {
    case 4:
        if (slice_equal_nocase(name, SLICE("host")))
            return ++framing->hosts > 1 || !is_authority(value) ? 400 : HEAD_DONE;
        break;
    case 6:
        if (slice_equal_nocase(name, SLICE("expect")) && !head->http10) {
            head->expect_continue = true;
            return slice_equal_nocase(value, SLICE("100-continue")) ? HEAD_DONE : 417;
        }
        break;
    case 10:
        if (slice_equal_nocase(name, SLICE("connection")))
            read_connection(value, framing);
        break;
    case 13:
        if (slice_equal_nocase(name, SLICE("if-none-match"))) {
            head->if_none_match = framing->conditional ? slice_of("", 0) : value;
            framing->conditional = true;
        }
        break;
    case 14:
        if (slice_equal_nocase(name, SLICE("content-length")))
            return read_length(value, head, framing);
        if (is_alias(name, SLICE("content-length")))
            return 400;
        break;
    case 15:
        if (slice_equal_nocase(name, SLICE("accept-encoding"))) {
            head->accept_encoding = framing->accepts_codings ? slice_of("", 0) : value;
            framing->accepts_codings = true;
        }
        break;
    case 17:
        if (slice_equal_nocase(name, SLICE("transfer-encoding")))
            return read_codings(value, head, framing);
        if (is_alias(name, SLICE("transfer-encoding")))
            return 400;
        break;
    }
    return HEAD_DONE;
}

static int take_field(struct cursor *cursor, struct head *head, struct framing *framing)
{
    struct slice name = take_run(cursor, SCAN_TOKEN);
    if (cursor->at == cursor->end)
        return HEAD_NEED_MORE;
    /* A space here is obs-fold, or follows a name before its colon. */
    if (name.size == 0 || *cursor->at != ':')
        return 400;
    cursor->at++;
    struct slice value = slice_trim(take_run(cursor, SCAN_VALUE));
    int result = take_line_end(cursor);
    return result == HEAD_DONE ? read_field(name, value, head, framing) : result;
}

static int check_framing(struct head *head, const struct framing *framing)
{
    if (!head->http10 && framing->hosts != 1)
        return 400;
    head->keep_alive = !framing->close && (!head->http10 || framing->keep_alive);
    return check_codings(head, framing);
}

static int take_fields(struct cursor *cursor, struct head *head)
{
    struct framing framing = {0};
    head->fields = slice_of(cursor->at, 0);
    for (unsigned count = 0;; count++) {
        if (cursor->at == cursor->end)
            return HEAD_NEED_MORE;
        if (*cursor->at == '\r')
            break;
        if (count == LIMIT_FIELDS)
            return 431;
        int result = take_field(cursor, head, &framing);
        if (result != HEAD_DONE)
            return result;
    }
    head->fields.size = (size_t)(cursor->at - head->fields.data);
    int result = take_line_end(cursor);
    return result == HEAD_DONE ? check_framing(head, &framing) : result;
}

/* Reuse the results from the same bytes of an earlier head; false if they differ. */
static bool reuse_rest(struct cursor *cursor, struct head *head)
{
    size_t size = head->rest.size;
    if (size == 0 || size > (size_t)(cursor->end - cursor->at) ||
        memcmp(cursor->at, head->rest.data, size) != 0)
        return false;
    ptrdiff_t moved = cursor->at - head->rest.data;
    head->rest.data += moved;
    head->fields.data += moved;
    if (head->if_none_match.size > 0)
        head->if_none_match.data += moved;
    if (head->accept_encoding.size > 0)
        head->accept_encoding.data += moved;
    cursor->at += size;
    return true;
}

static int take_rest(struct cursor *cursor, struct head *head)
{
    if (reuse_rest(cursor, head))
        return HEAD_DONE;
    *head = (struct head){.method = head->method, .target = head->target};
    const char *start = cursor->at;
    int result = take_version(cursor, head);
    if (result == HEAD_DONE)
        result = take_fields(cursor, head);
    if (result == HEAD_DONE)
        head->rest = slice_of(start, (size_t)(cursor->at - start));
    return result;
}

/* Refuse a method that is not implemented, if the rest of its line is valid. Its target may have a
 * form of its own (RFC 9112 section 3.2). */
static int refuse_method(struct cursor *cursor, struct head *head)
{
    struct slice target;
    int result = take_word(cursor, &target);
    if (result == HEAD_DONE)
        result = take_version(cursor, head);
    return result == HEAD_DONE ? 501 : result;
}

/* The result for some bytes stays the same with more bytes, unless it was HEAD_NEED_MORE. So it
 * does not depend on how the bytes arrive. */
static int parse_whole(struct slice input, struct head *head)
{
    bool is_cut = input.size > LIMIT_HEAD;
    struct cursor cursor = {input.data, input.data + (is_cut ? LIMIT_HEAD : input.size)};
    /* RFC 9112 section 2.2: one empty line before the request is accepted. */
    if (input.size > 0 && input.data[0] == '\r') {
        int result = take_line_end(&cursor);
        if (result != HEAD_DONE)
            return result;
    }
    int result = take_method(&cursor, head);
    if (result == HEAD_DONE)
        result = take_target(&cursor, head);
    if (result == HEAD_DONE)
        result = take_rest(&cursor, head);
    else if (result == 501)
        result = refuse_method(&cursor, head);
    head->size = (size_t)(cursor.at - input.data);
    return result == HEAD_NEED_MORE && is_cut ? 431 : result;
}

/* True if the bytes from `*scanned` on have the end of a head, or something else that the whole
 * pass must check: a bare LF, or more bytes than a head may have. */
static bool is_complete(struct slice input, size_t *scanned)
{
    if (input.size > LIMIT_HEAD)
        return true;
    while (*scanned < input.size) {
        const char *end = memchr(input.data + *scanned, '\n', input.size - *scanned);
        if (!end)
            break;
        size_t at = (size_t)(end - input.data);
        *scanned = at + 1;
        if (at == 0 || end[-1] != '\r' || (at >= 3 && end[-2] == '\n'))
            return true;
    }
    *scanned = input.size;
    return false;
}

int head_parse_next(struct slice input, size_t *scanned, struct head *head)
{
    if (*scanned > 0 && !is_complete(input, scanned))
        return HEAD_NEED_MORE;
    int result = parse_whole(input, head);
    if (result == HEAD_NEED_MORE)
        *scanned = input.size;
    return result;
}

int head_parse(struct slice input, size_t *scanned, struct head *head)
{
    head->rest.size = 0;
    return head_parse_next(input, scanned, head);
}

bool head_next_field(struct slice *fields, struct slice lower, struct slice *value)
{
    while (fields->size > 0) {
        const char *colon = memchr(fields->data, ':', fields->size);
        struct slice name = slice_of(fields->data, (size_t)(colon - fields->data));
        const char *end = memchr(colon, '\r', fields->size - name.size);
        *value = slice_trim(slice_of(colon + 1, (size_t)(end - colon) - 1));
        slice_skip(fields, (size_t)(end - fields->data) + 2);
        if (slice_equal_nocase(name, lower))
            return true;
    }
    return false;
}
