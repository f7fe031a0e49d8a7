/*
 * values.h - the table of ids that are no 64-bit integers: strings, fractions, integers of any length.
 *
 * Shared by all threads and all traces of a context, so that equal values have equal keys wherever they stand. Such ids
 * are rare; a mutex guards the table. Values stay where they are, so that whoever has a key looks at its value without
 * the mutex while others add theirs:
 *
 *     lists   [0]: value 0    [1]: values 1, 2    [2]: values 3 .. 6    ...
 */
#ifndef COLUMNS_VALUES_H
#define COLUMNS_VALUES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "columns/key.h"
#include "columns/strings.h"

/* The letter before a value in the table. */
enum { VALUES_STRING = 's', VALUES_DOUBLE = 'd', VALUES_INTEGER = 'i', VALUES_NAN = 'n' };

struct values {
    pthread_mutex_t mutex;
    struct strings strings; /* a letter for the type, then the canonical text */
    uint32_t n_nan;         /* NaN equals nothing: each gets a number of its own */
    struct arena arena;     /* of the lists and what they point to */
    struct value *lists[32];
    uint32_t n; /* values in the lists */
};

/* A value of the table: for integers and strings the canonical text, for others the bytes. */
struct value {
    const char *text;
    size_t length;
    char type; /* VALUES_STRING or another of these letters */
};

bool values_init(struct values *values);
void values_free(struct values *values);

/* Keys of values; KEY_ABSENT when memory runs out. A double or an integer text that fits 64 bits folds into the
 * integer. `text` is canonical: no leading zeros, no plus sign. */
value_key values_string(struct values *values, const char *decoded, size_t length);
value_key values_double(struct values *values, double value);
value_key values_integer(struct values *values, const char *text, size_t length);

/* The value of a key from KEY_VALUES on that is no integer; it stays as long as the table. */
struct value values_at(const struct values *values, value_key key);

/* A value as Python's str() gives it, in `room` (NUMBER_TEXT_MAX bytes) or in the table. */
const char *values_text(const struct values *values, value_key key, char *room, size_t *length);

#endif
