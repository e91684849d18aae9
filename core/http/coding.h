/* Content codings (RFC 9110 sections 8.4.1 and 12.5.3): which one a client gets. */
#ifndef CORE_HTTP_CODING_H
#define CORE_HTTP_CODING_H

#include "base/slice.h"

#include <stdbool.h>

/* True if a client with this value of Accept-Encoding accepts gzip with at least the weight of no
 * coding. A malformed value counts as a refusal. */
bool coding_prefers_gzip(struct slice accept_encoding);

#endif
