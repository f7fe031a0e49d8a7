/*
 * et_wire_put.h - numbers and keys in protobuf's wire format: how long they are, and writing them where there is room.
 */
#ifndef SIMULATE_ET_WIRE_PUT_H
#define SIMULATE_ET_WIRE_PUT_H

#include "simulate/et_wire.h"

static inline size_t varint_size(uint64_t value) {
    return (size_t)(70 - __builtin_clzll(value | 1)) / 7;
}

static inline char *put_varint(char *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

static inline size_t key_size(unsigned field) {
    return field < 16 ? 1 : 2;
}

static inline char *put_key(char *to, unsigned field, enum wire_type wire) {
    return put_varint(to, field << 3 | (unsigned)wire);
}

#endif
