/*
 * et_groups.h - the groups of ranks that a job's collectives run in, by number: from ASTRA-sim's comm_group.json,
 *
 *     {"3": [0, 1], "4": [2, 3]}
 *
 * and from the metadata nodes of .et files, whose inputs hold what process_group:init was called with:
 *
 *     ['[{"pg_name": "3", "ranks": [0, 1]}, ...]']
 *
 * No ranks, [], stand for all ranks of the job, as group 0 always does. Cost: O(bytes) to read; a group is looked for
 * among all, which are few.
 */
#ifndef SIMULATE_ET_GROUPS_H
#define SIMULATE_ET_GROUPS_H

#include "base/arena.h"
#include "context/context.h"
#include "simulate/et_nodes.h"

struct et_group {
    int64_t number;
    uint64_t n;           /* 0: all ranks */
    const int64_t *ranks; /* rising */
};

struct et_groups {
    struct et_group *list;
    uint64_t n, capacity;
};

/* Adds the groups of a comm_group.json. The ranks lie in the arena. SUTRA_DATA: it is none. */
enum sutra_status et_groups_read(struct et_groups *groups, struct sutra_context *context, const char *path,
                                 struct arena *arena, struct sutra_error *error);

/* Adds those of a metadata node's inputs; *understood tells whether ASTRA-sim could read them. */
enum sutra_status et_groups_take(struct et_groups *groups, struct et_text inputs, struct arena *arena, bool *understood,
                                 struct sutra_error *error);

void et_groups_free(struct et_groups *groups);

/* The group of this number; the one that was added last. NULL: there is none. */
const struct et_group *et_group_find(const struct et_groups *groups, int64_t number);
bool et_group_has(const struct et_group *group, int64_t rank);

/* The number at the beginning of a group's name, as std::stoi() reads it; false where that throws. */
bool et_group_number(struct et_text name, int64_t *number);

#endif
