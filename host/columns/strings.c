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
    strings->tags = calloc(strings->n_slots, sizeof *strings->tags);
    if (!strings->bytes || !strings->start || !strings->slots || !strings->tags) {
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
    free(strings->tags);
    *strings = (struct strings){0};
}

/* The slot of the string, or the empty slot where it belongs. */
static uint32_t slot_of(const struct strings *strings, const char *bytes, size_t length, uint64_t hash) {
    uint32_t mask = strings->n_slots - 1, tag = (uint32_t)(hash >> 32);
    for (uint32_t slot = (uint32_t)hash & mask;; slot = (slot + 1) & mask) {
        uint32_t entry = strings->slots[slot];
        if (entry == 0)
            return slot;
        if (strings->tags[slot] == tag && strings_length(strings, entry - 1) == length &&
            memcmp(strings_text(strings, entry - 1), bytes, length) == 0)
            return slot;
    }
}

static bool rebuild_slots(struct strings *strings, uint32_t n_slots, unsigned turn) {
    uint32_t *slots = calloc(n_slots, sizeof *slots), *tags = calloc(n_slots, sizeof *tags);
    if (!slots || !tags) {
        free(slots);
        free(tags);
        return false;
    }
    free(strings->slots);
    free(strings->tags);
    strings->slots = slots;
    strings->tags = tags;
    strings->n_slots = n_slots;
    strings->turn = turn;
    for (uint32_t i = 0; i < strings->n; i++) {
        uint64_t hash = hash_bytes(strings_text(strings, i), strings_length(strings, i), turn);
        uint32_t slot = (uint32_t)hash & (n_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = i + 1;
        tags[slot] = (uint32_t)(hash >> 32);
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
        return strings->slots[slot] - 1;
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
    strings->tags[slot] = (uint32_t)(hash >> 32);
    strings->slots[slot] = ++strings->n;
    return strings->n - 1;
}

uint32_t strings_find(const struct strings *strings, const char *bytes, size_t length) {
    uint64_t hash = hash_bytes(bytes, length, strings->turn);
    uint32_t entry = strings->slots[slot_of(strings, bytes, length, hash)];
    return entry ? entry - 1 : STRING_NONE;
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
