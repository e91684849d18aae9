/* The worker: requests and replies through mailboxes, slots that are reused, and overload. The
 * test plays Python, and replaces the system's accept. */
#include "playing.h"

#include <pthread.h>

int __real_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags);

static _Atomic bool no_descriptors;
static _Atomic unsigned accepts;

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    accepts++;
    if (!no_descriptors)
        return __real_accept4(fd, address, size, flags);
    errno = EMFILE;
    return -1;
}

static void requests_and_replies_cross_the_mailboxes(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/a"));
    struct request *request = next_request();
    CHECK_TEXT(request_target(request), "/a");
    CHECK(strcmp(request->peer.address, "127.0.0.1") == 0);
    worker_send(&worker, make_reply(request, "hello", "t"));
    hear(client, "\r\n\r\nhello");
    put(client, GET("/a"));
    hear(client, "\r\n\r\nhello");
    CHECK_EQUAL(worker.context.stats.hits, 1);
    CHECK_EQUAL(worker.context.stats.misses, 1);
    CHECK_EQUAL(worker.context.stats.cache_entries, 1);
    close(client);
    end();
}

/* The poller reports each change once, and these two come as one. */
static void a_request_that_comes_with_the_end_of_its_client_is_answered_and_closed(void)
{
    begin(10, 10);
    static const char *const texts[] = {GET("/a"), GET("/a"), "BAD\r\n\r\n", "GET /cut"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int client = dial(&endpoint);
        CHECK(send(client, texts[i], strlen(texts[i]), MSG_MORE) > 0);
        CHECK_EQUAL(shutdown(client, SHUT_WR), 0); /* in one segment with the text */
        if (i == 0)
            worker_send(&worker, make_reply(next_request(), "hello", "t"));
        CHECK_EQUAL(has(hear(client, NULL), "hello"), i < 2);
        close(client);
    }
    AWAIT(worker.context.stats.connections == 0);
    CHECK_EQUAL(worker.context.stats.hits, 1);
    end();
}

static void what_one_read_does_not_take_is_read_by_the_next(void)
{
    char text[1100];
    int size = sprintf(text, "GET /a HTTP/1.1\r\nHost: h\r\nX: %0991d\r\n\r\n", 0);
    int count = 3 * LIMIT_READ / size;
    CHECK_EQUAL(LIMIT_READ % size, 0); /* a full read ends between two requests */
    prepare(10, 10);
    int client = dial(&endpoint);
    for (int i = 0; i < count; i++)
        put(client, text);
    put(client, GET("/last"));
    CHECK_EQUAL(worker_start(&worker), 0);
    worker_send(&worker, make_reply(next_request(), "hello", "t"));
    struct request *last = next_request();
    CHECK_TEXT(request_target(last), "/last");
    CHECK_EQUAL(worker.context.stats.hits, count - 1);
    worker_send(&worker, make_reply(last, "goodbye", NULL));
    hear(client, "goodbye");
    close(client);
    end();
}

/* Rule 2. */
static void a_reply_never_reaches_the_next_tenant_of_its_slot(void)
{
    begin(10, 10);
    int first = dial(&endpoint);
    put(first, GET("/secret"));
    struct request *request = next_request();
    const struct address address = request->address;
    leave(first);
    AWAIT(worker.context.stats.connections == 0);
    int second = dial(&endpoint);
    put(second, GET("/mine"));
    struct request *mine = next_request();
    CHECK_EQUAL(mine->address.slot, address.slot); /* otherwise this test shows nothing */
    CHECK(mine->address.serial != address.serial);
    worker_send(&worker, make_reply(request, "secret", NULL));
    AWAIT(worker.context.stats.late_replies == 1);
    CHECK(is_silent(second));
    worker_send(&worker, make_reply(mine, "mine", NULL));
    CHECK(!has(hear(second, "\r\n\r\nmine"), "secret"));
    close(second);
    end();
}

static void an_answer_whose_client_left_is_stored_all_the_same(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/a"));
    struct request *request = next_request();
    leave(client);
    AWAIT(worker.context.stats.connections == 0);
    worker_send(&worker, make_reply(request, "hello", "t"));
    AWAIT(worker.context.stats.cache_entries == 1);
    client = dial(&endpoint);
    put(client, GET("/a"));
    hear(client, "hello");
    close(client);
    end();
}

