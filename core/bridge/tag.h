/* A tag names what a response depends on, or whose events a stream gets. Most of the core knows a
 * tag by its index, a hash of it. Two tags with the same index only cost a needless miss, or an
 * event without recipients. */
#ifndef CORE_BRIDGE_TAG_H
#define CORE_BRIDGE_TAG_H

#include "base/slice.h"

#include <stdint.h>

/* With 10,000 tags in use, one in seven shares its index with another. */
enum { TAG_INDEXES = 1 << 16 };

/* The index of a tag, which is less than TAG_INDEXES. */
uint32_t tag_index(struct slice tag);

#endif
