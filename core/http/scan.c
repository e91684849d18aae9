/* The classes of bytes, once, and the scanner that needs no special instructions. */
#include "http/scan.h"

/* One bit for each class. */
enum {
    T = 1 << SCAN_TOKEN,
    R = 1 << SCAN_TARGET,
    V = 1 << SCAN_VALUE,
    H = 1 << SCAN_HOST,
    RV = R | V,
    TRV = T | R | V,
    HRV = H | R | V,
    ALL = T | R | V | H,
};

/* clang-format off */
static const unsigned char CLASSES[256] = {
    ['\t'] = V, [' '] = V,
    ['!'] = ALL, ['"'] = RV, ['#'] = T | V, ['$'] = ALL, ['%'] = ALL, ['&'] = ALL,
    ['\''] = ALL, ['('] = HRV, [')'] = HRV, ['*'] = ALL, ['+'] = ALL, [','] = RV, ['-'] = ALL,
    ['.'] = ALL, ['/'] = RV, ['0' ... '9'] = ALL, [':'] = RV, [';'] = HRV, ['<'] = RV,
    ['='] = HRV, ['>'] = RV, ['?'] = RV, ['@'] = RV, ['A' ... 'Z'] = ALL, ['['] = RV, ['\\'] = RV,
    [']'] = RV, ['^'] = TRV, ['_'] = ALL, ['`'] = TRV, ['a' ... 'z'] = ALL, ['{'] = RV,
    ['|'] = TRV, ['}'] = RV, ['~'] = ALL, [0x80 ... 0xff] = V,
};
/* clang-format on */

static bool is(unsigned char byte, enum scan_class class)
{
    return CLASSES[byte] >> class & 1;
}

const char *scan_plain(const char *at, const char *end, enum scan_class class)
{
    while (at < end && is((unsigned char)*at, class))
        at++;
    return at;
}

scanner *scan_run = scan_plain;
struct scan_set scan_sets[SCAN_CLASSES];

static bool is_all(struct slice text, enum scan_class class)
{
    const char *end = text.data + text.size;
    return scan_run(text.data, end, class) == end;
}

bool scan_is_token(struct slice text)
{
    return text.size > 0 && is_all(text, SCAN_TOKEN);
}

bool scan_is_field_value(struct slice text)
{
    return is_all(text, SCAN_VALUE);
}

/* Before main, so before any thread that scans. */
__attribute__((constructor)) static void choose(void)
{
    for (enum scan_class class = 0; class < SCAN_CLASSES; class++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            struct scan_set *set = &scan_sets[class];
            uint8_t *row = byte < 128 ? set->low : set->high;
            row[byte & 15] |= (uint8_t)(is((unsigned char)byte, class) << (byte >> 4 & 7));
        }
    }
    scanner *list[SCAN_LIST];
    scan_list(list);
    scan_run = list[0];
}
