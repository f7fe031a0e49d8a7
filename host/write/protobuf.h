/*
 * protobuf.h - writes numbers, keys and fields in protobuf's wire format.
 *
 *     tag (varint: number * 8 + type), then by type   0 varint   1 eight bytes   2 length and bytes   5 four bytes
 */
#ifndef WRITE_PROTOBUF_H
#define WRITE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

/* Bytes of the longest number. */
#define WIRE_VARINT_MAX 10

static inline size_t varint_size(uint64_t value) {
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static inline char *write_varint(char *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

static inline char *write_key(char *to, unsigned field, enum wire_type wire) {
    return write_varint(to, field << 3 | (unsigned)wire);
}

/* ---- Fields appended to a buffer ---- */

#define FIELD_HEAD_MAX (2 * WIRE_VARINT_MAX) /* a key, and a number or a length */

static inline void proto_number(struct buffer *out, unsigned field, uint64_t value) {
    char *to = buffer_reserve(out, FIELD_HEAD_MAX);
    if (to)
        out->length += (size_t)(write_varint(write_key(to, field, WIRE_VARINT), value) - to);
}

static inline void proto_fixed64(struct buffer *out, unsigned field, uint64_t bits) {
    char *to = buffer_reserve(out, FIELD_HEAD_MAX);
    if (!to)
        return;
    char *end = write_key(to, field, WIRE_64);
    for (int i = 0; i < 8; i++)
        *end++ = (char)(bits >> 8 * i);
    out->length += (size_t)(end - to);
}

/* A text, or a message whose fields are in `bytes`. */
static inline void proto_bytes(struct buffer *out, unsigned field, const void *bytes, size_t n) {
    char *to = buffer_reserve(out, FIELD_HEAD_MAX + n);
    if (!to)
        return;
    char *end = write_varint(write_key(to, field, WIRE_BYTES), n);
    if (n)
        memcpy(end, bytes, n);
    out->length += (size_t)(end - to) + n;
}

#endif