/* Rule 9. */
static void a_full_mailbox_is_answered_with_503(void)
{
    begin(10, 1);
    int first = dial(&endpoint), second = dial(&endpoint);
    put(first, GET("/1"));
    AWAIT(mailbox_depth(&requests) == 1);
    put(second, GET("/2"));
    struct slice text = hear(second, NULL);
    CHECK(has(text, "HTTP/1.1 503 ") && has(text, "\r\nRetry-After: "));
    CHECK_EQUAL(worker.context.stats.mailbox_full, 1);
    worker_send(&worker, make_reply(next_request(), "first", NULL));
    hear(first, "first");
    close(first);
    close(second);
    end();
}

static void a_full_house_lets_the_longest_idle_go(void)
{
    begin(3, 10); /* and one more because of the division among workers */
    int clients[5];
    for (int i = 0; i < 5; i++) {
        clients[i] = dial(&endpoint);
        put(clients[i], GET("/"));
        worker_send(&worker, make_reply(next_request(), "hello", NULL));
        hear(clients[i], "hello");
    }
    CHECK_EQUAL(hear(clients[0], NULL).size, 0);
    CHECK(is_silent(clients[1]));
    CHECK_EQUAL(worker.context.stats.connections, 4);
    CHECK_EQUAL(worker.context.stats.max_connections, 4);
    CHECK_EQUAL(worker.context.stats.closed[CLOSED_REAPED], 1);
    for (int i = 0; i < 5; i++)
        close(clients[i]);
    end();
}

static void a_full_house_lets_go_whose_proxy_header_is_still_to_come(void)
{
    prepare(1, 10);
    limits.proxy_protocol = true;
    CHECK_EQUAL(worker_start(&worker), 0);
    int first = dial(&endpoint);
    put(first, "\r\n\r\n"); /* as a PROXY header begins */
    AWAIT(worker.context.stats.connections == 1);
    int second = dial(&endpoint), third = dial(&endpoint);
    CHECK_EQUAL(hear(first, NULL).size, 0);
    AWAIT(worker.context.stats.accepted == 3);
    CHECK(is_silent(second) && is_silent(third));
    CHECK_EQUAL(worker.context.stats.closed[CLOSED_REAPED], 1);
    close(first);
    close(second);
    close(third);
    end();
}

static void a_full_house_at_work_says_503(void)
{
    begin(1, 10);
    int clients[2];
    for (int i = 0; i < 2; i++) {
        clients[i] = dial(&endpoint);
        put(clients[i], GET("/"));
        request_free(next_request()); /* nobody answers */
    }
    int third = dial(&endpoint);
    CHECK(has(hear(third, NULL), "HTTP/1.1 503 "));
    CHECK_EQUAL(worker.context.stats.closed[CLOSED_OVERLOAD], 1);
    CHECK_EQUAL(worker.context.stats.refused[503 - REFUSED_FIRST], 1);
    CHECK_EQUAL(worker.context.stats.mailbox_full, 0);
    close(third);
    close(clients[0]);
    close(clients[1]);
    end();
}

/* Without free descriptors the worker goes on serving, retries now and then, and does not spin. */
static void without_descriptors_it_goes_on_and_recovers(void)
{
    begin(10, 10);
    int client = dial(&endpoint);
    put(client, GET("/a") GET("/b")); /* never idle, so it is not closed to make room */
    struct request *request = next_request();
    int64_t begin_of_wait = now();
    unsigned accepts_before = accepts;
    no_descriptors = true;
    int waiting = dial(&endpoint);
    AWAIT(accepts - accepts_before >= 4);
    CHECK(now() - begin_of_wait >= 200); /* it tries every 100 ms */
    worker_send(&worker, make_reply(request, "hello", NULL));
    hear(client, "hello");
    request = next_request();
    no_descriptors = false;
    put(waiting, GET("/c"));
    AWAIT(mailbox_depth(&requests) == 1);
    worker_send(&worker, make_reply(next_request(), "third", NULL));
    hear(waiting, "third");
    worker_send(&worker, make_reply(request, "second", NULL));
    hear(client, "second");
    close(client);
    close(waiting);
    end();
}

/* So many of them hold more than CLIENT_BYTES. */
enum { CROWD = 300, PADDING = 15000 };

