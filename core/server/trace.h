/* The trace: a line of text for each request.
 *
 * It is a ring buffer of records, written by its worker and read by one thread at a time, without a
 * lock. The worker never waits for the reader: if the buffer is full, a record is lost and counted,
 * and the reader reports how many. A record has the first bytes of a request as they arrived. The
 * reader escapes everything except visible ASCII, so a client cannot forge a line. */
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

/* A request in progress, later a record. */
struct trace_line {
    struct timespec date; /* of the end */
    int64_t began;        /* by `clock_exact` */
    int64_t took;         /* nanoseconds */
    uint32_t python_us;   /* microseconds of them that Python took, for a miss */
    size_t answer;        /* bytes of it, with its head */
    int status;           /* 0: no answer */
    enum trace_kind kind;
    bool cut; /* the target is longer */
    unsigned char size;
    char bytes[TRACE_BYTES]; /* "METHOD TARGET", or whatever was sent */
};

struct trace {
    _Atomic uint64_t written; /* records ever, by the worker */
    _Atomic uint64_t read;    /* and by the reader */
    counter lost;             /* records that found no room */
    uint64_t reported;        /* of those, reported by the reader */
    uint32_t room;
    struct trace_line lines[];
};

/* Make a trace for `room` records, at least one; NULL without memory. */
struct trace *trace_new(uint32_t room);
void trace_free(struct trace *trace);

/* Begin the line of the request at the start of `bytes`, of which some may be missing. */
void trace_begin(struct trace_line *line, struct slice bytes);

/* End the line with a response, whose head must be complete, or without one, and store it in the
 * trace. */
void trace_end(struct trace *trace, struct trace_line *line, enum trace_kind kind,
               struct slice answer, uint32_t python);

/* Read lines as text, each with its newline, as many as surely fit into `room` (at least one if it
 * is TRACE_LINE). Return the number of bytes. */
size_t trace_read(struct trace *trace, char *text, size_t room);

#endif
