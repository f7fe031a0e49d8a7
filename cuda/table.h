/*
 * table.h - the CPU operators on the GPU, groups and sorted ids of rows, and tables in pieces.
 *
 * The columns of the CPU operators and their rows grouped by thread: the first step that needs the columns copies them.
 * They remain until a step needs another table, or another table is loaded. Columns of a table that is not loaded are
 * dropped after the step, since its content may change before the next step.
 *
 *     by_thread   | rows of thread 0 | rows of thread 1 | ... |     ascending in each group
 *     start       0                  start[1]           ...   n
 */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "cuda/gpu.h"

extern "C" {
#include "base/arena.h"
#include "columns/numbers.h"
}

/*
 * Group rows by a small number, such as their thread, on the GPU.
 *
 *     rows    | rows of number 0 | rows of number 1 | ... |     ascending in each group
 *     start   0                  start[1]           ...   n
 */

/* Groups n rows by number[] (below n_groups, on the GPU). rows[] has n elements, start[] n_groups + 1. Uses scratch
 * memory. */
void groups_fill(struct gpu *gpu, const uint32_t *number, row_t n, uint32_t n_groups, row_t *rows, row_t *start);

/*
 * Groups of rows with equal start, for rows in the order of their starts.
 */

/* Allocates and fills n rows: for each row, the first row with the same start. */
row_t *starts_find_first(struct gpu *gpu, struct number_column ts, row_t n);

/* Returns the table of a step's operators, and drops the columns of another table. Part of a step. */
struct gpu_table *table_of(struct gpu *gpu, const struct cpu_ops *ops);

/* Copies missing columns: times and threads; external ids and the flag of coalesced operators. Part of a step. */
void table_need_times(struct gpu *gpu, struct gpu_table *table);
void table_need_names(struct gpu *gpu, struct gpu_table *table);

/* Drops all columns on the GPU. */
void table_drop(struct gpu *gpu);

/*
 * Sorted ids with their rows: n keys become n pairs in the order of (key, row).
 *
 * Keys are sorted relative to the minimum, so that the radix sort needs fewer bits: ids of traces are close together,
 * except for a few far smaller ones (see columns/numbers.h).
 */

struct key_extent {
    uint64_t min, max;
};

struct sorted_keys {
    struct pairs pairs; /* keys are relative to the minimum */
    const struct key_extent *extent;
};

/* Allocates the result and sorts n keys, which are on the GPU. */
struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n);

SHARED value_key sorted_key(const struct sorted_keys &sorted, row_t position) {
    return (value_key)((sorted.pairs.keys[position] + sorted.extent->min) ^ (uint64_t)1 << 63);
}

/*
 * A table of operators in pieces, divided between threads: each piece has as many threads as fit into memory, with
 * their operators gathered into a table of its own, on which the step runs.
 *
 *     whole   row      0   1   2   3   4   5           piece of threads 1 and 2   row    0   1   2   3
 *             thread   0   1   0   2   1   0                                      rows   1   3   4
 *                                                                                 thread 0   1   0
 */

#define THREAD_OUT UINT32_MAX /* number of a thread outside of the piece */

struct thread_piece {
    struct cpu_ops ops;
    row_t *rows;          /* by row of the piece: row of the whole table */
    uint32_t *number;     /* by thread of the whole table: its number in the piece, or THREAD_OUT */
    bool unknown_threads; /* threads without operators belong to this piece too */
};

/* Gathers the operators of the n_threads threads that have a number. Returns false if out of memory. */
bool piece_gather(struct arena *arena, struct thread_piece *piece, const struct cpu_ops *ops, uint32_t n_threads);

/* A step that is divided between threads. */
struct thread_cut {
    struct gpu *gpu;
    const struct cpu_ops *ops; /* of the whole table */
    enum gpu_outcome (*run)(struct thread_cut *cut, const struct thread_piece *piece);
    void *step; /* the whole step, for run() */
    struct arena arena;
};

/* Runs the step in pieces: half of the threads first, then as many as fitted before. */
enum gpu_outcome cut_by_threads(struct thread_cut *cut);

/* Runs the step for threads without operators, which run() may know. */
enum gpu_outcome cut_unknown_threads(struct thread_cut *cut);

#endif
