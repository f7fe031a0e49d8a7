/*
 * argument_texts.h - recorded arguments of operators as texts: as Python writes them, and shapes of tensors.
 *
 *     [[512], [141, 512], []]   ->   ((512,), (141, 512), ())          ["float", ""]   ->   ('float', '')
 *
 * Input: checked JSON values. No recursion; O(length).
 */
#ifndef READ_ARGUMENT_TEXTS_H
#define READ_ARGUMENT_TEXTS_H

#include "base/memory.h"

/* Appends the value of `length` bytes, lists as tuples; a string alone without quotes, an object unchanged. */
void argument_append(struct buffer *out, const char *json, size_t length);

/* The shape of an event without one. */
#define SHAPE_NONE "[[-1]]"

/* Appends the list at `json` as Python writes it, without top-level elements that are false in Python: empty lists
 * (scalars), zeros, empty strings, null and false. SHAPE_NONE if no element remains, if it is not a list, or if it
 * contains an object. */
void shape_append(struct buffer *out, const char *json);

/* Appends a list that shape_append() wrote as Python's repr of nested tuples: "[[2], 3]" becomes "((2,), 3)". */
void shape_append_tuple(struct buffer *out, const char *json);

#endif
