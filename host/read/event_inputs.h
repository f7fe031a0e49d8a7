/*
 * event_inputs.h - what an operator was given (values, types, shapes, strides of its inputs) as one text, and what the
 * launch of a kernel was (grid, block, registers, shared memory, and the occupancy that Kineto estimates of them) as
 * another: the fields of "args" from FIELD_CONCRETE_INPUTS on. So events with equal bytes have one number for all.
 *
 *     operator  1 ["", "1"] NUL 2 ["float", "Scalar"] NUL 3 [[8, 32], []] NUL 4 [[32, 1], []] NUL
 *     launch    5 [32, 8, 1] NUL 6 [128, 1, 1] NUL 7 32 NUL 8 49152 NUL 9 80 NUL
 *
 * Each field is one byte, which field it is, and the bytes of the file, in which a value has no NUL. What is absent is
 * not there.
 */
#ifndef READ_EVENT_INPUTS_H
#define READ_EVENT_INPUTS_H

#include "columns/strings.h"
#include "read/event_places.h"
#include "read/fields.h"

/* Those of operators and those of launches among sets of inputs. */
#define GIVEN_TO_OPERATORS ((1U << (FIELD_GRID - FIELD_CONCRETE_INPUTS)) - 1)
#define GIVEN_TO_LAUNCHES  (((1U << N_EVENT_INPUTS) - 1) & ~GIVEN_TO_OPERATORS)

/* Which of N_EVENT_INPUTS places are there, as a set. */
static inline unsigned inputs_given(const struct json_place *places) {
    unsigned given = 0;
    for (int i = 0; i < N_EVENT_INPUTS; i++)
        given |= places[i].at ? 1U << i : 0;
    return given;
}

/* The number of the inputs at those of N_EVENT_INPUTS places that are `given`; STRING_NONE: none is, or memory ran out,
 * which fails. */
static inline uint32_t inputs_intern(struct field_reader *reader, const struct json_place *places, unsigned given,
                                     struct strings *strings) {
    const char *text = reader->source->bytes;
    size_t lengths[N_EVENT_INPUTS], n = 0;
    if (!given)
        return STRING_NONE;
    for (unsigned left = given; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        lengths[i] = event_place_length(text, places[i]);
        n += lengths[i] + 2;
    }
    reader->scratch.length = 0;
    char *to = buffer_reserve(&reader->scratch, n), *at = to;
    for (unsigned left = to ? given : 0; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        *at++ = (char)(1 + i);
        memcpy(at, text + places[i].at, lengths[i]);
        at += lengths[i];
        *at++ = 0;
    }
    uint32_t number = to ? strings_intern(strings, to, n) : STRING_NONE;
    reader->failed |= number == STRING_NONE;
    return number;
}

/* One of them out of such a text, and its length; 0: it is absent. */
static inline const char *inputs_find(const char *text, enum event_field field, size_t *length) {
    while (*text && *text != 1 + (int)field - FIELD_CONCRETE_INPUTS)
        text += strlen(text) + 1;
    text += *text != 0;
    *length = strlen(text);
    return text;
}

#endif
