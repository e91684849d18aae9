/* The outcome of reading bytes as a body. */
#ifndef TESTS_OUTCOME_H
#define TESTS_OUTCOME_H

#include "fuzz.h"

#include "http/body.h"

enum { BODY_LIMIT = 100 };

struct outcome {
    int result;
    struct slice rest; /* begins where the next request would */
    size_t size;
    char payload[BODY_LIMIT];
};

/* Read `input` in pieces of `step` bytes. */
static inline struct outcome read_body(const struct head *head, struct slice input, size_t step)
{
    struct body body;
    struct slice piece;
    struct outcome outcome = {.result = body_init(&body, head, BODY_LIMIT), .rest = input};
    size_t end = 0;
    bool goes_on = outcome.result == 0;
    while (goes_on && end < input.size) {
        end = input.size - end < step ? input.size : end + step;
        outcome.rest.size = end - (size_t)(outcome.rest.data - input.data);
        while ((outcome.result = body_next(&body, &outcome.rest, &piece)) == BODY_PIECE) {
            ALLOW(is_within(piece, input) && piece.size <= BODY_LIMIT - outcome.size);
            memcpy(outcome.payload + outcome.size, piece.data, piece.size);
            outcome.size += piece.size;
        }
        goes_on = outcome.result == BODY_NEED_MORE;
        ALLOW(!goes_on || outcome.rest.size == 0);
    }
    return outcome;
}

#endif
