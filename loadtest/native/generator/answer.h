#ifndef ANSWER_H
#define ANSWER_H

/* What a right answer is, and whether one is right.
 *
 * The first right answer to a question is parsed, compared with what the file demands, and
 * remembered whole. A later answer that has the same bytes, the value of its Date apart, is right
 * without being parsed again; so every byte of every answer is looked at, for a memcmp. */
#include <stdbool.h>
#include <stddef.h>

enum { ANSWER_BYTES = 2 << 20 }; /* an answer, at most: a list of 1,000 comments has 0.7 MiB */

struct expected {
    int status;
    const char *body; /* borrowed from who read the file; NULL if any will do */
    size_t body_size;
    char *seen; /* owns; NULL as long as none was right */
    size_t seen_size, date;
};

struct verdict {
    size_t size; /* of the whole answer; 0 while more bytes are needed */
    int status;
    bool right;
};

/* Judge the answer at the head of `bytes`. One that is no HTTP/1.1 with a Content-Length, or is
 * larger than ANSWER_BYTES, ends the run. */
struct verdict answer_judge(struct expected *expected, const char *bytes, size_t have);

#endif
