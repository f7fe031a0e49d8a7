/*
 * values.h - the table of ids that are no 64-bit integers: strings, fractions, integers of any length.
 *
 * Shared by all threads and all traces of a context, so that equal values have equal keys wherever they stand. Such ids
 * are rare; a mutex guards the table.
 */
#ifndef COLUMNS_VALUES_H
#define COLUMNS_VALUES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "columns/key.h"
#include "columns/strings.h"

/* The letter before a value in the table. */
enum { VALUES_STRING = 's', VALUES_DOUBLE = 'd', VALUES_INTEGER = 'i', VALUES_NAN = 'n' };

struct values {
    pthread_mutex_t mutex;
    struct strings strings; /* a letter for the type, then the canonical text */
    uint32_t n_nan;         /* NaN equals nothing: each gets a number of its own */
};

bool values_init(struct values *values);
void values_free(struct values *values);

/* Keys of values; KEY_ABSENT when memory runs out. A double or an integer text that fits 64 bits folds into the
 * integer. `text` is canonical: no leading zeros, no plus sign. */
value_key values_string(struct values *values, const char *decoded, size_t length);
value_key values_double(struct values *values, double value);
value_key values_integer(struct values *values, const char *text, size_t length);

/* A value as Python's str() gives it, in `room` (NUMBER_TEXT_MAX bytes) or in the table, until that grows. */
const char *values_text(const struct values *values, value_key key, char *room, size_t *length);

#endif
