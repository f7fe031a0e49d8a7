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
 *     row       0 1 2 3 4 5         rows       0 2 5 | 1 3 4         ascending in each group
 *     number    0 1 0 1 1 0         start      0       3       6
 *     position  0 3 1 4 5 2         number     0 0 0   1 1 1
 *
 * Kernels that read columns of rows and of positions run over rows: neighbouring rows have neighbouring positions in
 * each of a few groups, while neighbouring positions have rows far apart.
 */

/* Allocates the groups of n rows with n_groups numbers; with position[] if requested. */
struct groups groups_take(struct gpu *gpu, row_t n, uint32_t n_groups, bool with_positions);

/* Fills groups from number[], which is on the GPU. Uses scratch memory. O(n). */
void groups_fill(struct gpu *gpu, struct groups *groups, const uint32_t *number, row_t n, uint32_t n_groups);

/* Returns the table of a step's operators, and drops the columns of another table. Part of a step. */
struct gpu_table *table_of(struct gpu *gpu, const struct cpu_ops *ops);

/* Copies missing columns: times and threads; external ids and the flag of coalesced operators. Part of a step. */
void table_need_times(struct gpu *gpu, struct gpu_table *table);
void table_need_names(struct gpu *gpu, struct gpu_table *table);

/* Drops all columns on the GPU. */
void table_drop(struct gpu *gpu);

/*
 * Small keys for ids, in the same order, so that the radix sort needs few bits: ids of a trace are close together,
 * except for a few that are no integers (see columns/numbers.h).
 *
 *     id         INT64_MIN (absent)   KEY_VALUES + 1   4711   4712   4799      (in no table: 4700, 4800)
 *     small key  0                    4                5      6      93
 */
struct id_range {
    uint64_t n_special; /* 1 + the largest difference of an id that is no integer from INT64_MIN; 0: none */
    uint64_t min, max;  /* sort keys of the smallest and the largest integer; min > max: none */
};

SHARED struct id_range id_range_none(void) {
    struct id_range none = {0, UINT64_MAX, 0};
    return none;
}

SHARED void id_range_add(struct id_range *range, value_key id) {
    uint64_t key = integer_sort_key(id);
    if (id < KEY_INTEGERS) {
        range->n_special = key + 1 > range->n_special ? key + 1 : range->n_special;
    } else {
        range->min = key < range->min ? key : range->min;
        range->max = key > range->max ? key : range->max;
    }
}

/* Merges the range of one kernel row into the range of all rows. */
SHARED void id_range_merge(struct id_range *all, const struct id_range *range) {
    keep_max(&all->n_special, range->n_special);
    keep_min(&all->min, range->min);
    keep_max(&all->max, range->max);
}

/* Sets *small to the small key of an id; false: no id of the range is equal to it. */
SHARED bool id_to_small(const struct id_range *range, value_key id, uint64_t *small) {
    uint64_t key = integer_sort_key(id);
    *small = id < KEY_INTEGERS ? key : range->n_special + (key - range->min);
    return id < KEY_INTEGERS ? key < range->n_special : key >= range->min && key <= range->max;
}

/* The number of bits of small keys. */
static inline unsigned id_range_bits(const struct id_range *range) {
    return bits_of(range->n_special + (range->min <= range->max ? range->max - range->min : 0));
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
