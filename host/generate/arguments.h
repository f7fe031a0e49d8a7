/*
 * arguments.h - the lists that both traces give of an operator's arguments, as text for templates.
 *
 * `letters` stands for the arguments (see operators.h), `k` for the shapes that its tensors have.
 */
#ifndef GENERATE_ARGUMENTS_H
#define GENERATE_ARGUMENTS_H

#include "base/buffer.h"

/* One of the lists: the first four are the host trace's, the others the device trace's. */
enum facet {
    FACET_VALUES,
    FACET_SHAPES,
    FACET_TYPES,
    FACET_STRIDES,
    FACET_CONCRETE_INPUTS,
    FACET_INPUT_TYPES,
    FACET_INPUT_STRIDES,
    FACET_INPUT_DIMS,
};

/* Appends formatted text. */
__attribute__((format(printf, 2, 3))) void text_add(struct buffer *text, const char *format, ...);

/* Appends "[...]" with an element for each argument; made ones have the ids of new tensors. */
void arguments_add(struct buffer *text, enum facet facet, const char *letters, bool are_made, size_t k);

#endif
