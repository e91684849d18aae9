/* Scanners for x86-64: 32 or 16 bytes at a time.
 *
 * A byte belongs to a class when the bit of its high nibble is set in the row of its low
 * nibble (see `struct scan_set`). Both look-ups are byte shuffles, which take the low four bits of
 * each byte as an index and give 0 where its top bit is set: so the byte itself selects its row in
 * `low`, and with the top bit turned over in `high`, and one of the two is 0. */
#include "http/scan.h"

#include <immintrin.h>

/* The bit of each high nibble; those of 8 and above stand for `high`. */
#define BITS 1, 2, 4, 8, 16, 32, 64, -128, 1, 2, 4, 8, 16, 32, 64, -128

/* A bit for each of 16 bytes that is outside the class. */
__attribute__((target("sse4.2"), always_inline)) static inline unsigned
outside_16(const char *at, __m128i low, __m128i high)
{
    const __m128i bits = _mm_setr_epi8(BITS);
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i other = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
    __m128i row = _mm_or_si128(_mm_shuffle_epi8(low, bytes), _mm_shuffle_epi8(high, other));
    __m128i nibble = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
    __m128i member = _mm_and_si128(row, _mm_shuffle_epi8(bits, nibble));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(member, _mm_setzero_si128()));
}

__attribute__((target("sse4.2"))) static const char *scan_sse42(const char *at, const char *end,
                                                                enum scan_class class)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)scan_sets[class].low);
    const __m128i high = _mm_loadu_si128((const __m128i *)scan_sets[class].high);
    for (; end - at >= 16; at += 16) {
        unsigned outside = outside_16(at, low, high);
        if (outside)
            return at + __builtin_ctz(outside);
    }
    return scan_plain(at, end, class);
}

/* A bit for each of 32 bytes that is outside the class. */
__attribute__((target("avx2"), always_inline)) static inline unsigned
outside_32(const char *at, __m256i low, __m256i high)
{
    const __m256i bits = _mm256_setr_epi8(BITS, BITS);
    __m256i bytes = _mm256_loadu_si256((const __m256i *)at);
    __m256i other = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
    __m256i row =
        _mm256_or_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, other));
    __m256i nibble = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    __m256i member = _mm256_and_si256(row, _mm256_shuffle_epi8(bits, nibble));
    return (unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(member, _mm256_setzero_si256()));
}

__attribute__((target("avx2"))) static const char *scan_avx2(const char *at, const char *end,
                                                             enum scan_class class)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)scan_sets[class].low);
    const __m128i high = _mm_loadu_si128((const __m128i *)scan_sets[class].high);
    const __m256i low_twice = _mm256_broadcastsi128_si256(low);
    const __m256i high_twice = _mm256_broadcastsi128_si256(high);
    for (; end - at >= 32; at += 32) {
        unsigned outside = outside_32(at, low_twice, high_twice);
        if (outside)
            return at + __builtin_ctz(outside);
    }
    if (end - at >= 16) {
        unsigned outside = outside_16(at, low, high);
        if (outside)
            return at + __builtin_ctz(outside);
        at += 16;
    }
    return scan_plain(at, end, class);
}

unsigned scan_list(scanner *list[SCAN_LIST])
{
    unsigned count = 0;
    if (__builtin_cpu_supports("avx2"))
        list[count++] = scan_avx2;
    if (__builtin_cpu_supports("sse4.2"))
        list[count++] = scan_sse42;
    list[count++] = scan_plain;
    return count;
}
