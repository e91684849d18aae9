#include "http/accept.h"

#include <string.h>

/* If the line is of the field `lower`, cut its name and colon off. */
static bool cut_name(struct slice *line, struct slice lower)
{
    if (line->size < lower.size || !slice_equal_nocase(slice_of(line->data, lower.size), lower))
        return false;
    slice_skip(line, lower.size);
    return true;
}

/* True if `value` contains `lower`, in whatever case. */
static bool names(struct slice value, struct slice lower)
{
    for (; value.size >= lower.size; slice_skip(&value, 1))
        if (slice_equal_nocase(slice_of(value.data, lower.size), lower))
            return true;
    return false;
}

bool accept_is_for_person(struct slice lines, struct slice pages, struct slice other)
{
    bool is_wanted = false;
    while (lines.size > 0) {
        const char *end = memchr(lines.data, '\n', lines.size);
        struct slice line = slice_of(lines.data, end ? (size_t)(end - lines.data) : lines.size);
        slice_skip(&lines, end ? line.size + 1 : line.size);
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        if (cut_name(&line, SLICE("accept:")))
            is_wanted = names(line, pages) && !names(line, other);
        else if (cut_name(&line, SLICE("sec-fetch-mode:")) &&
                 !slice_equal_nocase(slice_trim(line), SLICE("navigate")))
            return false;
    }
    return is_wanted;
}
