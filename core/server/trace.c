/* The trace; see trace.h. `trace_read` runs in the reader's thread, all else in the worker's. */
#include "server/trace.h"

#include "base/clock.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const KINDS[] = {
    [TRACE_HIT] = "hit",
    [TRACE_MISS] = "miss",
    [TRACE_REFUSED] = "refused",
    [TRACE_ABORTED] = "aborted",
};

struct trace *trace_new(uint32_t room)
{
    assert(room > 0);
    struct trace *trace = calloc(1, sizeof *trace + room * sizeof *trace->lines);
    if (trace)
        trace->room = room;
    return trace;
}

void trace_free(struct trace *trace)
{
    free(trace);
}

/* The bytes of method and target: up to the second space, or the end of the line. */
static size_t measure(struct slice bytes)
{
    size_t size = 0;
    int spaces = 0;
    while (size < bytes.size && bytes.data[size] != '\r' && bytes.data[size] != '\n') {
        spaces += bytes.data[size] == ' ';
        if (spaces == 2)
            break;
        size++;
    }
    return size;
}

void trace_begin(struct trace_line *line, struct slice bytes)
{
    if (bytes.size >= 2 && memcmp(bytes.data, "\r\n", 2) == 0)
        slice_skip(&bytes, 2); /* as the parser does */
    /* A longer line need not be measured to its end. */
    bool more = bytes.size > TRACE_BYTES;
    bytes.size = more ? TRACE_BYTES : bytes.size;
    size_t size = measure(bytes);
    memcpy(line->bytes, bytes.data, size);
    line->size = (unsigned char)size;
    line->cut = more && size == TRACE_BYTES;
    line->began = clock_exact();
}

/* The status in an answer's status line, "HTTP/1.1 200 …". */
static int status_of(struct slice answer)
{
    return answer.size > 12 ? atoi(answer.data + 9) : 0;
}

void trace_end(struct trace *trace, struct trace_line *line, enum trace_kind kind,
               struct slice answer, uint32_t python)
{
    uint64_t written = atomic_load_explicit(&trace->written, memory_order_relaxed);
    if (written - atomic_load_explicit(&trace->read, memory_order_acquire) == trace->room) {
        counter_add(&trace->lost, 1);
        return;
    }
    line->took = clock_exact() - line->began;
    clock_gettime(CLOCK_REALTIME, &line->date);
    line->kind = kind;
    line->status = status_of(answer);
    line->answer = answer.size;
    line->python_us = python;
    trace->lines[written % trace->room] = *line;
    atomic_store_explicit(&trace->written, written + 1, memory_order_release);
}

/* Write escaped bytes of a client; "-" if there are none. */
static char *put_escaped(char *at, struct slice bytes)
{
    if (bytes.size == 0)
        *at++ = '-';
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char byte = (unsigned char)bytes.data[i];
        if (byte > ' ' && byte < 0x7f && byte != '\\')
            *at++ = (char)byte;
        else
            at += sprintf(at, "\\x%02x", byte);
    }
    return at;
}

static char *put_line(char *at, const struct trace_line *line)
{
    struct slice method = slice_of(line->bytes, line->size), target = slice_of("", 0);
    const char *space = memchr(method.data, ' ', method.size);
    if (space) {
        method.size = (size_t)(space - line->bytes);
        target = slice_of(space + 1, line->size - method.size - 1);
    }
    struct tm tm;
    gmtime_r(&line->date.tv_sec, &tm);
    at += strftime(at, 32, "trace %Y-%m-%dT%H:%M:%S", &tm);
    at += sprintf(at, ".%03ldZ %s ", line->date.tv_nsec / 1000000, KINDS[line->kind]);
    at = put_escaped(at, method);
    at += sprintf(at, " %d %zu %.1f ", line->status, line->answer, (double)line->took / 1000);
    at +=
        line->kind == TRACE_MISS ? sprintf(at, "%" PRIu32 " ", line->python_us) : sprintf(at, "- ");
    at = put_escaped(at, target);
    return at + sprintf(at, line->cut ? "...\n" : "\n");
}

size_t trace_read(struct trace *trace, char *text, size_t room)
{
    char *at = text;
    uint64_t read = atomic_load_explicit(&trace->read, memory_order_relaxed);
    uint64_t written = atomic_load_explicit(&trace->written, memory_order_acquire);
    while (read < written && room - (size_t)(at - text) >= TRACE_LINE) {
        at = put_line(at, &trace->lines[read % trace->room]);
        atomic_store_explicit(&trace->read, ++read, memory_order_release);
    }
    uint64_t lost = atomic_load_explicit(&trace->lost, memory_order_relaxed);
    if (lost > trace->reported && room - (size_t)(at - text) >= TRACE_LINE) {
        at += sprintf(at, "trace %" PRIu64 " lines lost\n", lost - trace->reported);
        trace->reported = lost;
    }
    return (size_t)(at - text);
}
