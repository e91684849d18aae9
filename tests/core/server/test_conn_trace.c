/* What a connection writes to the trace: one line for each request, however it ends. */
#include "pair.h"

static void open_traced(void)
{
    traced = 16;
    pair_open();
}

/* Returns the lines so far, each without its date and times: "KIND METHOD STATUS TARGET\n". */
static struct slice lines(void)
{
    static char text[16 * TRACE_LINE + 1], short_lines[sizeof text];
    size_t size = trace_read(context.trace, text, sizeof text - 1), count = 0;
    text[size] = '\0';
    char *line, *rest = text;
    while (*rest && (line = strsep(&rest, "\n"))) {
        char kind[16], method[64], status[8], target[256];
        CHECK_EQUAL(
            sscanf(line, "trace %*s %15s %63s %7s %*s %*s %*s %255s", kind, method, status, target),
            4);
        count += (size_t)snprintf(short_lines + count, sizeof short_lines - count, "%s %s %s %s\n",
                                  kind, method, status, target);
    }
    return slice_of(short_lines, count);
}

static void hits_misses_and_refusals_of_a_pipeline_are_told_in_order(void)
{
    open_traced();
    stock("/a", "hello");
    CHECK_EQUAL(say(GET("/a") GET("/b") GET("/a") "BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), CONN_MISS);
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    CHECK_TEXT(lines(), "hit GET 200 /a\nmiss GET 200 /b\nhit GET 200 /a\nrefused BREW 501 /\n");
    pair_close();
}

static void a_request_in_parts_is_told_once(void)
{
    open_traced();
    stock("/a", "hello");
    CHECK_EQUAL(say("GET /a HT"), CONN_GO_ON);
    CHECK_EQUAL(lines().size, 0);
    CHECK_EQUAL(say("TP/1.1\r\nHost: h\r\n\r\n"), CONN_GO_ON);
    CHECK_TEXT(lines(), "hit GET 200 /a\n");
    CHECK_EQUAL(say("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab"), CONN_GO_ON);
    CHECK_EQUAL(say("cd"), CONN_MISS);
    CHECK_EQUAL(lines().size, 0);
    CHECK_EQUAL(answer("hello", NULL), CONN_GO_ON);
    CHECK_TEXT(lines(), "miss POST 200 /p\n");
    pair_close();
}

static void what_is_refused_later_is_told_with_its_request(void)
{
    open_traced();
    CHECK_EQUAL(say("POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab"), CONN_GO_ON);
    CHECK(pass(limits.body_deadline));
    CHECK_TEXT(lines(), "refused POST 408 /p\n");
    pair_close();

    open_traced();
    CHECK_EQUAL(say(GET("/slow")), CONN_MISS);
    CHECK(pass(limits.handler_deadline));
    CHECK_TEXT(lines(), "refused GET 504 /slow\n");
    answer("late", NULL);
    CHECK_EQUAL(lines().size, 0);
    pair_close();

    open_traced();
    CHECK_EQUAL(say("GET /unfin"), CONN_GO_ON);
    CHECK(pass(limits.head_deadline));
    CHECK_TEXT(lines(), "refused GET 408 /unfin\n");
    pair_close();
}

static void without_a_trace_a_connection_has_no_line(void)
{
    traced = 0;
    pair_open();
    CHECK(context.trace == NULL && conn->line == NULL);
    pair_close();
}

int main(void)
{
    RUN(hits_misses_and_refusals_of_a_pipeline_are_told_in_order);
    RUN(a_request_in_parts_is_told_once);
    RUN(what_is_refused_later_is_told_with_its_request);
    RUN(without_a_trace_a_connection_has_no_line);
    return check_end();
}
