/*
 * strings.c - the table of interned strings.
 */
#include "columns/strings.h"

#include <stdlib.h>
#include <string.h>

#include "columns/hash.h"

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

/* What a slot holds for a string: the upper half of its hash, which most others differ in, and its number + 1. */
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

/* The slots come first: there must never be fewer of them than two for each entry. */
static bool grow_entries(struct strings *strings) {
    uint32_t capacity = strings->capacity * 2;
    if (strings->n_slots < 2 * capacity && !rebuild_slots(strings, strings->n_slots * 2, strings->turn))
        return false;
    uint64_t *start = realloc(strings->start, ((size_t)capacity + 1) * sizeof *start);
    if (!start)
        return false;
    strings->start = start;
    strings->capacity = capacity;
    return true;
}

static bool grow_bytes(struct strings *strings, size_t extra) {
    uint64_t capacity = strings->bytes_capacity;
    while (capacity - strings->n_bytes < extra)
        capacity *= 2;
    char *bytes = realloc(strings->bytes, capacity);
    if (!bytes)
        return false;
    strings->bytes = bytes;
    strings->bytes_capacity = capacity;
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
        if (!grow_entries(strings))
            return STRING_NONE;
        slot = slot_of(strings, bytes, length, hash);
    }
    if (hash_run_is_long(hash, slot, strings->n_slots - 1, strings->turn)) {
        if (!rebuild_slots(strings, strings->n_slots, strings->turn + 1))
            return STRING_NONE;
        hash = hash_bytes(bytes, length, strings->turn);
        slot = slot_of(strings, bytes, length, hash);
    }
    if (strings->bytes_capacity - strings->n_bytes <= length && !grow_bytes(strings, length + 1))
        return STRING_NONE;
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
