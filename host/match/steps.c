/*
 * steps.c - rows of operators brought together by thread; in come the threads' numbers, out goes a counting sort
 * of the rows, stable. Two passes over the operators.
 */
#include <string.h>

#include "match/key_index.h"
#include "match/steps.h"

void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows) {
    memset(start, 0, ((size_t)ops->n_threads + 1) * sizeof *start);
    for (row_t i = 0; i < ops->n; i++)
        start[ops->thread[i] + 1]++;
    for (uint32_t t = 0; t < ops->n_threads; t++)
        start[t + 1] += start[t];
    /* start[t] runs on to the start of t + 1 while rows are placed, and is moved back after. */
    for (row_t i = 0; i < ops->n; i++) {
        row_t row = order ? order[i] : i;
        rows[start[ops->thread[row]]++] = row;
    }
    memmove(start + 1, start, (size_t)ops->n_threads * sizeof *start);
    start[0] = 0;
}

/*
 * Positions of keys; in come two columns of keys, out goes for each of the second the last position in the
 * first. An index of the first (see key_index.h) is asked once for each.
 */

enum sutra_status cpu_join(void *pool, struct join_step *step, struct sutra_error *error) {
    struct engine engine = engine_cpu(pool);
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, &engine, step->keys, step->n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < step->n_wanted && !status; i++)
        step->found[i] = key_index_find(&index, step->wanted[i]);
    key_index_free(&index);
    return status;
}

/*
 * The table of the CPU engine: the functions of cpu_steps.h on the pool that is the engine's state.
 */

/* The columns are where they are needed. */
static void load(void *state, const struct cpu_ops *ops) {
    (void)state;
    (void)ops;
}

struct engine engine_cpu(struct pool *pool) {
#define STEP_ENTRY(name, what, pieces) .name = cpu_##name,
    return (struct engine){.name = "cpu", .state = pool, .concurrent = true, .load = load, STEPS(STEP_ENTRY)};
#undef STEP_ENTRY
}
