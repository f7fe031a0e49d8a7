/*
 * seen_inputs.h - the numbers of operators' inputs that come again, as inputs_intern() gives them. (Launches have other
 * values between theirs, which seldom come again.)
 *
 *     "Concrete Inputs": ["", "1"], "Input type": ["float", "Scalar"], "Input Strides": [[32, 1], []], "Input Dims": ...
 *                        |--- the same bytes from the first value to the end of the last: the same inputs ------------
 *
 * So they are put together and interned only where these bytes were not seen in the same slot before. One table for
 * each thread and table of strings, zeros at the start. Cost: O(bytes between the first and the last).
 */
#ifndef READ_SEEN_INPUTS_H
#define READ_SEEN_INPUTS_H

#include "columns/hash.h"
#include "read/event_inputs.h"

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

#endif
