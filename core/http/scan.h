/* Finds runs of bytes of one class, with the widest instructions of this machine. */
#ifndef CORE_HTTP_SCAN_H
#define CORE_HTTP_SCAN_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum scan_class {
    SCAN_TOKEN,  /* tchar, RFC 9110 section 5.6.2 */
    SCAN_TARGET, /* visible ASCII except "#", which is not allowed in a request */
    SCAN_VALUE,  /* field-vchar, obs-text, space, tab: RFC 9110 section 5.5 */
    SCAN_HOST,   /* reg-name without the comma, with which proxies join fields */
    SCAN_CLASSES,
};

/* The first byte from `at` on that is not of `class`, or `end`. No byte at or after `end` is read.
 */
typedef const char *scanner(const char *at, const char *end, enum scan_class class);

/* The best scanner for this machine, chosen when the program is loaded. */
extern scanner *scan_run;

/* Byte by byte: the reference for the others, which use it for their last bytes. */
scanner scan_plain;

/* True when `text` is a token (RFC 9110 section 5.6.2). */
bool scan_is_token(struct slice text);

/* True if no byte of `text` could end a field line: no control character except the tab. */
bool scan_is_field_value(struct slice text);

/* --- between scan.c and the file of the machine --- */

/* A class as two tables for a byte-shuffling instruction: bit h of `low[l]` says that the byte
 * 0xhl is of the class, bit h of `high[l]` says so of the byte 0x(h+8)l. */
struct scan_set {
    uint8_t low[16];
    uint8_t high[16];
};

extern struct scan_set scan_sets[SCAN_CLASSES];

/* The scanners that this processor supports, the fastest first and `scan_plain` last; return their
 * number. It is defined once per machine architecture. */
enum { SCAN_LIST = 3 };
unsigned scan_list(scanner *list[SCAN_LIST]);

#endif
