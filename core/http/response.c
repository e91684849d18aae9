/* Rendering. A head is written once, with a date that each use overwrites in its copy. So a hit
 * costs two copies, of the shared part of its head and of the rest, and 29 bytes of date. */
#include "http/response.h"

#include "http/accept.h"

#include "base/limits.h"
#include "http/scan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A placeholder for the date that is written at each use. */
static const char DATE_FIELD[] = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n";

/* An upper bound for status line, Content-Length, ETag's name, date and empty line, in bytes. */
enum { HEAD_ROOM = 256 };

/* clang-format off */
static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return ""; /* RFC 9112 section 4: the phrase may be empty */
    }
}
/* clang-format on */

static char *put(char *at, const char *data, size_t size)
{
    if (size > 0)
        memcpy(at, data, size);
    return at + size;
}

bool response_may_send(struct slice name, struct slice value)
{
    static const struct slice ours[] = {
        {"connection", 10}, {"content-length", 14}, {"date", 4},
        {"etag", 4},        {"keep-alive", 10},     {"transfer-encoding", 17},
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (slice_equal_nocase(name, ours[i]))
            return false;
    return scan_is_token(name) && scan_is_field_value(value);
}

bool response_append_field(struct buffer *lines, struct slice name, struct slice value)
{
    return buffer_append(lines, name.data, name.size) && buffer_append(lines, ": ", 2) &&
           buffer_append(lines, value.data, value.size) && buffer_append(lines, "\r\n", 2);
}

size_t response_max_size(const struct response *response, struct slice etag)
{
    return HEAD_ROOM + response->fields.size + etag.size + response->body.size;
}

static char *put_status(char *at, int status)
{
    return at + sprintf(at, "HTTP/1.1 %d %s\r\n", status, reason(status));
}

/* The date's line, the last of the shared part of a head. */
static char *put_date(char *at, const char *start, struct rendered *rendered)
{
    rendered->date = (uint32_t)(at - start) + 6;
    return put(at, DATE_FIELD, sizeof DATE_FIELD - 1);
}

/* Shared caches must not send one variant to all clients. */
static char *put_vary(char *at, const struct response *response)
{
    struct slice vary = SLICE("Vary: Accept-Encoding\r\n");
    return response_codings(response) ? put(at, vary.data, vary.size) : at;
}

/* The entity tag, and the empty line. */
static char *put_end(char *at, struct slice etag)
{
    if (etag.size > 0) {
        at = put(at, "ETag: ", 6);
        at = put(at, etag.data, etag.size);
        at = put(at, "\r\n", 2);
    }
    return put(at, "\r\n", 2);
}

char *response_write_full(char *at, const struct response *response, struct slice etag,
                          struct rendered *rendered)
{
    char *start = at;
    at = put_status(at, response->status);
    at = put(at, response->fields.data, response->fields.size);
    at = put_vary(at, response);
    at = put_date(at, start, rendered);
    /* RFC 9110 section 8.6: no Content-Length with 204. */
    if (response->status != 204) {
        at += sprintf(at, "Content-Length: %zu\r\n", response->body.size);
        rendered->body_size = (uint32_t)response->body.size;
    }
    at = put_end(at, etag);
    rendered->head_size = (uint32_t)(at - start);
    return put(at, response->body.data, rendered->body_size);
}

unsigned response_codings(const struct response *response)
{
    unsigned codings = 0;
    for (enum coding coding = CODING_GZIP; coding < CODINGS; coding++)
        codings |= (response_body(response, coding).size > 0 ? 1u : 0) << coding;
    return codings;
}

static char *write_variant(char *at, enum coding coding, struct slice body, struct slice etag)
{
    char *start = at + sizeof(struct rendered_variant), *end = start;
    end += sprintf(end, "Content-Length: %zu\r\nContent-Encoding: %s\r\n", body.size,
                   CODING_NAMES[coding]);
    end = put_end(end, etag);
    const struct rendered_variant variant = {.own_size = (uint32_t)(end - start),
                                             .body_size = (uint32_t)body.size};
    memcpy(at, &variant, sizeof variant);
    return put(end, body.data, body.size);
}

char *response_write_variants(char *at, const struct response *response, const struct slice *etags)
{
    /* What most clients get comes first. */
    for (enum coding coding = CODINGS - 1; coding > CODING_IDENTITY; coding--) {
        struct slice body = response_body(response, coding);
        if (body.size > 0)
            at = write_variant(at, coding, body, etags[coding]);
    }
    return at;
}

const char *response_find_variant(const char *at, unsigned codings, enum coding coding,
                                  struct rendered_variant *found)
{
    assert(coding != CODING_IDENTITY && codings & 1u << coding);
    memcpy(found, at, sizeof *found);
    for (enum coding before = CODINGS - 1; before > coding; before--) {
        if (codings & 1u << before) {
            at += sizeof *found + found->own_size + found->body_size;
            memcpy(found, at, sizeof *found);
        }
    }
    return at + sizeof *found;
}

char *response_write_chunk(char *at, struct slice data)
{
    at += sprintf(at, "%zx\r\n", data.size);
    at = put(at, data.data, data.size);
    return put(at, "\r\n", 2);
}

char *response_write_open(char *at, const struct response *response, bool chunked,
                          struct rendered *rendered)
{
    static const struct slice coding = {"Transfer-Encoding: chunked\r\n", 28};
    char *start = at;
    at = put_status(at, response->status);
    at = put(at, response->fields.data, response->fields.size);
    at = put_date(at, start, rendered);
    if (chunked)
        at = put(at, coding.data, coding.size);
    at = put_end(at, slice_of("", 0));
    rendered->head_size = (uint32_t)(at - start);
    char *body = at;
    if (chunked && response->body.size > 0)
        at = response_write_chunk(at, response->body);
    else
        at = put(at, response->body.data, response->body.size);
    rendered->body_size = (uint32_t)(at - body);
    return at;
}

char *response_write_not_modified(char *at, const struct response *response, struct slice etag,
                                  struct rendered *rendered)
{
    char *start = at;
    struct slice fields = response->fields;
    at = put_status(at, 304);
    /* All fields except those that describe the body, which is not sent. */
    while (fields.size > 0) {
        const char *end = memchr(fields.data, '\n', fields.size);
        size_t size = (size_t)(end - fields.data) + 1;
        if (size < 8 || !slice_equal_nocase(slice_of(fields.data, 8), SLICE("content-")))
            at = put(at, fields.data, size);
        slice_skip(&fields, size);
    }
    at = put_vary(at, response);
    at = put_date(at, start, rendered);
    at = put_end(at, etag);
    rendered->head_size = (uint32_t)(at - start);
    return at;
}

static struct slice connection_field(enum persistence persistence)
{
    switch (persistence) {
    case PERSIST_SAY_SO:
        return SLICE("Connection: keep-alive\r\n");
    case PERSIST_NOT:
        return SLICE("Connection: close\r\n");
    default:
        return SLICE("");
    }
}

bool response_append(struct buffer *out, const struct response_view *view,
                     enum persistence persistence, struct slice own, const struct clock *clock)
{
    struct slice field = connection_field(persistence);
    if (!buffer_reserve(out, view->shared.size + field.size + own.size + view->rest.size))
        return false;
    char *start = out->data + out->size, *at = start;
    at = put(at, view->shared.data, view->shared.size);
    memcpy(start + view->date, clock->date, CLOCK_DATE_SIZE);
    at = put(at, field.data, field.size);
    at = put(at, own.data, own.size);
    at = put(at, view->rest.data, view->rest.size);
    out->size += (size_t)(at - start);
    return true;
}

/* The statuses of the core's own refusals. */
static const int REFUSED[REFUSALS] = {400, 408, 413, 414, 417, 431, 501, 503, 504, 505};

/* "*" lets scripts of other origins read the refusal; nothing secret is in it. */
static const char REFUSAL_HEAD[] =
    "HTTP/1.1 %d %s\r\n%s%.*s%sContent-Length: %zu\r\nAccess-Control-Allow-Origin: *\r\n"
    "Cache-Control: no-store\r\n%s%.*sDate: %s\r\nConnection: close\r\n\r\n";

/* Retry-After, which scripts of other origins may read. */
static const char RETRY[] = "Retry-After: 1\r\nAccess-Control-Expose-Headers: Retry-After\r\n";

int response_refusal_status(size_t index)
{
    return index < REFUSALS ? REFUSED[index] : 0;
}

bool response_refuses_with_page(const struct refusals *refusals, struct slice lines)
{
    return refusals && refusals->page_type.size > 0 &&
           accept_is_for_person(lines, refusals->page_type, refusals->type);
}

bool response_append_refusal(struct buffer *out, const struct refusals *refusals, int status,
                             struct refusal_form form, const struct clock *clock)
{
    size_t index = 0;
    while (REFUSED[index] != status) {
        index++;
        assert(index < REFUSALS);
    }
    bool is_page = form.for_person && refusals && refusals->pages[index].size > 0;
    struct slice type = is_page ? refusals->page_field : refusals ? refusals->type : SLICE("");
    struct slice body = is_page    ? refusals->pages[index]
                        : refusals ? refusals->bodies[index]
                                   : SLICE("");
    char head[512 + LIMIT_REFUSAL_TYPE + LIMIT_SECURE_FIELDS];
    int size = snprintf(head, sizeof head, REFUSAL_HEAD, status, reason(status),
                        refusals ? "Content-Type: " : "", (int)type.size, type.data,
                        refusals ? "\r\n" : "", body.size, status == 503 ? RETRY : "",
                        (int)form.own.size, form.own.data, clock->date);
    assert(size > 0 && (size_t)size < sizeof head);
    return buffer_append(out, head, (size_t)size) &&
           (!form.with_body || buffer_append(out, body.data, body.size));
}
