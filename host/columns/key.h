/*
 * key.h - any JSON value that serves as an id (tid, correlation, external id, rf_id, node id, ...) as 64 bits.
 *
 * Two ids are equal in Python exactly where their keys are: 7, 7.0 and true == 1 fold into the integer; strings,
 * fractions and integers beyond 64 bits get a number from the value table that all traces of a context share. Only
 * equality means anything for those: their order is the order in which they were seen.
 *
 *     INT64_MIN ...                            ... INT64_MIN + 2^32 ...                              ... INT64_MAX
 *     | absent | null | unhashable | value 0, value 1, ...          | the integer itself                        |
 */
#ifndef COLUMNS_KEY_H
#define COLUMNS_KEY_H

#include <stdbool.h>
#include <stdint.h>

typedef int64_t value_key;

#define KEY_ABSENT     INT64_MIN                        /* the field is not there */
#define KEY_NULL       (INT64_MIN + 1)                  /* the field is null */
#define KEY_UNHASHABLE (INT64_MIN + 2)                  /* a list or an object: no id in Python either */
#define KEY_VALUES     (INT64_MIN + 3)                  /* first number of the value table */
#define KEY_INTEGERS   (INT64_MIN + ((int64_t)1 << 32)) /* smallest integer that stands for itself */

static inline bool key_is_integer(value_key key) {
    return key >= KEY_INTEGERS;
}

/* Neither absent nor null. */
static inline bool key_is_value(value_key key) {
    return key > KEY_NULL;
}

#endif
