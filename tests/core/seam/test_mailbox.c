/* The mailbox: nothing lost, order kept per pusher, bounded, and one wake-up for a burst. */
#include "check.h"
#include "seam/mailbox.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

struct letter {
    struct message message;
    unsigned pusher;
    unsigned number;
};

static struct message *new_letter(unsigned pusher, unsigned number)
{
    struct letter *letter = malloc(sizeof *letter);
    *letter = (struct letter){.pusher = pusher, .number = number};
    return &letter->message;
}

static bool is_readable(const struct mailbox *mailbox)
{
    struct pollfd poll_fd = {.fd = mailbox->event, .events = POLLIN};
    return poll(&poll_fd, 1, 0) == 1;
}

static unsigned free_all(struct message *message)
{
    unsigned count = 0;
    while (message) {
        struct message *next = message->next;
        free(message);
        message = next;
        count++;
    }
    return count;
}

static void messages_come_out_oldest_first(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(!mailbox_take(&mailbox));
    for (unsigned i = 0; i < 3; i++)
        CHECK(mailbox_push(&mailbox, new_letter(0, i)));
    CHECK_EQUAL(mailbox_depth(&mailbox), 3);
    struct message *first = mailbox_take(&mailbox);
    unsigned number = 0;
    for (struct message *message = first; message; message = message->next)
        CHECK_EQUAL(((struct letter *)message)->number, number++);
    CHECK_EQUAL(free_all(first), 3);
    CHECK_EQUAL(mailbox_depth(&mailbox), 0);
    mailbox_fini(&mailbox);
}

static void a_full_mailbox_takes_nothing(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 2), 0);
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_push(&mailbox, new_letter(0, 1)));
    struct message *third = new_letter(0, 2);
    CHECK(!mailbox_push(&mailbox, third));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 2);
    CHECK(mailbox_push(&mailbox, third));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 1);
    mailbox_fini(&mailbox);
}

static void the_descriptor_tells_when_something_waits(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(!is_readable(&mailbox));
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_push(&mailbox, new_letter(0, 1)));
    CHECK(is_readable(&mailbox));
    free_all(mailbox_take(&mailbox));
    CHECK(!is_readable(&mailbox));
    mailbox_wake(&mailbox);
    CHECK(is_readable(&mailbox));
    CHECK(!mailbox_take(&mailbox));
    CHECK(!is_readable(&mailbox));
    mailbox_fini(&mailbox);
}

static void a_burst_writes_the_descriptor_once(void)
{
    struct mailbox mailbox;
    uint64_t wakes = 0;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    for (unsigned i = 0; i < 5; i++)
        CHECK(mailbox_push(&mailbox, new_letter(0, i)));
    CHECK_EQUAL(read(mailbox.event, &wakes, sizeof wakes), sizeof wakes);
    CHECK_EQUAL(wakes, 1);
    mailbox_fini(&mailbox);
}

static void what_is_added_wakes_nobody(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 2), 0);
    CHECK(mailbox_add(&mailbox, new_letter(0, 0)));
    CHECK(mailbox_add(&mailbox, new_letter(0, 1)));
    struct message *third = new_letter(0, 2);
    CHECK(!mailbox_add(&mailbox, third));
    CHECK_EQUAL(free_all(third), 1);
    CHECK(!is_readable(&mailbox));
    CHECK_EQUAL(free_all(mailbox_take(&mailbox)), 2);
    mailbox_fini(&mailbox);
}

static void what_is_left_is_freed_at_the_end(void)
{
    struct mailbox mailbox;
    CHECK_EQUAL(mailbox_init(&mailbox, 10), 0);
    CHECK(mailbox_push(&mailbox, new_letter(0, 0)));
    mailbox_fini(&mailbox); /* the leak checker is the judge */
    CHECK_EQUAL(mailbox.event, -1);
    mailbox_fini(&mailbox);
}

enum { PUSHERS = 4, LETTERS = 20000, LIMIT = 64 };

struct pusher {
    struct mailbox *mailbox;
    unsigned index;
    unsigned refused;
    pthread_t pthread;
};

static void *push_all(void *argument)
{
    struct pusher *pusher = argument;
    for (unsigned i = 0; i < LETTERS; i++) {
        struct message *letter = new_letter(pusher->index, i);
        while (!mailbox_push(pusher->mailbox, letter)) {
            pusher->refused++;
            sched_yield();
        }
    }
    return NULL;
}

/* Take until all have come, sleeping on the descriptor alone: a lost wake-up would hang here. */
static unsigned take_all(struct mailbox *mailbox, unsigned next[PUSHERS])
{
    unsigned wrong = 0;
    for (unsigned taken = 0; taken < PUSHERS * LETTERS;) {
        struct pollfd poll_fd = {.fd = mailbox->event, .events = POLLIN};
        if (poll(&poll_fd, 1, 30000) != 1)
            return wrong + 1;
        struct message *first = mailbox_take(mailbox);
        for (struct message *message = first; message; message = message->next) {
            struct letter *letter = (struct letter *)message;
            wrong += letter->number != next[letter->pusher]++;
        }
        unsigned count = free_all(first);
        wrong += count > LIMIT;
        taken += count;
    }
    return wrong;
}

static void several_pushers_lose_nothing_and_keep_their_order(void)
{
    struct mailbox mailbox;
    struct pusher pushers[PUSHERS];
    unsigned next[PUSHERS] = {0};
    CHECK_EQUAL(mailbox_init(&mailbox, LIMIT), 0);
    for (unsigned i = 0; i < PUSHERS; i++) {
        pushers[i] = (struct pusher){.mailbox = &mailbox, .index = i};
        CHECK_EQUAL(pthread_create(&pushers[i].pthread, NULL, push_all, &pushers[i]), 0);
    }
    CHECK_EQUAL(take_all(&mailbox, next), 0);
    for (unsigned i = 0; i < PUSHERS; i++) {
        pthread_join(pushers[i].pthread, NULL);
        CHECK_EQUAL(next[i], LETTERS);
    }
    CHECK_EQUAL(mailbox_depth(&mailbox), 0);
    mailbox_fini(&mailbox);
}

int main(void)
{
    RUN(messages_come_out_oldest_first);
    RUN(a_full_mailbox_takes_nothing);
    RUN(the_descriptor_tells_when_something_waits);
    RUN(a_burst_writes_the_descriptor_once);
    RUN(what_is_added_wakes_nobody);
    RUN(what_is_left_is_freed_at_the_end);
    RUN(several_pushers_lose_nothing_and_keep_their_order);
    return check_end();
}
