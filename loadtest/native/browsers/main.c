/* Browsers: many clients on one pthread that count errors instead of ending at the first.
 *
 *     browsers PORT CLIENTS SECONDS RATE FIRST FILE [TRUSTED]
 *
 * FILE and FIRST have the same meaning as for the generator (generator/main.c). If RATE is 0, each
 * browser sends its next request as soon as it has an answer. Otherwise RATE requests fall due per
 * second, whatever the server does, and a free browser takes the next one. Latency counts from the
 * moment when the request was due, so a server that stalls receives no fewer requests and does not
 * look better. TRUSTED is a file of certificates; with it, all requests use TLS, for "localhost".
 *
 * When SECONDS are over, no new request is sent, and the answers under way are awaited for at most
 * PATIENCE. The program prints one line of JSON: the answers by status, the number of wrong ones
 * and of late ones (after more than PATIENCE); `failed` counts requests without any answer.
 * Latencies are in µs and cover all answers.
 *
 * Why this exists beside the generator: the generator is the fastest client we could write, and it
 * ends at the first unexpected thing. The browsers are to be compared with the tools that people
 * use (JMeter, Locust), which count errors and meet servers that make them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "../generator/die.h"
#include "../generator/histogram.h"
#include "browser.h"

enum { EVENTS = 256, SHOWN_BYTES = 500 };

static const uint64_t SECOND = 1000000000u;
#define PATIENCE (10 * SECOND) /* the load test of the predecessor counted longer waits as errors */

struct load {
    struct plan plan;
    struct target target;
    struct histogram latency;
    struct browser *browsers; /* owns */
    struct browser **free;    /* owns; browsers without a request */
    size_t count, resting, busy;
    double rate;
    uint64_t begin, asked;
    uint64_t answered, wrong, late, failed, least;
    double sum;
    uint64_t statuses[1000];
};

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void load_begin(struct load *load)
{
    load->browsers = calloc(load->count, sizeof(*load->browsers));
    load->free = calloc(load->count, sizeof(struct browser *));
    load->target.poller = epoll_create1(EPOLL_CLOEXEC);
    if (!load->browsers || !load->free || load->target.poller < 0)
        die("cannot begin");
    for (size_t i = 0; i < load->count; i++) {
        load->browsers[i].input = malloc(ANSWER_BYTES);
        if (!load->browsers[i].input)
            die("no memory for answers");
        load->free[load->resting++] = &load->browsers[i];
    }
}

/* Return the moment at which the next request is due. */
static uint64_t load_due(const struct load *load, uint64_t time)
{
    if (load->rate <= 0)
        return time;
    return load->begin + (uint64_t)((double)load->asked / load->rate * (double)SECOND);
}

static void show(const struct browser *browser, struct verdict verdict)
{
    int shown = verdict.size < SHOWN_BYTES ? (int)verdict.size : SHOWN_BYTES;
    fprintf(stderr, "browsers: the first wrong answer:\n%.*s\n", shown, browser->input);
}

static void count(struct load *load, struct verdict verdict, uint64_t took)
{
    bool known = verdict.status > 99 && verdict.status < 1000;
    load->statuses[known ? verdict.status : 0]++;
    load->answered++;
    load->wrong += !verdict.right;
    load->late += took > PATIENCE;
    load->sum += (double)took;
    if (took < load->least)
        load->least = took;
    histogram_add(&load->latency, took);
}

static void load_go(struct load *load, struct browser *browser)
{
    struct verdict verdict = {0};
    enum browser_news news = browser_go(browser, &load->target, &load->plan, &verdict);
    if (news == BROWSER_WAITS)
        return;
    if (news == BROWSER_ANSWERED && !verdict.right && !load->wrong)
        show(browser, verdict);
    if (news == BROWSER_ANSWERED)
        count(load, verdict, now(CLOCK_MONOTONIC) - browser->begin);
    else
        load->failed++;
    load->busy--;
    load->free[load->resting++] = browser;
}

/* Send the requests that are due. Browsers that fail at once become free, but only at the next
 * event. */
