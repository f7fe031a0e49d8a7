/*
 * event_tree.c - parents of events from their times and threads; in come columns sorted by start, out go rows above and
 * the moments when events leave their stacks.
 *
 * One walk. A stack is a chain of rows, each above its parent; only its top and its length are kept:
 *
 *     thread 3   top -> 17 -> 12 -> 9 | 4        own: 3; row 4 is of another thread, which adopted this one
 *
 * What has closed is taken off when somebody looks (event_rules.h says why that is enough).
 */
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "match/cpu_steps.h"

struct stack {
    row_t top;   /* ROW_NONE: no stack */
    row_t n_own; /* rows of this thread that stand on it */
};

struct thread_walk {
    const struct tree_events *events;
    struct stack *stacks;
    row_t *parent;
    int64_t *closing;
};

/* The stack of a thread when an event begins. */
static struct stack *look(const struct thread_walk *walk, uint32_t thread, int64_t start) {
    struct stack *stack = &walk->stacks[thread];
    while (stack->n_own && event_is_gone(walk->closing[stack->top], start)) {
        stack->top = walk->parent[stack->top];
        stack->n_own--;
    }
    return stack;
}

static void take(const struct thread_walk *walk, row_t row) {
    const struct tree_events *events = walk->events;
    int64_t start = events->start[row], end = events->end[row];
    struct stack *stack = look(walk, events->thread[row], start);
    row_t parent = stack->top;
    if (parent == ROW_NONE && events->forward && events->forward[row] != THREAD_NONE)
        parent = look(walk, events->forward[row], start)->top;
    walk->parent[row] = parent;
    walk->closing[row] = start;
    if (!event_enters(start, end))
        return;
    walk->closing[row] = event_closing(end, stack->n_own ? walk->closing[stack->top] : EVENT_OPEN);
    stack->top = row;
    stack->n_own++;
}

enum sutra_status cpu_event_parents(void *pool, struct event_parents_step *step, struct sutra_error *error) {
    (void)pool;
    const struct tree_events *events = step->events;
    struct stack *stacks = column_new(events->n_threads, sizeof *stacks);
    if (!stacks)
        return error_memory(error);
    for (uint32_t thread = 0; thread < events->n_threads; thread++)
        stacks[thread].top = ROW_NONE;
    struct thread_walk walk = {events, stacks, step->parent, step->closing};
    for (row_t row = 0; row < events->n; row++)
        if (!events->placed || !events->placed[row])
            take(&walk, row);
    free(stacks);
    return SUTRA_OK;
}
