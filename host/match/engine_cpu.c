/*
 * engine_cpu.c - the table of the CPU engine: each step of engine.h on the pool that is the engine's state.
 */
#include "match/engine.h"
#include "match/steps.h"

static enum sutra_status sort_numbers(void *state, struct number_column numbers, row_t n, row_t *order,
                                      struct sutra_error *error) {
    return cpu_sort_numbers(state, numbers, n, order, error);
}

static enum sutra_status sort_keys(void *state, uint64_t *keys, row_t *rows, row_t n, struct sutra_error *error) {
    return cpu_sort_keys(state, keys, rows, n, error);
}

static enum sutra_status exclusive_durations(void *state, const struct cpu_ops *ops, struct number_column exclusive,
                                             struct exclusive_anomalies *anomalies, struct sutra_error *error) {
    return cpu_exclusive_durations(state, ops, EXCLUSIVE_BUDGET, exclusive, anomalies, error);
}

/* Linear and short: not worth a pool. */
static enum sutra_status thread_order(void *state, const struct cpu_ops *ops, int64_t gap, row_t *before,
                                      struct sutra_error *error) {
    (void)state;
    return cpu_thread_order(ops, gap, before, error);
}

static enum sutra_status parents(void *state, const struct cpu_ops *ops, const struct parent_queries *queries,
                                 row_t *parent, struct sutra_error *error) {
    return cpu_parents(state, ops, queries, parent, error);
}

struct engine engine_cpu(struct pool *pool) {
    return (struct engine){
        .name = "cpu",
        .state = pool,
        .sort_numbers = sort_numbers,
        .sort_keys = sort_keys,
        .exclusive_durations = exclusive_durations,
        .thread_order = thread_order,
        .parents = parents,
    };
}
