/* Deadlines of connections. All deadlines of one kind lie the same time ahead when they are set, so
 * each kind is a plain queue in order of time: setting and finding the next are O(1). */
#ifndef CORE_IO_TIMERS_H
#define CORE_IO_TIMERS_H

#include <stdint.h>

enum deadline_kind {
    DEADLINE_IDLE,         /* between two requests */
    DEADLINE_PROXY_HEADER, /* until the PROXY header is whole */
    DEADLINE_HEAD,         /* until the head is whole */
    DEADLINE_BODY,         /* until the body is whole */
    DEADLINE_HANDLER,      /* until Python's reply */
    DEADLINE_WRITE,        /* until the client takes more of its answers */
    DEADLINE_STREAM,       /* until a stream has to give a sign of life */
    DEADLINE_LINGER,       /* until the client closes its side */
    DEADLINE_KINDS,
};

/* A member of the owner's struct; linked into at most one queue. */
struct deadline {
    struct deadline *earlier;
    struct deadline *later;
    int64_t moment; /* monotonic milliseconds */
    enum deadline_kind kind;
};

struct deadlines {
    struct deadline queues[DEADLINE_KINDS]; /* rings; each is its own first and last */
    int64_t durations[DEADLINE_KINDS];      /* milliseconds */
};

void deadlines_init(struct deadlines *deadlines, const int64_t durations[DEADLINE_KINDS]);

void deadline_init(struct deadline *deadline);

/* Put `deadline` `kind`'s duration after `now`, out of the queue it was in. */
void deadline_set(struct deadline *deadline, struct deadlines *deadlines, enum deadline_kind kind,
                  int64_t now);

void deadline_clear(struct deadline *deadline);

/* Let all deadlines of `kind`, set or still to be set, come earlier: `duration` milliseconds after
 * the moment that they count from, where that is less than now. */
void deadlines_shorten(struct deadlines *deadlines, enum deadline_kind kind, int64_t duration);

/* The oldest of a kind, or NULL. */
struct deadline *deadlines_oldest(struct deadlines *deadlines, enum deadline_kind kind);

/* One whose moment is not after `now`, or NULL. It stays in its queue. */
struct deadline *deadlines_due(struct deadlines *deadlines, int64_t now);

/* Milliseconds from `now` to the next one, at least 0; -1 when there is none. */
int deadlines_wait(struct deadlines *deadlines, int64_t now);

#endif
