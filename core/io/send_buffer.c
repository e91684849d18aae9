/* Sending. A send buffer with nothing unsent holds no memory. */
#include "io/send_buffer.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

void send_buffer_fini(struct send_buffer *send_buffer)
{
    buffer_fini(&send_buffer->unsent);
    send_buffer->sent = 0;
}

static ssize_t send_both(int fd, struct slice first, struct slice second)
{
    if (second.size == 0)
        return send(fd, first.data, first.size, MSG_NOSIGNAL);
    struct iovec pieces[] = {
        {.iov_base = (void *)first.data, .iov_len = first.size},
        {.iov_base = (void *)second.data, .iov_len = second.size},
    };
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Cut `count` bytes off the front of both. */
static void skip_both(struct slice *first, struct slice *second, size_t count)
{
    size_t of_first = count < first->size ? count : first->size;
    slice_skip(first, of_first);
    slice_skip(second, count - of_first);
}

/* Send as long as the socket takes bytes, and cut off what was sent; false if the client is gone.
 */
static bool send_some(int fd, struct slice *first, struct slice *second, counter *writes)
{
    while (first->size + second->size > 0) {
        ssize_t count = send_both(fd, *first, *second);
        if (count >= 0) {
            skip_both(first, second, (size_t)count);
            counter_add(writes, 1);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            /* Also after ENOBUFS: the poller would not report its end. */
            return false;
        }
    }
    return true;
}

static bool append_unsent(struct send_buffer *send_buffer, struct slice first, struct slice second)
{
    return buffer_append(&send_buffer->unsent, first.data, first.size) &&
           buffer_append(&send_buffer->unsent, second.data, second.size);
}

static enum send_result send_unsent(struct send_buffer *send_buffer, int fd, size_t *taken,
                                    counter *writes)
{
    struct slice unsent = buffer_slice(&send_buffer->unsent), nothing = {0};
    slice_skip(&unsent, send_buffer->sent);
    size_t before = unsent.size;
    if (!send_some(fd, &unsent, &nothing, writes))
        return SEND_GONE;
    *taken = before - unsent.size;
    send_buffer->sent += *taken;
    if (unsent.size == 0)
        send_buffer_fini(send_buffer);
    return SEND_OK;
}

enum send_result send_buffer_send(struct send_buffer *send_buffer, int fd, struct slice first,
                                  struct slice second, size_t *taken, counter *writes)
{
    if (send_buffer_has_unsent(send_buffer))
        return append_unsent(send_buffer, first, second)
                   ? send_unsent(send_buffer, fd, taken, writes)
                   : SEND_NO_MEMORY;
    size_t before = first.size + second.size;
    if (!send_some(fd, &first, &second, writes))
        return SEND_GONE;
    *taken = before - first.size - second.size;
    return append_unsent(send_buffer, first, second) ? SEND_OK : SEND_NO_MEMORY;
}
