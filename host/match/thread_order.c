/*
 * thread_order.c - which operator of another thread each group of operators waits for; in come the operators in the
 * order of their starts, out goes a row for each.
 *
 * One pass over runs of equal starts. What has begun before a run is known in full by two choices (struct begun), so a
 * group that begins in the run is answered at once; then the run itself joins what has begun. A thread remembers its
 * last operator and its group's answer.
 */
#include <stdlib.h>

#include "base/error.h"
#include "match/cpu_steps.h"
#include "match/rules.h"

struct thread_state {
    row_t last;   /* the thread's last operator, or ROW_NONE */
    row_t before; /* the answer of its group */
};

static void place_op(const struct cpu_ops *ops, row_t i, int64_t gap, const struct begun *begun,
                     struct thread_state *state) {
    if (state->last == ROW_NONE ||
        group_begins(number_at(ops->ts, i), number_at(ops->ts, state->last), number_at(ops->dur, state->last), gap))
        state->before = begun_for(begun, ops->thread[i]);
    state->last = i;
}

enum sutra_status cpu_thread_order(void *pool, struct thread_order_step *step, struct sutra_error *error) {
    (void)pool;
    const struct cpu_ops *ops = step->ops;
    struct thread_state *states = reallocarray(NULL, (size_t)ops->n_threads + 1, sizeof *states);
    if (!states)
        return error_memory(error);
    for (uint32_t t = 0; t < ops->n_threads; t++)
        states[t] = (struct thread_state){ROW_NONE, ROW_NONE};

    struct begun begun = {start_choice_none(), start_choice_none()};
    for (row_t i = 0; i < ops->n;) {
        struct number ts = number_at(ops->ts, i);
        struct begun run = {start_choice_none(), start_choice_none()};
        do {
            uint32_t thread = ops->thread[i];
            place_op(ops, i, step->gap, &begun, &states[thread]);
            step->before[i] = states[thread].before;
            start_choice_add(&run.latest, i, thread);
            i++;
        } while (i < ops->n && number_compare(number_at(ops->ts, i), ts) == 0);
        if (number_compare(ts, number_integer(0)) > 0)
            begun = begun_merge(&begun, &run);
    }
    free(states);
    return SUTRA_OK;
}
