/* sse/: events, subscribers and what they subscribe to. */
#include "check.h"
#include "make.h"
#include "sse/event.h"
#include "sse/subscribers.h"
#include "sse/subscriptions.h"

/* Events as each kind of client gets them. */

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

/* The subscribers: slots for streams, and which tags are followed. */

static struct subscribers subscribers;

static void a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last(void)
{
    subscribers = (struct subscribers){.limit = 10};
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK(subscribers_add(&subscribers, 7, 0, 0) && subscribers_add(&subscribers, 7, 0, 0));
    CHECK(subscribers_exist(&subscribers, 7) && !subscribers_exist(&subscribers, 8));
    subscribers_remove(&subscribers, 7, 0);
    CHECK(subscribers_exist(&subscribers, 7));
    subscribers_remove(&subscribers, 7, 0);
    CHECK(!subscribers_exist(&subscribers, 7));
    CHECK_EQUAL(subscribers.count, 0);
}

static void whoever_finds_no_slot_is_counted_and_follows_nothing(void)
{
    subscribers = (struct subscribers){.limit = 2};
    CHECK(subscribers_add(&subscribers, 1, 0, 0) && subscribers_add(&subscribers, 2, 0, 0));
    CHECK(!subscribers_add(&subscribers, 3, 0, 0));
    CHECK(!subscribers_exist(&subscribers, 3));
    CHECK_EQUAL(subscribers.count, 2);
    CHECK_EQUAL(subscribers.refused, 1);
    subscribers_remove(&subscribers, 1, 0);
    CHECK(subscribers_add(&subscribers, 3, 0, 0));
}

static void a_group_has_a_bound_of_its_own(void)
{
    subscribers = (struct subscribers){.limit = 10};
    CHECK(subscribers_add(&subscribers, 1, 5, 2) && subscribers_add(&subscribers, 2, 5, 2));
    CHECK(!subscribers_add(&subscribers, 1, 5, 2));
    CHECK(!subscribers_add(&subscribers, 3, 5, 2) && !subscribers_exist(&subscribers, 3));
    CHECK_EQUAL(subscribers.count, 2);
    CHECK_EQUAL(subscribers.refused, 2);
    CHECK(subscribers_add(&subscribers, 1, 6, 2));
    subscribers_remove(&subscribers, 1, 5);
    CHECK(subscribers_add(&subscribers, 3, 5, 2));
    CHECK(subscribers_add(&subscribers, 3, 5, 0)); /* no bound */
}

/* The streams of a worker: who gets which event, in which order, and who leaves meanwhile. */

static struct subscriptions subscriptions;

static void open_all(void)
{
    subscribers = (struct subscribers){.limit = 100};
    CHECK_EQUAL(subscriptions_init(&subscriptions, &subscribers), 0);
}

static void close_all(void)
{
    subscriptions_fini(&subscriptions);
    CHECK_EQUAL(subscribers.count, 0);
    CHECK_EQUAL(subscribers.events, 0);
}

/* A stream that follows `tag`, as the server and a connection begin it. */
static struct subscription *follow(const char *tag, uint32_t slot)
{
    struct request *request = make_request(GET("/"));
    const struct response response = {.status = 200, .follows = text_of(tag)};
    struct reply *reply = reply_new(request, &response);
    CHECK(subscribers_add(&subscribers, tag_index(text_of(tag)), 0, 0));
    struct subscription *subscription = subscription_new(&subscriptions, reply, slot);
    reply_free(reply);
    request_free(request);
    return subscription;
}

static void publish(const char *tag, const char *data)
{
    subscribers.events++;
    subscriptions_add_event(&subscriptions, event_new(text_of(tag), text_of(data)));
}

/* Who gets what, as "slot:data " after each other, until everybody has everything. */
static struct slice dealt(void)
{
    static char text[1024];
    const struct reply *event;
    size_t size = 0;
    for (struct subscription *subscription;
         (subscription = subscriptions_next(&subscriptions, &event));) {
        struct slice data = event_piece(event, false);
        size +=
            (size_t)sprintf(text + size, "%u:%.*s ", subscription->slot, (int)data.size, data.data);
    }
    return slice_of(text, size);
}

