/*
 * shape_text.h - shapes of tensors as texts.
 */
#ifndef ANALYZE_SHAPE_TEXT_H
#define ANALYZE_SHAPE_TEXT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "text/number_text.h"

/* The shape of what has none. */
#define SHAPE_NONE "[[-1]]"

/* Appends the checked JSON list at `json` as Python writes it, without those elements on its top level that count as
 * false in Python: empty lists, which stand for scalars, zeros, empty strings, null and false. If nothing is left, or
 * if it is no list or has an object in it, SHAPE_NONE. */
void shape_append(struct buffer *out, const char *json);

/* Appends a list that shape_append() wrote as Python's repr of nested tuples: "[[2], 3]" becomes "((2,), 3)". */
void shape_append_tuple(struct buffer *out, const char *json);

#endif
