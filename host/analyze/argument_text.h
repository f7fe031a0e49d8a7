/*
 * argument_text.h - arguments of operators as Python writes them, lists as tuples:
 *
 *     [[512], [141, 512], []]   ->   ((512,), (141, 512), ())          ["float", ""]   ->   ('float', '')
 */
#ifndef ANALYZE_ARGUMENT_TEXT_H
#define ANALYZE_ARGUMENT_TEXT_H

#include "base/buffer.h"

/* Appends the checked JSON value of `length` bytes; a string by itself without quotes, an object as it stands in the
 * file. O(length). */
void argument_append(struct buffer *out, const char *json, size_t length);

#endif