/* Put an answer of `size` bytes into the cache under `/hit`. */
static void answer_once(size_t size)
{
    static char body[PADDING + 1];
    memset(body, 'x', size);
    memcpy(body + size - 5, "hello", 6);
    int first = dial(&endpoint);
    put(first, GET("/hit"));
    worker_send(&worker, make_reply(next_request(), body, "t"));
    hear(first, "hello");
    close(first);
}

/* Connect many clients, each of which sends `text`. Hits are answered meanwhile. */
static void gather(int clients[CROWD], const char *text)
{
    for (int i = 0; i < CROWD; i++) {
        clients[i] = dial(&endpoint);
        put(clients[i], text);
    }
    int last = dial(&endpoint);
    put(last, GET("/hit"));
    CHECK(has(hear(last, "hello"), "HTTP/1.1 200"));
    close(last);
}

static void disperse(const int clients[CROWD])
{
    CHECK(budget_used(&worker.context.budget) <= CLIENT_BYTES);
    for (int i = 0; i < CROWD; i++)
        leave(clients[i]);
    AWAIT(worker.context.stats.connections == 0);
    CHECK_EQUAL(budget_used(&worker.context.budget), 0);
}

static void slow_requests_beyond_the_bound_end_with_the_oldest(void)
{
    static int clients[CROWD];
    static char text[PADDING + 100];
    begin(CROWD + 10, CROWD);
    answer_once(5);
    sprintf(text, "GET / HTTP/1.1\r\nHost: h\r\nX: %0*d", PADDING, 0);
    gather(clients, text);
    CHECK(has(hear(clients[0], NULL), "HTTP/1.1 503"));
    CHECK(is_silent(clients[CROWD - 1]));
    int usual = dial(&endpoint);
    put(usual, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na=b"); /* at once */
    worker_send(&worker, make_reply(next_request(), "taken", NULL));
    CHECK(has(hear(usual, "taken"), "HTTP/1.1 200"));
    close(usual);
    disperse(clients);
    end();
}

static void never_readers_beyond_the_bound_end_with_the_oldest(void)
{
    static int clients[CROWD];
    static char pipeline[200 * sizeof GET("/hit")];
    begin(CROWD + 10, CROWD);
    answer_once(PADDING);
    for (int i = 0; i < 200; i++)
        strcat(pipeline, GET("/hit"));
    gather(clients, pipeline);
    AWAIT(worker.context.stats.closed[CLOSED_MEMORY] > 0);
    disperse(clients);
    end();
}

static void what_python_has_not_answered_counts_too(void)
{
    static int clients[CROWD];
    static char text[PADDING + 100];
    begin(CROWD + 10, CROWD);
    answer_once(5);
    sprintf(text, "GET /miss HTTP/1.1\r\nHost: h\r\nX: %0*d\r\n\r\n", PADDING, 0);
    gather(clients, text);
    CHECK(is_silent(clients[0]));
    CHECK(has(hear(clients[CROWD - 1], NULL), "HTTP/1.1 503"));
    CHECK_EQUAL(worker.context.stats.mailbox_full, 0);
    struct message *message = mailbox_take(&requests);
    for (struct message *next; message; message = next) {
        next = message->next;
        worker_send(&worker, make_reply((struct request *)message, "hello", NULL));
    }
    CHECK(has(hear(clients[0], "hello"), "HTTP/1.1 200"));
    disperse(clients);
    end();
}

enum { CLIENTS = 4, ROUNDS = 300 };

static void *ask_often(void *argument)
{
    const int number = *(const int *)argument;
    int fd = dial(&endpoint);
    for (int i = 0; i < ROUNDS; i++) {
        char text[128], wanted[32];
        snprintf(text, sizeof text, GET("/%d-%d"), number, i);
        snprintf(wanted, sizeof wanted, "<%d-%d>", number, i);
        put(fd, text);
        hear(fd, wanted);
    }
    close(fd);
    return NULL;
}

static void every_client_gets_its_own_answer(void)
{
    begin(10, 10);
    pthread_t pthreads[CLIENTS];
    int numbers[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        numbers[i] = i;
        CHECK_EQUAL(pthread_create(&pthreads[i], NULL, ask_often, &numbers[i]), 0);
    }
    for (int answered = 0; answered < CLIENTS * ROUNDS;) {
        struct message *message = mailbox_take(&requests);
        while (message) {
            struct request *request = (struct request *)message;
            message = message->next;
            struct slice target = request_target(request);
            char body[64];
            snprintf(body, sizeof body, "<%.*s>", (int)target.size - 1, target.data + 1);
            worker_send(&worker, make_reply(request, body, answered % 2 ? "t" : NULL));
            answered++;
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(pthreads[i], NULL);
    CHECK_EQUAL(worker.context.stats.requests, CLIENTS * ROUNDS);
    end();
}

/* Two workers in place of two processes, with the same listener. The second one runs later. */
static void clients_are_shared_evenly_with_another_process(void)
{
    enum { ALL = 40 };
    _Atomic uint32_t counts[2] = {0};
    struct worker other;
    struct balance others = {counts, 1, 2};
    int clients[ALL];
    balance = (struct balance){counts, 0, 2};
    prepare(ALL, ALL);
    const struct worker_setup setup = {
        .limits = &limits,
        .purges = &purges,
        .subscribers = &subscribers,
        .requests = &requests,
        .balance = &others,
        .key = {1, 2},
        .workers = 1,
    };
    CHECK_EQUAL(worker_init(&other, 1, &setup), 0);
    CHECK_EQUAL(worker_listen(&other, worker.acceptor.listeners[0]), 0);
    CHECK_EQUAL(worker_start(&worker), 0);
    for (int i = 0; i < ALL / 2; i++)
        clients[i] = dial(&endpoint);
    AWAIT(counts[0] == ALL / 2); /* however far it is ahead of one that accepts nobody */
    CHECK_EQUAL(worker_start(&other), 0);
    enum { LEAST = ALL / 2 - 8, TRIES = 10 }; /* the first may take 8 after each pause */
    for (int try = 1; counts[1] < LEAST && try <= TRIES; try++) {
        for (int i = ALL / 2; i < ALL; i++)
            clients[i] = dial(&endpoint);
        AWAIT(counts[0] + counts[1] == ALL);
        if (counts[1] >= LEAST)
            break;
        for (int i = ALL / 2; i < ALL; i++) /* a busy machine ran the second one too late */
            close(clients[i]);
        AWAIT(counts[0] + counts[1] == ALL / 2);
    }
    CHECK(counts[1] >= LEAST);
    for (int i = 0; i < ALL; i++)
        close(clients[i]);
    AWAIT(counts[0] + counts[1] == 0);
    worker_stop(&other, now(), false);
    worker_join(&other);
    worker_fini(&other);
    end();
    balance = (struct balance){0};
}

/* Otherwise the last process would leave clients behind. */
static void whoever_waits_at_a_stop_is_accepted_by_a_process_that_is_ahead_too(void)
{
    _Atomic uint32_t counts[2] = {100, 0};
    balance = (struct balance){counts, 0, 2};
    prepare(30, 30);
    int clients[20];
    for (int i = 0; i < 20; i++)
        clients[i] = dial(&endpoint);
    CHECK_EQUAL(worker_start(&worker), 0);
    worker_stop(&worker, now() + 10000, false);
    AWAIT(worker.context.stats.accepted == 20);
    for (int i = 0; i < 20; i++)
        close(clients[i]);
    join();
    CHECK_EQUAL(counts[0], 100);
    balance = (struct balance){0};
}

int main(void)
{
    RUN(requests_and_replies_cross_the_mailboxes);
    RUN(a_request_that_comes_with_the_end_of_its_client_is_answered_and_closed);
    RUN(what_one_read_does_not_take_is_read_by_the_next);
    RUN(a_reply_never_reaches_the_next_tenant_of_its_slot);
    RUN(an_answer_whose_client_left_is_stored_all_the_same);
    RUN(a_full_mailbox_is_answered_with_503);
    RUN(a_full_house_lets_the_longest_idle_go);
    RUN(a_full_house_lets_go_whose_proxy_header_is_still_to_come);
    RUN(a_full_house_at_work_says_503);
    RUN(without_descriptors_it_goes_on_and_recovers);
    RUN(slow_requests_beyond_the_bound_end_with_the_oldest);
    RUN(never_readers_beyond_the_bound_end_with_the_oldest);
    RUN(what_python_has_not_answered_counts_too);
    RUN(every_client_gets_its_own_answer);
    RUN(clients_are_shared_evenly_with_another_process);
    RUN(whoever_waits_at_a_stop_is_accepted_by_a_process_that_is_ahead_too);
    return check_end();
}
