/* The message of a request: what it holds, how its body grows. */
#include "make.h"

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

int main(void)
{
    RUN(a_request_holds_copies);
    RUN(a_body_of_known_length_does_not_move_the_block);
    RUN(a_chunked_body_grows);
    return check_end();
}
