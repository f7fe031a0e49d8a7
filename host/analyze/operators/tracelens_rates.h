/*
 * tracelens_rates.h - operators with a performance model in TraceLens, and their figures.
 *
 *     aten::addmm 48   --arguments, kernels-->   parameters {'M': 141, ...}, GFLOP, bytes, kernel time
 *
 * Operators with equal names, arguments and transposes share a variant. One list serves the tables of rates, of each
 * kind of operator (GEMM.csv, ...) and unified_perf_summary. Cost: O(n log n).
 */
#ifndef ANALYZE_OPERATORS_TRACELENS_RATES_H
#define ANALYZE_OPERATORS_TRACELENS_RATES_H

#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "facts/tracelens_params.h"

/* A name with arguments and the transposes in the kernels' names. */
struct model_variant {
    uint32_t group; /* of `works` */
    struct gemm_transposes transposes;
    uint32_t params;  /* their dictionary, a string of `texts` */
    const char *spec; /* "matrix_bf16" */
};

struct tracelens_models {
    const struct launch_model *model;
    struct op_costs works;           /* operators in the order of the file, whether their FLOPs are known or not */
    row_t *host;                     /* by model (index in that list): a row of hosts, */
    uint32_t *variant_of;            /* the variant, */
    int64_t *busy;                   /* how long anything runs below, in ticks, */
    row_t *gradient;                 /* the event that evaluates the gradient, a row of hosts, or ROW_NONE, */
    int64_t *gradient_busy;          /* and how long anything runs below that */
    struct op_flops *gradient_flops; /* by group of works; of attention */
    row_t *model_of;                 /* by row of hosts: the model, or ROW_NONE */
    uint32_t n_variants;
    struct model_variant *variants;
    struct strings texts;
    row_t *start_rank; /* by row of devices: the rank by start time */
    row_t *link_event; /* by link: the event of the call */
    struct thread_labels labels;
};

/* `models` needs tracelens_models_free() in any case. */
enum sutra_status tracelens_models_make(const struct op_input *input, struct arena *arena,
                                        struct tracelens_models *models, struct sutra_error *error);
void tracelens_models_free(struct tracelens_models *models);

/* The table line of a model. */
const struct op_kind *tracelens_model_kind(const struct tracelens_models *models, row_t perf_model);

/* TraceLens' figures of one operator; NaN: unknown. */
struct model_figures {
    double giga_flops, mega_bytes, flops_per_byte, tera_bytes_per_s, tera_flops_per_s;
};
struct model_figures tracelens_figures(const struct op_flops *flops, double busy_us);

/* tracelens_kernels.c: for each of n operators, the row of the autograd operator that computes its
 * gradient by TraceLens' rules, or ROW_NONE. */
enum sutra_status tracelens_gradients(struct sutra_context *context, const struct launch_model *model,
                                      const row_t *hosts, row_t n, struct arena *arena, row_t *gradient,
                                      struct sutra_error *error);

enum kernel_order { KERNELS_BY_START, KERNELS_BY_CALL };

/* Lists the kernels, memcpy and memset below a row of hosts in `list`, which has room for all links below it, and
 * returns their number. By call: in the order of the calls in the file. */
row_t tracelens_kernels_below(const struct tracelens_models *models, row_t host, enum kernel_order order, row_t *list);

#endif
