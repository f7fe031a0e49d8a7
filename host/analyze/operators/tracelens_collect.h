/*
 * tracelens_collect.h - the operators that stand for the GPU work of a trace in TraceLens' unified_perf_summary.
 *
 * From each outermost operator the walk goes down until an operator has a model, is the only backward operator of an
 * attention operator, or launches kernels itself. GPU activity that no such operator launched becomes an entry of its
 * own, "operator->kernel (Synthetic Op)". O(operators + links), and a sort of the outermost operators.
 */
#ifndef ANALYZE_OPERATORS_TRACELENS_COLLECT_H
#define ANALYZE_OPERATORS_TRACELENS_COLLECT_H

#include "analyze/operators/tracelens_models.h"

enum collected_kind { COLLECTED_MODEL, COLLECTED_GRADIENT, COLLECTED_LAUNCHER, COLLECTED_SYNTHETIC };

struct collected_op {
    row_t host;   /* a row of hosts */
    row_t place;  /* of the model, or of the forward operator of a gradient */
    row_t device; /* of a synthetic entry */
    uint8_t kind; /* enum collected_kind */
};

struct collected_ops {
    row_t n;
    struct collected_op *list;
};

enum sutra_status tracelens_collect(const struct tracelens_models *models, struct arena *arena,
                                    struct collected_ops *ops, struct sutra_error *error);

#endif
