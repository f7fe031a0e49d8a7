/*
 * call_tree.c - the call tree (parents of events, from their times and threads) and the ids of tensors, on the CPU.
 *
 * The call tree is one walk. A stack is a chain of rows, each with its parent below; only its top and its length are
 * kept:
 *
 *     thread 3   top -> 17 -> 12 -> 9 | 4        own: 3; row 4 is of another thread, which adopted this one
 *
 * Closed events are popped when the stack is next used (call_tree.h proves that this is enough). Cost: O(n).
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "match/call_tree.h"
#include "match/steps.h"

/* One walk with two tables: from a live storage to its number, and from a tensor to its first storage. Freed storages
 * remain in the table without a number. Then a pass over the storages turns leaders into groups (call_tree.h). */
enum sutra_status cpu_tensor_groups(void *pool, struct tensor_groups_step *step, struct sutra_error *error) {
    (void)pool;
    const struct storage_uses *uses = step->uses;
    row_t n = uses->n;
    uint32_t n_storages = 0, n_groups = 0;
    struct pair_table storages = {0};                 /* live storage and device -> number */
    struct pair_table tensors = {0};                  /* tensor -> first storage */
    uint32_t *leader = column_new(n, sizeof *leader); /* per storage; STORAGE_NONE: no tensor used it */
    bool ok = leader && pair_table_init(&storages) && pair_table_init(&tensors);
    for (row_t row = 0; row < n && ok; row++) {
        struct pair_entry *live =
            pair_table_insert(&storages, uses->storage[row], uses->device ? uses->device[row] : 0);
        if (!live) {
            ok = false;
            break;
        }
        if (live->number == STORAGE_NONE) {
            leader[n_storages] = STORAGE_NONE;
            live->number = n_storages++;
        }
        uint32_t storage = step->number[row] = live->number;
        if (uses->use[row] == STORAGE_FREED)
            live->number = STORAGE_NONE;
        if (uses->use[row] != STORAGE_INPUT)
            continue;

        /* Join the storage with the first one of its tensor. */
        struct pair_entry *first = pair_table_insert(&tensors, uses->tensor[row], 0);
        if (!first) {
            ok = false;
            break;
        }
        if (first->number == STORAGE_NONE)
            first->number = storage;
        uint32_t smaller = MIN(first->number, storage);
        uint32_t larger = MAX(first->number, storage);
        leader[larger] = storage_leader(leader[larger], smaller);
        leader[smaller] = storage_leader(leader[smaller], smaller);
    }

    /* Turn leaders into groups in place: a leader precedes its followers. */
    for (uint32_t storage = 0; storage < n_storages && ok; storage++)
        if (leader[storage] != STORAGE_NONE)
            leader[storage] = leader[storage] == storage ? n_groups++ : leader[leader[storage]];
    for (row_t row = 0; row < n && ok; row++)
        step->group[row] = leader[step->number[row]];
    free(leader);
    pair_table_free(&storages);
    pair_table_free(&tensors);
    return ok ? SUTRA_OK : error_memory(error);
}

struct stack {
    row_t top;   /* ROW_NONE: no stack */
    row_t n_own; /* rows of this thread on it */
};

/* Pops the events that closed before an event begins. */
static void pop_closed(struct stack *stack, const struct event_parents_step *step, int64_t start) {
    while (stack->n_own && event_is_gone(step->closing[stack->top], start)) {
        stack->top = step->parent[stack->top];
        stack->n_own--;
    }
}

enum sutra_status cpu_event_parents(void *pool, struct event_parents_step *step, struct sutra_error *error) {
    (void)pool;
    const struct tree_events *events = step->events;
    struct stack *stacks = column_new(events->n_threads, sizeof *stacks);
    TRY_ALLOC(stacks, error);
    for (uint32_t thread = 0; thread < events->n_threads; thread++)
        stacks[thread].top = ROW_NONE;
    for (row_t row = 0; row < events->n; row++) {
        if (events->placed && events->placed[row])
            continue;
        int64_t start = events->start[row], end = events->end[row];
        struct stack *stack = &stacks[events->thread[row]];
        pop_closed(stack, step, start);
        row_t parent = stack->top;
        if (parent == ROW_NONE && events->forward && events->forward[row] != THREAD_NONE) {
            struct stack *forward = &stacks[events->forward[row]];
            pop_closed(forward, step, start);
            parent = forward->top;
        }
        step->parent[row] = parent;
        step->closing[row] = start;
        if (!event_enters(start, end))
            continue;
        step->closing[row] = event_closing(end, stack->n_own ? step->closing[stack->top] : EVENT_OPEN);
        stack->top = row;
        stack->n_own++;
    }
    free(stacks);
    return SUTRA_OK;
}
