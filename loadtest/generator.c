/* A load generator for requests that change something: many keep-alive clients, one pthread.
 *
 *     generator PORT CLIENTS SECONDS FIRST FILE
 *
 * FILE holds requests as they go over the wire, each after a line with its length in bytes. The
 * clients send them in turn, each its next one as soon as its last one is answered. A run of
 * MARK_DIGITS '#' in a request is replaced by a serial number that begins at FIRST and is never
 * given twice, so that no two requests are equal and their Content-Length holds.
 *
 * When SECONDS are over nothing new is sent, but what is under way is waited for and counted: then
 * the server has done exactly what it acknowledged, and both can be compared. Prints one line of
 * JSON: answered requests by status, seconds, and the latency from the first byte sent to the last
 * byte read. A closed connection, or an answer that is no HTTP/1.1, ends the run with exit code 1.
 *
 * WHY NOT wrk: a body made in Lua costs it more than the server's own share of the work.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MARK_DIGITS = 10,
    INPUT_BYTES = 64 * 1024, /* of one answer: ours are under 20 KiB, since messages are bounded */
    EVENTS = 256,
    BUCKETS = 1024 * 1024, /* of BUCKET_NS each: 10.5 s */
    BUCKET_NS = 10 * 1000,
    PATIENCE_MS = 10 * 1000, /* without any answer, then the run is over */
};

struct request {
    char *bytes; /* owns */
    size_t size;
    char *mark; /* into bytes, or NULL */
};

struct client {
    int fd;
    bool waits; /* for an answer */
    uint64_t begin;
    size_t have; /* bytes of the answer read so far */
    char input[INPUT_BYTES];
};

struct load {
    struct request *requests; /* owns */
    size_t count;
    uint64_t serial; /* of the next request */
    uint64_t end;    /* nanoseconds, as now() gives them */
    uint64_t statuses[1000];
    uint64_t answered;
    uint64_t slowest;
    uint32_t buckets[BUCKETS];
};

static void die(const char *what)
{
    fprintf(stderr, "generator: %s%s%s\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
    exit(1);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static char *find_mark(char *bytes, size_t size)
{
    char pattern[MARK_DIGITS];
    memset(pattern, '#', sizeof(pattern));
    return memmem(bytes, size, pattern, sizeof(pattern));
}

static void load_read(struct load *load, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        die(path);
    }
    size_t size, room = 0;
    while (fscanf(file, "%zu", &size) == 1 && fgetc(file) == '\n') {
        if (load->count == room) {
            room = room ? room * 2 : 64;
            load->requests = realloc(load->requests, room * sizeof(*load->requests));
        }
        char *bytes = load->requests ? malloc(size) : NULL;
        if (!bytes || fread(bytes, 1, size, file) != size) {
            die(path);
        }
        load->requests[load->count++] = (struct request){bytes, size, find_mark(bytes, size)};
    }
    fclose(file);
    if (!load->count) {
        errno = 0;
        die("there are no requests in the file");
    }
}

static void client_send(struct client *client, struct load *load)
{
    struct request *request = &load->requests[load->serial % load->count];
    if (request->mark) {
        char digits[MARK_DIGITS + 1];
        snprintf(digits, sizeof(digits), "%0*llu", MARK_DIGITS, (unsigned long long)load->serial);
        memcpy(request->mark, digits, MARK_DIGITS);
    }
    load->serial++;
    client->begin = now();
    client->waits = true;
    client->have = 0;
    /* The last answer is read whole, so the socket's buffer is empty and takes all of it. */
    if (send(client->fd, request->bytes, request->size, MSG_NOSIGNAL) != (ssize_t)request->size) {
        die("cannot send a request whole");
    }
}

/* The status of the whole answer at the head of the input, 0 while more is needed. */
static int client_status(struct client *client)
{
    char *end = memmem(client->input, client->have, "\r\n\r\n", 4);
    if (!end) {
        return 0;
    }
    *end = '\0';
    errno = 0;
    if (strncmp(client->input, "HTTP/1.1 ", 9) != 0) {
        die("the answer is no HTTP/1.1");
    }
    size_t length = 0;
    for (char *line = strstr(client->input, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "content-length:", 15) == 0) {
            length = strtoul(line + 17, NULL, 10);
        }
    }
    *end = '\r';
    size_t whole = (size_t)(end - client->input) + 4 + length;
    if (whole > sizeof(client->input)) {
        die("an answer is larger than we expect");
    }
    if (client->have > whole) {
        die("there are more bytes than one answer");
    }
    return client->have == whole ? atoi(client->input + 9) : 0;
}

