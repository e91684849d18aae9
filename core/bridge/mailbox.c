/* The mailbox; see mailbox.h. */
#include "bridge/mailbox.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mailbox_init(struct mailbox *mailbox, uint32_t limit)
{
    *mailbox = (struct mailbox){.limit = limit, .event = -1};
    mailbox->end = &mailbox->first;
    mailbox->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (mailbox->event < 0)
        return -1;
    int error = pthread_mutex_init(&mailbox->lock, NULL);
    if (error == 0)
        return 0;
    close(mailbox->event);
    mailbox->event = -1;
    errno = error;
    return -1;
}

static void free_all(struct message *message)
{
    while (message) {
        struct message *next = message->next;
        free(message);
        message = next;
    }
}

void mailbox_fini(struct mailbox *mailbox)
{
    if (mailbox->event < 0)
        return;
    free_all(mailbox->first);
    pthread_mutex_destroy(&mailbox->lock);
    close(mailbox->event);
    *mailbox = (struct mailbox){.event = -1};
}

void mailbox_wake(struct mailbox *mailbox)
{
    uint64_t one = 1;
    /* It fails only when the counter is full, and then the descriptor is readable anyway. */
    while (write(mailbox->event, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

/* The number of messages now; 0 if there were `limit` already and it has not taken `message`. */
static uint32_t append(struct mailbox *mailbox, struct message *message, uint32_t limit)
{
    message->next = NULL;
    pthread_mutex_lock(&mailbox->lock);
    uint32_t count = 0;
    if (mailbox->count < limit) {
        *mailbox->end = message;
        mailbox->end = &message->next;
        count = ++mailbox->count;
    }
    pthread_mutex_unlock(&mailbox->lock);
    return count;
}

bool mailbox_push(struct mailbox *mailbox, struct message *message)
{
    uint32_t count = append(mailbox, message, mailbox->limit);
    if (count == 1)
        mailbox_wake(mailbox);
    return count > 0;
}

bool mailbox_add(struct mailbox *mailbox, struct message *message)
{
    return append(mailbox, message, mailbox->limit) > 0;
}

void mailbox_return(struct mailbox *mailbox, struct message *message)
{
    (void)append(mailbox, message, UINT32_MAX);
}

struct message *mailbox_take(struct mailbox *mailbox)
{
    uint64_t ignored;
    /* Before taking the messages: a later push makes the descriptor readable again. */
    while (read(mailbox->event, &ignored, sizeof ignored) < 0 && errno == EINTR)
        continue;
    pthread_mutex_lock(&mailbox->lock);
    struct message *first = mailbox->first;
    mailbox->first = NULL;
    mailbox->end = &mailbox->first;
    mailbox->count = 0;
    pthread_mutex_unlock(&mailbox->lock);
    return first;
}

uint32_t mailbox_depth(struct mailbox *mailbox)
{
    pthread_mutex_lock(&mailbox->lock);
    uint32_t count = mailbox->count;
    pthread_mutex_unlock(&mailbox->lock);
    return count;
}
