/*
 * et_graph.h - the dependencies of an .et file as a graph of rows.
 *
 *     up      what row i depends on:      up.rows[up.first[i]] .. up.rows[up.first[i + 1] - 1]
 *             in the order of the file, control dependencies first; ROW_NONE where no node has the id
 *     down    what depends on row i, without repetitions of a pair being dropped
 *     order   rows such that each stands behind all that it depends on; of those that are free the lowest comes first.
 *             What lies in a cycle or behind one is not in it.
 *
 * Cost: O(nodes + dependencies), and a heap for the order. All of it lies in the caller's arena.
 */
#ifndef SIMULATE_ET_GRAPH_H
#define SIMULATE_ET_GRAPH_H

#include "base/arena.h"
#include "context/context.h"
#include "simulate/et_format.h"
#include "simulate/node_graph.h"

/*
 * The groups of ranks that a job's collectives run in, by number: from ASTRA-sim's comm_group.json,
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

/*
 * Dependencies that go round in a ring: no simulator could begin with one of its nodes.
 */

/* Refuses a ring: SUTRA_DATA, with its nodes' ids, names and kinds of dependencies. Of the data dependencies, and,
 * where absent nodes are not to be named, of those on parents too. O(nodes + dependencies), without recursion. */
enum sutra_status node_cycles_refuse(const struct node_graph *graph, struct sutra_error *error);

/* Opens all rings: drops dependencies on other threads that close them (node_unring.c), and counts them. Should nodes
 * stand above themselves, their parents go. SUTRA_SYSTEM: out of memory. O(nodes + dependencies). */
enum sutra_status node_cycles_break(struct node_graph *graph, struct sutra_error *error);

enum et_edges { ET_CTRL = 1, ET_DATA = 2, ET_ALL = 3 };

struct et_lists {
    uint64_t *first; /* n + 1 */
    row_t *rows;
};

struct et_graph {
    row_t n;
    struct et_lists up, down;
    uint8_t *kind; /* of each in `up`: ET_CTRL or ET_DATA */
    row_t *order;
    row_t n_order;
    row_t *again; /* rows whose id an earlier row has too; the last row of an id stands for it */
    row_t n_again;
    uint64_t n_absent; /* dependencies on ids that no node has */
};

/* Takes the dependencies of these kinds. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_graph_make(const struct et_nodes *nodes, enum et_edges kinds, struct arena *arena,
                                struct et_graph *graph, struct sutra_error *error);

/* Longest chains over the nodes in `order`: by time, and by number of nodes. */
struct et_lengths {
    uint64_t critical_us; /* largest sum of durations along a chain */
    row_t critical_last;  /* where such a chain ends; ROW_NONE: there are no nodes */
    row_t n_levels;       /* nodes of the longest chain */
    row_t width;          /* most nodes that stand equally far from the beginning */
};
enum sutra_status et_lengths_find(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                                  struct et_lengths *lengths, struct sutra_error *error);

#endif
