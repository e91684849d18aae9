/* A load generator: many keep-alive clients on one pthread, each with a pipeline of its own.
 *
 *     generator PORT CLIENTS DEPTH SECONDS FIRST FILE [awake]
 *
 * A client sends DEPTH requests with one write, and the next ones as soon as the last answer came.
 * FILE says what is asked, in text but for the requests themselves:
 *
 *     COUNT LENGTH                  distinct requests, and how many are asked before it repeats
 *     SIZE STATUS BODY              COUNT times: then the SIZE bytes of a request as they go over
 *     ...                           the wire, and the BODY bytes of its answer; -1: any are right
 *     NUMBER NUMBER ...             the order, LENGTH of them: 0 is the first request
 *
 * A run of ten '#' in a request is replaced by a serial number that begins at FIRST and is never
 * given twice, so that no two requests are equal and their Content-Length holds.
 *
 * When SECONDS are over nothing new is sent, but what is under way is waited for and counted: then
 * the server has done exactly what it acknowledged, and both can be compared. Prints one line of
 * JSON: answers by status, how many of them were not what FILE demands, seconds of the clock and of
 * our own CPU, of the latter those that passed in waiting, and the latency of a batch, from its
 * sending to the reading of its last answer, in µs. The first wrong answer is shown on stderr. A
 * closed connection, an answer that is no HTTP/1.1 with a Content-Length, or bytes that nobody
 * asked for end the run with code 1.
 *
 * WHY AWAKE: the kernel lets the sender pay for waking a receiver that sleeps, so the server would
 * pay for each moment in which we have nothing to do; and the slower it is, the more of them there
 * are. Awake, we ask the kernel without end instead, and a core is needed for us alone.
 *
 * WHY NOT wrk: it needs more of its core than the server of the other one, it leaves requests under
 * way when its time is over, and it looks at statuses only. loadtest/README.md has the figures.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "client.h"
#include "die.h"
#include "histogram.h"

enum {
    EVENTS = 256,
    PATIENCE_MS = 10 * 1000, /* without any answer, then the run is over */
};

struct load {
    struct plan plan;
    struct tally tally;
    struct histogram latency;
    struct client *clients; /* owns */
    size_t count, depth;
    size_t busy; /* clients that wait for answers */
    int poller;
    bool awake;
    uint64_t waited; /* ns of our CPU, when awake */
};

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void load_begin(struct load *load, int port)
{
    load->clients = calloc(load->count, sizeof(*load->clients));
    load->poller = epoll_create1(EPOLL_CLOEXEC);
    if (!load->clients || load->poller < 0)
        die("cannot begin");
    for (size_t i = 0; i < load->count; i++)
        client_connect(&load->clients[i], load->poller, port);
}

static void load_send(struct load *load, struct client *client, uint64_t time)
{
    client_send(client, plan_take(&load->plan, load->depth), load->depth, time);
    load->busy++;
}

/* Events that there are at last; 0 after PATIENCE_MS. */
static int load_wait(struct load *load, struct epoll_event *events)
{
    int ready = epoll_wait(load->poller, events, EVENTS, load->awake ? 0 : PATIENCE_MS);
    if (ready != 0 || !load->awake)
        return ready;
    uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t end = now(CLOCK_MONOTONIC) + PATIENCE_MS * UINT64_C(1000000);
    do
        ready = epoll_wait(load->poller, events, EVENTS, 0);
    while (ready == 0 && now(CLOCK_MONOTONIC) < end);
    load->waited += now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    return ready;
}

/* Send and read until the moment `end`, then read what is under way. */
static void load_run(struct load *load, uint64_t end)
{
    struct epoll_event events[EVENTS];
    for (size_t i = 0; i < load->count; i++)
        load_send(load, &load->clients[i], now(CLOCK_MONOTONIC));
    while (load->busy) {
        int ready = load_wait(load, events);
        errno = 0;
        if (ready == 0)
            die("no answer came for 10 seconds");
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            bool ended = events[i].events & EPOLLRDHUP;
            if (!client_read(client, &load->plan, &load->tally, ended))
                continue;
            uint64_t time = now(CLOCK_MONOTONIC);
            histogram_add(&load->latency, time - client->begin);
            load->busy--;
            if (time < end)
                load_send(load, client, time);
        }
    }
}

static void load_print(const struct load *load, double seconds, double cpu)
{
    const struct tally *tally = &load->tally;
    printf(
        "{\"answered\": %llu, \"wrong\": %llu, \"seconds\": %.6f, \"cpu\": %.6f, \"waited\": %.6f,"
        " \"statuses\": {",
        (unsigned long long)tally->answered, (unsigned long long)tally->wrong, seconds, cpu,
        (double)load->waited / 1e9);
    const char *comma = "";
    for (int status = 0; status < 1000; status++) {
        if (tally->statuses[status]) {
            printf("%s\"%d\": %llu", comma, status, (unsigned long long)tally->statuses[status]);
            comma = ", ";
        }
    }
    printf("}, \"latency\": {\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"max\": %.1f}}\n",
           (double)histogram_percentile(&load->latency, 0.5) / 1e3,
           (double)histogram_percentile(&load->latency, 0.9) / 1e3,
           (double)histogram_percentile(&load->latency, 0.99) / 1e3,
           (double)load->latency.greatest / 1e3);
}

int main(int argc, char **argv)
{
    static struct load load;
    load.awake = argc == 8 && strcmp(argv[7], "awake") == 0;
    if (argc != 7 && !load.awake) {
        fprintf(stderr, "usage: generator PORT CLIENTS DEPTH SECONDS FIRST FILE [awake]\n");
        return 2;
    }
    load.count = strtoul(argv[2], NULL, 10);
    load.depth = strtoul(argv[3], NULL, 10);
    load.plan.serial = strtoull(argv[5], NULL, 10);
    plan_read(&load.plan, argv[6]);
    errno = 0;
    if (!load.count || !load.depth || load.depth > load.plan.length)
        die("there must be a client and a request, and not fewer requests than the depth");
    load_begin(&load, atoi(argv[1]));
    uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), begin = now(CLOCK_MONOTONIC);
    load_run(&load, begin + (uint64_t)(strtod(argv[4], NULL) * 1e9));
    double seconds = (double)(now(CLOCK_MONOTONIC) - begin) / 1e9;
    load_print(&load, seconds, (double)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e9);
    return 0;
}
