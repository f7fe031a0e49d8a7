/*
 * diff.h - compare two traces, or the traces of two jobs: differences in time, by step part, operator and kernel.
 *
 *     traces of A, traces of B --> sutra_diff_run() --> struct sutra_diff --> sutra_result_table() --> tables
 *
 * All totals are per step and rank: means over all profiler steps and all ranks. A trace without steps is one step. GPU
 * work belongs to the step that launched it. Each table splits the same total, so its differences sum to the total
 * difference. Swapping A and B inverts the signs. Times are in microseconds.
 *
 * A difference is significant if it exceeds twice its standard error, computed from the steps. The standard error is
 * unknown if a side has only one step.
 */
#ifndef SUTRA_DIFF_H
#define SUTRA_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_diff;

/* Treats a name of A as a name of B; for operators, and for kernels by short name. */
struct sutra_rename {
    const char *from, *to;
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_diff_options {
    size_t size;
    const struct sutra_rename *renames;
    size_t n_renames;
    const struct sutra_rank_range *ranks; /* selected ranks, `n_ranks` elements; 0: all */
    size_t n_ranks;
    const char *step[2];   /* of A and of B: selected step; NULL: all */
    double from_us, to_us; /* this and the next: a part of the work, as in struct sutra_restriction */
    const char *name, *stream, *category;
};

enum sutra_diff_table {
    SUTRA_DIFF_STEPS,       /* a step: its parts, and the GPU work in it */
    SUTRA_DIFF_OPERATORS,   /* name: calls, GPU time, CPU time */
    SUTRA_DIFF_SHAPES,      /* name, shapes and types of inputs */
    SUTRA_DIFF_KERNELS,     /* short name, class */
    SUTRA_DIFF_COLLECTIVES, /* collective, type, elements, ranks: all communication */
    SUTRA_DIFF_PATHS,       /* call path, kernels of A and kernels of B on it */
    SUTRA_DIFF_TREE,        /* call path by names only: GPU work below it, and launched by it */
    SUTRA_DIFF_N_TABLES
};

/* Reads the traces of both sides, one at a time, and compares them. Unreadable traces and duplicate ranks of a side are
 * skipped with a warning; in a strict context, or if no trace of a side remains, this is an error. The caller frees
 * *diff; the result does not depend on the number of threads. Errors: SUTRA_DATA: no such step. */
enum sutra_status sutra_diff_run(struct sutra_context *context, const char *const *paths_a, size_t n_a,
                                 const char *const *paths_b, size_t n_b, const struct sutra_diff_options *options,
                                 struct sutra_diff **diff, struct sutra_error *error);

/* Compares two traces in memory, regardless of their ranks. They may be freed before *diff, which the caller frees. */
enum sutra_status sutra_diff_run_of(struct sutra_context *context, const struct sutra_device_trace *a,
                                    const struct sutra_device_trace *b, const struct sutra_diff_options *options,
                                    struct sutra_diff **diff, struct sutra_error *error);
void sutra_diff_free(struct sutra_diff *diff);

/* Summary of A and B. */
struct sutra_diff_summary {
    size_t size;            /* sizeof the struct, set by the caller */
    uint64_t n_ranks[2];    /* analyzed traces */
    uint64_t n_steps[2];    /* sum over all ranks */
    bool has_steps[2];      /* profiler steps exist; else each trace is one step */
    double step_us[2];      /* duration of a step; without steps: first start to last end */
    double device_us[2];    /* total duration of the GPU work of a step */
    double outside_us[2];   /* GPU work outside of steps, over all ranks */
    double step_error_us;   /* standard error of the step difference; NaN: unknown */
    double device_error_us; /* standard error of the difference in GPU work */
    bool reliable[2];       /* defects of the side's traces concern at most 5 % of its GPU activities and GPU time */
    char sentence[160];     /* "B is slower: a step takes 1.030 ms instead of 1.000 ms, +3.0 %" */
};
void sutra_diff_summary(const struct sutra_diff *diff, struct sutra_diff_summary *summary);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
