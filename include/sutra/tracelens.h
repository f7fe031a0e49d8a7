/*
 * tracelens.h - tables of TraceLens (AMD-AGI/TraceLens, commit 171dd747): GPU time by operator, module and kernel, and
 * collectives. Columns, rules and arithmetic equal TraceLens.
 *
 *     device trace --> sutra_tracelens_run() --> struct sutra_operators --> sutra_result_table() --> tables
 *     many of them --> sutra_tracelens_ranks_run() --> struct sutra_operators_ranks
 *                  --> sutra_tracelens_collectives_run() --> struct sutra_tracelens_collectives
 *
 * Ranks and their results are structs of sutra/operators.h. Times are in microseconds unless a column has another unit.
 */
#ifndef SUTRA_TRACELENS_H
#define SUTRA_TRACELENS_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/collectives.h"
#include "sutra/operators.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Tables of a rank in the order of their files. Each comment lists the keys of a row, then the values. */
enum sutra_tracelens_table {
    SUTRA_TRACELENS_TIMELINE,        /* kind of GPU time: time, share */
    SUTRA_TRACELENS_OPS,             /* operator name: time, count */
    SUTRA_TRACELENS_CATEGORIES,      /* operator category */
    SUTRA_TRACELENS_ARGUMENTS,       /* operator name, arguments */
    SUTRA_TRACELENS_OPS_BY_MODULE,   /* operator name, module type */
    SUTRA_TRACELENS_MODULES,         /* module instance */
    SUTRA_TRACELENS_KERNEL_SUMMARY,  /* operator, kernel, stream */
    SUTRA_TRACELENS_KERNELS,         /* single kernels */
    SUTRA_TRACELENS_SHORT_HISTOGRAM, /* duration bin below 10 us: count */
    SUTRA_TRACELENS_SHORT_KERNELS,   /* operator, arguments, kernel below 10 us */
    SUTRA_TRACELENS_UNIFIED,         /* operator with a model or launching operator, arguments: GPU time, rates */
    SUTRA_TRACELENS_GEMM,            /* up to REDUCE_BWD: operators with a model by kind: parameters, rates, kernels */
    SUTRA_TRACELENS_CONV_FWD,
    SUTRA_TRACELENS_CONV_BWD,
    SUTRA_TRACELENS_SDPA_FWD,
    SUTRA_TRACELENS_SDPA_BWD,
    SUTRA_TRACELENS_UNARY,
    SUTRA_TRACELENS_BINARY,
    SUTRA_TRACELENS_NORMALIZATION,
    SUTRA_TRACELENS_REDUCE_FWD,
    SUTRA_TRACELENS_REDUCE_BWD,
    SUTRA_TRACELENS_RATES, /* operator name, arguments that affect the rate: FLOPs, bytes, rates */
    SUTRA_TRACELENS_N_TABLES
};

/* Computes the tables of one rank, as sutra_operators_run(). The caller frees *operators (sutra_operators_free()). */
enum sutra_status sutra_tracelens_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      int64_t rank, struct sutra_operators **operators, struct sutra_error *error);

/* Analyzes many ranks, as sutra_operators_ranks_run(); `options->operators` is unused. All tables are per rank:
 * `options->visit` receives them, *ranks has none. */
enum sutra_status sutra_tracelens_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error);

/* ---- Collectives ---- */

struct sutra_tracelens_collectives;

/* Tables of a job in the order of their files. A rank is the index of its trace; collectives are matched by order. */
enum sutra_tracelens_collectives_table {
    SUTRA_TRACELENS_NCCL_LONG,                  /* collective and rank: sizes, stream, start, duration */
    SUTRA_TRACELENS_NCCL_SUMMARY_LONG,          /* rank, group, collective, size: durations */
    SUTRA_TRACELENS_NCCL_IMPLICIT_SYNC,         /* collective in which all ranks wait: latency, skews, bandwidths */
    SUTRA_TRACELENS_NCCL_SUMMARY_IMPLICIT_SYNC, /* the same by group, collective and size */
    SUTRA_TRACELENS_NCCL_ALL2ALLV,              /* all-to-all-v: data, throughput, and columns of each rank */
    SUTRA_TRACELENS_NCCL_SUMMARY_ALL2ALLV,      /* the same by group and type */
    SUTRA_TRACELENS_NCCL_HEATMAP,               /* rank, other rank: data sent by all-to-all-v */
    SUTRA_TRACELENS_STRAGGLER_SUMMARY,          /* rank: waits, counts of first and last arrivals */
    SUTRA_TRACELENS_NCCL_N_TABLES
};

/* Reads the device traces of `n_paths` ranks, as sutra_collectives_run(). Of the options, `ranks_per_host` and
 * `restriction` are used. The caller frees *collectives. */
enum sutra_status sutra_tracelens_collectives_run(struct sutra_context *context, const char *const *paths,
                                                  size_t n_paths, const struct sutra_collectives_options *options,
                                                  struct sutra_tracelens_collectives **collectives,
                                                  struct sutra_error *error);
void sutra_tracelens_collectives_free(struct sutra_tracelens_collectives *collectives);

/* Returns the i-th rank: analyzed ranks in ascending order, followed by skipped traces; NULL after the last one. */
const struct sutra_collectives_rank *
sutra_tracelens_collectives_get(const struct sutra_tracelens_collectives *collectives, size_t i);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
