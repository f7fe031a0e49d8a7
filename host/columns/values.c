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
    *values = (struct values){0};
    pthread_mutex_init(&values->mutex, NULL);
    return strings_init(&values->strings);
}

void values_free(struct values *values) {
    pthread_mutex_destroy(&values->mutex);
    strings_free(&values->strings);
    arena_free(&values->arena);
}

/* In which list a value stands; its place there is what is left of number + 1 without its first binary digit. */
static unsigned list_of(uint32_t number) {
    return 31 - (unsigned)__builtin_clz(number + 1);
}

static uint32_t place_of(uint32_t number) {
    return number + 1 - ((uint32_t)1 << list_of(number));
}

/* Copies the table's last string to where it stays. */
static bool keep(struct values *values, const char *text, size_t length) {
    uint32_t number = values->n;
    struct value **list = &values->lists[list_of(number)];
    if (!*list)
        *list = arena_take(&values->arena, (size_t)number + 1, sizeof **list);
    char *copy = arena_take(&values->arena, length, 1);
    if (!*list || !copy)
        return false;
    memcpy(copy, text + 1, length - 1);
    (*list)[place_of(number)] = (struct value){copy, length - 1, text[0]};
    values->n++;
    return true;
}

/* Without memory for the copy a string has a number but is no value, nor is any that comes later. */
static uint32_t intern_guarded(struct values *values, const char *text, size_t length) {
    uint32_t number = strings_intern(&values->strings, text, length);
    if (number == values->n && !keep(values, text, length))
        return STRING_NONE;
    return number < values->n ? number : STRING_NONE;
}

static value_key intern(struct values *values, char type, const void *bytes, size_t length) {
    char small[64], *text = length < sizeof small ? small : malloc(length + 1);
    if (!text)
        return KEY_ABSENT;
    text[0] = type;
    memcpy(text + 1, bytes, length);
    pthread_mutex_lock(&values->mutex);
    uint32_t number = intern_guarded(values, text, length + 1);
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

struct value values_at(const struct values *values, value_key key) {
    uint32_t number = (uint32_t)(key - KEY_VALUES);
    return values->lists[list_of(number)][place_of(number)];
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
    struct value value = values_at(values, key);
    switch (value.type) {
    case VALUES_DOUBLE:
        memcpy(&number, value.text, sizeof number);
        *length = double_format(number, room);
        return room;
    case VALUES_NAN:
        *length = strlen("nan");
        return "nan";
    default:
        *length = value.length;
        return value.text;
    }
}
