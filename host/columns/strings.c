/*
 * strings.c - implements strings.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns/strings.h"
#include "text/numbers.h"

/* ---- Values ---- */

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

/* The list of a value; its index in the list is number + 1 without the first binary digit. */
static unsigned list_of(uint32_t number) {
    return 31 - (unsigned)__builtin_clz(number + 1);
}

static uint32_t index_of(uint32_t number) {
    return number + 1 - ((uint32_t)1 << list_of(number));
}

/* Interns under the mutex. Copies a new string to where it does not move. Without memory for the copy the string has a
 * number but is no value, nor is any later string. */
static uint32_t intern_guarded(struct values *values, const char *text, size_t length) {
    uint32_t number = strings_intern(&values->strings, text, length);
    if (number == values->n) {
        struct value **list = &values->lists[list_of(number)];
        if (!*list)
            *list = arena_alloc(&values->arena, (size_t)number + 1, sizeof **list);
        char *copy = arena_alloc(&values->arena, length, 1);
        if (!*list || !copy)
            return STRING_NONE;
        memcpy(copy, text + 1, length - 1);
        (*list)[index_of(number)] = (struct value){copy, length - 1, text[0]};
        values->n++;
    }
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

value_key values_string(struct values *values, const char *decoded, size_t length) {
    return intern(values, VALUES_STRING, decoded, length);
}

value_key values_integer(struct values *values, const char *text, size_t length) {
    int64_t small;
    if (integer_parse(text, length, &small) && key_is_integer(small))
        return small;
    return intern(values, VALUES_INTEGER, text, length);
}

value_key values_double(struct values *values, double value) {
    if (isnan(value)) {
        pthread_mutex_lock(&values->mutex);
        uint32_t number = values->n_nan++;
        pthread_mutex_unlock(&values->mutex);
        return intern(values, VALUES_NAN, &number, sizeof number);
    }
    if (value >= -9223372036854775808.0 && value < 9223372036854775808.0 && value == (double)(int64_t)value &&
        key_is_integer((int64_t)value))
        return (int64_t)value;
    if (isfinite(value) && value == floor(value)) { /* equal to an integer of up to 309 digits */
        char text[320];
        int length = snprintf(text, sizeof text, "%.0f", value);
        return values_integer(values, text, (size_t)length);
    }
    return intern(values, VALUES_DOUBLE, &value, sizeof value);
}

struct value values_at(const struct values *values, value_key key) {
    uint32_t number = (uint32_t)(key - KEY_VALUES);
    return values->lists[list_of(number)][index_of(number)];
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

/* ---- Strings ---- */

bool strings_init(struct strings *strings) {
    *strings = (struct strings){.capacity = 64, .bytes_capacity = 4096};
    strings->bytes = malloc(strings->bytes_capacity);
    strings->start = malloc((strings->capacity + 1) * sizeof *strings->start);
    if (!hash_slots_init(&strings->slots, 128) || !strings->bytes || !strings->start) {
        strings_free(strings);
        return false;
    }
    strings->start[0] = 0;
    return true;
}

void strings_free(struct strings *strings) {
    free(strings->bytes);
    free(strings->start);
    free(strings->slots.slots);
    *strings = (struct strings){0};
}

struct text {
    const char *bytes;
    size_t length;
};

static bool is_string(const void *table, uint32_t number, const void *key) {
    const struct strings *strings = table;
    const struct text *text = key;
    return strings_length(strings, number) == text->length &&
           memcmp(strings_text(strings, number), text->bytes, text->length) == 0;
}

static uint64_t hash_of_string(const void *table, uint32_t number, unsigned turn) {
    return hash_bytes(strings_text(table, number), strings_length(table, number), turn);
}

uint32_t strings_intern(struct strings *strings, const char *bytes, size_t length) {
    struct text text = {bytes, length};
    uint64_t hash = hash_bytes(bytes, length, strings->slots.turn);
    uint64_t *slot = hash_find(&strings->slots, hash, is_string, strings, &text);
    if (*slot)
        return hash_number(*slot);
    if (strings->n == UINT32_MAX / 4)
        return STRING_NONE;
    if (strings->n == strings->capacity) {
        uint32_t capacity = strings->capacity * 2;
        uint64_t *start = realloc(strings->start, ((size_t)capacity + 1) * sizeof *start);
        if (!start)
            return STRING_NONE;
        strings->start = start;
        strings->capacity = capacity;
    }
    if (strings->bytes_capacity - strings->n_bytes <= length) {
        uint64_t capacity = strings->bytes_capacity;
        while (capacity - strings->n_bytes <= length)
            capacity *= 2;
        char *larger = realloc(strings->bytes, capacity);
        if (!larger)
            return STRING_NONE;
        strings->bytes = larger;
        strings->bytes_capacity = capacity;
    }
    memcpy(strings->bytes + strings->n_bytes, bytes, length);
    strings->bytes[strings->n_bytes + length] = 0;
    strings->start[strings->n + 1] = strings->n_bytes + length + 1;
    if (!hash_add(&strings->slots, slot, hash, strings->n, hash_of_string, strings))
        return STRING_NONE;
    strings->n_bytes += length + 1;
    return strings->n++;
}

uint32_t strings_find(const struct strings *strings, const char *bytes, size_t length) {
    struct text text = {bytes, length};
    uint64_t hash = hash_bytes(bytes, length, strings->slots.turn);
    uint64_t slot = *hash_find(&strings->slots, hash, is_string, strings, &text);
    return slot ? hash_number(slot) : STRING_NONE;
}

uint32_t *strings_join(struct strings *strings, const struct strings *others) {
    uint32_t *map = malloc(((size_t)others->n + 1) * sizeof *map);
    for (uint32_t i = 0; i < others->n && map; i++) {
        map[i] = strings_intern(strings, strings_text(others, i), strings_length(others, i));
        if (map[i] == STRING_NONE) {
            free(map);
            return NULL;
        }
    }
    return map;
}
