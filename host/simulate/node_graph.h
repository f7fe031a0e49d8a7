/*
 * node_graph.h - which nodes of ET+ become protobuf nodes, and what they depend on: the rules of chakra_converter.
 *
 *     rows of ET+ --repeated ids: the last row, at the first one's place--> nodes in file order
 *     nodes       --CPU nodes, each with the GPU nodes below it-----------> slots, in the order in which they are made
 *     walks from the thread roots, children by rising id:                   data dependencies
 *         a CPU node    on its inter_thread_dep, and on the CPU node visited before
 *         a GPU node    on the CPU node visited before
 *     dangling nodes, which neither depend on one nor are depended on, go
 *
 * A slot is a row that stands for an id: what is made last for the id is its message. Rows, not ids, are everywhere
 * here. Cost: O(n log n) to sort ids that do not rise, else O(n); nested thread roots cost a walk each.
 */
#ifndef SIMULATE_NODE_GRAPH_H
#define SIMULATE_NODE_GRAPH_H

#include "base/arena.h"
#include "columns/strings.h"
#include "context/context.h"
#include "match/key_index.h"
#include "simulate/plus.h"

/* What deviates from chakra_converter. */
struct graph_rules {
    bool drop_absent;    /* dependencies on nodes that are not there are left out, instead of failing or standing */
    bool drop_metadata;  /* nodes that describe process groups are left out */
    bool keep_rootless;  /* nodes below no thread are kept */
    bool lax_attributes; /* attributes that are missing or of a wrong type are left out, instead of failing */
    /* What chakra_converter refuses is only refused where it is asked for: */
    bool refuse_types;  /* collectives whose types it does not know */
    bool refuse_nested; /* lists of lists of tensors */
};

/* An entry of a node's list of data dependencies. */
struct graph_dep {
    row_t slot, next; /* the next entry, or ROW_NONE */
    bool inter;       /* an inter_thread_dep */
};

struct graph_counts {
    uint64_t n_unmade;   /* GPU nodes below no CPU node */
    uint64_t n_dangling; /* nodes dropped since nothing is before or behind them */
    uint64_t n_metadata; /* nodes dropped that describe process groups */
    uint64_t n_absent;   /* dependencies on nodes that are not there, dropped */
    uint64_t n_rootless; /* nodes kept that stand below no thread */
    uint64_t n_cycles;   /* dependencies dropped that closed a cycle */
};

struct node_graph {
    const struct plus_trace *plus;
    struct sutra_context *context;
    struct graph_rules rules;
    struct arena arena;

    struct key_index rows, ids; /* key -> last row; id -> slot, where attributes change ids */
    bool changed_ids;
    row_t *order; /* the nodes in file order */
    row_t n_order;
    row_t *slot_of;             /* per row, where attributes change ids; else a row is its own slot */
    row_t *parent;              /* per row: the row that its ctrl_deps names, or ROW_NONE */
    row_t *child_first, *child; /* per row: children by rising id */
    row_t *gpu_first, *gpu;     /* per row: those on the GPU in file order */

    row_t *message; /* per slot: the row that it is made of; ROW_NONE: not made */
    row_t *under;   /* per slot: the slot that its ctrl_deps names, or ROW_NONE */
    row_t *made;    /* slots in the order in which they were made */
    row_t n_made;
    row_t *first_dep, *last_dep; /* per slot */
    struct graph_dep *deps;
    uint64_t n_deps, deps_capacity;
    uint8_t *kept; /* per slot */
    struct graph_counts counts;
};

/* Builds the graph; what is in it is freed by node_graph_free() in any case. SUTRA_DATA: a field that a node needs is
 * missing or of a wrong type; a dependency on a node that is not there. */
enum sutra_status node_graph_build(struct node_graph *graph, struct sutra_context *context,
                                   const struct plus_trace *plus, const struct graph_rules *rules,
                                   struct sutra_error *error);
void node_graph_free(struct node_graph *graph);

/* On the GPU, and no description of process groups. */
static inline bool graph_is_gpu(const struct node_graph *graph, row_t row) {
    return (graph->plus->nodes.flags[row] & (PLUS_IS_GPU | PLUS_IS_META)) == PLUS_IS_GPU;
}

/* What a row is made into: ET_METADATA, ET_COMP or a kind of communication. */
enum et_type graph_type(const struct node_graph *graph, row_t row);

/* The node that has been given what a communication is about. */
bool graph_is_parameters(const struct plus_nodes *nodes, row_t row);

/* The row that gives a communication node its pg_name: its own, or its record_param_comms. */
row_t graph_group_row(const struct node_graph *graph, row_t row);

/* An error about a node of ET+ at its place in the file. */
__attribute__((format(printf, 4, 5))) enum sutra_status graph_error(const struct node_graph *graph, row_t row,
                                                                    struct sutra_error *error, const char *format, ...);

/*
 * Process groups of ET+: numbers for those that have other names, and which ranks are in them.
 *
 * ASTRA-sim knows groups by numbers: 0, or none, is that of all ranks. A group of another name gets a number made of
 * the name, so that the files of all ranks agree without knowing each other. Members are told by nodes that describe
 * groups:
 *
 *     "## process_group:init ##"   ['[{"pg_name": "1", ..., "ranks": [0, 2], ...}, ...]']
 *
 * Older traces name a group elsewhere by its "backend_id" or "uid", which stands there, too.
 */

struct comm_group {
    struct et_text number; /* its name in the file */
    bool told;             /* a node describes it */
    uint32_t *ranks;       /* none: all */
    uint32_t n_ranks;
};

struct comm_groups {
    struct strings names;
    struct comm_group *list; /* by number of the name */
    uint32_t n_used;         /* of the first ones there are communication nodes; the others are only described */
    uint64_t n_described;    /* descriptions; a group may have several */
    struct strings uids;     /* other names, at most two a description, */
    uint32_t *uid_group;     /* each with its group */
    struct arena arena;
    uint64_t n_numbered; /* used groups of other names than numbers */
    uint32_t n_world;    /* one more than the largest rank that is told */
};

/* Finds the groups of the communication nodes that are kept, and those that are described. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status comm_groups_find(struct comm_groups *groups, const struct node_graph *graph,
                                   struct sutra_error *error);
void comm_groups_free(struct comm_groups *groups);

/* A group by its name or uid; NULL: there is none. */
const struct comm_group *comm_group_find(const struct comm_groups *groups, struct et_text name);

/* The number that stands for a group of this name in every file, as text. */
#define GROUP_NUMBER_MAX 16
void comm_group_number_of(const char *name, size_t length, char number[GROUP_NUMBER_MAX]);

/* The number of a group that was found, by its name. */
struct et_text comm_group_number(const struct comm_groups *groups, struct et_text name);

#endif