static void client_read(struct client *client, struct load *load)
{
    ssize_t got = recv(client->fd, client->input + client->have,
                       sizeof(client->input) - client->have, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        errno = got ? errno : 0;
        die("the server closed a connection");
    }
    client->have += (size_t)got;
    int status = client_status(client);
    if (!status) {
        return;
    }
    uint64_t time = now(), took = time - client->begin;
    size_t bucket = took / BUCKET_NS;
    load->buckets[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
    load->slowest = took > load->slowest ? took : load->slowest;
    load->statuses[status > 99 && status < 1000 ? status : 0]++;
    load->answered++;
    client->waits = false;
    if (time < load->end) {
        client_send(client, load);
    }
}

static void client_connect(struct client *client, int poller, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int on = 1;
    client->fd = socket(AF_INET, SOCK_STREAM, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    if (client->fd < 0 || connect(client->fd, (struct sockaddr *)&address, sizeof(address)) ||
        setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
        epoll_ctl(poller, EPOLL_CTL_ADD, client->fd, &event)) {
        die("cannot connect");
    }
}

static size_t waiting(const struct client *clients, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found += clients[i].waits;
    }
    return found;
}

static void load_run(struct load *load, struct client *clients, size_t count, int poller)
{
    struct epoll_event events[EVENTS];
    for (size_t i = 0; i < count; i++) {
        client_send(&clients[i], load);
    }
    while (now() < load->end || waiting(clients, count)) {
        int ready = epoll_wait(poller, events, EVENTS, PATIENCE_MS);
        if (ready == 0) {
            errno = 0;
            die("no answer came for 10 seconds");
        }
        for (int i = 0; i < ready; i++) {
            client_read(events[i].data.ptr, load);
        }
    }
}

/* The latency, in µs, that the share `part` of all answers did not exceed. */
static double load_percentile(const struct load *load, double part)
{
    uint64_t wanted = (uint64_t)((double)load->answered * part), seen = 0;
    size_t bucket = 0;
    while (bucket < BUCKETS - 1 && (seen += load->buckets[bucket]) < wanted) {
        bucket++;
    }
    return (double)(bucket + 1) * BUCKET_NS / 1000;
}

static void load_print(const struct load *load, double seconds)
{
    printf("{\"answered\": %llu, \"seconds\": %.6f, \"statuses\": {",
           (unsigned long long)load->answered, seconds);
    const char *comma = "";
    for (int status = 0; status < 1000; status++) {
        if (load->statuses[status]) {
            printf("%s\"%d\": %llu", comma, status, (unsigned long long)load->statuses[status]);
            comma = ", ";
        }
    }
    printf("}, \"latency\": {\"p50\": %.0f, \"p90\": %.0f, \"p99\": %.0f, \"max\": %.0f}}\n",
           load_percentile(load, 0.5), load_percentile(load, 0.9), load_percentile(load, 0.99),
           (double)load->slowest / 1000);
}

int main(int argc, char **argv)
{
    static struct load load;
    if (argc != 6) {
        fprintf(stderr, "usage: generator PORT CLIENTS SECONDS FIRST FILE\n");
        return 2;
    }
    size_t count = strtoul(argv[2], NULL, 10);
    load.serial = strtoull(argv[4], NULL, 10);
    load_read(&load, argv[5]);
    struct client *clients = calloc(count, sizeof(*clients));
    int poller = epoll_create1(EPOLL_CLOEXEC);
    if (!clients || poller < 0) {
        die("cannot begin");
    }
    for (size_t i = 0; i < count; i++) {
        client_connect(&clients[i], poller, atoi(argv[1]));
    }
    uint64_t begin = now();
    load.end = begin + (uint64_t)(strtod(argv[3], NULL) * 1e9);
    load_run(&load, clients, count, poller);
    load_print(&load, (double)(now() - begin) / 1e9);
    return 0;
}
