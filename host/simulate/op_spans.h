/*
 * op_spans.h - which operator the processor is in, from moment to moment: of all that run the one that began last.
 *
 *     thread 1   [ a      [ b  ]     ]
 *     thread 2                 [ c        ]
 *     spans      | a      | b  | c        |
 */
#ifndef SIMULATE_OP_SPANS_H
#define SIMULATE_OP_SPANS_H

#include "simulate/timeline.h"

/* Span i begins at start[i], and ends where the next one begins. */
struct op_spans {
    row_t n;
    double *start;
    row_t *op; /* or ROW_NONE */
};

/* The columns are the arena's. False: out of memory. O(n log n). */
bool op_spans_make(const struct timeline_ops *ops, struct arena *arena, struct op_spans *spans);

#endif
