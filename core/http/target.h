/* The canonical target of a request: its path without escapes that it does not need (of the
 * unreserved characters of RFC 3986 section 2.3, and of "/"), and without query parameters that
 * this path does not know. Requests with the same canonical target get the same response.
 *
 * The rules are lines, each ended by a line feed:
 *
 *     METHOD PATH only NAME NAME* ...    all other parameters are dropped
 *     METHOD PATH without NAME ...       these parameters are dropped
 *
 * In PATH, "#" stands for digits, and a final "*" for anything. A NAME with "*" is kept each time,
 * others the first time. The first rule that matches is used; without one, the query stays, as does
 * one of more than LIMIT_PARAMETERS. */
#ifndef CORE_HTTP_TARGET_H
#define CORE_HTTP_TARGET_H

#include "base/slice.h"

/* Return the canonical form of `target` for a request of that method, "GET" or "POST": the target
 * itself, or a shorter one that is written to `to`, which has room for the target's size. */
struct slice target_canonical(struct slice rules, struct slice method, struct slice target,
                              char *to);

#endif
