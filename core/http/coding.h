/* Content codings (RFC 9110 sections 8.4.1 and 12.5.3): which one a client gets. */
#ifndef CORE_HTTP_CODING_H
#define CORE_HTTP_CODING_H

#include "base/slice.h"

/* If a client accepts several with the same weight, the last one of these is preferred. */
enum coding { CODING_IDENTITY, CODING_GZIP, CODING_BROTLI, CODINGS };

/* The name of each coding in Content-Encoding. */
extern const char *const CODING_NAMES[CODINGS];

/* The coding that a client with this value of Accept-Encoding prefers, among those in `available`,
 * as bits `1 << coding`. Identity is always available, a malformed weight counts as a refusal. */
enum coding coding_choose(struct slice accept_encoding, unsigned available);

#endif
