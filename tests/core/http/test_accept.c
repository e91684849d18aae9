/* http/accept: which clients show what they get to a person. */
#include "check.h"
#include "http/accept.h"
#include "make.h"

#define FOR_PERSON(lines)                                                                          \
    accept_is_for_person(text_of(lines), SLICE("text/html"), SLICE("application/json"))

static void a_browser_that_opens_an_address_is_for_a_person(void)
{
    CHECK(FOR_PERSON("Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n"));
    CHECK(FOR_PERSON("GET / HTTP/1.1\r\nHost: a\r\naccept:text/html\r\n\r\n"));
    CHECK(FOR_PERSON("ACCEPT: text/html\r\nSec-Fetch-Mode: navigate\r\n"));
    CHECK(FOR_PERSON("Accept: Text/HTML\r\n"));
    CHECK(FOR_PERSON("Accept: application/json\r\nAccept: text/html\r\n"));
    CHECK(FOR_PERSON("Accept: text/html;q=0\r\n"));
    CHECK(FOR_PERSON("Sec-Fetch-Mode:\tNavigate \r\nAccept: text/html"));
}

static void a_program_is_not(void)
{
    CHECK(!FOR_PERSON(""));
    CHECK(!FOR_PERSON("Accept: */*\r\n"));
    CHECK(!FOR_PERSON("Accept: text/html, Application/JSON;q=0.5\r\n"));
    CHECK(!FOR_PERSON("Accept: application/json, text/html\r\n"));
    CHECK(!FOR_PERSON("Accept: text/html\r\nSec-Fetch-Mode: cors\r\n"));
    CHECK(!FOR_PERSON("Sec-Fetch-Mode: no-cors\r\nAccept: text/html\r\n"));
    CHECK(!FOR_PERSON("X-Accept: text/html\r\n"));
    CHECK(!FOR_PERSON("GET /accept:text/html HTTP/1.1\r\n"));
}

static void lines_may_be_malformed_or_cut(void)
{
    CHECK(!FOR_PERSON("\n\n\r\r\n:\n"));
    CHECK(!FOR_PERSON("Accept: text/htm"));
    CHECK(!FOR_PERSON("Accept:"));
    CHECK(FOR_PERSON("GET a b c\r\n bad\r\nno colon\r\nAccept: text/html"));
}

int main(void)
{
    RUN(a_browser_that_opens_an_address_is_for_a_person);
    RUN(a_program_is_not);
    RUN(lines_may_be_malformed_or_cut);
    return check_end();
}
