/* http/coding: which content coding a client gets. */
#include "check.h"
#include "http/coding.h"
#include "make.h"

#define PREFERS(value) (coding_choose(text_of(value), 1 << CODING_GZIP) == CODING_GZIP)
#define CHOICE(value) coding_choose(text_of(value), 1 << CODING_GZIP | 1 << CODING_BROTLI)

static void gzip_is_taken_where_it_is_named(void)
{
    CHECK(PREFERS("gzip"));
    CHECK(PREFERS("gzip, deflate, br, zstd"));
    CHECK(PREFERS("br,\tGZip"));
    CHECK(PREFERS("x-gzip"));
    CHECK(PREFERS("gzip;q=1.000"));
    CHECK(PREFERS("gzip ; Q=0.001"));
}

static void it_is_not_where_it_is_not(void)
{
    CHECK(!PREFERS(""));
    CHECK(!PREFERS(",, ,"));
    CHECK(!PREFERS("identity"));
    CHECK(!PREFERS("br, deflate"));
    CHECK(!PREFERS("gzipped"));
    CHECK(!PREFERS("gzi"));
}

static void weights_decide(void)
{
    CHECK(!PREFERS("gzip;q=0"));
    CHECK(!PREFERS("gzip;q=0.000"));
    CHECK(!PREFERS("gzip;q=0.5, identity"));
    CHECK(!PREFERS("identity;q=0.501, gzip;q=0.5"));
    CHECK(PREFERS("identity;q=0.5, gzip;q=0.5"));
    CHECK(PREFERS("identity;q=0, gzip;q=0.1"));
}

static void the_star_stands_for_what_is_not_named(void)
{
    CHECK(PREFERS("*"));
    CHECK(PREFERS("br, *;q=0.1"));
    CHECK(PREFERS("identity;q=0, *"));
    CHECK(PREFERS("gzip, *;q=0"));
    CHECK(!PREFERS("*;q=0"));
    CHECK(!PREFERS("gzip;q=0, *"));
    CHECK(!PREFERS("gzip;q=0.1, *;q=0.5"));
}

static void a_malformed_weight_is_a_refusal(void)
{
    static const char *const weights[] = {
        "",      "q",   "q=",      "q=2",   "q=1.1", "q=0.1234", "q=-1",    "q=.5",     "q=0.5x",
        "q=0,5", "p=1", "q=1;a=b", "q = 1", "q=10",  "q=0x1",    "q=1.001", "q=0.5 0.5"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        char value[64];
        snprintf(value, sizeof value, "gzip;%s", weights[i]);
        CHECK(!PREFERS(value));
    }
}

static void brotli_is_preferred_to_gzip_where_both_are_welcome(void)
{
    CHECK_EQUAL(CHOICE("gzip, deflate, br, zstd"), CODING_BROTLI);
    CHECK_EQUAL(CHOICE("br, gzip"), CODING_BROTLI);
    CHECK_EQUAL(CHOICE("BR"), CODING_BROTLI);
    CHECK_EQUAL(CHOICE("*"), CODING_BROTLI);
    CHECK_EQUAL(CHOICE("br;q=0.9, gzip;q=0.8, identity;q=0.5"), CODING_BROTLI);
    CHECK_EQUAL(CHOICE("gzip;q=0.9, br;q=0.8"), CODING_GZIP);
    CHECK_EQUAL(CHOICE("br;q=0, *"), CODING_GZIP);
    CHECK_EQUAL(CHOICE("gzip, br;q=2"), CODING_GZIP);
    CHECK_EQUAL(CHOICE("gzip, brotli, bz"), CODING_GZIP);
    CHECK_EQUAL(CHOICE("identity, br;q=0.5, gzip;q=0.9"), CODING_IDENTITY);
    CHECK_EQUAL(CHOICE("deflate, zstd"), CODING_IDENTITY);
}

static void a_coding_that_there_is_not_is_never_chosen(void)
{
    CHECK_EQUAL(coding_choose(SLICE("gzip, br"), 1 << CODING_GZIP), CODING_GZIP);
    CHECK_EQUAL(coding_choose(SLICE("gzip;q=0.1, br"), 1 << CODING_GZIP), CODING_GZIP);
    CHECK_EQUAL(coding_choose(SLICE("gzip, br;q=0.1"), 1 << CODING_BROTLI), CODING_BROTLI);
    CHECK_EQUAL(coding_choose(SLICE("gzip, br, *"), 0), CODING_IDENTITY);
}

int main(void)
{
    RUN(gzip_is_taken_where_it_is_named);
    RUN(it_is_not_where_it_is_not);
    RUN(weights_decide);
    RUN(the_star_stands_for_what_is_not_named);
    RUN(a_malformed_weight_is_a_refusal);
    RUN(brotli_is_preferred_to_gzip_where_both_are_welcome);
    RUN(a_coding_that_there_is_not_is_never_chosen);
    return check_end();
}
