/*
 * table.h - the CPU operators on the GPU: their columns, and their rows grouped by thread. The first step that needs
 * the columns copies them. They remain until a step needs another table, or another table is loaded. Columns of a table
 * that is not loaded are dropped after the step, since its content may change before the next step.
 *
 *     by_thread   | rows of thread 0 | rows of thread 1 | ... |     ascending in each group
 *     start       0                  start[1]           ...   n
 */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "cuda/gpu.h"

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

#endif
