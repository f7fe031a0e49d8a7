/*
 * et_bytes.h - builds .et files for tests field by field.
 */
#ifndef TESTS_ET_BYTES_H
#define TESTS_ET_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

static inline void add_varint(struct buffer *out, uint64_t value) {
    char byte;
    for (; value >= 0x80; value >>= 7) {
        byte = (char)(value | 0x80);
        buffer_append(out, &byte, 1);
    }
    byte = (char)value;
    buffer_append(out, &byte, 1);
}

static inline void put_number(struct buffer *out, unsigned field, uint64_t value) {
    add_varint(out, field << 3);
    add_varint(out, value);
}

static inline void put_bytes(struct buffer *out, unsigned field, const void *bytes, size_t length) {
    add_varint(out, field << 3 | 2);
    add_varint(out, length);
    buffer_append(out, bytes, length);
}

static inline void put_text(struct buffer *out, unsigned field, const char *text) {
    put_bytes(out, field, text, strlen(text));
}

/* A message made before, as a field; it is then empty. */
static inline void put_message(struct buffer *out, unsigned field, struct buffer *message) {
    put_bytes(out, field, message->bytes, message->length);
    message->length = 0;
}

/* The same as the next message of a file. */
static inline void put_into_file(struct buffer *file, struct buffer *message) {
    add_varint(file, message->length);
    buffer_append(file, message->bytes, message->length);
    message->length = 0;
}

/* An attribute with a number, of the kind that has this field. */
static inline void put_attribute(struct buffer *node, unsigned field, const char *name, unsigned kind, uint64_t value) {
    struct buffer attribute = {0};
    put_text(&attribute, 1, name);
    put_number(&attribute, kind, value);
    put_message(node, field, &attribute);
    buffer_free(&attribute);
}

static inline void put_text_attribute(struct buffer *node, unsigned field, const char *name, const char *value) {
    struct buffer attribute = {0};
    put_text(&attribute, 1, name);
    put_text(&attribute, 29, value);
    put_message(node, field, &attribute);
    buffer_free(&attribute);
}

#endif
