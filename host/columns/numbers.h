/*
 * numbers.h - a number as Python's json module reads it: an integer, a double, or true/false (which count as 1 and 0).
 *
 * Numbers are compared by value regardless of their kinds (7 == 7.0, exactly, also beyond 2^53), and added and
 * subtracted as in Python: integers exactly, and in double arithmetic if one of the two is a double. Integers of times
 * and durations are below 2^62 in magnitude, which readers check, so that sums of two fit. Readers reject NaN where
 * order matters.
 *
 * The functions are the same for the CPU and the CUDA engine. Ids (value_key) and rows of tables (row_t) are here, too.
 */
#ifndef COLUMNS_NUMBERS_H
#define COLUMNS_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/shared.h"

/*
 * Any JSON value that serves as an id (tid, correlation, external id, rf_id, node id, ...) as 64 bits.
 *
 * Two ids are equal in Python if and only if their keys are: 7, 7.0 and true == 1 become the integer; strings,
 * fractions and integers beyond 64 bits get a number from the value table that all traces of a context share. Only the
 * equality of these numbers has a meaning: they are in the order of insertion.
 *
 *     INT64_MIN ...                            ... INT64_MIN + 2^32 ...                              ... INT64_MAX
 *     | absent | null | unhashable | value 0, value 1, ...          | the integer itself                        |
 */

typedef int64_t value_key;

#define KEY_ABSENT     INT64_MIN                        /* the field is absent */
#define KEY_NULL       (INT64_MIN + 1)                  /* the field is null */
#define KEY_UNHASHABLE (INT64_MIN + 2)                  /* a list or an object: no id in Python either */
#define KEY_VALUES     (INT64_MIN + 3)                  /* first number of the value table */
#define KEY_INTEGERS   (INT64_MIN + ((int64_t)1 << 32)) /* smallest integer that is its own key */

static inline bool key_is_integer(value_key key) {
    return key >= KEY_INTEGERS;
}

/* Neither absent nor null. */
static inline bool key_is_value(value_key key) {
    return key > KEY_NULL;
}

enum number_kind { NUMBER_INTEGER, NUMBER_DOUBLE, NUMBER_BOOLEAN };

/* The magnitude of an integer time or duration is below this. */
#define NUMBER_INTEGER_LIMIT ((int64_t)1 << 62)

struct number {
    uint64_t bits; /* int64_t, or the bits of a double */
    uint8_t kind;  /* enum number_kind */
};

/* A column of numbers: bits[i] and kind[i]. */
struct number_column {
    uint64_t *bits;
    uint8_t *kind;
};

SHARED struct number number_integer(int64_t value) {
    struct number x = {(uint64_t)value, NUMBER_INTEGER};
    return x;
}

SHARED struct number number_double(double value) {
    struct number x = {0, NUMBER_DOUBLE};
    memcpy(&x.bits, &value, sizeof value);
    return x;
}

SHARED struct number number_at(struct number_column column, uint32_t row) {
    struct number x = {column.bits[row], column.kind[row]};
    return x;
}

SHARED void number_set(struct number_column column, uint32_t row, struct number x) {
    column.bits[row] = x.bits;
    column.kind[row] = x.kind;
}

SHARED bool number_is_double(struct number x) {
    return x.kind == NUMBER_DOUBLE;
}

/* The double itself, or the integer rounded to the nearest double. */
SHARED double number_as_double(struct number x) {
    double d;
    if (x.kind != NUMBER_DOUBLE)
        return (double)(int64_t)x.bits;
    memcpy(&d, &x.bits, sizeof d);
    return d;
}

/* Whether the conversion to double is exact: for all integers up to 2^53 in magnitude, and few beyond. */
SHARED bool number_fits_double(struct number x) {
    uint64_t magnitude = (int64_t)x.bits < 0 ? 0 - x.bits : x.bits;
    return number_is_double(x) || magnitude <= (uint64_t)1 << 53;
}

/* -1, 0, 1: an integer against a double, exactly. */
SHARED int integer_compare_double(int64_t i, double d) {
    if (!(d < 9223372036854775808.0)) /* NaN too: readers reject it, but infinities may have this difference */
        return -1;
    if (d < -9223372036854775808.0)
        return 1;
    int64_t whole = (int64_t)d; /* towards zero */
    if (i != whole)
        return i < whole ? -1 : 1;
    double rest = d - (double)whole; /* exact: |d| < 2^53 wherever there is a fraction */
    return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

/* -1, 0 or 1 as x is below, equal to or above y. */
SHARED int number_compare(struct number x, struct number y) {
    if (x.kind != NUMBER_DOUBLE && y.kind != NUMBER_DOUBLE) {
        int64_t a = (int64_t)x.bits, b = (int64_t)y.bits;
        return (a > b) - (a < b);
    }
    if (x.kind == NUMBER_DOUBLE && y.kind == NUMBER_DOUBLE) {
        double a = number_as_double(x), b = number_as_double(y);
        return (a > b) - (a < b);
    }
    if (x.kind == NUMBER_DOUBLE)
        return -integer_compare_double((int64_t)y.bits, number_as_double(x));
    return integer_compare_double((int64_t)x.bits, number_as_double(y));
}

SHARED struct number number_add(struct number x, struct number y) {
    if (x.kind == NUMBER_DOUBLE || y.kind == NUMBER_DOUBLE)
        return number_double(number_as_double(x) + number_as_double(y));
    return number_integer((int64_t)(x.bits + y.bits));
}

SHARED struct number number_subtract(struct number x, struct number y) {
    if (x.kind == NUMBER_DOUBLE || y.kind == NUMBER_DOUBLE)
        return number_double(number_as_double(x) - number_as_double(y));
    return number_integer((int64_t)(x.bits - y.bits));
}

/* Keys with the same order, unsigned, as integers or as doubles; both zeros have one key. No time has the key 0. */
SHARED uint64_t integer_sort_key(int64_t value) {
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

SHARED int64_t integer_of_sort_key(uint64_t key) {
    return (int64_t)(key ^ (uint64_t)1 << 63);
}

SHARED uint64_t double_sort_key(double value) {
    uint64_t bits;
    if (value == 0)
        value = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

SHARED double double_of_sort_key(uint64_t key) {
    double value;
    uint64_t bits = key >> 63 ? key ^ (uint64_t)1 << 63 : ~key;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The key among numbers that are all integers, or, with as_doubles, all fit doubles. */
SHARED uint64_t number_sort_key(struct number x, bool as_doubles) {
    return as_doubles ? double_sort_key(number_as_double(x)) : integer_sort_key((int64_t)x.bits);
}

/* For integers beyond 2^53 mixed with doubles, 64 bits are too few; such numbers are in the order of (whole, rest). The
 * whole key of an integer is the key of the largest double that is not greater. */
SHARED uint64_t number_whole_key(struct number x) {
    double d = number_as_double(x);
    return double_sort_key(d) - (!number_is_double(x) && integer_compare_double((int64_t)x.bits, d) < 0);
}

SHARED uint64_t number_rest_key(struct number x) {
    return number_is_double(x) ? 0 : x.bits - (uint64_t)(int64_t)double_of_sort_key(number_whole_key(x));
}

/* Rows of our tables: 32 bits, never mixed with ids that files give. */
typedef uint32_t row_t;

#define ROW_NONE  UINT32_MAX
#define ROW_LIMIT (UINT32_MAX - 1) /* most rows of a table */

#endif
