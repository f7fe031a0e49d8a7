/*
 * operators.h - GPU time by operator, category, module and kernel.
 *
 *     device trace --> sutra_operators_run() --> struct sutra_operators --> sutra_result_table() --> tables
 *     many of them --> sutra_operators_ranks_run() --> struct sutra_operators_ranks
 *
 * GPU work (kernels, memcpys, memsets) belongs to the runtime call with its correlation. sutra attributes it once: to
 * the innermost operator that runs during this call, on any thread; without an operator, to the call, such as a launch
 * of a CUDA graph. Work without a call in the trace is unattributed and reported. The three parts add up to all GPU
 * work exactly, in nanoseconds. Kernels of CUDA and HIP graphs belong to the operators that launched them when the
 * graph was captured, as far as capture traces or the trace itself show them; tables list the method and its
 * confidence.
 *
 *     direct    time with GPU work attributed to an operator; concurrent work counts once
 *     subtree   the same, including work launched by operators below it
 *
 * Times are in microseconds unless a column has another unit. The tables of TraceLens: sutra/tracelens.h.
 */
#ifndef SUTRA_OPERATORS_H
#define SUTRA_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_operators;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_operators_options {
    size_t size;
    int64_t rank;      /* value of the column "rank" */
    const char *peaks; /* file with peak rates of the GPU; NULL: rates from the data sheet of the GPU in the trace */
    bool kernels;      /* tables of kernels instead of operators */
    /* Traces that recorded the capture of the CUDA or HIP graphs, or an eager run of the same model: kernels of graphs
     * are attributed to the operators of the capture. Unreadable ones are an error. */
    const char *const *captures;
    size_t n_captures;
};

/* Tables in the order of their files. Each comment lists the keys of a row, then the values. */
enum sutra_operators_table {
    SUTRA_OPERATORS_TIMELINE,        /* rank, kind of GPU time; and GPU work by attribution */
    SUTRA_OPERATORS_BY_NAME,         /* rank, name: calls, CPU time, GPU time */
    SUTRA_OPERATORS_BY_ARGUMENTS,    /* rank, name, shapes, types, strides, values: GPU time */
    SUTRA_OPERATORS_BY_CATEGORY,     /* rank, operator category */
    SUTRA_OPERATORS_BY_MODULE,       /* rank, module name: forward and backward */
    SUTRA_OPERATORS_BY_ANNOTATION,   /* rank, annotation name */
    SUTRA_OPERATORS_BY_PATH,         /* rank, operators from the outermost to the launching one */
    SUTRA_OPERATORS_RATES,           /* rank, name, arguments: FLOPs, bytes, rates, share of the roofline */
    SUTRA_OPERATORS_RATE_STEPS,      /* rank, step: FLOPs, and model FLOPs utilization */
    SUTRA_OPERATORS_PEAKS,           /* rank, unit: peak rate of the GPU */
    SUTRA_OPERATORS_GRAPH_KERNELS,   /* rank, graph launch, method of attribution: kernels of graphs */
    SUTRA_OPERATORS_GRAPH_OPERATORS, /* rank, operator, module, method: kernels of graphs */
    SUTRA_OPERATORS_COMMUNICATION,   /* rank, library, collective, phase, group: communication kernels, exposed time */
    SUTRA_OPERATORS_COUNTERS,        /* rank, device, counter, kernel or step: samples of hardware counters */
    SUTRA_OPERATORS_TRITON, /* rank, Triton kernel of torch.compile, arguments, hash: FLOPs and bytes of one call */
    SUTRA_KERNELS_BY_NAME,  /* rank, kernel, memcpy or memset: times, queue delays, most frequent launch */
    SUTRA_KERNELS_BY_CONFIGURATION, /* rank, name, operator, stream, grid, block, registers, shared memory */
    SUTRA_KERNELS_DURATIONS,        /* rank, duration bin: count */
    SUTRA_OPERATORS_N_TABLES
};

/* Computes the tables of one rank. The trace may be freed before *operators, which the caller frees. A trace without
 * GPU work is valid; its tables are empty. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_operators_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      const struct sutra_operators_options *options, struct sutra_operators **operators,
                                      struct sutra_error *error);
void sutra_operators_free(struct sutra_operators *operators);

/* The rank of the tables. */
int64_t sutra_operators_rank_of(const struct sutra_operators *operators);

/* Whether the tables are of one of several ranks that were analyzed together. */
bool sutra_operators_is_of_job(const struct sutra_operators *operators);

/* ---- Many ranks ---- */

struct sutra_operators_ranks;

/* Called once per analyzed rank. Calls come from any thread in any order, but never concurrently; `context` may be used
 * to write tables. */
typedef enum sutra_status sutra_operators_visit(void *arg, struct sutra_context *context,
                                                const struct sutra_operators *operators, struct sutra_error *error);

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_operators_ranks_options {
    size_t size;
    const struct sutra_operators_options *operators; /* options of each rank, except `rank`; may be NULL */
    sutra_operators_visit *visit;                    /* may be NULL */
    void *arg;
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Analyzes the device traces of `n_paths` ranks in parallel. Each trace is freed after its analysis, so that memory
 * holds one trace per thread. Unreadable traces and duplicate ranks are skipped with a warning; in a strict context,
 * or if no trace remains, this is an error. The caller frees *ranks; the result does not depend on the number of
 * threads. */
enum sutra_status sutra_operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error);
void sutra_operators_ranks_free(struct sutra_operators_ranks *ranks);

/* One trace of several. */
struct sutra_operators_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason; /* why the trace is skipped; NULL: analyzed */
    uint64_t n_untimed; /* skipped CPU and GPU events: start or duration missing, negative or too large */
};

/* Returns the i-th rank: analyzed ranks in ascending order, followed by skipped traces; NULL after the last one. */
const struct sutra_operators_rank *sutra_operators_ranks_get(const struct sutra_operators_ranks *ranks, size_t i);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
