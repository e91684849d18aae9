/* Entity tags (RFC 9110 section 8.8.3): made from the bytes of a body, and found in
 * If-None-Match. */
#ifndef CORE_HTTP_ETAG_H
#define CORE_HTTP_ETAG_H

#include "base/slice.h"

#include <stdbool.h>

/* 64 bits in base64url (RFC 4648 section 5), between quotes. */
enum { ETAG_SIZE = 13 };

/* Write the strong tag of `body` into `text` and return it as a slice. The same body has the same
 * tag in every process, so that a restart does not invalidate clients' caches. */
struct slice etag_make(struct slice body, char text[ETAG_SIZE]);

/* True if the value of an If-None-Match field is "*" or names `etag`, by the weak comparison that
 * the field requires. A malformed value names nothing. */
bool etag_is_named(struct slice value, struct slice etag);

#endif
