/*
 * table.h - the CPU operators on the GPU: their columns, and their rows brought together by thread. They go up with the
 * first step that needs them and stay until another table is needed or loaded; those of a table that is not loaded go
 * with the step, as it may hold something else by the next one.
 *
 *     by_thread   | rows of thread 0 | rows of thread 1 | ... |     rising in each
 *     start       0                  start[1]           ...  n
 */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "cuda/gpu.h"

/* The table of a step's operators, as part of the step. What another table had on the GPU is forgotten. */
struct gpu_table *table_of(struct gpu *gpu, const struct cpu_ops *ops);

/* Brings up what is missing: times and threads, or external ids and the flag of coalesced operators. Part of a step. */
void table_need_times(struct gpu *gpu, struct gpu_table *table);
void table_need_names(struct gpu *gpu, struct gpu_table *table);

/* Forgets what is on the GPU. */
void table_drop(struct gpu *gpu);

#endif
