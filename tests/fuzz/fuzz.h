/* Shared by the fuzz targets: an outcome that is not allowed ends the program, so that libFuzzer
 * keeps the input and shows it. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/slice.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ALLOW(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (fprintf(stderr, "%s:%d: not allowed: " #condition "\n", __FILE__, __LINE__), abort()))

static inline struct slice slice_of_bytes(const uint8_t *data, size_t size)
{
    return slice_of((const char *)data, size);
}

static inline bool is_within(struct slice part, struct slice all)
{
    return part.data >= all.data && part.data + part.size <= all.data + all.size;
}

#endif
