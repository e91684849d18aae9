/* Count the ends of requests, 32 positions at a time, with AVX2. If the bytes at a position and two
 * positions later are both LF, the position is the second byte of an end, provided that both CR are
 * there too. The CR are checked for those positions only, which is once per request. */
#include "ends.h"

#include <immintrin.h>
#include <string.h>

enum { STEP = 32 };

static __m256i load(const char *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

struct ends ends_count(const char *bytes, size_t size)
{
    struct ends ends = {0};
    const __m256i lf = _mm256_set1_epi8('\n');
    /* `at` is the position of the first LF of an end, so the end begins one byte earlier. */
    for (size_t at = 1; at + 3 <= size; at += STEP) {
        __m256i here = _mm256_cmpeq_epi8(load(bytes + at), lf);
        __m256i next = _mm256_cmpeq_epi8(load(bytes + at + 2), lf);
        unsigned found = (unsigned)_mm256_movemask_epi8(_mm256_and_si256(here, next));
        for (; found; found &= found - 1) {
            size_t begin = at + (size_t)__builtin_ctz(found) - 1;
            if (begin + 4 <= size && begin >= ends.rest &&
                memcmp(bytes + begin, "\r\n\r\n", 4) == 0) {
                ends.count++;
                ends.rest = begin + 4;
            }
        }
    }
    return ends;
}
