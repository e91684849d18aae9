/* Any bytes as a body. The first byte frames it: a length in its high bits, or chunks. Allowed
 * are an end, waiting for more, or three refusals; the payload and the end must be the same
 * however the bytes are cut. */
#include "outcome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct head head = {.chunked = data[0] & 1};
    head.content_length = head.chunked ? 0 : data[0] / 2 + 1;
    struct slice input = slice_of_bytes(data + 1, size - 1);
    struct outcome whole = read_body(&head, input, input.size), cut = read_body(&head, input, 1);
    int result = whole.result;
    ALLOW(result == BODY_DONE || result == BODY_NEED_MORE || result == 400 || result == 413 ||
          result == 431);
    ALLOW(result == cut.result && whole.rest.data == cut.rest.data);
    ALLOW(whole.size == cut.size && memcmp(whole.payload, cut.payload, cut.size) == 0);
    return 0;
}
