/* Tags; see tag.h. */
#include "bridge/tag.h"

#include "base/hash.h"

uint32_t tag_index(struct slice tag)
{
    /* Tags come from our own program, so the key need not be secret. */
    static const struct hash_key key = {0x243f6a8885a308d3u, 0x13198a2e03707344u};
    return (uint32_t)hash_bytes(&key, tag.data, tag.size) % TAG_INDEXES;
}
