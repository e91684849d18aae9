/* A server for comparison: libreactor, answering every request with the contents of the file
 * ANSWER.
 *
 *     on_libreactor PORT ANSWER
 *
 * It is built if pkg-config knows libreactor 3. No package registry has it, so it is not fetched.
 * It allows no further header field in an answer, so the other fields are appended to the content
 * type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <reactor.h>

enum { ANSWER_BYTES = 4096 };
/* The bytes that libreactor writes in addition to type and body. */
static const char OWN[] = "HTTP/1.1 200 OK\r\nServer: reactor\r\n"
                          "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                          "Content-Type: \r\nContent-Length: 00\r\n\r\n";

static struct {
    data type, body;
} ready;

static void answer(reactor_event *event)
{
    server_ok((server_request *)event->data, ready.type, ready.body);
}

static int read_answer(const char *path)
{
    static char bytes[ANSWER_BYTES + 1], type[ANSWER_BYTES];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(bytes, 1, ANSWER_BYTES, file) : 0;
    char *body = strstr(bytes, "\r\n\r\n");
    size_t own = sizeof(OWN) - 1 + (body ? strlen(body + 4) : 0);
    if (!body || size < own + sizeof("application/json; x="))
        return -1;
    memset(type, 'x', size - own);
    memcpy(type, "application/json; x=", strlen("application/json; x="));
    ready.type = data_construct(type, size - own);
    ready.body = data_string(body + 4);
    return 0;
}

int main(int argc, char **argv)
{
    server server;
    if (argc != 3 || read_answer(argv[2])) {
        fprintf(stderr, "usage: on_libreactor PORT ANSWER\n");
        return 2;
    }
    reactor_construct();
    server_construct(&server, answer, &server);
    server_open(&server,
                net_socket(net_resolve("127.0.0.1", argv[1], AF_INET, SOCK_STREAM, AI_PASSIVE)),
                NULL);
    reactor_loop();
    return 0;
}
