/*
 * diff.h - two traces, or the traces of two jobs, side by side: what became slower or faster, by how much, and where.
 *
 *     traces of A, traces of B --> sutra_diff_make() --> struct sutra_diff --> sutra_diff_table() --> tables
 *
 * All totals are those of a step of a rank: means over all steps of the profiler and all ranks; a trace without steps
 * is one. Work of the device belongs to the step in which it was launched. Each level splits the same whole, so the
 * differences of its rows add up to that of the whole, and those of B against A are those of A against B with the other
 * sign. Times are in microseconds.
 *
 * A difference is clear where it is more than twice its standard error, as the steps tell; it is not known where a side
 * has one step only.
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

/* A name of A that counts as one of B: of an operator, or a kernel in its short form. */
struct sutra_rename {
    const char *from, *to;
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_diff_options {
    size_t size;
    bool compat; /* the tables of TraceDiff of Holistic Trace Analysis 0.5.0 ("HTA") instead of ours */
    const struct sutra_rename *renames;
    size_t n_renames;
    const struct sutra_rank_range *ranks; /* that are wanted, `n_ranks` of them; 0: all, with `compat` the lowest */
    size_t n_ranks;
    const char *step[2];   /* of A and B: of the steps this one; with `compat` the lowest unless it is given */
    double from_us, to_us; /* of ours: a part of the work only, as in struct sutra_restriction */
    const char *name, *stream, *category;
};

enum sutra_diff_table {
    SUTRA_DIFF_STEPS,       /* a step, what it consists of, and the device's work in it */
    SUTRA_DIFF_OPERATORS,   /* name: calls, time on the device and on the host */
    SUTRA_DIFF_SHAPES,      /* name, shapes and types of inputs */
    SUTRA_DIFF_KERNELS,     /* short name, class */
    SUTRA_DIFF_COLLECTIVES, /* collective, type, elements, ranks: of all communication */
    SUTRA_DIFF_PATHS,       /* call path, and what runs there: kernels of A, kernels of B */
    SUTRA_DIFF_TREE,        /* the same by names only: what runs below each path, and what it launches itself */
    SUTRA_HTA_COMPARE_ALL,  /* name: counts and durations in one step; then by HTA's short names */
    SUTRA_HTA_COMPARE_ALL_SHORT,
    SUTRA_HTA_COMPARE_CPU,
    SUTRA_HTA_COMPARE_CPU_SHORT,
    SUTRA_HTA_COMPARE_GPU,
    SUTRA_HTA_COMPARE_GPU_SHORT,
    SUTRA_DIFF_N_TABLES
};

/* Reads both sides, each of its traces once and freed before the next, and compares them. *diff is the caller's, and
 * does not depend on the number of threads. A trace that cannot be read, or whose rank an earlier one of its side has,
 * is left out with a warning; in a strict context that is an error, as it is if no trace of a side is left. SUTRA_DATA:
 * a step that is asked for is not there; with `compat`, there are no steps. */
enum sutra_status sutra_diff_make(struct sutra_context *context, const char *const *paths_a, size_t n_a,
                                  const char *const *paths_b, size_t n_b, const struct sutra_diff_options *options,
                                  struct sutra_diff **diff, struct sutra_error *error);

/* The same of two traces that were read, whatever their ranks; they may be freed before the result. */
enum sutra_status sutra_diff_make_of(struct sutra_context *context, const struct sutra_device_trace *a,
                                     const struct sutra_device_trace *b, const struct sutra_diff_options *options,
                                     struct sutra_diff **diff, struct sutra_error *error);
void sutra_diff_free(struct sutra_diff *diff);

/* A table, or NULL where it is not made. It lives as long as `diff`. */
const struct sutra_table *sutra_diff_table(const struct sutra_diff *diff, enum sutra_diff_table id);

/* The figures of both sides: of A, of B. */
struct sutra_diff_summary {
    size_t size;            /* sizeof the struct, set by the caller */
    uint64_t n_ranks[2];    /* traces that count */
    uint64_t n_steps[2];    /* of all ranks */
    bool has_steps[2];      /* of the profiler; else each trace counts as one */
    double step_us[2];      /* of a step: its time; without steps, from the first event to the last */
    double device_us[2];    /* work of the device in a step, durations added up */
    double outside_us[2];   /* work in no step, of all ranks */
    double step_error_us;   /* standard error of the difference of the steps; NaN: not known */
    double device_error_us; /* of the device's work */
};
void sutra_diff_summary(const struct sutra_diff *diff, struct sutra_diff_summary *summary);

/* With `compat`: writes HTA's lists of names that were added, deleted, called more or less often, and as often, as
 * JSON. `id` is that of a table of names that are not short. For files as sutra_table_write(). */
enum sutra_status sutra_diff_write_changes(struct sutra_context *context, const struct sutra_diff *diff,
                                           enum sutra_diff_table id, const char *path, uint64_t *n_bytes,
                                           struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
