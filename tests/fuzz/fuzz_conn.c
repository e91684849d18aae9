/* Any bytes as everything that a client sends, pipelined, to a connection with a cache,
 * sometimes through a TLS terminator.
 *
 * The answers and the end must be the same however the bytes are cut, and whether the cache was
 * empty or had the answers. There is one answer for each request, or one fewer while a body is
 * arriving, and at most one refusal; no more answers than ends of heads, and none longer than
 * those we make. The field Strict-Transport-Security is in all answers or in none, and in none
 * without a PROXY header. The trace is plain text.
 */
#include "fuzz.h"
#include "stream.h"

enum { LONGEST_STREAM = 64 * 1024, LONGEST_ANSWER = LARGE_ANSWER + 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer sent = {0}, whole = {0}, cut = {0};
    if (size > LONGEST_STREAM)
        return 0;
    /* An empty line at the end, since a refusal may wait for the end of the head. */
    buffer_append(&sent, data, size);
    buffer_append(&sent, "\r\n\r\n", 4);
    struct slice stream = buffer_slice(&sent);
    traced = 4;
    make_context();
    bool lives = play(stream, false, &whole);
    int requests = (int)context.stats.requests;
    ALLOW(play(stream, true, &cut) == lives);
    ALLOW((int)context.stats.requests == 2 * requests);
    ALLOW(slice_equal(buffer_slice(&whole), buffer_slice(&cut)));
    int answers = times(buffer_slice(&whole), "\r\nDate: ");
    ALLOW(answers >= requests - 1 && answers <= requests + !lives);
    ALLOW(answers <= times(stream, "\r\n\r\n") + !lives);
    ALLOW(whole.size <= (size_t)answers * LONGEST_ANSWER);
    int promises = times(buffer_slice(&whole), "\r\nStrict-Transport-Security: max-age=1\r\n");
    ALLOW(promises == 0 || (promises == answers && proxy_protocol));
    ALLOW(is_plain_trace() && subscribers.count == 0 && subscribers.events == 0);
    context_fini(&context);
    buffer_fini(&sent);
    buffer_fini(&whole);
    buffer_fini(&cut);
    return 0;
}
