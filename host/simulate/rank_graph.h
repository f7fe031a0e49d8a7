/*
 * rank_graph.h - a rank's .et file as a simulator runs it: nodes by rising id, what each runs on, takes and waits for.
 *
 *     columns of the file (et_nodes.h)  -->  struct rank_graph  -->  struct replay_graph (replay.h)
 *
 * Dependencies of both kinds count, each once; those on nodes that the file lacks do not. One on the node itself keeps
 * it from ever running, as any ring does. Of nodes with one id the last counts. Of the file's columns nothing is needed
 * once the graph is made.
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

/* A transfer of a collective, whose file tells meetings. */
struct transfer {
    row_t node; /* of the graph */
    enum comm_kind kind;
    uint32_t n_ranks;
    uint64_t bytes;
    uint32_t link; /* its line among those of the network (network.h) */
};

/* A communication, as its file tells whom it meets (rank_meetings.h). */
struct contact {
    row_t node; /* of the graph */
    bool is_told, is_message, sends;
    int64_t told;      /* the number of its meeting, where the file tells one */
    int64_t peer, tag; /* of a send or receive; a peer below 0 is none */
    uint32_t group;    /* of a collective: string of the groups */
};

enum work_kind { WORK_CPU, WORK_COMPUTATION, WORK_COMMUNICATION, WORK_KINDS };

struct rank_graph {
    row_t n;
    row_t *node;        /* of the file's columns, by rising id */
    uint64_t *id;       /* rising */
    uint64_t *start_us; /* when it was measured, 0: not told; NULL: none was */
    uint8_t *work;      /* enum work_kind */
    uint32_t *name;     /* string of the names */
    uint64_t *dur_ns;   /* as the file has it */
    uint64_t *run_ns;   /* of that, execution without launch latency; for nodes of the CPU all */
    int64_t *lane;      /* stream of a GPU node, thread of a CPU node; 0 where the file tells none */
    bool *is_shared;    /* a collective of a job's ranks: not what the GPU does by itself */
    bool tells;         /* the file tells meetings */
    row_t *parent;      /* the first node of its control dependencies, or ROW_NONE */

    uint64_t n_deps;
    uint64_t *first_dep; /* n + 1: deps[first_dep[i]] .. are rows that node i depends on */
    row_t *deps;
    uint64_t *first_waiter; /* n + 1: the same the other way */
    row_t *waiters;
    row_t *n_waits;
    uint64_t n_absent; /* dependencies on nodes that the file lacks */

    struct transfer *transfers; /* by row */
    row_t n_transfers;
    struct contact *contacts; /* by row */
    row_t n_contacts;

    uint32_t *meeting; /* number of a meeting of the job, or NO_MEETING; NULL: the rank is alone */
    uint32_t *resource;
    uint32_t n_resources;
    uint8_t *resource_work; /* per resource: enum work_kind */
};

/* What a rank has: a resource for all its threads or one for each; the same for the GPU and its streams. */
struct rank_resources {
    bool per_thread, per_stream;
};

/* Names of nodes, and of the groups of collectives. */
struct rank_names {
    struct strings names, groups;
};

/* Makes the graph; its columns are the arena's. Without `names` nodes have none, and no contacts. SUTRA_DATA: durations
 * that are no times. SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_graph_make(struct rank_graph *graph, const struct et_nodes *nodes, struct rank_names *names,
                                  struct pool *pool, struct arena *arena, struct sutra_error *error);

/* Numbers what the nodes run on. */
enum sutra_status rank_graph_share(struct rank_graph *graph, struct rank_resources resources, struct arena *arena,
                                   struct sutra_error *error);

/*
 * Which nodes of a job's ranks run together.
 *
 * Nodes of collectives meet those of other ranks by group and order, sends meet receives by ranks, tag and order. Of
 * files that tell meetings (et_meet.h) nodes meet by these alone. Cost: O(communications).
 */

/* Numbers the meetings of n ranks, of which number i is rank ranks[i] of its job, and whose groups are strings of
 * names[i]; gives how many there are. The columns are the arena's. SUTRA_SYSTEM: out of memory. */
enum sutra_status rank_graphs_meet(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                   uint32_t n, struct arena *arena, uint32_t *n_meetings, struct sutra_error *error);

#endif
