/*
 * rank_graph.h - the .et file of a rank as a simulator runs it: nodes by ascending id with resource, duration and
 * dependencies.
 *
 *     columns of the file (et_format.h)  -->  struct rank_graph  -->  struct replay_graph (replay.h)
 *
 * Control and data dependencies count, each once; dependencies on nodes that are not in the file are dropped. A node
 * that depends on itself never runs, as in any cycle. Of nodes with one id the last counts. The columns of the file are
 * not needed once the graph is made.
 */
#ifndef SIMULATE_RANK_GRAPH_H
#define SIMULATE_RANK_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/threads.h"
#include "columns/strings.h"
#include "facts/collectives.h"
#include "simulate/et_format.h"
#include "simulate/replay.h"

/* A transfer of a collective, if its file records matches. */
struct transfer {
    row_t node; /* of the graph */
    enum comm_kind kind;
    uint32_t n_ranks;
    bool receives; /* a message that the file marks as received */
    uint64_t bytes;
    uint32_t link;          /* index of its link in the network (what_if.h) */
    uint32_t process_group; /* id of the name of its process group */
    double bound_ns[2];     /* of a changed job: what its time may be less and more than its estimate */
};

/* A communication, with the fields that match it with other ranks. */
struct contact {
    row_t node; /* of the graph */
    bool has_match_number, is_message, sends, limits_dims;
    enum comm_kind kind;  /* as in the file; COMM_OTHER: not recorded */
    uint64_t bytes;       /* comm_size */
    int64_t match_number; /* the number of its match, if the file records one */
    int64_t peer, tag;    /* of a send or receive; peer < 0: unknown */
    uint32_t group;       /* of a collective: id of its name; in a changed job, its number */
};

/* Operations and bytes of a computation node without duration. */
struct kernel_size {
    row_t node; /* of the graph */
    uint64_t n_ops, bytes;
};

enum work_kind { WORK_CPU, WORK_COMPUTATION, WORK_COMMUNICATION, WORK_KINDS };

struct rank_graph {
    row_t n;
    row_t *node;        /* row of the columns of the file, by ascending id */
    uint64_t *id;       /* ascending */
    uint64_t *start_us; /* measured start, 0: not recorded; NULL: not recorded for any node */
    uint8_t *work;      /* enum work_kind */
    uint32_t *name;     /* id of the name */
    uint64_t *dur_ns;   /* as in the file */
    uint64_t *run_ns;   /* execution without launch latency; all of dur_ns for CPU nodes */
    int64_t *lane;      /* stream of a GPU node, thread of a CPU node; 0: not recorded */
    bool *is_shared;    /* a collective of several ranks of a job */
    bool tells;         /* the file records matches */
    uint8_t *role;      /* enum node_role, if no file of the job records matches; else NULL */
    row_t *parent;      /* the first control dependency, or ROW_NONE */
    row_t start;        /* the node [start], from the start of the job to the start of the rank; or ROW_NONE */

    uint64_t n_deps;
    uint64_t *first_dep; /* n + 1: node i depends on the rows deps[first_dep[i]] .. */
    row_t *deps;
    uint64_t *first_waiter; /* n + 1: the dependents of node i */
    row_t *waiters;
    row_t *n_waits;
    uint64_t n_absent; /* dependencies on nodes that are not in the file */

    struct transfer *transfers; /* by row */
    row_t n_transfers;
    struct contact *contacts; /* by row */
    row_t n_contacts;
    struct kernel_size *kernel_sizes; /* by row; only of files that record no matches */
    row_t n_kernel_sizes;

    uint32_t *matched_collective; /* index of its match in the job, or NO_MATCH; NULL: a rank alone */
    uint32_t *resource;
    uint32_t n_resources;
    uint8_t *resource_work; /* per resource: enum work_kind */
};

/* Names of nodes, and of groups of collectives. */
struct rank_names {
    struct strings names, groups;
};

/* Makes the graph; the arena owns its columns. Without `names` nodes have no names and there are no contacts.
 * SUTRA_DATA: the durations exceed the range of times. SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_graph_make(struct rank_graph *graph, const struct et_nodes *nodes, struct rank_names *names,
                                  struct pool *pool, struct arena *arena, struct sutra_error *error);

/* Numbers the resources of the nodes: one for all threads or one per thread; the same for the GPU and its streams. With
 * roles, each receive has a resource of its own, so receives run in parallel, and memory nodes occupy the communication
 * resource. */
enum sutra_status rank_graph_share(struct rank_graph *graph, bool per_thread, bool per_stream, struct arena *arena,
                                   struct sutra_error *error);

/* Nodes whose times a simulator does not know, or computes otherwise than sutra. */
struct node_counts {
    uint64_t n_collectives, n_messages, n_kernels;
    uint64_t n_untimed_collectives, n_untimed_messages; /* with a size, but no duration */
    uint64_t n_untimed_kernels, n_unsized_kernels;      /* without a duration; of these, without operations and bytes */
    uint64_t n_unmatched;         /* communication with a duration, of ranks that record no match of a collective */
    uint64_t n_memory, n_limited; /* memory nodes; collectives of some dimensions of the network */
};

/* Counts the nodes of n ranks. O(nodes). */
struct node_counts rank_graphs_count(const struct rank_graph *graphs, uint32_t n);

/* The input of replay(), with these durations. */
static inline struct replay_graph rank_graph_replay(const struct rank_graph *graph, const uint64_t *dur_ns) {
    return (struct replay_graph){.n = graph->n,
                                 .dur_ns = dur_ns,
                                 .resource = graph->resource,
                                 .n_resources = graph->n_resources,
                                 .n_waits = graph->n_waits,
                                 .first_waiter = graph->first_waiter,
                                 .waiters = graph->waiters,
                                 .matched_collective = graph->matched_collective};
}

/*
 * Matches the communication of the ranks of a job: collectives by group and order; sends with receives by ranks, tag
 * and order, unless the peer has no file. If files record matches (measured_et.h), nodes match by their numbers alone,
 * and have no roles. Cost: O(communications).
 */

/* Numbers the matches of n ranks. Entry i is rank ranks[i] of the job, and names[i] contains the names of its groups.
 * *n_matched_collectives is the number of matches. The arena owns the columns. SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_graphs_match(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                    uint32_t n, struct arena *arena, uint32_t *n_matched_collectives,
                                    struct sutra_error *error);

#endif
