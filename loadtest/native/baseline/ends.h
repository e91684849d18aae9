#ifndef ENDS_H
#define ENDS_H

/* Counts the requests without a body that end in a piece of a byte stream.
 *
 * A request ends with its empty line: CR LF CR LF. Two ends do not share a byte. */
#include <stddef.h>

/* Bytes behind the piece that may be read; what they hold does not matter. */
enum { ENDS_SLACK = 64 };

struct ends {
    size_t count;
    size_t rest; /* offset at which the next request begins */
};

/* Each kind of processor has its own implementation; the build chooses the file. */
struct ends ends_count(const char *bytes, size_t size);

#endif
