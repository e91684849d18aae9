/* Any bytes as consecutive heads. Allowed are a head, waiting for more, or a refusal with one of
 * these statuses. The result must be the same with every scanner of this machine, with and
 * without the head before, and however the bytes are cut; but a refusal may wait for the end of
 * the head. */
#include "head.h"

#include "http/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice input = slice_of_bytes(data, size);
    struct head next = {0}, head, other;
    scanner *scanners[SCAN_LIST];
    unsigned count = scan_list(scanners);
    for (;;) {
        scan_run = scan_plain;
        int result = parse_in_pieces(input, &head);
        for (unsigned i = 0; i < count; i++) {
            size_t scanned = 0;
            scan_run = scanners[i];
            int whole = head_parse(input, &scanned, &other);
            ALLOW(is_head_result(whole) && (whole == result || is_late(whole, result)));
            ALLOW(result != HEAD_DONE || (is_clean(&head, input) && is_same(&head, &other)));
        }
        size_t scanned = 0;
        int again = head_parse_next(input, &scanned, &next);
        ALLOW(again == result || is_late(again, result));
        if (result != HEAD_DONE)
            return 0;
        ALLOW(is_same(&head, &next));
        slice_skip(&input, head.size);
    }
}
