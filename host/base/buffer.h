/*
 * buffer.h - bytes that grow at the end.
 *
 * After a failed reservation the buffer keeps what it had and `failed` stays set, so a writer may go on and check once
 * at the end. Zero-initialise; free with buffer_free().
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *bytes;
    size_t length, capacity;
    bool failed;
};

/* Room for `extra` more bytes: where to write them, or NULL. Advance `length` by what was written. */
char *buffer_grow(struct buffer *buffer, size_t extra);

static inline char *buffer_reserve(struct buffer *buffer, size_t extra) {
    if (buffer->bytes && buffer->capacity - buffer->length >= extra)
        return buffer->bytes + buffer->length;
    return buffer_grow(buffer, extra);
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t n) {
    char *to = buffer_reserve(buffer, n);
    if (to && n) {
        memcpy(to, bytes, n);
        buffer->length += n;
    }
}

static inline void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

#endif
