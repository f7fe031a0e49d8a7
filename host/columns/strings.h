/*
 * strings.h - interned strings: equal bytes get the same 32-bit number, ascending in the order of insertion.
 *
 *     bytes   a::t\0cpu_op\0kernel\0...       all strings, each followed by a NUL
 *     start   0     5       12      ...       offset of each string; start[n] is the end
 *     slots   from the hash of a string to its number
 *
 * One thread at a time. Cost: O(length) to intern, O(1) to read.
 */
#ifndef COLUMNS_STRINGS_H
#define COLUMNS_STRINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash.h"
#include "columns/numbers.h"

#define STRING_NONE UINT32_MAX

struct strings {
    char *bytes;
    uint64_t *start;
    struct hash_slots slots;
    uint64_t n_bytes, bytes_capacity;
    uint32_t n, capacity;
};

bool strings_init(struct strings *strings);
void strings_free(struct strings *strings);

/* The number of these bytes, which are added if they are new; STRING_NONE: out of memory. */
uint32_t strings_intern(struct strings *strings, const char *bytes, size_t length);

/* The number of these bytes, or STRING_NONE if they were never interned. */
uint32_t strings_find(const struct strings *strings, const char *bytes, size_t length);

/* Interns all strings of another table in their order. Returns the number here by the number there; the caller frees
 * it. NULL: out of memory. */
uint32_t *strings_join(struct strings *strings, const struct strings *others);

static inline const char *strings_text(const struct strings *strings, uint32_t string) {
    return strings->bytes + strings->start[string];
}

static inline size_t strings_length(const struct strings *strings, uint32_t string) {
    return strings->start[string + 1] - strings->start[string] - 1;
}

/*
 * ---- The table of ids that are not 64-bit integers: strings, fractions, integers of any length ----
 *
 * All threads and all traces of a context share it, so that equal values have equal keys in all traces. Such ids are
 * rare; a mutex guards the table. Values never move, so that a thread with a key reads the value without the mutex
 * while others add values:
 *
 *     lists   [0]: value 0    [1]: values 1, 2    [2]: values 3 .. 6    ...
 */

/* The letter before a value in the table. */
enum { VALUES_STRING = 's', VALUES_DOUBLE = 'd', VALUES_INTEGER = 'i', VALUES_NAN = 'n' };

struct values {
    pthread_mutex_t mutex;
    struct strings strings; /* a letter for the type, then the canonical text */
    uint32_t n_nan;         /* NaN equals nothing: each NaN gets a number */
    struct arena arena;     /* of the lists and their texts */
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

/* Keys of values; KEY_ABSENT: out of memory. A double or an integer text that fits 64 bits folds into the
 * integer. `text` is canonical: no leading zeros, no plus sign. */
value_key values_string(struct values *values, const char *decoded, size_t length);
value_key values_double(struct values *values, double value);
value_key values_integer(struct values *values, const char *text, size_t length);

/* The value of a key from KEY_VALUES on that is no integer; valid as long as the table. */
struct value values_at(const struct values *values, value_key key);

/* A value as Python's str() gives it, in `room` (NUMBER_TEXT_MAX bytes) or in the table. */
const char *values_text(const struct values *values, value_key key, char *room, size_t *length);

#endif
