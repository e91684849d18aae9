#ifndef ANSWER_H
#define ANSWER_H

/* Decide whether an answer is right.
 *
 * The first right answer to a request is parsed, compared with what the file demands, and stored
 * whole. A later answer with the same bytes, except for the value of its Date, is right without
 * being parsed again. So every byte of every answer is checked, at the cost of a memcmp. */
#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_BYTES = 2 << 20 }; /* the largest answer; a list of 1,000 comments has 0.7 MiB */

struct expected {
    int status;
    const char *body; /* borrowed from the plan; NULL if any body is right */
    size_t body_size;
    char *seen; /* owns; NULL until an answer was right */
    size_t seen_size, date;
};

struct verdict {
    size_t size; /* of the whole answer; 0 while more bytes are needed */
    int status;
    bool right;
};

/* Judge the answer at the beginning of `bytes`. One that is not HTTP/1.1 with a Content-Length, or
 * is larger than ANSWER_BYTES, ends the program. */
struct verdict answer_judge(struct expected *expected, const char *bytes, size_t have);

#endif
