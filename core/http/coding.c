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
    int thousandths = (at[2] - '0') * 1000, unit = 100;
    for (size_t i = 4; i < weight.size; i++, unit /= 10) {
        if (at[i] < '0' || at[i] > '9')
            return 0;
        thousandths += (at[i] - '0') * unit;
    }
    return thousandths <= 1000 ? thousandths : 0;
}

const char *const CODING_NAMES[CODINGS] = {
    [CODING_IDENTITY] = "identity",
    [CODING_GZIP] = "gzip",
    [CODING_BROTLI] = "br",
};

/* The coding with this name; CODINGS for "*" and for those that we do not make. */
static enum coding coding_named(struct slice name)
{
    switch (name.size) {
    case 2:
        return slice_equal_nocase(name, SLICE("br")) ? CODING_BROTLI : CODINGS;
    case 4:
        return slice_equal_nocase(name, SLICE("gzip")) ? CODING_GZIP : CODINGS;
    case 6:
        return slice_equal_nocase(name, SLICE("x-gzip")) ? CODING_GZIP : CODINGS;
    case 8:
        return slice_equal_nocase(name, SLICE("identity")) ? CODING_IDENTITY : CODINGS;
    default:
        return CODINGS;
    }
}

enum coding coding_choose(struct slice accept_encoding, unsigned available)
{
    int weights[CODINGS + 1] = {ABSENT, ABSENT, ABSENT, ABSENT}, others = ABSENT;
    struct slice member;
    while (slice_next_member(&accept_encoding, &member)) {
        int weight = take_weight(&member);
        weights[coding_named(member)] = weight;
        if (slice_equal(member, SLICE("*")))
            others = weight;
    }
    enum coding best = CODING_IDENTITY;
    int best_weight = weights[CODING_IDENTITY] == ABSENT ? others : weights[CODING_IDENTITY];
    for (enum coding coding = CODING_GZIP; coding < CODINGS; coding++) {
        int weight = weights[coding] == ABSENT ? others : weights[coding];
        if ((available & 1u << coding) && weight > 0 && weight >= best_weight) {
            best = coding;
            best_weight = weight;
        }
    }
    return best;
}
