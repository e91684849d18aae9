/* http/target: which requests have the same target. */
#include "check.h"
#include "http/target.h"
#include "make.h"

#include "base/limits.h"

#define RULES                                                                                      \
    "GET /feed only site url\n"                                                                    \
    "POST /count only\n"                                                                           \
    "GET /list without token\n"                                                                    \
    "GET /many only url* yes\n"                                                                    \
    "GET /item/# only x\n"                                                                         \
    "GET /files/* only\n"                                                                          \
    "GET /own/page without\n"                                                                      \
    "GET /own/* only\n"

static char written[1024];

/* The canonical target, as a string. The target is at the edge of a page that nobody may read. */
static const char *canonical(const char *method, const char *target)
{
    char to[1024];
    struct slice found =
        target_canonical(text_of(RULES), text_of(method), at_forbidden_page(text_of(target)), to);
    CHECK(found.size <= strlen(target));
    snprintf(written, sizeof written, "%.*s", (int)found.size, found.data);
    return written;
}

#define BECOMES(target, expected) CHECK(strcmp(canonical("GET", target), expected) == 0)
#define STAYS(target) BECOMES(target, target)

static void unknown_parameters_are_dropped(void)
{
    BECOMES("/feed?x=1", "/feed");
    BECOMES("/feed?x=1&url=/a&y&site=b&=&z=", "/feed?url=/a&site=b");
    BECOMES("/feed?", "/feed");
    BECOMES("/feed?&&&", "/feed");
    BECOMES("/feed?ur=1&urls=2&Url=3", "/feed");
    BECOMES("/item/17?y=2&x=1", "/item/17?x=1");
    BECOMES("/files/a/b.js?v=3", "/files/a/b.js");
    STAYS("/feed?site=b&url=/a");
    STAYS("/feed?url");
    STAYS("/feed?url=");
    STAYS("/feed?url=/a?b=c");
}

static void parameters_without_effect_are_dropped(void)
{
    BECOMES("/list?token=1&url=/a&x=2&token=3", "/list?url=/a&x=2");
    STAYS("/list?url=/a&url=/b&x");
    STAYS("/own/page?x=1");
    BECOMES("/own/pages?x=1", "/own/pages");
}

static void the_first_of_a_parameter_counts_unless_it_is_a_list(void)
{
    BECOMES("/feed?url=/a&url=/b", "/feed?url=/a");
    BECOMES("/many?url=/a&yes=1&url=/b&yes=2", "/many?url=/a&yes=1&url=/b");
}

static void escapes_make_no_other_target(void)
{
    BECOMES("/%66e%65d?%75rl=/a&%78=1", "/feed?url=/a");
    BECOMES("/f%65ed?u%72l=%2Fa", "/feed?url=%2Fa");
    BECOMES("/%7e%2D%5f", "/~-_");
    BECOMES("/files%2fa%2Fb?x", "/files/a/b");
    STAYS("/a%20b%3Fc%zz%4");
    STAYS("/feed?url=%61");
    BECOMES("/feed?url%=1&%=2&%7=3", "/feed");
}

static void a_query_of_too_many_parameters_stays(void)
{
    char target[1024] = "/feed?x";
    for (int i = 1; i < LIMIT_PARAMETERS; i++)
        strcat(target, "&x");
    BECOMES(target, "/feed");
    strcat(target, "&");
    BECOMES(target, "/feed");
    strcat(target, "&x");
    STAYS(target);
}

static void other_paths_and_methods_stay(void)
{
    STAYS("/other?x=1");
    STAYS("/feeds?x=1");
    STAYS("/fee?x=1");
    STAYS("/item/?x=1");
    STAYS("/item/1a?y=1");
    STAYS("/files?x=1");
    STAYS("/");
    STAYS("*");
    CHECK(strcmp(canonical("POST", "/feed?x=1"), "/feed?x=1") == 0);
    CHECK(strcmp(canonical("POST", "/count?x=1"), "/count") == 0);
    struct slice found = target_canonical(text_of(""), SLICE("GET"), text_of("/%61?x"), written);
    CHECK(slice_equal(found, SLICE("/%61?x")));
}

int main(void)
{
    RUN(unknown_parameters_are_dropped);
    RUN(parameters_without_effect_are_dropped);
    RUN(the_first_of_a_parameter_counts_unless_it_is_a_list);
    RUN(escapes_make_no_other_target);
    RUN(a_query_of_too_many_parameters_stays);
    RUN(other_paths_and_methods_stay);
    return check_end();
}
