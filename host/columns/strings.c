/*
 * strings.c - implements strings.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns/hash_tables.h"
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
            *list = arena_take(&values->arena, (size_t)number + 1, sizeof **list);
        char *copy = arena_take(&values->arena, length, 1);
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
    *strings = (struct strings){.capacity = 64, .n_slots = 128, .bytes_capacity = 4096};
    strings->bytes = malloc(strings->bytes_capacity);
    strings->start = malloc((strings->capacity + 1) * sizeof *strings->start);
    strings->slots = calloc(strings->n_slots, sizeof *strings->slots);
    if (!strings->bytes || !strings->start || !strings->slots) {
        strings_free(strings);
        return false;
    }
    strings->start[0] = 0;
    return true;
}

void strings_free(struct strings *strings) {
    free(strings->bytes);
    free(strings->start);
    free(strings->slots);
    *strings = (struct strings){0};
}

/* The entry of a string: the upper half of its hash, which differs between most strings, and its number + 1. */
static inline uint64_t entry_of(uint64_t hash, uint32_t string) {
    return hash >> 32 << 32 | (string + 1);
}

static inline uint32_t entry_string(uint64_t entry) {
    return (uint32_t)entry - 1;
}

/* The slot of the string, or the empty slot where it belongs. */
static uint32_t slot_of(const struct strings *strings, const char *bytes, size_t length, uint64_t hash) {
    uint32_t mask = strings->n_slots - 1;
    for (uint32_t slot = (uint32_t)hash & mask;; slot = (slot + 1) & mask) {
        uint64_t entry = strings->slots[slot];
        uint32_t string = entry_string(entry);
        if (entry == 0)
            return slot;
        if (entry >> 32 == hash >> 32 && strings_length(strings, string) == length &&
            memcmp(strings_text(strings, string), bytes, length) == 0)
            return slot;
    }
}

static bool rebuild_slots(struct strings *strings, uint32_t n_slots, unsigned turn) {
    uint64_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    free(strings->slots);
    strings->slots = slots;
    strings->n_slots = n_slots;
    strings->turn = turn;
    for (uint32_t i = 0; i < strings->n; i++) {
        uint64_t hash = hash_bytes(strings_text(strings, i), strings_length(strings, i), turn);
        uint32_t slot = (uint32_t)hash & (n_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = entry_of(hash, i);
    }
    return true;
}

uint32_t strings_intern(struct strings *strings, const char *bytes, size_t length) {
    uint64_t hash = hash_bytes(bytes, length, strings->turn);
    uint32_t slot = slot_of(strings, bytes, length, hash);
    if (strings->slots[slot])
        return entry_string(strings->slots[slot]);
    if (strings->n == UINT32_MAX / 4)
        return STRING_NONE;
    if (strings->n == strings->capacity) {
        /* Grow the slots first: there must always be at least two per string. */
        uint32_t capacity = strings->capacity * 2;
        if (strings->n_slots < 2 * capacity && !rebuild_slots(strings, strings->n_slots * 2, strings->turn))
            return STRING_NONE;
        uint64_t *start = realloc(strings->start, ((size_t)capacity + 1) * sizeof *start);
        if (!start)
            return STRING_NONE;
        strings->start = start;
        strings->capacity = capacity;
        slot = slot_of(strings, bytes, length, hash);
    }
    if (hash_run_is_long(hash, slot, strings->n_slots - 1, strings->turn)) {
        if (!rebuild_slots(strings, strings->n_slots, strings->turn + 1))
            return STRING_NONE;
        hash = hash_bytes(bytes, length, strings->turn);
        slot = slot_of(strings, bytes, length, hash);
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
    strings->n_bytes += length + 1;
    strings->start[strings->n + 1] = strings->n_bytes;
    strings->slots[slot] = entry_of(hash, strings->n);
    return strings->n++;
}

uint32_t strings_find(const struct strings *strings, const char *bytes, size_t length) {
    uint64_t hash = hash_bytes(bytes, length, strings->turn);
    uint64_t entry = strings->slots[slot_of(strings, bytes, length, hash)];
    return entry ? entry_string(entry) : STRING_NONE;
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
