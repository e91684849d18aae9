/* The timers of a worker's connections, in its thread. All timers of one kind have the same
 * duration, so each kind is a queue in order of time: setting a timer and finding the next are
 * O(1). A timer is a member of its owner and is linked into at most one queue. */
#ifndef CORE_IO_TIMERS_H
#define CORE_IO_TIMERS_H

#include <stdint.h>

enum timer_kind {
    TIMER_IDLE,         /* between two requests */
    TIMER_PROXY_HEADER, /* until the PROXY header is whole */
    TIMER_HEAD,         /* until the head is whole */
    TIMER_BODY,         /* until the body is whole */
    TIMER_HANDLER,      /* until Python's reply */
    TIMER_WRITE,        /* until the client takes more of its answers */
    TIMER_STREAM,       /* until a stream has to send a heartbeat */
    TIMER_LINGER,       /* until the client closes its side */
    TIMER_KINDS,
};

/* A member of the owner's struct; linked into at most one queue. */
struct timer {
    struct timer *earlier;
    struct timer *later;
    int64_t moment; /* monotonic milliseconds */
    enum timer_kind kind;
};

struct timers {
    struct timer queues[TIMER_KINDS]; /* rings; each is its own first and last */
    int64_t durations[TIMER_KINDS];   /* milliseconds */
};

void timers_init(struct timers *timers, const int64_t durations[TIMER_KINDS]);

void timer_init(struct timer *timer);

/* Set `timer` to the duration of `kind` after `now`; this removes it from its previous queue. */
void timer_set(struct timer *timer, struct timers *timers, enum timer_kind kind, int64_t now);

void timer_clear(struct timer *timer);

/* Shorten all timers of `kind`, also future ones, to `duration` milliseconds after they were set,
 * if that is shorter than now. */
void timers_shorten(struct timers *timers, enum timer_kind kind, int64_t duration);

/* The oldest of a kind, or NULL. */
struct timer *timers_oldest(struct timers *timers, enum timer_kind kind);

/* A timer whose time is not after `now`, or NULL. It stays in its queue. */
struct timer *timers_due(struct timers *timers, int64_t now);

/* Milliseconds from `now` to the next one, at least 0; -1 when there is none. */
int timers_wait(struct timers *timers, int64_t now);

#endif
