/* Content codings (RFC 9110 sections 8.4.1 and 12.5.3): which one a client gets. */
#ifndef CORE_HTTP_CODING_H
#define CORE_HTTP_CODING_H

#include "base/slice.h"

#include <stdbool.h>

/* True when a client with this value of Accept-Encoding takes gzip at least as gladly as a body
 * without a coding. What is malformed is taken for a refusal. */
bool coding_prefers_gzip(struct slice accept_encoding);

#endif
