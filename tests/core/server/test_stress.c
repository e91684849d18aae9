/* Purges against hits against caches, all at once and as fast as it goes.
 *
 * Values are written all the time: counted up, their tag purged, the write acknowledged. Clients
 * ask for them in pipelines over workers of their own, whose caches are too small for all of them,
 * so that answers are found, kept, found stale and evicted at the same time. Nobody may get a value
 * older than one that was acknowledged before the request. Under ThreadSanitizer (`make tsan`) this
 * is what shows a number that several threads use without order.
 */
#include "dial.h"

#include "bridge/piece.h"
#include "server/server.h"

#include <poll.h>
#include <pthread.h>

enum { VALUES = 64, CLIENTS = 2, WRITERS = 2, PIPELINES = 1500, DEPTH = 16, PADDING = 4096 };

static struct server *server;
static _Atomic bool ended;
static _Atomic unsigned values[VALUES];
static _Atomic unsigned acknowledged[VALUES];
static _Atomic unsigned asked, stale, written;

static uint32_t tag_of(unsigned index)
{
    char tag[32];
    snprintf(tag, sizeof tag, "value:%u", index);
    return tag_index(text_of(tag));
}

/* Answer in pieces; the request of the first comes back when that is taken. */
static void answer_in_pieces(struct request *request)
{
    const struct response response = {.status = 200, .body = SLICE("in pieces"), .in_pieces = true};
    if (request->begun) {
        server_send(server, piece_new(request, SLICE("the end"), PIECE_LAST));
        return;
    }
    request_begin(request, 1);
    struct reply *reply = reply_new(request, &response);
    reply->request = request;
    server_send(server, reply);
}

/* A value is answered with many bytes after it, and cached; "/end" in pieces. */
static void answer(struct request *request)
{
    static char body[PADDING];
    if (request_target(request).data[1] != 'v') {
        answer_in_pieces(request);
        return;
    }
    unsigned index = (unsigned)strtoul(request_target(request).data + strlen("/v"), NULL, 10);
    uint32_t tag = tag_of(index);
    memset(body, ' ', sizeof body);
    snprintf(body, sizeof body, "v%u=%u;", index, values[index]);
    const struct response response = {
        .status = 200,
        .body = slice_of(body, sizeof body),
        .tags = &tag,
        .tag_count = 1,
    };
    server_send(server, reply_new(request, &response));
    request_free(request);
}

static void *play_python(void *ignored)
{
    while (!ended) {
        struct pollfd waiting = {.fd = server->requests.event, .events = POLLIN};
        poll(&waiting, 1, 10);
        struct request *request = server_drain(server);
        while (request) {
            struct request *next = (struct request *)request->message.next;
            answer(request);
            request = next;
        }
    }
    return ignored;
}

/* Two reads for each write, however slow the readers are: otherwise they would find nothing. */
static void *write_often(void *seed)
{
    while (!ended) {
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        if (written > asked / 2)
            continue;
        written++;
        unsigned index = (unsigned)rand_r(seed) % VALUES, value = ++values[index];
        purge_add(&server->purges, tag_of(index));
        unsigned last = acknowledged[index];
        while (last < value && !atomic_compare_exchange_weak(&acknowledged[index], &last, value))
            continue;
    }
    return NULL;
}

/* Request DEPTH values in one pipeline, and check each. */
static void read_values(int fd, unsigned *seed)
{
    char text[DEPTH * 64 + 64];
    unsigned indexes[DEPTH], least[DEPTH];
    size_t size = 0;
    for (int i = 0; i < DEPTH; i++) {
        /* Half of them are the same four, so that some are hits. */
        unsigned index = (unsigned)rand_r(seed) % (i % 2 ? VALUES : 4);
        indexes[i] = index;
        least[i] = acknowledged[index];
        size += (size_t)sprintf(text + size, "GET /v%u HTTP/1.1\r\nHost: h\r\n\r\n", index);
    }
    strcpy(text + size, GET("/end"));
    put(fd, text);
    struct slice heard = hear(fd, "the end");
    for (int i = 0; i < DEPTH; i++) {
        char name[32];
        int length = snprintf(name, sizeof name, "v%u=", indexes[i]);
        const char *found = memmem(heard.data, heard.size, name, (size_t)length);
        if (!found)
            give_up(__FILE__, __LINE__, name);
        stale += strtoul(found + length, NULL, 10) < least[i];
        asked++;
        slice_skip(&heard, (size_t)(found - heard.data) + (size_t)length);
    }
}

static void *read_often(void *seed)
{
    int fd = dial(&server->endpoint);
    for (int i = 0; i < PIPELINES; i++)
        read_values(fd, seed);
    close(fd);
    return NULL;
}

static void purges_hits_and_stores_at_once_give_nobody_an_old_value(void)
{
    const struct limits limits = {WIDE_LIMITS,
                                  .cache_bytes = (size_t)CLIENTS * VALUES / 2 * PADDING,
                                  .handler_deadline = 60000};
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    pthread_t python, writers[WRITERS], clients[CLIENTS];
    unsigned seeds[WRITERS + CLIENTS] = {1, 2, 3, 4};
    server = server_new(&endpoint, CLIENTS, &limits);
    CHECK_EQUAL(server_start(server, &(struct sockets){0}), 0);
    pthread_create(&python, NULL, play_python, NULL);
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, write_often, &seeds[i]);
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&clients[i], NULL, read_often, &seeds[WRITERS + i]);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    ended = true;
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    pthread_join(python, NULL);
    struct stats sum;
    server_stats(server, &sum);
    printf("# %u asked, %llu found, %llu evicted, %llu purges\n", asked,
           (unsigned long long)sum.hits, (unsigned long long)sum.evictions,
           (unsigned long long)purge_now(&server->purges));
    CHECK_EQUAL(stale, 0);
    CHECK_EQUAL(asked, CLIENTS * PIPELINES * DEPTH);
    CHECK(sum.hits > asked / 10 && sum.misses > asked / 10);
    CHECK(sum.evictions > 100 && purge_now(&server->purges) > 100);
    server_free(server);
}

int main(void)
{
    RUN(purges_hits_and_stores_at_once_give_nobody_an_old_value);
    return check_end();
}
