/* The trace: whatever clients send, each line is one line of visible ASCII, and nobody waits for
 * it. */
#include "check.h"

#include "base/clock.h"
#include "server/trace.h"

#include <pthread.h>
#include <stdlib.h>

static const struct slice OK = SLICE("HTTP/1.1 200 OK\r\n\r\nhello");

static char text[64 * TRACE_LINE + 1];

/* Returns all lines that there are. */
static size_t take(struct trace *trace)
{
    size_t size = trace_read(trace, text, sizeof text - 1);
    text[size] = '\0';
    return size;
}

/* Returns the line without its date and total: "KIND METHOD STATUS BYTES PYTHON TARGET". */
static const char *columns(void)
{
    static char line[3 * TRACE_LINE];
    char kind[16], method[TRACE_LINE], target[TRACE_LINE], python[32];
    int status, size;
    double total;
    if (sscanf(text, "trace %*s %15s %1023s %d %d %lf %31s %1023s", kind, method, &status, &size,
               &total, python, target) != 7)
        return "unreadable";
    snprintf(line, sizeof line, "%s %s %d %d %s %s", kind, method, status, size, python, target);
    return line;
}

static const char *traced(struct slice bytes, enum trace_kind kind, struct slice answer,
                          uint32_t python)
{
    struct trace *trace = trace_new(4);
    struct trace_line line;
    trace_begin(&line, bytes);
    trace_end(trace, &line, kind, answer, python);
    take(trace);
    trace_free(trace);
    return columns();
}

static void check_columns(struct slice bytes, const char *wanted)
{
    const char *line = traced(bytes, TRACE_HIT, OK, 0);
    check_text(__FILE__, __LINE__, "a line", slice_of(line, strlen(line)),
               slice_of(wanted, strlen(wanted)));
}

static void a_line_tells_what_became_of_a_request(void)
{
    struct slice get = SLICE("GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(strcmp(traced(get, TRACE_HIT, OK, 0), "hit GET 200 24 - /a?b=c") == 0);
    CHECK(strcmp(traced(get, TRACE_MISS, OK, 15), "miss GET 200 24 15 /a?b=c") == 0);
    CHECK(strcmp(traced(get, TRACE_REFUSED, SLICE("HTTP/1.1 503 Busy\r\n\r\n"), 0),
                 "refused GET 503 21 - /a?b=c") == 0);
    CHECK(strcmp(traced(get, TRACE_ABORTED, SLICE(""), 0), "aborted GET 0 0 - /a?b=c") == 0);
}

static void a_line_has_its_date_and_the_time_it_took(void)
{
    struct trace *trace = trace_new(1);
    struct trace_line line;
    trace_begin(&line, SLICE("GET / HTTP/1.1\r\n"));
    line.began -= 2500000;
    trace_end(trace, &line, TRACE_HIT, OK, 0);
    take(trace);
    int year, month, day, hour, minute, second, millisecond;
    double total;
    CHECK_EQUAL(sscanf(text, "trace %4d-%2d-%2dT%2d:%2d:%2d.%3dZ hit GET 200 24 %lf - /\n", &year,
                       &month, &day, &hour, &minute, &second, &millisecond, &total),
                8);
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second};
    CHECK(llabs(timegm(&tm) - time(NULL)) <= 2);
    CHECK(total >= 2500 && total < 1e6);
    trace_free(trace);
}

static void hostile_bytes_are_escaped(void)
{
    check_columns(SLICE("GET /\x1b[2J\\n\x80\x7f\t HTTP/1.1\r\n"),
                  "hit GET 200 24 - /\\x1b[2J\\x5cn\\x80\\x7f\\x09");
    check_columns(SLICE("G\0T / HTTP/1.1\r\n"), "hit G\\x00T 200 24 - /");
    check_columns(SLICE("BAD\r\ntrace forged"), "hit BAD 200 24 - -");
    check_columns(SLICE("\r\nGET / HTTP/1.1"), "hit GET 200 24 - /");
    check_columns(SLICE(" /"), "hit - 200 24 - /");
    check_columns(SLICE("\n"), "hit - 200 24 - -");
    check_columns(SLICE(""), "hit - 200 24 - -");
}

static void every_line_ends_within_its_bound(void)
{
    char bytes[2 * TRACE_BYTES];
    struct trace *trace = trace_new(1);
    struct trace_line line;
    memset(bytes, 0xff, sizeof bytes);
    trace_begin(&line, slice_of(bytes, sizeof bytes));
    line.began = INT64_MIN / 4;
    trace_end(trace, &line, TRACE_REFUSED, slice_of("HTTP/1.1 200 OK", SIZE_MAX), UINT32_MAX);
    size_t size = take(trace);
    CHECK(size < TRACE_LINE);
    CHECK(strcmp(text + size - 4, "...\n") == 0);
    CHECK_EQUAL(strchr(text, '\n') - text, size - 1);
    trace_free(trace);
}

