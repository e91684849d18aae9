/* Growable byte arrays. An idle connection holds no memory here, so ten thousand of them are cheap.
 */
#include "base/buffer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The least size of the first block, in bytes: a usual request with its fields. */
enum { FIRST_CAPACITY = 1024 };

void buffer_init(struct buffer *buffer)
{
    *buffer = (struct buffer){0};
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->data);
    buffer_init(buffer);
}

bool buffer_reserve(struct buffer *buffer, size_t more)
{
    if (more <= buffer->capacity - buffer->size)
        return true;
    if (more > SIZE_MAX / 2 - buffer->size)
        return false;
    /* The first block has the needed size, since it is often the only one. */
    size_t capacity = buffer->capacity        ? 2 * buffer->capacity
                      : more > FIRST_CAPACITY ? more
                                              : FIRST_CAPACITY;
    while (capacity < buffer->size + more)
        capacity *= 2;
    char *data = realloc(buffer->data, capacity);
    if (!data)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

bool buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    if (!buffer_reserve(buffer, size))
        return false;
    if (size > 0)
        memcpy(buffer->data + buffer->size, data, size);
    buffer->size += size;
    return true;
}

void buffer_consume(struct buffer *buffer, size_t count)
{
    assert(count <= buffer->size);
    if (count == 0)
        return;
    if (count == buffer->size) {
        buffer_fini(buffer);
        return;
    }
    memmove(buffer->data, buffer->data + count, buffer->size - count);
    buffer->size -= count;
}
