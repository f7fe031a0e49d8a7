/*
 * repeated_text.h - the numbers of operators' inputs that come again, as inputs_intern() gives them. (Launches have
 * other
 * values between theirs, which seldom come again.)
 *
 *     "Concrete Inputs": ["", "1"], "Input type": ["float", "Scalar"], "Input Strides": [[32, 1], []], "Input Dims":
 * ...
 *                        |--- the same bytes from the first value to the end of the last: the same inputs ------------
 *
 * So they are put together and interned only where these bytes were not seen in the same slot before. One table for
 * each thread and table of strings, zeros at the start. Cost: O(bytes between the first and the last).
 */
#ifndef READ_REPEATED_TEXT_H
#define READ_REPEATED_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "columns/hash_tables.h"
#include "read/document.h"
#include "read/event_columns.h"
#include "read/json.h"
#include "text/numbers.h"

#define SEEN_INPUTS_BITS 10

struct seen_input {
    size_t at, length; /* of the bytes; 0: none were seen */
    uint32_t number;
    int first; /* which input they begin with */
};

struct seen_inputs {
    struct seen_input list[1 << SEEN_INPUTS_BITS];
};

static inline uint64_t seen_input_product(const char *at, uint64_t place) {
    return (hash_load(at, 8) ^ 0x9e3779b97f4a7c15u) * (hash_load(at + 8, 8) ^ (0xe7037ed1a0b428dbu + place));
}

/* Where bytes, 16 at least, are kept: by a sum of products, which do not wait for each other as those of a hash do. All
 * of its bits tell in the upper ones. */
static inline size_t seen_input_slot(const char *bytes, size_t n) {
    uint64_t sum = seen_input_product(bytes + n - 16, n);
    for (size_t i = 0; i + 16 < n; i += 16)
        sum += seen_input_product(bytes + i, i);
    return (size_t)(sum >> (64 - SEEN_INPUTS_BITS));
}

static inline uint32_t seen_inputs_intern(struct seen_inputs *seen, struct field_reader *reader,
                                          const struct json_place *places, unsigned given, struct strings *strings) {
    const char *text = reader->source->bytes;
    struct seen_input found = {.at = SIZE_MAX};
    size_t end = 0;
    if (!given)
        return STRING_NONE;
    for (unsigned left = given; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        size_t behind = places[i].at + event_place_length(text, places[i]);
        found.first = places[i].at < found.at ? i : found.first;
        found.at = places[i].at < found.at ? places[i].at : found.at;
        end = behind > end ? behind : end;
    }
    found.length = end - found.at;
    if (found.length < 16)
        return inputs_intern(reader, places, given, strings);
    struct seen_input *known = &seen->list[seen_input_slot(text + found.at, found.length)];
    if (known->length == found.length && known->first == found.first &&
        memcmp(text + known->at, text + found.at, found.length) == 0)
        return known->number;
    found.number = inputs_intern(reader, places, given, strings);
    if (found.number != STRING_NONE)
        *known = found;
    return found.number;
}

/*
 * The numbers of strings that come again: names and categories of most events.
 *
 * A string is looked for by its text as it stands in the file: one of up to 32 bytes by its words, which are compared
 * with those of the last string of its slot, a longer one by its ends, and compared with the text where its slot saw
 * one. Only what is not there is decoded, hashed and interned. Equal texts mean equal strings, so numbers are the same
 * as without. One table for each thread, text and table of strings, zeros at the start. Cost: O(1), of longer ones
 * O(length), or that of interning.
 */

#define SEEN_STRING_BYTES 32
#define SEEN_STRINGS      256

struct seen_string {
    uint64_t words[SEEN_STRING_BYTES / 8]; /* with zeros behind its end */
    uint32_t length;                       /* with a quote; 0: none was seen */
    uint32_t number;
};

struct seen_text {
    size_t at;
    uint32_t length; /* 0: none was seen */
    uint32_t number;
};

struct seen_strings {
    struct seen_string list[SEEN_STRINGS];
    struct seen_text longer[SEEN_STRINGS];
};

/* The first `length` bytes of a word that is masked from where it stands in here. */
static const unsigned char seen_string_mask[2 * SEEN_STRING_BYTES] = {
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
    255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};

/* Word `i` of the text, of which `length` bytes count, the quote behind it included. */
static inline uint64_t seen_string_word(const char *text, size_t length, size_t i) {
    return hash_load(text + 8 * i, 8) & hash_load(seen_string_mask + SEEN_STRING_BYTES + 1 - length + 8 * i, 8);
}

