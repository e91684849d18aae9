/* Entity tags. */
#include "http/etag.h"

#include "base/hash.h"

#include <stdint.h>

struct slice etag_make(struct slice body, char text[ETAG_SIZE])
{
    static const struct hash_key key = {0xa4093822299f31d0u, 0x082efa98ec4e6c89u};
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint64_t rest = hash_bytes(&key, body.data, body.size);
    char *at = text;
    *at++ = '"';
    for (int digit = 2; digit < ETAG_SIZE; digit++, rest >>= 6)
        *at++ = digits[rest & 63];
    *at = '"';
    return slice_of(text, ETAG_SIZE);
}

bool etag_is_named(struct slice value, struct slice etag)
{
    if (slice_equal(value, SLICE("*")))
        return true;
    while (value.size > 0) {
        if (value.data[0] == ',' || value.data[0] == ' ' || value.data[0] == '\t') {
            slice_skip(&value, 1);
            continue;
        }
        if (value.size > 2 && value.data[0] == 'W' && value.data[1] == '/')
            slice_skip(&value, 2);
        if (value.data[0] != '"')
            return false;
        const char *end = memchr(value.data + 1, '"', value.size - 1);
        if (!end)
            return false;
        size_t size = (size_t)(end - value.data) + 1;
        if (slice_equal(slice_of(value.data, size), etag))
            return true;
        slice_skip(&value, size);
    }
    return false;
}