static void a_long_target_is_cut_and_says_so(void)
{
    char bytes[TRACE_BYTES + 2];
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes, "GET /", 5);
    traced(slice_of(bytes, TRACE_BYTES), TRACE_HIT, OK, 0);
    CHECK(strstr(text, "...") == NULL);
    traced(slice_of(bytes, TRACE_BYTES + 1), TRACE_HIT, OK, 0);
    CHECK(strstr(text, "aaa...\n") != NULL);
    bytes[TRACE_BYTES - 1] = ' ';
    traced(slice_of(bytes, TRACE_BYTES + 1), TRACE_HIT, OK, 0);
    CHECK(strstr(text, "...") == NULL);
}

static void lines_without_room_are_lost_and_counted(void)
{
    struct trace *trace = trace_new(3);
    struct trace_line line;
    for (int i = 0; i < 5; i++) {
        char bytes[] = {'G', ' ', (char)('0' + i)};
        trace_begin(&line, slice_of(bytes, sizeof bytes));
        trace_end(trace, &line, TRACE_HIT, OK, 0);
    }
    take(trace);
    CHECK(strstr(text, " 2\n") != NULL && strstr(text, " 3\n") == NULL);
    CHECK(strstr(text, "\ntrace 2 lines lost\n") != NULL);
    CHECK_EQUAL(take(trace), 0); /* reported once */
    trace_end(trace, &line, TRACE_HIT, OK, 0);
    take(trace);
    CHECK(strstr(text, " 4\n") != NULL && strstr(text, "lost") == NULL);
    trace_free(trace);
}

static void what_does_not_fit_into_the_text_is_read_next_time(void)
{
    struct trace *trace = trace_new(3);
    struct trace_line line;
    trace_begin(&line, SLICE("GET / HTTP/1.1\r\n"));
    for (int i = 0; i < 4; i++)
        trace_end(trace, &line, TRACE_HIT, OK, 0);
    for (int i = 0; i < 3; i++) {
        size_t size = trace_read(trace, text, TRACE_LINE);
        CHECK_EQUAL(memchr(text, '\n', size) == text + size - 1, 1);
    }
    CHECK_EQUAL(trace_read(trace, text, TRACE_LINE), strlen("trace 1 lines lost\n"));
    CHECK_EQUAL(trace_read(trace, text, TRACE_LINE), 0);
    trace_free(trace);
}

enum { MANY = 200000 };

static void *write_many(void *argument)
{
    struct trace *trace = argument;
    for (int i = 0; i < MANY; i++) {
        char bytes[32];
        int size = snprintf(bytes, sizeof bytes, "GET /%d HTTP/1.1", i);
        struct trace_line line;
        trace_begin(&line, slice_of(bytes, (size_t)size));
        trace_end(trace, &line, TRACE_HIT, OK, 0);
    }
    return NULL;
}

/* Each line is read whole and in order, or counted as lost. */
static void a_reader_beside_the_writer_misses_nothing_untold(void)
{
    struct trace *trace = trace_new(64);
    pthread_t pthread;
    CHECK_EQUAL(pthread_create(&pthread, NULL, write_many, trace), 0);
    int seen = 0, lost = 0, last = -1;
    while (seen + lost < MANY) {
        take(trace);
        char *line, *rest = text;
        while (*rest && (line = strsep(&rest, "\n"))) {
            int number;
            if (strstr(line, "lost") && sscanf(line, "trace %d lines", &number) == 1) {
                lost += number;
            } else if (sscanf(line, "trace %*s hit GET 200 24 %*s - /%d", &number) == 1) {
                CHECK(number > last);
                last = number;
                seen++;
            } else {
                CHECK_TEXT(slice_of(line, strlen(line)), "a line");
            }
        }
    }
    CHECK_EQUAL(seen + lost, MANY);
    pthread_join(pthread, NULL);
    trace_free(trace);
}

int main(void)
{
    RUN(a_line_tells_what_became_of_a_request);
    RUN(a_line_has_its_date_and_the_time_it_took);
    RUN(hostile_bytes_are_escaped);
    RUN(every_line_ends_within_its_bound);
    RUN(a_long_target_is_cut_and_says_so);
    RUN(lines_without_room_are_lost_and_counted);
    RUN(what_does_not_fit_into_the_text_is_read_next_time);
    RUN(a_reader_beside_the_writer_misses_nothing_untold);
    return check_end();
}
