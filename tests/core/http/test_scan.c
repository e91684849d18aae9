/* Every scanner that this processor can run is compared with the plain one, which defines the
 * result. */
#include "check.h"
#include "http/scan.h"

#include <stdlib.h>

enum { SIZE = 100 };

static scanner *list[SCAN_LIST];
static unsigned count;

/* All scanners find the same end in `input`, and read nothing beyond it. */
static size_t end_of(struct slice input, enum scan_class class)
{
    struct slice bytes = at_forbidden_page(input);
    const char *end = bytes.data + bytes.size, *plain = scan_plain(bytes.data, end, class);
    for (unsigned i = 0; i < count; i++)
        CHECK_EQUAL(list[i](bytes.data, end, class) - bytes.data, plain - bytes.data);
    return (size_t)(plain - bytes.data);
}

static void the_best_scanner_is_the_one_in_use(void)
{
    CHECK(scan_run == list[0]);
    CHECK(list[count - 1] == scan_plain);
}

static void every_byte_is_of_the_same_classes_to_every_scanner(void)
{
    char input[SIZE];
    for (enum scan_class class = 0; class < SCAN_CLASSES; class++) {
        for (int byte = 0; byte < 256; byte++) {
            /* In each lane of the widest scanner, and among the last bytes of the narrowest. */
            for (size_t at = 0; at < 40; at++) {
                memset(input, 'a', sizeof input);
                input[at] = (char)byte;
                size_t end = end_of(slice_of(input, SIZE), class);
                CHECK(end == at || end == SIZE);
            }
        }
    }
}

static void a_run_may_end_anywhere(void)
{
    char input[SIZE];
    memset(input, 'a', sizeof input);
    for (size_t size = 0; size <= SIZE; size++)
        CHECK_EQUAL(end_of(slice_of(input, size), SCAN_TOKEN), size);
}

static void random_bytes_are_no_exception(void)
{
    char input[SIZE];
    srandom(1);
    for (int turn = 0; turn < 20000; turn++) {
        /* Mostly letters, so that there are long runs. */
        for (size_t i = 0; i < SIZE; i++)
            input[i] = (char)(random() % 16 ? 'a' + random() % 26 : random());
        end_of(slice_of(input, (size_t)random() % (SIZE + 1)),
               (enum scan_class)(random() % SCAN_CLASSES));
    }
}

static void the_classes_are_those_of_the_standards(void)
{
    CHECK_EQUAL(end_of(SLICE("!#$%&'*+-.^_`|~09azAZ:"), SCAN_TOKEN), 21);
    CHECK_EQUAL(end_of(SLICE("/a?b=%20&c[]\"<>{}|^`~\\ x"), SCAN_TARGET), 22);
    CHECK_EQUAL(end_of(SLICE("a#"), SCAN_TARGET), 1);
    CHECK_EQUAL(end_of(SLICE("a \tb\x80\xff\r"), SCAN_VALUE), 6);
    CHECK_EQUAL(end_of(SLICE("a\x7f"), SCAN_VALUE), 1);
    CHECK_EQUAL(end_of(SLICE("a.b-c_d~!$&'()*+;=%20,"), SCAN_HOST), 21);
}

int main(void)
{
    count = scan_list(list);
    RUN(the_best_scanner_is_the_one_in_use);
    RUN(every_byte_is_of_the_same_classes_to_every_scanner);
    RUN(a_run_may_end_anywhere);
    RUN(random_bytes_are_no_exception);
    RUN(the_classes_are_those_of_the_standards);
    return check_end();
}
