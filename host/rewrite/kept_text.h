/*
 * kept_text.h - a trace's text with some of its array's elements, byte for byte.
 *
 *     {"a": 1, "traceEvents": [ {0},\n  {1},\n  {2},\n  {3} ], "b": 2}          kept: 1, 3
 *     |-------- head --------|         |--|           |-----|- tail -|
 *                                            {1},\n  {3}
 *
 * An element that is kept brings along the comma and the white space before it; the first one stands where the first of
 * all stood. Pieces are copied by all threads. Cost: O(elements), and the bytes that are kept.
 */
#ifndef REWRITE_KEPT_TEXT_H
#define REWRITE_KEPT_TEXT_H

#include "columns/row.h"
#include "context/context.h"
#include "read/source.h"

struct kept_text {
    const struct source *source;
    const uint64_t *text; /* by element: where it begins */
    size_t end;           /* of the last element */
    row_t n;
    const uint8_t *kept; /* by element */
};

/* Writes it to `path`; *n_bytes is its size before compression. SUTRA_SYSTEM: out of memory. */
enum sutra_status kept_text_write(struct sutra_context *context, const struct kept_text *kept, const char *path,
                                  uint64_t *n_bytes, struct sutra_error *error);

#endif
