/* Content codings; see coding.h. */
#include "http/coding.h"

#include <string.h>

enum { ABSENT = -1 };

/* Cut the weight off a member of the list and return its thousandths; 0 if it is malformed (RFC
 * 9110 section 12.4.2). */
static int take_weight(struct slice *coding)
{
    const char *mark = memchr(coding->data, ';', coding->size);
    if (!mark)
        return 1000;
    struct slice weight = *coding;
    coding->size = (size_t)(mark - coding->data);
    *coding = slice_trim(*coding);
    slice_skip(&weight, (size_t)(mark - weight.data) + 1);
    weight = slice_trim(weight);
    const char *at = weight.data;
    if (weight.size < 3 || weight.size > sizeof "q=0.123" - 1 || (at[0] | 0x20) != 'q' ||
        at[1] != '=' || (at[2] != '0' && at[2] != '1') || (weight.size > 3 && at[3] != '.'))
        return 0;
    int thousandths = (at[2] - '0') * 1000, place = 100;
    for (size_t i = 4; i < weight.size; i++, place /= 10) {
        if (at[i] < '0' || at[i] > '9')
            return 0;
        thousandths += (at[i] - '0') * place;
    }
    return thousandths <= 1000 ? thousandths : 0;
}

bool coding_prefers_gzip(struct slice accept_encoding)
{
    int gzip = ABSENT, identity = ABSENT, others = ABSENT;
    struct slice coding;
    while (slice_next_member(&accept_encoding, &coding)) {
        int weight = take_weight(&coding);
        if (slice_equal_nocase(coding, SLICE("gzip")) ||
            slice_equal_nocase(coding, SLICE("x-gzip")))
            gzip = weight;
        else if (slice_equal_nocase(coding, SLICE("identity")))
            identity = weight;
        else if (slice_equal(coding, SLICE("*")))
            others = weight;
    }
    if (gzip == ABSENT)
        gzip = others;
    if (identity == ABSENT)
        identity = others;
    return gzip > 0 && gzip >= identity;
}
