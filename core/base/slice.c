/* Slices: comparison and list members. */
#include "base/slice.h"

static char to_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte | 0x20) : byte;
}

bool slice_equal_nocase(struct slice a, struct slice lower)
{
    if (a.size != lower.size)
        return false;
    for (size_t i = 0; i < a.size; i++)
        if (to_lower(a.data[i]) != lower.data[i])
            return false;
    return true;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct slice slice_trim(struct slice slice)
{
    while (slice.size > 0 && is_blank(slice.data[0]))
        slice_skip(&slice, 1);
    while (slice.size > 0 && is_blank(slice.data[slice.size - 1]))
        slice.size--;
    return slice;
}

bool slice_next_member(struct slice *list, struct slice *member)
{
    while (list->size > 0) {
        const char *comma = memchr(list->data, ',', list->size);
        size_t size = comma ? (size_t)(comma - list->data) : list->size;
        *member = slice_trim(slice_of(list->data, size));
        slice_skip(list, comma ? size + 1 : size);
        if (member->size > 0)
            return true;
    }
    return false;
}
