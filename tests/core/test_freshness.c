/* Rule 4 of the seam: what was acknowledged is never unsaid by a later answer.
 *
 * A writer changes a value in three hundred races: commit, purge, acknowledge. Meanwhile readers read
 * it without rest through a real server, and "Python" answers their misses with a little delay
 * between its look at the value and its answer, as a handler has. A read is stale when it was begun
 * after an acknowledgement and shows an older value.
 *
 * The same race is then run with the rule broken in each of the ways in which it can be, and must
 * show stale reads: so the test can catch what it is there for.
 */
#include "dial.h"

#include "server.h"

#include <pthread.h>
#include <stdatomic.h>

enum variant {
    AS_BUILT,
    PURGES_NOT_LOOKED_AT,   /* an answer stays in the store whatever is purged */
    IN_FLIGHT_FORGOTTEN,    /* a purge drops what is stored, but not what is on its way */
    PURGED_BEFORE_COMMIT,   /* the caller's order is wrong */
    PURGED_AFTER_THE_ANSWER /* the same, the other way round */
};

enum { RACES = 300, READERS = 2, READS_A_RACE = 3 };

bool __real_purges_spare(struct purges *purges, const uint32_t *places, size_t count,
                         uint64_t since);
bool __wrap_purges_spare(struct purges *purges, const uint32_t *places, size_t count,
                         uint64_t since);

static enum variant variant;
static struct server *server;
static _Atomic unsigned value, acknowledged, stale, reads;
static _Atomic bool ended;

bool __wrap_purges_spare(struct purges *purges, const uint32_t *places, size_t count,
                         uint64_t since)
{
    return variant == PURGES_NOT_LOOKED_AT || __real_purges_spare(purges, places, count, since);
}

static void pause_for(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

static void *play_python(void *argument)
{
    while (!ended) {
        struct pollfd poll_fd = {.fd = server->requests.event, .events = POLLIN};
        poll(&poll_fd, 1, 10);
        struct request *request = server_drain(server);
        while (request) {
            struct request *next = (struct request *)request->message.next;
            char body[32];
            snprintf(body, sizeof body, "<%u>", value);
            pause_for(20000);
            if (variant == IN_FLIGHT_FORGOTTEN)
                request->sequence = purges_now(&server->purges);
            server_send(server, make_reply(request, body, "thread:1"));
            request = next;
        }
    }
    return argument;
}

static void *read_without_rest(void *argument)
{
    int fd = dial(&server->endpoint);
    while (!ended) {
        unsigned known = acknowledged;
        put(fd, GET("/value"));
        struct slice text = hear(fd, ">");
        const char *body = memchr(text.data, '<', text.size);
        stale += (unsigned)atoi(body + 1) < known;
        reads++;
    }
    close(fd);
    return argument;
}

static void write_once(unsigned next)
{
    uint32_t place = purges_place(SLICE("thread:1"));
    if (variant == PURGED_BEFORE_COMMIT) {
        purges_add(&server->purges, place);
        pause_for(50000);
        value = next;
    } else {
        value = next;
        if (variant != PURGED_AFTER_THE_ANSWER)
            purges_add(&server->purges, place);
    }
    acknowledged = next;
    if (variant == PURGED_AFTER_THE_ANSWER) {
        pause_for(200000);
        purges_add(&server->purges, place);
    }
}

static unsigned stale_reads_of(enum variant chosen)
{
    static const struct limits limits = {
        .body = 1000,
        .store_bytes = 1 << 20,
        .connections = 100,
        .waiting = 100,
        .keep_alive = 60000,
        .head_deadline = 60000,
        .body_deadline = 60000,
        .handler_deadline = 60000,
    };
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    pthread_t python, readers[READERS];
    variant = chosen;
    value = acknowledged = stale = reads = 0;
    ended = false;
    server = server_new(&endpoint, 1, &limits);
    CHECK_EQUAL(server_start(server), 0);
    pthread_create(&python, NULL, play_python, NULL);
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, read_without_rest, NULL);
    for (unsigned race = 1; race <= RACES; race++) {
        /* The second write meets the misses that the first one has caused, now here, now there. */
        write_once(2 * race - 1);
        if (race % 2 == 0)
            pause_for(race * 100);
        write_once(2 * race);
        /* One read of each reader may have begun before; the others see what became of it. */
        unsigned before = reads;
        AWAIT(reads - before >= READERS * READS_A_RACE);
    }
    ended = true;
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    pthread_join(python, NULL);
    struct server_stats stats;
    server_read_stats(server, &stats);
    CHECK(stats.hits > RACES); /* else nothing was stored and the race shows nothing */
    server_free(server);
    printf("# %u stale reads of %u in %d races\n", stale, reads, RACES);
    return stale;
}

static void no_read_after_the_acknowledgement_is_stale(void)
{
    CHECK_EQUAL(stale_reads_of(AS_BUILT), 0);
}

static void without_a_look_at_the_purges_reads_are_stale(void)
{
    CHECK(stale_reads_of(PURGES_NOT_LOOKED_AT) > 0);
}

static void without_regard_to_answers_in_flight_reads_are_stale(void)
{
    CHECK(stale_reads_of(IN_FLIGHT_FORGOTTEN) > 0);
}

static void with_the_purge_before_the_commit_reads_are_stale(void)
{
    CHECK(stale_reads_of(PURGED_BEFORE_COMMIT) > 0);
}

static void with_the_purge_after_the_acknowledgement_reads_are_stale(void)
{
    CHECK(stale_reads_of(PURGED_AFTER_THE_ANSWER) > 0);
}

int main(void)
{
    RUN(no_read_after_the_acknowledgement_is_stale);
    RUN(without_a_look_at_the_purges_reads_are_stale);
    RUN(without_regard_to_answers_in_flight_reads_are_stale);
    RUN(with_the_purge_before_the_commit_reads_are_stale);
    RUN(with_the_purge_after_the_acknowledgement_reads_are_stale);
    return check_end();
}
