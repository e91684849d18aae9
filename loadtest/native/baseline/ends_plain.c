/* Count the ends of requests on any processor. */
#include "ends.h"

#include <string.h>

struct ends ends_count(const char *bytes, size_t size)
{
    struct ends ends = {0};
    const char *end = bytes + size, *at = bytes;
    while ((at = memchr(at, '\r', (size_t)(end - at))) && end - at >= 4) {
        if (memcmp(at, "\r\n\r\n", 4) == 0) {
            at += 4;
            ends.count++;
            ends.rest = (size_t)(at - bytes);
        } else {
            at++;
        }
    }
    return ends;
}
