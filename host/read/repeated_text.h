/*
 * repeated_text.h - caches of values by their raw text: inputs of operators, strings, and walked lists and objects.
 *
 * Events repeat a few kinds of names, shapes, types and attributes millions of times. Equal raw text means equal
 * values, so a value with the same bytes as an earlier value is neither parsed nor interned again, and results are
 * the same as without a cache. One cache per thread and text, direct-mapped, zeros at the start. Cost: O(bytes
 * compared).
 */
#ifndef READ_REPEATED_TEXT_H
#define READ_REPEATED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/shared.h"
#include "columns/hash.h"
#include "read/document.h"
#include "read/event_columns.h"
#include "read/json.h"
#include "text/numbers.h"

/*
 * ---- Inputs of operators ----
 *
 *     "Concrete Inputs": ["", "1"], "Input type": ["float", "Scalar"], "Input Dims": [[32, 1], []], ...
 *                        |--- equal bytes from the first value to the end of the last: the same inputs ---|
 *
 * Launches are not cached: other values are between their inputs, and rarely repeat.
 */

#define INPUTS_CACHE_BITS 10

struct cached_inputs {
    size_t at, length; /* of the bytes; 0: free */
    uint32_t number;
    int first; /* the input at the first byte */
};

struct inputs_cache {
    struct cached_inputs list[1 << INPUTS_CACHE_BITS];
};

static inline uint64_t inputs_hash_term(const char *at, uint64_t offset) {
    return (hash_load(at, 8) ^ 0x9e3779b97f4a7c15u) * (hash_load(at + 8, 8) ^ (0xe7037ed1a0b428dbu + offset));
}

/* Slot of at least 16 bytes: the upper bits of a sum of products, which do not depend on each other as the steps of a
 * hash do. */
static inline size_t inputs_slot(const char *bytes, size_t n) {
    uint64_t sum = inputs_hash_term(bytes + n - 16, n);
    for (size_t i = 0; i + 16 < n; i += 16)
        sum += inputs_hash_term(bytes + i, i);
    return (size_t)(sum >> (64 - INPUTS_CACHE_BITS));
}

/* As inputs_intern(). */
static inline uint32_t cached_inputs_intern(struct inputs_cache *cache, struct field_reader *reader,
                                            const struct json_span *places, unsigned given, struct strings *strings) {
    const char *text = reader->source->bytes;
    struct cached_inputs found = {.at = SIZE_MAX};
    size_t end = 0;
    if (!given)
        return STRING_NONE;
    for (unsigned left = given; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        size_t value_end = places[i].at + event_place_length(text, places[i]);
        found.first = places[i].at < found.at ? i : found.first;
        found.at = MIN(places[i].at, found.at);
        end = MAX(value_end, end);
    }
    found.length = end - found.at;
    if (found.length < 16)
        return inputs_intern(reader, places, given, strings);
    struct cached_inputs *known = &cache->list[inputs_slot(text + found.at, found.length)];
    if (known->length == found.length && known->first == found.first &&
        memcmp(text + known->at, text + found.at, found.length) == 0)
        return known->number;
    found.number = inputs_intern(reader, places, given, strings);
    if (found.number != STRING_NONE)
        *known = found;
    return found.number;
}

/*
 * ---- Strings ----
 *
 * A string of up to 32 bytes is compared by its words with the string in its slot. A longer string has its slot by its
 * ends, and is compared with the text. All others are decoded, hashed and interned.
 */

#define CACHED_STRING_BYTES 32
#define STRING_CACHE_SLOTS  256

struct cached_string {
    uint64_t words[CACHED_STRING_BYTES / 8]; /* zeros after the end */
    uint32_t length;                         /* with the quote; 0: free */
    uint32_t number;
};

struct cached_text {
    size_t at;
    uint32_t length; /* 0: free */
    uint32_t number;
};

struct string_cache {
    struct cached_string list[STRING_CACHE_SLOTS];
    struct cached_text longer[STRING_CACHE_SLOTS];
};