/* The same of a string of more than 32 bytes. */
static inline uint32_t seen_text_intern(struct seen_strings *seen, struct field_reader *reader, struct json_place place,
                                        struct strings *strings) {
    const char *text = reader->source->bytes + place.at, *end = reader->source->bytes + place.end;
    size_t length = place.end - place.at;
    uint64_t hash = hash_fold(hash_load(end - 8, 8) ^ 0x9e3779b97f4a7c15u ^ length,
                              hash_load(end - 16, 8) ^ hash_load(text + 8, 8) ^ 0xe7037ed1a0b428dbu);
    struct seen_text *known = &seen->longer[hash % SEEN_STRINGS];
    if (known->length == length && memcmp(reader->source->bytes + known->at, text, length) == 0)
        return known->number;
    uint32_t number = field_intern(reader, place, strings);
    if (number != STRING_NONE && length <= UINT32_MAX)
        *known = (struct seen_text){place.at, (uint32_t)length, number};
    return number;
}

/* The number of the string at a place, as field_intern() gives it. */
static inline uint32_t seen_string_intern(struct seen_strings *seen, struct field_reader *reader,
                                          struct json_place place, struct strings *strings) {
    const char *text = reader->source->bytes + place.at + 1;
    size_t length = place.end - place.at;
    if (length > SEEN_STRING_BYTES)
        return seen_text_intern(seen, reader, place, strings);
    /* in registers: to load two words at once that were just stored one by one takes long */
    uint64_t a = seen_string_word(text, length, 0), b = seen_string_word(text, length, 1);
    uint64_t c = seen_string_word(text, length, 2), d = seen_string_word(text, length, 3);
    uint64_t hash = hash_fold(a ^ c ^ 0x9e3779b97f4a7c15u, b ^ d ^ 0xe7037ed1a0b428dbu);
    struct seen_string *known = &seen->list[hash % SEEN_STRINGS];
    const uint64_t *words = known->words;
    if (((a ^ words[0]) | (b ^ words[1]) | (c ^ words[2]) | (d ^ words[3]) | (known->length ^ length)) == 0)
        return known->number;
    uint32_t number = field_intern(reader, place, strings);
    if (number != STRING_NONE)
        *known = (struct seen_string){{a, b, c, d}, (uint32_t)length, number};
    return number;
}

/*
 * Lists and objects that were walked before: where one begins as a seen one did and goes on with the
 * same bytes to its end, it is well-formed, ends there, and means the same.
 *
 * Shapes, strides, types and attributes are few kinds of bytes written millions of times. A table keeps the place of
 * the last value for each hash of some of its bytes, and is asked before a value is walked. One table for each thread
 * and text. Cost: O(bytes compared).
 */

#define SEEN_VALUES 1024

struct seen_value {
    size_t at, length; /* 0 bytes: none */
};

struct seen_values {
    struct seen_value list[SEEN_VALUES];
};

/* Where a list or object is kept that begins as the one at `text` does: a list by its first 16 bytes; an object by
 * those where {"name": "op_schema", "type": "string", "value": "aten::add.Tensor(... has its name and its value. Reads
 * up to 60 bytes there. */
static inline size_t seen_slot(const char *text, size_t n_slots) {
    bool object = *text == '{';
    uint64_t first = word_load(text + (object ? 10 : 0)), second = word_load(text + (object ? 52 : 8));
    return hash_fold(first ^ 0x9e3779b97f4a7c15u, second ^ 0xe7037ed1a0b428dbu) % n_slots;
}

/* Whether the bytes of a value stand at byte `at`, too. */
static inline bool seen_stands(const struct seen_value *seen, const struct source *source, size_t at) {
    return seen->length > 0 && seen->length <= source->size - at &&
           memcmp(source->bytes + seen->at, source->bytes + at, seen->length) == 0;
}

/* Notes the value at byte `at`, behind which the walker stands. */
static inline struct seen_value seen_walked(const struct json_walker *walker, size_t at) {
    return (struct seen_value){at, walker->expected ? 0 : trim_end(walker->text, walker->at) - at};
}

/* The byte behind the list or object at byte `at`, which is walked if it was not seen. The walker may stand anywhere.
 */
static inline size_t seen_end(struct seen_values *values, struct json_walker *walker, size_t at) {
    struct seen_value *seen = &values->list[seen_slot(walker->text + at, SEEN_VALUES)];
    if (!seen_stands(seen, walker->source, at)) {
        walk_to(walker, at);
        walk_value(walker);
        *seen = seen_walked(walker, at);
    }
    return at + seen->length;
}

#endif