static void load_ask(struct load *load, uint64_t time)
{
    for (size_t turn = load->resting; turn; turn--) {
        uint64_t due = load_due(load, time);
        if (due > time)
            return;
        struct browser *browser = load->free[--load->resting];
        browser_ask(browser, plan_take(&load->plan, 1), due);
        load->asked++;
        load->busy++;
        load_go(load, browser);
    }
}

/* Return how long to wait for an event: until a request is due or the time is over. */
static struct timespec patience(const struct load *load, uint64_t time, uint64_t end)
{
    uint64_t until = time < end ? end : end + PATIENCE;
    if (time < end && load->resting && load_due(load, time) < until)
        until = load_due(load, time);
    uint64_t rest = until > time ? until - time : 0;
    return (struct timespec){(time_t)(rest / SECOND), (long)(rest % SECOND)};
}

static void load_run(struct load *load, uint64_t end)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        uint64_t time = now(CLOCK_MONOTONIC);
        if (time < end)
            load_ask(load, time);
        if (time >= end && (!load->busy || time >= end + PATIENCE))
            break;
        struct timespec wait = patience(load, time, end);
        int ready = epoll_pwait2(load->target.poller, events, EVENTS, &wait, NULL);
        for (int i = 0; i < ready; i++) {
            struct browser *browser = events[i].data.ptr;
            if (browser->waiting)
                load_go(load, browser);
            else if (events[i].events & EPOLLRDHUP)
                browser_close(browser);
        }
    }
    load->failed += load->busy;
}

static void load_print(const struct load *load, double seconds, double cpu)
{
    const struct histogram *latency = &load->latency;
    double mean = load->answered ? load->sum / (double)load->answered : 0;
    printf("{\"answered\": %llu, \"wrong\": %llu, \"late\": %llu, \"failed\": %llu, "
           "\"seconds\": %.6f, \"cpu\": %.6f, \"statuses\": {",
           (unsigned long long)load->answered, (unsigned long long)load->wrong,
           (unsigned long long)load->late, (unsigned long long)load->failed, seconds, cpu);
    const char *comma = "";
    for (int status = 0; status < 1000; status++) {
        if (load->statuses[status]) {
            printf("%s\"%d\": %llu", comma, status, (unsigned long long)load->statuses[status]);
            comma = ", ";
        }
    }
    printf("}, \"latency\": {\"min\": %.1f, \"mean\": %.1f", (double)load->least / 1e3, mean / 1e3);
    static const int PARTS[] = {50, 90, 95, 99};
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(*PARTS); i++)
        printf(", \"p%d\": %.1f", PARTS[i],
               (double)histogram_percentile(latency, PARTS[i] / 100.0) / 1e3);
    printf(", \"max\": %.1f}}\n", (double)latency->greatest / 1e3);
}

int main(int argc, char **argv)
{
    static struct load load = {.least = UINT64_MAX};
    if (argc != 7 && argc != 8) {
        fprintf(stderr, "usage: browsers PORT CLIENTS SECONDS RATE FIRST FILE [TRUSTED]\n");
        return 2;
    }
    load.target.port = atoi(argv[1]);
    load.count = strtoul(argv[2], NULL, 10);
    load.rate = strtod(argv[4], NULL);
    load.plan.serial = strtoull(argv[5], NULL, 10);
    plan_read(&load.plan, argv[6]);
    errno = 0;
    if (!load.count)
        die("there must be a client");
    if (argc == 8)
        load.target.tls = browser_trust(argv[7]);
    load_begin(&load);
    uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    load.begin = now(CLOCK_MONOTONIC);
    uint64_t end = load.begin + (uint64_t)(strtod(argv[3], NULL) * (double)SECOND);
    load_run(&load, end);
    if (!load.answered)
        load.least = 0;
    uint64_t last = now(CLOCK_MONOTONIC);
    load_print(&load, (double)((last < end ? end : last) - load.begin) / 1e9,
               (double)(now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / 1e9);
    return 0;
}