static void an_event_goes_to_those_who_follow_its_tag(void)
{
    open_all();
    struct subscription *all[] = {follow("a", 1), follow("b", 2), follow("a", 3)};
    CHECK(!subscriptions_pending(&subscriptions));
    publish("a", "x");
    CHECK(subscriptions_pending(&subscriptions));
    CHECK_TEXT(dealt(), "3:x 1:x ");
    CHECK(!subscriptions_pending(&subscriptions));
    publish("c", "y");
    CHECK_TEXT(dealt(), "");
    for (size_t i = 0; i < 3; i++)
        subscription_free(all[i]);
    close_all();
}

static void events_keep_their_order(void)
{
    open_all();
    struct subscription *first = follow("a", 1), *second = follow("b", 2);
    publish("a", "1");
    publish("b", "2");
    publish("a", "3");
    CHECK_TEXT(dealt(), "1:1 2:2 1:3 ");
    subscription_free(first);
    subscription_free(second);
    close_all();
}

/* Its beginning tells of all that was published before. */
static void a_stream_gets_no_event_from_before_it_began(void)
{
    open_all();
    struct subscription *first = follow("a", 1);
    publish("a", "old");
    publish("a", "old too");
    struct subscription *second = follow("a", 2);
    publish("a", "new");
    CHECK_TEXT(dealt(), "1:old 1:old too 2:new 1:new ");
    subscription_free(first);
    subscription_free(second);
    close_all();
}

static void a_stream_may_end_while_its_event_is_dealt_out(void)
{
    const struct reply *event;
    open_all();
    struct subscription *all[] = {follow("a", 1), follow("a", 2), follow("a", 3), follow("a", 4)};
    publish("a", "x");
    CHECK(subscriptions_next(&subscriptions, &event) == all[3]);
    subscription_free(all[2]); /* the next one */
    subscription_free(all[3]); /* the one that has just had it */
    CHECK_TEXT(dealt(), "2:x 1:x ");
    publish("a", "y");
    CHECK(subscriptions_next(&subscriptions, &event) == all[1]);
    subscription_free(all[0]);
    subscription_free(all[1]);
    CHECK_TEXT(dealt(), "");
    close_all();
}

/* The table of slots is shared; what is sent is not. */
static void two_tags_in_one_slot_get_their_own_events_only(void)
{
    char other[32];
    uint32_t index = tag_index(SLICE("a"));
    for (unsigned i = 0;; i++) {
        snprintf(other, sizeof other, "tag:%u", i);
        if (tag_index(text_of(other)) == index)
            break;
    }
    open_all();
    struct subscription *first = follow("a", 1), *second = follow(other, 2);
    publish(other, "x");
    publish("a", "y");
    CHECK_TEXT(dealt(), "2:x 1:y ");
    subscription_free(first);
    subscription_free(second);
    close_all();
}

static void the_end_frees_the_events_in_hand(void)
{
    open_all();
    struct subscription *subscription = follow("a", 1);
    publish("a", "x");
    publish("a", "y");
    const struct reply *event;
    CHECK(subscriptions_next(&subscriptions, &event) == subscription);
    subscription_free(subscription);
    close_all();
    subscriptions_fini(&(struct subscriptions){0});
}

static void a_stream_whose_client_has_left_gives_its_slot_back(void)
{
    open_all();
    struct request *request = make_request(GET("/"));
    const struct response response = {.status = 200, .follows = SLICE("a")};
    struct reply *reply = reply_new(request, &response);
    CHECK(subscribers_add(&subscribers, tag_index(SLICE("a")), 0, 0));
    subscriptions_cancel(&subscriptions, reply);
    CHECK(!subscribers_exist(&subscribers, tag_index(SLICE("a"))));
    reply_free(reply);
    request_free(request);
    close_all();
}

int main(void)
{
    RUN(an_event_is_a_chunk_for_one_client_and_bare_for_another);
    RUN(the_largest_event_fits_its_block);
    RUN(a_beat_is_a_comment_and_the_end_is_the_last_chunk);
    RUN(a_tag_is_followed_from_the_first_stream_to_the_end_of_the_last);
    RUN(whoever_finds_no_slot_is_counted_and_follows_nothing);
    RUN(a_group_has_a_bound_of_its_own);
    RUN(an_event_goes_to_those_who_follow_its_tag);
    RUN(events_keep_their_order);
    RUN(a_stream_gets_no_event_from_before_it_began);
    RUN(a_stream_may_end_while_its_event_is_dealt_out);
    RUN(two_tags_in_one_slot_get_their_own_events_only);
    RUN(the_end_frees_the_events_in_hand);
    RUN(a_stream_whose_client_has_left_gives_its_slot_back);
    return check_end();
}
