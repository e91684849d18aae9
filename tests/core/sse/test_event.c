/* Events as each kind of client gets them. */
#include "make.h"

#include "sse/event.h"

static void an_event_is_a_chunk_for_one_client_and_bare_for_another(void)
{
    struct reply *event = event_new(SLICE("tag"), SLICE("data: 0123456789\n\n"));
    CHECK_TEXT(reply_target(event), "tag");
    CHECK_EQUAL(event->kind, REPLY_EVENT);
    CHECK_TEXT(event_piece(event, true), "12\r\ndata: 0123456789\n\n\r\n");
    CHECK_TEXT(event_piece(event, false), "data: 0123456789\n\n");
    reply_free(event);
}

static void the_largest_event_fits_its_block(void)
{
    static char data[16 * 1024];
    memset(data, 'x', sizeof data);
    struct reply *event = event_new(SLICE("t"), slice_of(data, sizeof data));
    struct slice piece = event_piece(event, true);
    CHECK_EQUAL(piece.size, sizeof data + strlen("4000\r\n\r\n"));
    CHECK_EQUAL(memcmp(piece.data, "4000\r\nx", 7), 0);
    CHECK_EQUAL(memcmp(piece.data + piece.size - 3, "x\r\n", 3), 0);
    reply_free(event);
}

static void a_beat_is_a_comment_and_the_end_is_the_last_chunk(void)
{
    CHECK_TEXT(event_heartbeat(true), "3\r\n:\n\n\r\n");
    CHECK_TEXT(event_heartbeat(false), ":\n\n");
    CHECK_TEXT(event_end(true), "0\r\n\r\n");
    CHECK_EQUAL(event_end(false).size, 0);
}

int main(void)
{
    RUN(an_event_is_a_chunk_for_one_client_and_bare_for_another);
    RUN(the_largest_event_fits_its_block);
    RUN(a_beat_is_a_comment_and_the_end_is_the_last_chunk);
    return check_end();
}
