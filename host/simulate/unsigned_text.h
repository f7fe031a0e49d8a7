/*
 * unsigned_text.h - integers without sign from their JSON text.
 */
#ifndef SIMULATE_UNSIGNED_TEXT_H
#define SIMULATE_UNSIGNED_TEXT_H

#include "read/fields.h"

/* The integer at `value`, if it is one from 0 to 2^64 - 1. Reads as number_scan() does. */
static inline bool unsigned_parse(const char *value, uint64_t *number) {
    int64_t integer;
    size_t length;
    if (field_integer(value, &integer)) {
        *number = (uint64_t)integer;
        return integer >= 0;
    }
    if (*value < '1' || *value > '9' || number_scan(value, &length) != NUMBER_FORM_INTEGER || length > 20)
        return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < length; i++)
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(value[i] - '0'), &sum))
            return false;
    *number = sum;
    return true;
}

#endif
