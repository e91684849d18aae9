/* Runs of bytes of one class, found with the widest instructions that this machine has. */
#ifndef CORE_HTTP_SCAN_H
#define CORE_HTTP_SCAN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum scan_class {
    SCAN_TOKEN,  /* tchar, RFC 9110 section 5.6.2 */
    SCAN_TARGET, /* visible ASCII but "#", which never belongs into a request */
    SCAN_VALUE,  /* field-vchar, obs-text, space, tab: RFC 9110 section 5.5 */
    SCAN_HOST,   /* reg-name without the comma, which proxies use to join fields */
    SCAN_CLASSES,
};

/* The first byte from `at` on that is not of `class`, or `end`. No byte at or behind `end` is
 * touched. */
typedef const char *scanner(const char *at, const char *end, enum scan_class class);

/* The best scanner of this machine; it is chosen when the program is loaded. */
extern scanner *scan_run;

/* Byte by byte: the meaning of the others, and what they do with the last bytes. */
scanner scan_plain;

/* True when `text` is a token (RFC 9110 section 5.6.2). */
bool scan_is_token(struct slice text);

/* True when no byte of `text` could end a field line: no control character but the tab. */
bool scan_is_field_value(struct slice text);

/* --- between scan.c and the file of the machine --- */

/* A class as two tables for a byte-shuffling instruction: bit h of `low[l]` says that the byte
 * 0xhl is of the class, bit h of `high[l]` says so of the byte 0x(h+8)l. */
struct scan_set {
    uint8_t low[16];
    uint8_t high[16];
};

extern struct scan_set scan_sets[SCAN_CLASSES];

/* The scanners that this processor can run, the fastest first and `scan_plain` last; their number.
 * It is defined once for each machine. */
enum { SCAN_LIST = 3 };
unsigned scan_list(scanner *list[SCAN_LIST]);

#endif