/* From byte 32 - n on: a mask of the first n bytes. */
static const unsigned char cached_string_mask[2 * CACHED_STRING_BYTES] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Word `i` of the first `length` bytes of the text, the closing quote included. */
static inline uint64_t cached_string_word(const char *text, size_t length, size_t i) {
    return hash_load(text + 8 * i, 8) & hash_load(cached_string_mask + CACHED_STRING_BYTES + 1 - length + 8 * i, 8);
}

/* As cached_string_intern(), for strings of more than 32 bytes. */
static inline uint32_t cached_text_intern(struct string_cache *cache, struct field_reader *reader,
                                          struct json_span place, struct strings *strings) {
    const char *text = reader->source->bytes + place.at, *end = reader->source->bytes + place.end;
    size_t length = place.end - place.at;
    uint64_t hash = hash_fold(hash_load(end - 8, 8) ^ 0x9e3779b97f4a7c15u ^ length,
                              hash_load(end - 16, 8) ^ hash_load(text + 8, 8) ^ 0xe7037ed1a0b428dbu);
    struct cached_text *known = &cache->longer[hash % STRING_CACHE_SLOTS];
    if (known->length == length && memcmp(reader->source->bytes + known->at, text, length) == 0)
        return known->number;
    uint32_t number = field_intern(reader, place, strings);
    if (number != STRING_NONE && length <= UINT32_MAX)
        *known = (struct cached_text){place.at, (uint32_t)length, number};
    return number;
}

/* As field_intern(). */
static inline uint32_t cached_string_intern(struct string_cache *cache, struct field_reader *reader,
                                            struct json_span place, struct strings *strings) {
    const char *text = reader->source->bytes + place.at + 1;
    size_t length = place.end - place.at;
    if (length > CACHED_STRING_BYTES)
        return cached_text_intern(cache, reader, place, strings);
    /* in registers: loading two words at once right after storing each alone is slow */
    uint64_t a = cached_string_word(text, length, 0), b = cached_string_word(text, length, 1);
    uint64_t c = cached_string_word(text, length, 2), d = cached_string_word(text, length, 3);
    uint64_t hash = hash_fold(a ^ c ^ 0x9e3779b97f4a7c15u, b ^ d ^ 0xe7037ed1a0b428dbu);
    struct cached_string *known = &cache->list[hash % STRING_CACHE_SLOTS];
    const uint64_t *words = known->words;
    if (((a ^ words[0]) | (b ^ words[1]) | (c ^ words[2]) | (d ^ words[3]) | (known->length ^ length)) == 0)
        return known->number;
    uint32_t number = field_intern(reader, place, strings);
    if (number != STRING_NONE)
        *known = (struct cached_string){{a, b, c, d}, (uint32_t)length, number};
    return number;
}

/*
 * ---- Lists and objects ----
 *
 * A list or object with the same bytes as an earlier, well-formed one ends after as many bytes and has the same
 * value. The slot is a hash of some of its first bytes.
 */

struct cached_value {
    size_t at, length; /* 0 bytes: free */
};

/* Slot of the list or object at `text`: of a list by its first 16 bytes, of an object by the bytes at which
 * {"name": "op_schema", "type": "string", "value": "aten::add.Tensor(... has its name and its value. Reads up to 60
 * bytes. */
static inline size_t value_slot(const char *text, size_t n_slots) {
    bool object = *text == '{';
    uint64_t first = word_load(text + (object ? 10 : 0)), second = word_load(text + (object ? 52 : 8));
    return hash_fold(first ^ 0x9e3779b97f4a7c15u, second ^ 0xe7037ed1a0b428dbu) % n_slots;
}

/* Whether the bytes at byte `at` equal the cached value. */
static inline bool cached_value_matches(const struct cached_value *value, const struct source *source, size_t at) {
    return value->length > 0 && value->length <= source->size - at &&
           memcmp(source->bytes + value->at, source->bytes + at, value->length) == 0;
}

/* The value at byte `at`, which the walker has just passed. */
static inline struct cached_value cached_value_new(const struct json_walker *walker, size_t at) {
    return (struct cached_value){at, walker->expected ? 0 : trim_end(walker->text, walker->at) - at};
}

#endif
