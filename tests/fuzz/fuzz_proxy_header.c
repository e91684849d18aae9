/* Any bytes as the first ones of a connection behind a TLS terminator. Allowed are: known, and
 * then a PROXY header was cut off and the address is valid; waiting for more, within its bound;
 * refused. The result must be the same however the bytes are cut, and nothing is known of TLS
 * before the header is. */
#include "fuzz.h"

#include "base/limits.h"
#include "http/proxy_header.h"

#include <arpa/inet.h>

static bool is_address(const char *text)
{
    char bytes[16];
    return !*text || inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, bytes) == 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer whole = {.header_pending = true}, cut = {.header_pending = true};
    struct slice input = slice_of_bytes(data, size), rest = input, piece = input;
    enum proxy_header_result result = proxy_header_read(&whole, &rest),
                             other = PROXY_HEADER_NEED_MORE;
    for (size_t come = 0; come <= size && other == PROXY_HEADER_NEED_MORE; come++) {
        ALLOW(cut.header_pending && !cut.proxied && !cut.secure && !*cut.client);
        piece = slice_of(input.data, come);
        other = proxy_header_read(&cut, &piece);
    }
    ALLOW(other == result);
    ALLOW(memcmp(&whole, &cut, sizeof whole) == 0);
    ALLOW(result != PROXY_HEADER_NEED_MORE || (size < LIMIT_PROXY_HEADER && rest.size == size));
    ALLOW(result != PROXY_HEADER_DONE ||
          (!whole.header_pending && whole.proxied && rest.size < size));
    ALLOW(result != PROXY_HEADER_DONE || (piece.size == 0 && is_address(whole.client)));
    ALLOW(result == PROXY_HEADER_DONE || whole.header_pending);
    return 0;
}
