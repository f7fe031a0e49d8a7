/*
 * et_wire.h - reading protobuf's wire format: the fields of a message, one after the other.
 *
 *     tag (varint: number * 8 + type), then by type   0 varint   1 eight bytes   2 length and bytes   5 four bytes
 *                                                     3 .. 4 a group, which no message of ours has: stepped over
 *
 * A cursor stays within its bytes. At the first fault it stops for good, with the place and the reason; loops over
 * fields then end by themselves, and look once at the end. No recursion. Cost: O(bytes), nested messages unread.
 */
#ifndef SIMULATE_ET_WIRE_H
#define SIMULATE_ET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/digits.h"

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_GROUP = 3, WIRE_GROUP_END = 4, WIRE_32 = 5 };

/* Groups in groups that are stepped over; protobuf's own limit. */
#define WIRE_DEPTH_MAX 100

/* Bytes of the longest number. */
#define WIRE_VARINT_MAX 10

struct wire {
    const char *at, *end;
    const char *fault; /* what is wrong at `at`, or NULL */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t bits;     /* a varint's value, the eight or four bytes, the length */
    const char *bytes; /* of type WIRE_BYTES */
};

static inline struct wire wire_over(const char *bytes, size_t length) {
    return (struct wire){.at = bytes, .end = bytes + length};
}

/* Notes what is wrong and ends the cursor's way. */
static inline bool wire_fail(struct wire *wire, const char *at, const char *fault) {
    wire->at = at;
    wire->end = at;
    wire->fault = fault;
    return false;
}

/* A varint of at most ten bytes; what does not fit 64 bits of the tenth is dropped, as protobuf does. Most have one. */
static inline bool wire_varint(struct wire *wire, uint64_t *value) {
    const char *at = wire->at;
    if (at != wire->end && (unsigned char)*at < 0x80) {
        *value = (unsigned char)*at;
        wire->at = at + 1;
        return true;
    }
    uint64_t sum = 0;
    for (unsigned shift = 0; shift < 7 * WIRE_VARINT_MAX; shift += 7) {
        if (at == wire->end)
            return wire_fail(wire, wire->at, "truncated number");
        uint64_t byte = (unsigned char)*at++;
        sum |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            wire->at = at;
            *value = sum;
            return true;
        }
    }
    return wire_fail(wire, wire->at, "number longer than ten bytes");
}

/* The n bytes at the cursor, n being 4 or 8, as a number. */
static inline bool wire_fixed(struct wire *wire, size_t n, uint64_t *value) {
    char bytes[8] = {0};
    if ((size_t)(wire->end - wire->at) < n)
        return wire_fail(wire, wire->at, "truncated number");
    memcpy(bytes, wire->at, n);
    *value = word_load(bytes);
    wire->at += n;
    return true;
}

static inline bool wire_bytes(struct wire *wire, struct wire_field *field) {
    const char *from = wire->at;
    if (!wire_varint(wire, &field->bits))
        return false;
    if (field->bits > (uint64_t)(wire->end - wire->at))
        return wire_fail(wire, from, "length exceeds the enclosing message");
    field->bytes = wire->at;
    wire->at += field->bits;
    return true;
}

/* A tag and, unless it begins or ends a group, the value behind it. */
static inline bool wire_take(struct wire *wire, struct wire_field *field) {
    const char *from = wire->at;
    uint64_t tag;
    if (!wire_varint(wire, &tag))
        return false;
    if (tag > UINT32_MAX || tag < 8)
        return wire_fail(wire, from, "invalid field number");
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum wire_type)(tag & 7);
    switch (field->type) {
    case WIRE_VARINT:
        return wire_varint(wire, &field->bits);
    case WIRE_64:
        return wire_fixed(wire, 8, &field->bits);
    case WIRE_BYTES:
        return wire_bytes(wire, field);
    case WIRE_32:
        return wire_fixed(wire, 4, &field->bits);
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        return true;
    }
    return wire_fail(wire, from, "invalid field type");
}

/* From behind the tag that begins a group to behind the one that ends it. */
bool wire_skip_group(struct wire *wire, uint32_t number);

/* The next field of any form. */
bool wire_next_any(struct wire *wire, struct wire_field *field);

/* The next field; groups are stepped over. False: the end, or a fault. Most have a tag of one byte, and a value or
 * length of one. */
static inline bool wire_next(struct wire *wire, struct wire_field *field) {
    const size_t left = (size_t)(wire->end - wire->at);
    if (left >= 2) {
        const unsigned tag = (unsigned char)wire->at[0], value = (unsigned char)wire->at[1];
        const unsigned type = tag & 7;
        if (tag >= 8 && tag < 0x80 && value < 0x80 &&
            (type == WIRE_VARINT || (type == WIRE_BYTES && value <= left - 2))) {
            *field = (struct wire_field){tag >> 3, (enum wire_type)type, value, wire->at + 2};
            wire->at += type == WIRE_BYTES ? 2 + value : 2;
            return true;
        }
    }
    return wire_next_any(wire, field);
}

#endif
