/*
 * et_graph.h - the dependencies of an .et file as a graph of rows.
 *
 *     up      the dependencies of row i:  up.rows[up.first[i]] .. up.rows[up.first[i + 1] - 1]
 *             in file order, control dependencies first; ROW_NONE if no node has the id
 *     down    the dependents of row i, with duplicates
 *     order   rows such that each follows its dependencies; of the ready rows the lowest is first. Rows in a cycle, or
 *             dependent on one, are not in it.
 *
 * Cost: O(nodes + dependencies), and a heap for the order. The caller's arena owns all of it.
 */
#ifndef SIMULATE_ET_GRAPH_H
#define SIMULATE_ET_GRAPH_H

#include "base/arena.h"
#include "context/context.h"
#include "simulate/et_format.h"

/*
 * The process groups of the collectives of a job, by number: from ASTRA-sim's comm_group.json,
 *
 *     {"3": [0, 1], "4": [2, 3]}
 *
 * and from the metadata nodes of .et files, whose inputs are the arguments of process_group:init:
 *
 *     ['[{"pg_name": "3", "ranks": [0, 1]}, ...]']
 *
 * An empty list of ranks, [], means all ranks of the job, as for group 0. Cost: O(bytes) to read; the search is linear
 * in the few groups.
 */

struct et_group {
    int64_t number;
    uint64_t n;           /* 0: all ranks */
    const int64_t *ranks; /* ascending */
};

struct et_groups {
    struct et_group *list;
    uint64_t n, capacity;
};

/* Adds the groups of a comm_group.json. The arena owns the ranks. SUTRA_DATA: malformed. */
enum sutra_status et_groups_read(struct et_groups *groups, struct sutra_context *context, const char *path,
                                 struct arena *arena, struct sutra_error *error);

/* Adds the groups of the inputs of a metadata node; *understood: whether ASTRA-sim can read them. */
enum sutra_status et_groups_take(struct et_groups *groups, struct et_text inputs, struct arena *arena, bool *understood,
                                 struct sutra_error *error);

void et_groups_free(struct et_groups *groups);

/* The group with this number, the last one added; NULL: not found. */
const struct et_group *et_group_find(const struct et_groups *groups, int64_t number);
bool et_group_has(const struct et_group *group, int64_t rank);

/* The rank in a file name PREFIX.RANK.et, and the length of the prefix; or RANK_UNKNOWN. */
#define RANK_UNKNOWN (-1)
int64_t et_rank_of(const char *path, size_t *prefix);

/* Whether ASTRA-sim's feeder can read this kind of the attribute, or never reads the attribute. */
bool et_kind_is_readable(uint32_t name, uint8_t kind);

enum et_edges { ET_CTRL = 1, ET_DATA = 2, ET_ALL = 3 };

struct et_lists {
    uint64_t *first; /* n + 1 */
    row_t *rows;
};

struct et_graph {
    row_t n;
    struct et_lists up, down;
    uint8_t *kind; /* of each element of `up`: ET_CTRL or ET_DATA */
    row_t *order;
    row_t n_order;
    row_t *again; /* rows with the id of an earlier row; the last row of an id represents it */
    row_t n_again;
    uint64_t n_absent; /* dependencies on ids without a node */
};

/* Makes the graph from the dependencies of these kinds. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_graph_make(const struct et_nodes *nodes, enum et_edges kinds, struct arena *arena,
                                struct et_graph *graph, struct sutra_error *error);

/* Longest chains of the nodes in `order`: by time, and by number of nodes. */
struct et_lengths {
    uint64_t critical_us; /* largest sum of durations of a chain */
    row_t critical_last;  /* end of such a chain; ROW_NONE: no nodes */
    row_t n_levels;       /* number of nodes of the longest chain */
    row_t width;          /* maximum number of nodes with the same distance from the start */
};
enum sutra_status et_lengths_find(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                                  struct et_lengths *lengths, struct sutra_error *error);

#endif
