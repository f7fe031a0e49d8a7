/*
 * values.c - keys of ids that are no 64-bit integers.
 */
#include "columns/values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number_text.h"

bool values_init(struct values *values) {
    values->n_nan = 0;
    pthread_mutex_init(&values->mutex, NULL);
    return strings_init(&values->strings);
}

void values_free(struct values *values) {
    pthread_mutex_destroy(&values->mutex);
    strings_free(&values->strings);
}

static value_key intern(struct values *values, char type, const void *bytes, size_t length) {
    char small[64], *text = length < sizeof small ? small : malloc(length + 1);
    if (!text)
        return KEY_ABSENT;
    text[0] = type;
    memcpy(text + 1, bytes, length);
    pthread_mutex_lock(&values->mutex);
    uint32_t number = strings_intern(&values->strings, text, length + 1);
    pthread_mutex_unlock(&values->mutex);
    if (text != small)
        free(text);
    return number == STRING_NONE ? KEY_ABSENT : KEY_VALUES + number;
}

static value_key intern_nan(struct values *values) {
    pthread_mutex_lock(&values->mutex);
    uint32_t number = values->n_nan++;
    pthread_mutex_unlock(&values->mutex);
    return intern(values, VALUES_NAN, &number, sizeof number);
}

value_key values_string(struct values *values, const char *decoded, size_t length) {
    return intern(values, VALUES_STRING, decoded, length);
}

value_key values_integer(struct values *values, const char *text, size_t length) {
    int64_t small;
    if (integer_parse(text, length, &small) && key_is_integer(small))
        return small;
    return intern(values, VALUES_INTEGER, text, length);
}

/* A whole double beyond 64 bits equals the integer that it stands for, all of its up to 309 digits. */
static value_key whole_double(struct values *values, double value) {
    char text[320];
    int length = snprintf(text, sizeof text, "%.0f", value);
    return values_integer(values, text, (size_t)length);
}

value_key values_double(struct values *values, double value) {
    if (isnan(value))
        return intern_nan(values);
    if (value >= -9223372036854775808.0 && value < 9223372036854775808.0 && value == (double)(int64_t)value &&
        key_is_integer((int64_t)value))
        return (int64_t)value;
    if (isfinite(value) && value == floor(value))
        return whole_double(values, value);
    return intern(values, VALUES_DOUBLE, &value, sizeof value);
}

const char *values_text(const struct values *values, value_key key, char *room, size_t *length) {
    double number;
    if (key_is_integer(key)) {
        *length = integer_format(key, room);
        return room;
    }
    if (key < KEY_VALUES) {
        *length = strlen("None");
        return "None";
    }
    uint32_t string = (uint32_t)(key - KEY_VALUES); /* a letter for the type, then the value */
    const char *value = strings_text(&values->strings, string) + 1;
    switch (value[-1]) {
    case VALUES_DOUBLE:
        memcpy(&number, value, sizeof number);
        *length = double_format(number, room);
        return room;
    case VALUES_NAN:
        *length = strlen("nan");
        return "nan";
    default:
        *length = strings_length(&values->strings, string) - 1;
        return value;
    }
}
