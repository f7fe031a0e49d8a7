/*
 * node_graph.h - selects the nodes of ET+ that become protobuf nodes, and finds their dependencies: the rules of
 * chakra_converter.
 *
 *     rows of ET+ --duplicate ids: the last row, at the position of the first--> nodes in file order
 *     nodes       --CPU nodes, each followed by its GPU children---------------> slots, in the order of creation
 *     walks from the thread roots, children by ascending id:                     data dependencies
 *         a CPU node    on its inter_thread_dep, and on the CPU node visited before
 *         a GPU node    on the CPU node visited before
 *     dangling nodes, without dependencies and dependents, are dropped
 *
 * A slot is a row that represents an id: the last row made for the id is its message. All columns contain rows, not
 * ids. Cost: O(n log n) to sort ids that do not ascend, else O(n); nested thread roots cost a walk each.
 */
#ifndef SIMULATE_NODE_GRAPH_H
#define SIMULATE_NODE_GRAPH_H

#include "base/arena.h"
#include "columns/strings.h"
#include "context/context.h"
#include "match/key_index.h"
#include "simulate/et_plus_nodes.h"

/* Deviations from chakra_converter. */
struct graph_rules {
    bool drop_absent;   /* dependencies on absent nodes are dropped, instead of failing or staying */
    bool drop_metadata; /* nodes that describe process groups are dropped */
    bool keep_rootless; /* nodes outside of all threads are kept */
    /* sends and receives are found by the arguments of their kernels and by all operators above them */
    bool find_directions;
    bool lax_attributes; /* missing attributes and attributes of the wrong type are skipped, instead of failing */
    /* Input that chakra_converter refuses is only refused on request: */
    bool refuse_types;  /* collectives unknown to chakra_converter */
    bool refuse_nested; /* lists of lists of tensors */
};

/* An entry of the list of data dependencies of a node. */
struct graph_dep {
    row_t slot, next; /* the next entry, or ROW_NONE */
    bool inter;       /* an inter_thread_dep */
};

struct node_graph {
    const struct et_plus_trace *et_plus;
    struct sutra_context *context;
    struct graph_rules rules;
    struct arena arena;

    struct key_index rows, ids; /* key -> last row; id -> slot, if attributes change ids */
    bool changed_ids;
    row_t *order; /* the nodes in file order */
    row_t n_order;
    row_t *slot_of;             /* per row, if attributes change ids; else a row is its own slot */
    row_t *parent;              /* per row: the row that its ctrl_deps names, or ROW_NONE */
    row_t *child_first, *child; /* per row: children by ascending id */
    row_t *gpu_first, *gpu;     /* per row: GPU children in file order */

    row_t *message; /* per slot: the row of its message; ROW_NONE: not made */
    row_t *under;   /* per slot: the slot that its ctrl_deps names, or ROW_NONE */
    row_t *made;    /* slots in the order of creation */
    row_t n_made;
    row_t *first_dep, *last_dep; /* per slot */
    struct graph_dep *deps;
    uint64_t n_deps, deps_capacity;
    uint8_t *kept; /* per slot */
    struct {
        uint64_t n_unmade;   /* GPU nodes without a CPU parent */
        uint64_t n_dangling; /* nodes dropped for lack of dependencies and dependents */
        uint64_t n_metadata; /* nodes dropped that describe process groups */
        uint64_t n_absent;   /* dependencies on absent nodes, dropped */
        uint64_t n_rootless; /* nodes kept outside of all threads */
        uint64_t n_cycles;   /* dependencies dropped that closed a cycle */
    } counts;
};

/* Builds the graph; node_graph_free() frees it also after a failure. SUTRA_DATA: a required field is missing or of
 * the wrong type; a dependency on an absent node. */
enum sutra_status node_graph_build(struct node_graph *graph, struct sutra_context *context,
                                   const struct et_plus_trace *et_plus, const struct graph_rules *rules,
                                   struct sutra_error *error);
void node_graph_free(struct node_graph *graph);

/* Breaks all cycles: drops dependencies on other threads that close them (node_graph.c), and counts them. If nodes
 * are their own ancestors, their parents are dropped. SUTRA_SYSTEM: out of memory. O(nodes + dependencies). */
enum sutra_status node_cycles_break(struct node_graph *graph, struct sutra_error *error);

/* On the GPU, and not a description of process groups. */
static inline bool graph_is_gpu(const struct node_graph *graph, row_t row) {
    return (graph->et_plus->nodes.flags[row] & (ET_PLUS_IS_GPU | ET_PLUS_IS_META)) == ET_PLUS_IS_GPU;
}

/* The type of the node of a row: ET_METADATA, ET_COMP or a kind of communication. */
enum et_type graph_type(const struct node_graph *graph, row_t row);

/* Whether a node of this name only contains other nodes: a thread or the process. */
bool graph_is_frame(struct et_text name);

/* Whether the row is a record_param_comms, which records the parameters of communication. */
bool graph_is_parameters(const struct et_plus_nodes *nodes, row_t row);

/* The row with the pg_name of a communication node: its own, or its record_param_comms. */
row_t graph_group_row(const struct node_graph *graph, row_t row);

/* An error about a node of ET+ with its position in the file. */
__attribute__((format(printf, 4, 5))) enum sutra_status graph_error(const struct node_graph *graph, row_t row,
                                                                    struct sutra_error *error, const char *format, ...);

/*
 * Process groups of ET+: numbers for groups with other names, and their ranks.
 *
 * ASTRA-sim identifies groups by numbers: 0, or none, is the group of all ranks. A group with another name gets a
 * number computed from the name, so that the files of all ranks agree. Nodes that describe groups record their ranks:
 *
 *     "## process_group:init ##"   ['[{"pg_name": "1", ..., "ranks": [0, 2], ...}, ...]']
 *
 * Older traces refer to a group by its "backend_id" or "uid", which these nodes record, too.
 */

struct comm_group {
    struct et_text number; /* its name in the file */
    bool is_described;     /* a node describes it */
    uint32_t *ranks;       /* none: all */
    uint32_t n_ranks;
};

struct comm_groups {
    struct strings names;
    struct comm_group *list; /* by id of the name */
    uint32_t n_used;         /* the first n_used have communication nodes; the others are only described */
    uint64_t n_described;    /* descriptions; a group may have several */
    struct strings uids;     /* other names, at most two per description, */
    uint32_t *uid_group;     /* and the group of each */
    struct arena arena;
    uint64_t n_numbered; /* used groups whose names are not numbers */
    uint32_t n_world;    /* 1 + the largest rank of a description */
};

/* Finds the groups of the kept communication nodes, and the described groups. SUTRA_SYSTEM: out of memory. */
enum sutra_status comm_groups_find(struct comm_groups *groups, const struct node_graph *graph,
                                   struct sutra_error *error);
void comm_groups_free(struct comm_groups *groups);

/* A group by its name or uid; NULL: not found. */
const struct comm_group *comm_group_find(const struct comm_groups *groups, struct et_text name);

/* The number of a group with this name in every file, as text. */
#define GROUP_NUMBER_MAX 16
void comm_group_number_of(const char *name, size_t length, char number[GROUP_NUMBER_MAX]);

/* The number of a group, by its name. */
struct et_text comm_group_number(const struct comm_groups *groups, struct et_text name);

#endif
