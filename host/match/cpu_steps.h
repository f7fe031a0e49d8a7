/*
 * cpu_steps.h - the steps of match/steps.h by the CPU, for the CPU engine's table, for each other, for the CUDA engine
 * where the GPU cannot do one, and for tests. `pool` is a struct pool; it may be NULL for sorts, covering operators and
 * joins, whose steps are then done on the caller's thread, as tasks of a pool need it, and where no pool is used: all
 * but exclusive durations and parents.
 */
#ifndef MATCH_CPU_STEPS_H
#define MATCH_CPU_STEPS_H

#include "base/pool.h"
#include "match/steps.h"
#include "sutra/error.h"

#define CPU_STEP(name, what, pieces)                                                                                   \
    enum sutra_status cpu_##name(void *pool, struct name##_step *step, struct sutra_error *error);
STEPS(CPU_STEP)
#undef CPU_STEP

/* Steps for each operator after which a walk for exclusive durations gives way to the sweep, and these durations with
 * another number than that. */
#define EXCLUSIVE_BUDGET 16
enum sutra_status cpu_exclusive_within(struct pool *pool, struct exclusive_durations_step *step, uint32_t budget,
                                       struct sutra_error *error);

/* Rows by thread: those of thread t are rows[start[t]] .. rows[start[t + 1] - 1], in the order in which order[] has
 * them (NULL: rising). start[] has n_threads + 1 places. O(n + n_threads). */
void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows);

#endif
