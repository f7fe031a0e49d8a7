/*
 * fields.h - reading values of the kinds that traces hold, from their place in the text.
 *
 * A field is found first and read later, since in Python the last of repeated keys counts. Each reader returns false
 * for a value of another kind, with nothing changed.
 */
#ifndef READ_FIELDS_H
#define READ_FIELDS_H

#include <stdbool.h>

#include "base/buffer.h"
#include "columns/key.h"
#include "columns/number.h"
#include "columns/strings.h"
#include "columns/values.h"
#include "read/json_walk.h"

/* What reading fields needs besides the text; one for each thread. */
struct field_reader {
    const struct source *source;
    struct values *values;
    struct buffer scratch; /* a decoded string */
    bool failed;           /* out of memory */
};

/* A time or duration: an integer below NUMBER_INTEGER_LIMIT in magnitude, a double that is not NaN, true or false. */
bool field_number(const char *value, struct number *number);

/* An integer that fits 64 bits. */
bool field_integer(const char *value, int64_t *integer);

/* Any value as an id. Lists and objects give KEY_UNHASHABLE. */
value_key field_key(struct field_reader *reader, struct json_place place);

/* What Python's int() makes of a value, as an id; false where int() would raise an exception. */
bool field_int(struct field_reader *reader, struct json_place place, value_key *key);

/* A string, decoded into the reader's scratch buffer if it has escapes; valid until the next call. */
const char *field_string(struct field_reader *reader, struct json_place place, size_t *length);

/* A string, interned. STRING_NONE: out of memory. */
uint32_t field_intern(struct field_reader *reader, struct json_place place, struct strings *strings);

#endif
