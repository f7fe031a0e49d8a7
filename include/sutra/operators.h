/*
 * operators.h - where the time of a device went, in the words of the model: operators, categories, modules, kernels.
 *
 *     device trace --> sutra_operators_make() --> struct sutra_operators --> sutra_operators_table() --> tables
 *     many of them --> sutra_operators_ranks_make() --> struct sutra_operators_ranks
 *
 * Work of the device (kernels, copies, sets of memory) belongs to the call with its correlation, and is charged once:
 * to the innermost operator that ran at that call, on whatever thread, or to the call itself where there is none, as at
 * the launch of a CUDA graph. Work whose call is not in the trace is charged to nobody, and told: what is charged and
 * what is not add up to all of it, to the nanosecond.
 *
 *     direct    for how long work ran that is charged to an operator: work that overlaps counts once
 *     subtree   the same of all that was launched below it
 *
 * With `compat` the tables are those of TraceLens (AMD-AGI/TraceLens, commit 171dd747), with its columns and its
 * arithmetic. Times are in microseconds unless a column says otherwise.
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
    int64_t rank; /* what the tables' column "rank" says */
    bool compat;  /* the tables of TraceLens instead of ours */
    const char
        *peaks;   /* a file with what the device can do at most; NULL: what data sheets say of the one in the trace */
    bool kernels; /* of ours, those of kernels instead of those of operators */
};

/* The tables, in the order in which they are written. */
enum sutra_operators_table {
    SUTRA_TRACELENS_TIMELINE,       /* what the device did: time, share */
    SUTRA_TRACELENS_OPS,            /* name of an operator: time, count */
    SUTRA_TRACELENS_CATEGORIES,     /* category of operators */
    SUTRA_TRACELENS_ARGUMENTS,      /* name and arguments */
    SUTRA_TRACELENS_OPS_BY_MODULE,  /* name and kind of module */
    SUTRA_TRACELENS_MODULES,        /* each module that worked */
    SUTRA_TRACELENS_KERNEL_SUMMARY, /* operator, kernel, stream */
    SUTRA_TRACELENS_KERNELS,        /* each kernel */
    SUTRA_TRACELENS_RATES,          /* name, and what of the arguments counts: FLOPs, bytes, rates */
    SUTRA_OPERATORS_TIMELINE,       /* rank: what the device did, and where its time is charged to */
    SUTRA_OPERATORS_BY_NAME,        /* rank, name: calls, time on the host and on the device */
    SUTRA_OPERATORS_BY_ARGUMENTS,   /* rank, name, shapes, types, strides, values: time on the device */
    SUTRA_OPERATORS_BY_CATEGORY,    /* rank, category of operators */
    SUTRA_OPERATORS_BY_MODULE,      /* rank, name of a module: forward and backward */
    SUTRA_OPERATORS_BY_ANNOTATION,  /* rank, name of an annotation */
    SUTRA_OPERATORS_BY_PATH,        /* rank, operators from the outermost to the one that launched */
    SUTRA_OPERATORS_RATES,          /* rank, name, arguments: FLOPs, bytes, rates, share of the roofline */
    SUTRA_OPERATORS_RATE_STEPS,     /* rank, step: FLOPs, and model FLOPs utilisation */
    SUTRA_OPERATORS_PEAKS,          /* rank, unit: what the device can do at most */
    SUTRA_KERNELS_BY_NAME,          /* rank, name of a kernel, copy or set: times, delays, how it was launched mostly */
    SUTRA_KERNELS_BY_CONFIGURATION, /* rank, name, operator, stream, grid, block, registers, shared memory */
    SUTRA_KERNELS_DURATIONS,        /* rank, stretch of durations: how many */
    SUTRA_OPERATORS_N_TABLES
};

/* Makes the tables of one rank. *operators is the caller's; the trace may be freed before it. SUTRA_SYSTEM: out of
 * memory. A trace without work of the device is no error: its tables are empty. */
enum sutra_status sutra_operators_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_operators_options *options,
                                       struct sutra_operators **operators, struct sutra_error *error);
void sutra_operators_free(struct sutra_operators *operators);

/* A table, or NULL where it is not made. It lives as long as `operators`. */
const struct sutra_table *sutra_operators_table(const struct sutra_operators *operators, enum sutra_operators_table id);

/* The rank that the tables are of. */
int64_t sutra_operators_rank_of(const struct sutra_operators *operators);

/* ---- Many ranks ---- */

struct sutra_operators_ranks;

/* Called once for each rank whose tables are made. Calls come from any thread and in any order, but one at a time;
 * `context` serves to write tables. */
typedef enum sutra_status sutra_operators_visit(void *arg, struct sutra_context *context,
                                                const struct sutra_operators *operators, struct sutra_error *error);

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_operators_ranks_options {
    size_t size;
    const struct sutra_operators_options *operators; /* of each rank; `rank` is not read; may be NULL */
    sutra_operators_visit *visit;                    /* may be NULL */
    void *arg;
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Reads and analyzes the device traces of `n_paths` ranks, several at a time, each freed before the next: memory is
 * that of as many traces as the context has threads. A trace that cannot be read, or whose rank an earlier one has, is
 * left out with a warning; in a strict context that is an error, as it is if no trace is left. *ranks is the caller's,
 * and does not depend on the number of threads. */
enum sutra_status sutra_operators_ranks_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                             const struct sutra_operators_ranks_options *options,
                                             struct sutra_operators_ranks **ranks, struct sutra_error *error);
void sutra_operators_ranks_free(struct sutra_operators_ranks *ranks);

/* One trace of several. */
struct sutra_operators_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason; /* why the trace is left out; NULL: it is not */
    uint64_t n_untimed; /* events of the host and the device that are left out: without a start or a duration, with one
                           below 0, or with times that are too large */
};

/* The ranks that were asked for by rising number, and behind them the traces that were left out; NULL where `i` is too
 * large. */
const struct sutra_operators_rank *sutra_operators_ranks_at(const struct sutra_operators_ranks *ranks, size_t i);

/* A table of all ranks, or NULL where it was not made, as those of TraceLens are not: they are tables of one rank. */
const struct sutra_table *sutra_operators_ranks_table(const struct sutra_operators_ranks *ranks,
                                                      enum sutra_operators_table id);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
