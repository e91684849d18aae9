/* The trace: a line of text for each request.
 *
 * It is a ring of records, written by its worker and read by one thread at a time, without a lock.
 * The worker never waits for the reader: a record that finds the ring full is lost and counted, and
 * the reader reports how many. A record holds the first bytes of a request as they came. The reader
 * escapes everything but visible ASCII, so a client cannot forge a line. */
#ifndef CORE_SERVER_TRACE_H
#define CORE_SERVER_TRACE_H

#include "base/slice.h"
#include "server/stats.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum {
    /* Bytes of a request that are kept: enough for the method and a usual target. */
    TRACE_BYTES = 200,
    /* Bytes that a line may take as text, each byte of the request written as four. */
    TRACE_LINE = 1024,
};

enum trace_kind { TRACE_HIT, TRACE_MISS, TRACE_REFUSED, TRACE_ABORTED };

/* A request under way, then a record. */
struct trace_line {
    struct timespec date; /* of the end */
    int64_t began;        /* by `clock_exact` */
    int64_t took;         /* nanoseconds */
    uint32_t python_us;   /* microseconds of them in Python's hands, for a miss */
    size_t answer;        /* bytes of it, with its head */
    int status;           /* 0: no answer */
    enum trace_kind kind;
    bool cut; /* the target is longer */
    unsigned char size;
    char bytes[TRACE_BYTES]; /* "METHOD TARGET", or whatever came instead */
};

struct trace {
    _Atomic uint64_t written; /* records ever, by the worker */
    _Atomic uint64_t read;    /* and by the reader */
    counter lost;             /* records that found no room */
    uint64_t reported;        /* of those, reported by the reader */
    uint32_t room;
    struct trace_line lines[];
};

/* A trace with room for so many records, at least one; NULL without memory. */
struct trace *trace_new(uint32_t room);
void trace_free(struct trace *trace);

/* Begin the line of the request at the start of `bytes`, of which some may be missing. */
void trace_begin(struct trace_line *line, struct slice bytes);

/* End it with an answer, of which the head must be whole, or with none, and put it into the
 * trace. */
void trace_end(struct trace *trace, struct trace_line *line, enum trace_kind kind,
               struct slice answer, uint32_t python);

/* Take lines as text, each with its newline, as many as `room` allows for sure (at least one when
 * it is TRACE_LINE). Returns their bytes. */
size_t trace_read(struct trace *trace, char *text, size_t room);

#endif
