/* The subscriptions; see subscriptions.h. */
#include "sse/subscriptions.h"

#include <stdlib.h>
#include <string.h>

/* With 5,000 streams, the default, a bucket holds one or two. */
enum { BUCKETS = 4096 };

int subscriptions_init(struct subscriptions *subscriptions, struct subscribers *subscribers)
{
    *subscriptions = (struct subscriptions){.subscribers = subscribers};
    subscriptions->end = &subscriptions->events;
    subscriptions->buckets = calloc(BUCKETS, sizeof *subscriptions->buckets);
    return subscriptions->buckets ? 0 : -1;
}

/* Free the oldest event. */
static void drop_oldest_event(struct subscriptions *subscriptions)
{
    struct message *first = subscriptions->events;
    subscriptions->events = first->next;
    if (!subscriptions->events)
        subscriptions->end = &subscriptions->events;
    subscriptions->number = 0;
    reply_free((struct reply *)first);
    atomic_fetch_sub(&subscriptions->subscribers->events, 1);
}

void subscriptions_fini(struct subscriptions *subscriptions)
{
    while (subscriptions->events)
        drop_oldest_event(subscriptions);
    free(subscriptions->buckets);
    *subscriptions = (struct subscriptions){0};
}

static struct subscription **bucket_of(struct subscriptions *subscriptions, uint32_t index)
{
    return &subscriptions->buckets[index % BUCKETS];
}

struct subscription *subscription_new(struct subscriptions *subscriptions,
                                      const struct reply *reply, uint32_t slot)
{
    struct slice tag = reply_target(reply);
    struct subscription *subscription = malloc(sizeof *subscription + tag.size);
    if (!subscription) {
        subscriptions_cancel(subscriptions, reply);
        return NULL;
    }
    *subscription = (struct subscription){
        .subscriptions = subscriptions,
        .begun = subscriptions->taken,
        .slot = slot,
        .index = tag_index(tag),
        .group = reply->group,
        .chunked = reply->chunked,
        .tag_size = tag.size,
    };
    memcpy(subscription->tag, tag.data, tag.size);
    struct subscription **bucket = bucket_of(subscriptions, subscription->index);
    subscription->link = bucket;
    subscription->later = *bucket;
    if (subscription->later)
        subscription->later->link = &subscription->later;
    *bucket = subscription;
    return subscription;
}

void subscription_free(struct subscription *subscription)
{
    if (!subscription)
        return;
    struct subscriptions *subscriptions = subscription->subscriptions;
    if (subscriptions->next == subscription)
        subscriptions->next = subscription->later;
    *subscription->link = subscription->later;
    if (subscription->later)
        subscription->later->link = subscription->link;
    subscribers_remove(subscriptions->subscribers, subscription->index, subscription->group);
    free(subscription);
}

void subscriptions_cancel(struct subscriptions *subscriptions, const struct reply *reply)
{
    subscribers_remove(subscriptions->subscribers, tag_index(reply_target(reply)), reply->group);
}

void subscriptions_add_event(struct subscriptions *subscriptions, struct reply *event)
{
    event->sequence = ++subscriptions->taken;
    event->message.next = NULL;
    *subscriptions->end = &event->message;
    subscriptions->end = &event->message.next;
}

static bool is_for(const struct reply *event, const struct subscription *subscription)
{
    return subscription->begun < event->sequence &&
           slice_equal(slice_of(subscription->tag, subscription->tag_size), reply_target(event));
}

struct subscription *subscriptions_next(struct subscriptions *subscriptions,
                                        const struct reply **event)
{
    while (subscriptions->events) {
        struct reply *first = (struct reply *)subscriptions->events;
        if (subscriptions->number != first->sequence) {
            subscriptions->number = first->sequence;
            subscriptions->next = *bucket_of(subscriptions, tag_index(reply_target(first)));
        }
        while (subscriptions->next) {
            struct subscription *subscription = subscriptions->next;
            subscriptions->next = subscription->later;
            if (is_for(first, subscription)) {
                *event = first;
                return subscription;
            }
        }
        drop_oldest_event(subscriptions);
    }
    return NULL;
}
