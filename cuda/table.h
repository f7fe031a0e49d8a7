/*
 * table.h - the CPU operators on the GPU: their columns, and their rows brought together by thread. They go up with the
 * first step that needs them and stay until another table is loaded.
 *
 *     by_thread   | rows of thread 0 | rows of thread 1 | ... |     rising in each
 *     start       0                  start[1]           ...  n
 */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "cuda/gpu.h"

extern "C" {
#include "match/engine.h"
}

struct gpu_table {
    const struct cpu_ops *ops; /* whose columns these are; NULL: nobody's */
    bool ready, has_names;     /* which columns are there: the first ones, the last two */
    row_t n;
    uint32_t n_threads;
    const uint32_t *thread;
    struct number_column ts, dur;
    const row_t *by_thread, *start;
    value_key *external;
    uint8_t *coalesced;
};

/* Forgets what is on the GPU; the next step brings up `ops`, which may be NULL. */
void table_reset(struct gpu *gpu, struct gpu_table *table, const struct cpu_ops *ops);

/* Brings up what is missing: times and threads, or external ids and the flag of coalesced operators. Part of a step. */
void table_need_times(struct gpu *gpu, struct gpu_table *table);
void table_need_names(struct gpu *gpu, struct gpu_table *table);

#endif
