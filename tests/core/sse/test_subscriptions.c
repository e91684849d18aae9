/* The streams of a worker: who gets which event, in which order, and who leaves meanwhile. */
#include "make.h"

#include "sse/event.h"
#include "sse/subscriptions.h"

static struct audience audience;
static struct streams streams;

static void open_all(void)
{
    audience = (struct audience){.limit = 100};
    CHECK_EQUAL(streams_init(&streams, &audience), 0);
}

static void close_all(void)
{
    streams_fini(&streams);
    CHECK_EQUAL(audience.streams, 0);
    CHECK_EQUAL(audience.events, 0);
}

/* A stream that follows `tag`, as the server and a connection begin it. */
static struct stream *follow(const char *tag, uint32_t slot)
{
    struct request *request = make_request(GET("/"));
    const struct response response = {.status = 200, .follows = text_of(tag)};
    struct reply *reply = reply_new(request, &response);
    CHECK(audience_join(&audience, tag_index(text_of(tag))));
    struct stream *stream = stream_new(&streams, reply, slot);
    reply_free(reply);
    request_free(request);
    return stream;
}

static void publish(const char *tag, const char *data)
{
    audience.events++;
    streams_take(&streams, event_new(text_of(tag), text_of(data)));
}

/* Who gets what, as "slot:data " after each other, until everybody has everything. */
static struct slice dealt(void)
{
    static char text[1024];
    const struct reply *event;
    size_t size = 0;
    for (struct stream *stream; (stream = streams_deal(&streams, &event));) {
        struct slice data = event_piece(event, false);
        size += (size_t)sprintf(text + size, "%u:%.*s ", stream->slot, (int)data.size, data.data);
    }
    return slice_of(text, size);
}

static void an_event_goes_to_those_who_follow_its_tag(void)
{
    open_all();
    struct stream *all[] = {follow("a", 1), follow("b", 2), follow("a", 3)};
    CHECK(!streams_owe(&streams));
    publish("a", "x");
    CHECK(streams_owe(&streams));
    CHECK_TEXT(dealt(), "3:x 1:x ");
    CHECK(!streams_owe(&streams));
    publish("c", "y");
    CHECK_TEXT(dealt(), "");
    for (size_t i = 0; i < 3; i++)
        stream_free(all[i]);
    close_all();
}

static void events_keep_their_order(void)
{
    open_all();
    struct stream *first = follow("a", 1), *second = follow("b", 2);
    publish("a", "1");
    publish("b", "2");
    publish("a", "3");
    CHECK_TEXT(dealt(), "1:1 2:2 1:3 ");
    stream_free(first);
    stream_free(second);
    close_all();
}

/* Its beginning tells of all that was published before. */
static void a_stream_gets_no_event_from_before_it_began(void)
{
    open_all();
    struct stream *first = follow("a", 1);
    publish("a", "old");
    publish("a", "old too");
    struct stream *second = follow("a", 2);
    publish("a", "new");
    CHECK_TEXT(dealt(), "1:old 1:old too 2:new 1:new ");
    stream_free(first);
    stream_free(second);
    close_all();
}

static void a_stream_may_end_while_its_event_is_dealt_out(void)
{
    const struct reply *event;
    open_all();
    struct stream *all[] = {follow("a", 1), follow("a", 2), follow("a", 3), follow("a", 4)};
    publish("a", "x");
    CHECK(streams_deal(&streams, &event) == all[3]);
    stream_free(all[2]); /* the next one */
    stream_free(all[3]); /* the one that has just had it */
    CHECK_TEXT(dealt(), "2:x 1:x ");
    publish("a", "y");
    CHECK(streams_deal(&streams, &event) == all[1]);
    stream_free(all[0]);
    stream_free(all[1]);
    CHECK_TEXT(dealt(), "");
    close_all();
}

/* The table of places is shared; what is sent is not. */
static void two_tags_in_one_place_get_their_own_events_only(void)
{
    char other[32];
    uint32_t place = tag_index(SLICE("a"));
    for (unsigned i = 0;; i++) {
        snprintf(other, sizeof other, "tag:%u", i);
        if (tag_index(text_of(other)) == place)
            break;
    }
    open_all();
    struct stream *first = follow("a", 1), *second = follow(other, 2);
    publish(other, "x");
    publish("a", "y");
    CHECK_TEXT(dealt(), "2:x 1:y ");
    stream_free(first);
    stream_free(second);
    close_all();
}

static void the_end_frees_the_events_in_hand(void)
{
    open_all();
    struct stream *stream = follow("a", 1);
    publish("a", "x");
    publish("a", "y");
    const struct reply *event;
    CHECK(streams_deal(&streams, &event) == stream);
    stream_free(stream);
    close_all();
    streams_fini(&(struct streams){0});
}

static void a_stream_whose_client_has_left_gives_its_place_back(void)
{
    open_all();
    struct request *request = make_request(GET("/"));
    const struct response response = {.status = 200, .follows = SLICE("a")};
    struct reply *reply = reply_new(request, &response);
    CHECK(audience_join(&audience, tag_index(SLICE("a"))));
    streams_forgo(&streams, reply);
    CHECK(!audience_follows(&audience, tag_index(SLICE("a"))));
    reply_free(reply);
    request_free(request);
    close_all();
}

int main(void)
{
    RUN(an_event_goes_to_those_who_follow_its_tag);
    RUN(events_keep_their_order);
    RUN(a_stream_gets_no_event_from_before_it_began);
    RUN(a_stream_may_end_while_its_event_is_dealt_out);
    RUN(two_tags_in_one_place_get_their_own_events_only);
    RUN(the_end_frees_the_events_in_hand);
    RUN(a_stream_whose_client_has_left_gives_its_place_back);
    return check_end();
}
