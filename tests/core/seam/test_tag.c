/* Tags: their indexes are spread and bounded. */
#include "check.h"

#include "seam/tag.h"

#include <stdio.h>

static void tags_spread_over_the_indexes(void)
{
    static bool taken[TAG_INDEXES];
    unsigned shared = 0;
    for (int i = 0; i < 10000; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "thread:%d", i);
        uint32_t index = tag_index(slice_of(tag, strlen(tag)));
        CHECK(index < TAG_INDEXES);
        shared += taken[index];
        taken[index] = true;
    }
    /* By chance alone about 725 of them meet another. */
    CHECK(shared < 1000);
}

int main(void)
{
    RUN(tags_spread_over_the_indexes);
    return check_end();
}
