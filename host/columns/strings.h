/*
 * strings.h - interned strings: equal bytes get the same 32-bit number, numbers rise in the order of first sight.
 *
 *     bytes   a::t\0cpu_op\0kernel\0...       all strings one after the other, each with a NUL behind
 *     start   0     5       12      ...       where each begins; start[n] is the end
 *     slots   open addressing, at most half full, upper half of the hash and number + 1, or 0
 *
 * One thread at a time. Cost: O(length) to intern, O(1) to look at.
 */
#ifndef COLUMNS_STRINGS_H
#define COLUMNS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRING_NONE UINT32_MAX

struct strings {
    char *bytes;
    uint64_t *start;
    uint64_t *slots;
    uint64_t n_bytes, bytes_capacity;
    uint32_t n, capacity, n_slots;
    unsigned turn; /* of the hash */
};

bool strings_init(struct strings *strings);
void strings_free(struct strings *strings);

/* The number of these bytes, new if they were not seen before; STRING_NONE when memory runs out. */
uint32_t strings_intern(struct strings *strings, const char *bytes, size_t length);

/* The number of these bytes, or STRING_NONE if they were never interned. */
uint32_t strings_find(const struct strings *strings, const char *bytes, size_t length);

/* Interns all strings of another table in their order: the number that each of them gets here, by its number there; the
 * caller's. NULL: out of memory. */
uint32_t *strings_join(struct strings *strings, const struct strings *others);

static inline const char *strings_text(const struct strings *strings, uint32_t string) {
    return strings->bytes + strings->start[string];
}

static inline size_t strings_length(const struct strings *strings, uint32_t string) {
    return strings->start[string + 1] - strings->start[string] - 1;
}

#endif
