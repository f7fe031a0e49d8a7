/*
 * buffer.c - growing a buffer by half its size at least, so that appending costs O(1) a byte.
 */
#include "base/buffer.h"

#include <stdint.h>

char *buffer_grow(struct buffer *buffer, size_t extra) {
    size_t wanted, capacity = buffer->capacity + buffer->capacity / 2 + 256;
    if (buffer->failed || __builtin_add_overflow(buffer->length, extra, &wanted))
        goto fail;
    if (capacity < wanted)
        capacity = wanted;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        goto fail;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return bytes + buffer->length;
fail:
    buffer->failed = true;
    return NULL;
}
