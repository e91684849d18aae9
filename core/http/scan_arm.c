/* The scanner for 64-bit ARM: 16 bytes at a time, by instructions that each such processor has.
 *
 * It looks bytes up as scan_x86.c describes. Here a look-up takes a whole byte as its index. One
 * that is 16 or more gives 0 (vqtbl1q) or leaves what was there (vqtbx1q), so the bits between the
 * low nibble and the top bit are removed first. */
#include "http/scan.h"

#include <arm_neon.h>

/* The bit of each high nibble; those of 8 and above stand for `high`. */
static const uint8_t BITS[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};

/* Four bits for each of 16 bytes, set where it is outside the class. */
static inline uint64_t outside_16(const char *at, uint8x16_t low, uint8x16_t high, uint8x16_t bits)
{
    uint8x16_t bytes = vld1q_u8((const uint8_t *)at);
    uint8x16_t index = vandq_u8(bytes, vdupq_n_u8(0x8f));
    uint8x16_t row = vqtbl1q_u8(low, index);
    row = vqtbx1q_u8(row, high, veorq_u8(index, vdupq_n_u8(0x80)));
    uint8x16_t member = vtstq_u8(row, vqtbl1q_u8(bits, vshrq_n_u8(bytes, 4)));
    /* The middle of each two bytes: four bits of either. */
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(member), 4);
    return ~vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
}

static const char *scan_neon(const char *at, const char *end, enum scan_class class)
{
    const uint8x16_t low = vld1q_u8(scan_sets[class].low);
    const uint8x16_t high = vld1q_u8(scan_sets[class].high);
    const uint8x16_t bits = vld1q_u8(BITS);
    for (; end - at >= 16; at += 16) {
        uint64_t outside = outside_16(at, low, high, bits);
        if (outside)
            return at + __builtin_ctzll(outside) / 4;
    }
    return scan_plain(at, end, class);
}

unsigned scan_list(scanner *list[SCAN_LIST])
{
    list[0] = scan_neon;
    list[1] = scan_plain;
    return 2;
}
