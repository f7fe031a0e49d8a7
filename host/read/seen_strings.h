/*
 * seen_strings.h - the numbers of strings that come again: names and categories of most events.
 *
 * A string is looked for by its text as it stands in the file: one of up to 32 bytes by its words, which are compared
 * with those of the last string of its slot, a longer one by its ends, and compared with the text where its slot saw
 * one. Only what is not there is decoded, hashed and interned. Equal texts mean equal strings, so numbers are the same
 * as without. One table for each thread, text and table of strings, zeros at the start. Cost: O(1), of longer ones
 * O(length), or that of interning.
 */
#ifndef READ_SEEN_STRINGS_H
#define READ_SEEN_STRINGS_H

#include <stdint.h>
#include <string.h>

#include "columns/hash.h"
#include "read/fields.h"

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

#endif
