/* Rule 4 of the bridge: never stale after the acknowledgement.
 *
 * Each race has a value that is read and written at the same time. A client asks for it; Python,
 * played by a thread, reads it, takes a moment and answers; meanwhile the value is written, its
 * tag purged and the write acknowledged, at a random point of that. Whoever asks after the
 * acknowledgement must get the new value.
 *
 * The same races are run with the rule switched off, by a `purge_is_fresh` that finds nothing
 * stale. They must then give stale reads, or the test could not see a broken rule. */
#include "dial.h"

#include "server/server.h"

#include <poll.h>
#include <pthread.h>

enum { RACES = 400, MOMENT_US = 300 };

bool __real_purge_is_fresh(struct purge_table *purges, const uint32_t *slots, size_t count,
                           uint64_t since);
bool __wrap_purge_is_fresh(struct purge_table *purges, const uint32_t *slots, size_t count,
                           uint64_t since);

static _Atomic bool rule_is_on;

bool __wrap_purge_is_fresh(struct purge_table *purges, const uint32_t *slots, size_t count,
                           uint64_t since)
{
    return !rule_is_on || __real_purge_is_fresh(purges, slots, count, since);
}

static struct server *server;
static _Atomic bool ended;
static _Atomic bool written[RACES];

static void pass_a_moment(unsigned *seed)
{
    nanosleep(&(struct timespec){.tv_nsec = rand_r(seed) % MOMENT_US * 1000L}, NULL);
}

static uint32_t tag_of(unsigned race)
{
    char tag[32];
    snprintf(tag, sizeof tag, "race:%u", race);
    return tag_index(text_of(tag));
}

/* Answer with the value as it is now, but only after a moment. */
static void answer(struct request *request, unsigned *seed)
{
    unsigned race = (unsigned)strtoul(request_target(request).data + strlen("/race/"), NULL, 10);
    bool value = written[race];
    uint32_t tag = tag_of(race);
    const struct response response = {
        .status = 200,
        .body = value ? SLICE("the new value") : SLICE("the old value"),
        .tags = &tag,
        .tag_count = 1,
    };
    pass_a_moment(seed);
    server_send(server, reply_new(request, &response));
    request_free(request);
}

static void *play_python(void *ignored)
{
    unsigned seed = 1;
    while (!ended) {
        struct pollfd waiting = {.fd = server->requests.event, .events = POLLIN};
        poll(&waiting, 1, 10);
        struct request *request = server_drain(server);
        while (request) {
            struct request *next = (struct request *)request->message.next;
            answer(request, &seed);
            request = next;
        }
    }
    return ignored;
}

static void ask(int fd, unsigned race)
{
    char text[64];
    snprintf(text, sizeof text, "GET /race/%u HTTP/1.1\r\nHost: h\r\n\r\n", race);
    put(fd, text);
}

static unsigned is_stale(int fd, unsigned race)
{
    ask(fd, race);
    return has(hear(fd, " value"), "the old value");
}

/* Returns the number of stale reads in all races. */
static unsigned race_all(bool rule, uint32_t workers)
{
    const struct limits limits = {WIDE_LIMITS, .cache_bytes = 64 << 20, .handler_deadline = 60000};
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    pthread_t python;
    unsigned seed = 2, stale = 0;
    rule_is_on = rule;
    ended = false;
    memset((void *)written, 0, sizeof written);
    server = server_new(&endpoint, workers, &limits);
    CHECK_EQUAL(server_start(server, &(struct sockets){0}), 0);
    pthread_create(&python, NULL, play_python, NULL);
    int first = dial(&server->endpoint), second = dial(&server->endpoint);
    for (unsigned race = 0; race < RACES; race++) {
        ask(first, race);
        pass_a_moment(&seed);
        written[race] = true;
        purge_add(&server->purges, tag_of(race));
        /* Acknowledged: a request from here on must not get the old value. */
        stale += is_stale(second, race);
        hear(first, " value");
        stale += is_stale(first, race) || is_stale(second, race);
    }
    close(first);
    close(second);
    ended = true;
    pthread_join(python, NULL);
    server_free(server);
    return stale;
}

static void nothing_stale_is_read_after_an_acknowledgement(void)
{
    CHECK_EQUAL(race_all(true, 1), 0);
}

static void nothing_stale_is_read_with_two_workers(void)
{
    CHECK_EQUAL(race_all(true, 2), 0);
}

/* There are fewer on a busy machine, where the threads wait for each other. */
static void without_the_rule_the_same_races_read_stale_values(void)
{
    unsigned stale = 0, races = 0;
    for (; stale <= RACES / 10 && races < 20 * RACES; races += RACES)
        stale += race_all(false, 1);
    printf("# %u of %u races read a stale value without the rule\n", stale, races);
    CHECK(stale > RACES / 10);
}

int main(void)
{
    RUN(nothing_stale_is_read_after_an_acknowledgement);
    RUN(nothing_stale_is_read_with_two_workers);
    RUN(without_the_rule_the_same_races_read_stale_values);
    return check_end();
}
