/*
 * event_inputs.h - what an operator tells of its inputs (values, types, shapes, strides: the fields of "args" from
 * FIELD_CONCRETE_INPUTS on) as one text, so that operators with equal bytes have one number for all four.
 *
 *     ["", "1"] NUL ["float", "Scalar"] NUL [[8, 32], []] NUL [[32, 1], []]
 *
 * The bytes are those of the file, in which a value has no NUL. What is absent has none.
 */
#ifndef READ_EVENT_INPUTS_H
#define READ_EVENT_INPUTS_H

#include "columns/strings.h"
#include "read/event_places.h"
#include "read/fields.h"

/* The number of the inputs at N_EVENT_INPUTS places; STRING_NONE: there are none, or memory ran out, which fails. */
static inline uint32_t inputs_intern(struct field_reader *reader, const struct json_place *places,
                                     struct strings *strings) {
    const char *text = reader->source->bytes;
    size_t lengths[N_EVENT_INPUTS], n = 0;
    for (int i = 0; i < N_EVENT_INPUTS; i++) {
        lengths[i] = places[i].at ? event_place_length(text, places[i]) : 0;
        n += lengths[i];
    }
    reader->scratch.length = 0;
    char *to = n ? buffer_reserve(&reader->scratch, n + N_EVENT_INPUTS) : NULL, *at = to;
    for (int i = 0; i < N_EVENT_INPUTS && to; i++) {
        memcpy(at, text + places[i].at, lengths[i]);
        at += lengths[i];
        *at++ = 0;
    }
    uint32_t number = to ? strings_intern(strings, to, n + N_EVENT_INPUTS - 1) : STRING_NONE;
    reader->failed |= n && number == STRING_NONE;
    return number;
}

/* One of them out of such a text, and its length; 0: it is absent. */
static inline const char *inputs_find(const char *text, enum event_field field, size_t *length) {
    for (int i = FIELD_CONCRETE_INPUTS; i < (int)field; i++)
        text += strlen(text) + 1;
    *length = strlen(text);
    return text;
}

#endif
