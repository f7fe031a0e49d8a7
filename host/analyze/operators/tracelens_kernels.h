/*
 * tracelens_kernels.h - the kernels of a trace with their operators, as TraceLens has them.
 */
#ifndef ANALYZE_OPERATORS_TRACELENS_KERNELS_H
#define ANALYZE_OPERATORS_TRACELENS_KERNELS_H

#include "analyze/operators/operators.h"

struct kernel_table {
    const struct op_input *input;
    const struct op_reading *reading;
    row_t n, *device;  /* kernels: rows of devices */
    row_t *op;         /* of each: a row of hosts, or ROW_NONE */
    row_t *place;      /* of each: of its operator in the list, or ROW_NONE */
    row_t n_ops, *ops; /* operators that kernels have */
    int64_t *busy;     /* of each operator */
    uint8_t *category; /* of each operator */
    bool any_operator; /* in the trace */
    struct op_arguments arguments;
};

/* The tables of kernels below 10 us; total_us is the time of the whole timeline. O(n log n). */
enum sutra_status tracelens_short_kernels(const struct kernel_table *from, double total_us, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error);

#endif
