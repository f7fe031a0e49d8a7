/*
 * call_tree.c - parents of events from their times and threads; in come columns sorted by start, out go rows above and
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
#include "columns/hash_tables.h"
#include "match/call_tree.h"
#include "match/steps.h"

/*
 * Ids of storages and tensors; in come uses of storages in order of time, out go for each use the
 * number of its storage and of its group.
 *
 * One walk with two tables: from a live storage to its number, and from a tensor to its first storage. A freed storage
 * keeps its place without a number. Then one pass over the storages turns leaders into groups (event_rules.h).
 */

struct storage_grouping {
    const struct storage_uses *uses;
    struct pair_table storages; /* of a live storage on a device: its number */
    struct pair_table tensors;  /* of a tensor: its first storage */
    uint32_t n_storages;
    uint32_t *number;
    uint32_t *leader; /* of each storage; STORAGE_NONE: no tensor was seen with it */
};

/* Joins a storage with the first one of its tensor. */
static bool join(struct storage_grouping *grouping, uint64_t tensor, uint32_t storage) {
    struct pair_entry *first = pair_table_take(&grouping->tensors, tensor, 0);
    if (!first)
        return false;
    if (first->number == STORAGE_NONE)
        first->number = storage;
    uint32_t smaller = first->number < storage ? first->number : storage;
    uint32_t larger = first->number < storage ? storage : first->number;
    grouping->leader[larger] = storage_leader(grouping->leader[larger], smaller);
    grouping->leader[smaller] = storage_leader(grouping->leader[smaller], smaller);
    return true;
}

static bool number_use(struct storage_grouping *grouping, row_t row) {
    const struct storage_uses *uses = grouping->uses;
    struct pair_entry *live =
        pair_table_take(&grouping->storages, uses->storage[row], uses->device ? uses->device[row] : 0);
    if (!live)
        return false;
    if (live->number == STORAGE_NONE) {
        grouping->leader[grouping->n_storages] = STORAGE_NONE;
        live->number = grouping->n_storages++;
    }
    uint32_t storage = grouping->number[row] = live->number;
    if (uses->use[row] == STORAGE_FREED)
        live->number = STORAGE_NONE;
    return uses->use[row] != STORAGE_INPUT || join(grouping, uses->tensor[row], storage);
}

/* Turns leaders into groups, in place: a leader comes before those that it leads. */
static void number_groups(struct storage_grouping *grouping) {
    uint32_t n_groups = 0;
    for (uint32_t storage = 0; storage < grouping->n_storages; storage++) {
        uint32_t leader = grouping->leader[storage];
        if (leader != STORAGE_NONE)
            grouping->leader[storage] = leader == storage ? n_groups++ : grouping->leader[leader];
    }
}

enum sutra_status cpu_tensor_groups(void *pool, struct tensor_groups_step *step, struct sutra_error *error) {
    (void)pool;
    row_t n = step->uses->n;
    struct storage_grouping grouping = {.uses = step->uses, .number = step->number};
    grouping.leader = column_new(n, sizeof *grouping.leader);
    bool ok = grouping.leader && pair_table_init(&grouping.storages) && pair_table_init(&grouping.tensors);
    for (row_t row = 0; row < n && ok; row++)
        ok = number_use(&grouping, row);
    if (ok)
        number_groups(&grouping);
    for (row_t row = 0; row < n && ok; row++)
        step->group[row] = grouping.leader[step->number[row]];
    free(grouping.leader);
    pair_table_free(&grouping.storages);
    pair_table_free(&grouping.tensors);
    return ok ? SUTRA_OK : error_memory(error);
}

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
