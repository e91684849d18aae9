/* A growable byte array that its owner fills at the end and empties at the front. The caller owns
 * the storage of the struct; after init and after fini it is empty and holds no memory. */
#ifndef CORE_BASE_BUFFER_H
#define CORE_BASE_BUFFER_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data; /* owns */
    size_t size;
    size_t capacity;
};

void buffer_init(struct buffer *buffer);
void buffer_fini(struct buffer *buffer);

/* Make room for `more` bytes at the end; false without memory, nothing is lost. */
bool buffer_reserve(struct buffer *buffer, size_t more);

/* Append a copy; false without memory, nothing is changed. */
bool buffer_append(struct buffer *buffer, const void *data, size_t size);

/* Drop the first `count` bytes, at most the size; an empty buffer frees its memory. */
void buffer_consume(struct buffer *buffer, size_t count);

static inline struct slice buffer_slice(const struct buffer *buffer)
{
    return slice_of(buffer->data, buffer->size);
}

#endif
