/* Whether a client shows what it gets to a person (RFC 9110 section 12.5.1, Fetch Metadata). */
#ifndef CORE_HTTP_ACCEPT_H
#define CORE_HTTP_ACCEPT_H

#include "base/slice.h"

#include <stdbool.h>

/* True if a browser opens an address: Accept names the media type of `pages` and not that `other`
 * for programs, both in lower case, and Sec-Fetch-Mode, if there is one, says so. Weights such as
 * `;q=0` are not read, and the last line of a field counts. `lines` are field lines, perhaps
 * behind a request line, malformed or cut. */
bool accept_is_for_person(struct slice lines, struct slice pages, struct slice other);

#endif
