/* A load generator: many keep-alive clients on one pthread, each with a pipeline of its own.
 *
 *     generator PORT CLIENTS DEPTH SECONDS FIRST FILE [awake]
 *
 * A client sends DEPTH requests with one write, and the next ones as soon as the last answer has
 * arrived. FILE contains the requests and the right answers:
 *
 *     COUNT LENGTH                  number of distinct requests, and length of the order below
 *     SIZE STATUS BODY              COUNT times; followed by the SIZE bytes of a request and
 *     ...                           the BODY bytes of its answer (-1: any body is right)
 *     NUMBER NUMBER ...             the order: LENGTH numbers of requests, counted from 0
 *
 * The order is repeated from its beginning when it is used up. A run of ten '#' in a request is
 * replaced by a serial number that starts at FIRST and is never used twice, so no two requests are
 * equal and their Content-Length remains right.
 *
 * When SECONDS are over, nothing new is sent, but the answers under way are awaited and counted.
 * So the server has done exactly what it acknowledged, and both can be compared. The program prints
 * one line of JSON: the answers by status, how many of them were wrong, the elapsed seconds, the
 * seconds of our own CPU time and how many of these were spent on waiting, and the latency of a
 * batch in µs, from sending it to reading its last answer. The first wrong answer is shown on
 * stderr. A closed connection, an answer that is not HTTP/1.1 with a Content-Length, or bytes that
 * were not requested end the program with code 1.
 *
 * Why "awake": the kernel charges the sender for waking a sleeping receiver, so the server would
 * pay for each moment in which the generator has nothing to do, and a slower server causes more
 * such moments. With "awake" the generator polls without sleeping, which needs a core of its own.
 *
 * Why not wrk: it uses more of its core than the server uses of the other one, leaves requests
 * under way when its time is over, and checks statuses only. loadtest/README.md has the figures.
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
    PATIENCE_MS = 10 * 1000, /* without any answer: then the run ends */
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
    uint64_t waited; /* CPU time spent on waiting when awake, in ns */
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

/* Wait for events and return their number; 0 after PATIENCE_MS. */
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

/* Send and read until the moment `end`, then read the answers under way. */
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
