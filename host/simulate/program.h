/*
 * program.h - the launch sequence of each rank of a job, and its edits: other numbers of layers, micro-batches and
 * replicas.
 *
 *     graphs of a job --programs_make--> programs --edits--> programs --program_graph--> graphs of another job
 *
 *     CPU chain   a  b     c      d      a GPU node follows the last CPU node that it depends on
 *     stream 7       k1    k2            k2 refers to k1 as (stream 7, 0 nodes back), to b as (CPU chain, 1 node back)
 *
 * A dependency is a reference: a resource, and the number of its nodes between the dependency and the dependent. Edits
 * copy and remove ranges of items. Afterwards each reference is resolved at its new position, so that a copy depends on
 * the copies before it. A reference beyond the start is dropped. Each node also depends on the preceding node of its
 * resource, and each GPU node on the preceding CPU node.
 *
 * Cost: O(n log n) for n nodes and dependencies.
 */
#ifndef SIMULATE_PROGRAM_H
#define SIMULATE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "simulate/rank_graph.h"
#include "simulate/what_if.h"

#define CPU_CHAIN 0 /* the resource of all CPU nodes; other resources are streams */

/* A dependency on the node of `resource` that is followed by `back` nodes of this resource. */
struct program_ref {
    uint32_t resource;
    row_t back;
};

struct program_item {
    row_t node; /* of the recorded graph */
    uint32_t resource;
    uint32_t transfer; /* its transfer in the recorded graph, or ROW_NONE */
    uint32_t group;    /* of its collective: index of the ranks that synchronize, or ROW_NONE */
    uint64_t first_ref;
    uint32_t n_refs;
    int32_t step;          /* number of the profiler step; -1: before the first one */
    bool is_mark;          /* marks the start of a profiler step; not in the CPU chain */
    bool receives;         /* receives a message */
    double dur_ns, run_ns; /* with and without launch latency */
};

struct program_items {
    struct program_item *list;
    row_t n;
    uint64_t capacity;
};

struct program {
    uint32_t source;     /* index of the recorded rank */
    uint64_t rank;       /* its number */
    int64_t main_thread; /* the thread of the profiler steps */
    struct program_items items;
    uint32_t n_resources;
};

/* Properties of a name, as bits. */
enum program_name {
    NAME_IS_STEP = 1,      /* ProfilerStep# */
    NAME_IS_ADDED = 2,     /* [gap], [rest] and other names that the linker adds */
    NAME_IS_GAP = 4,       /* [gap] */
    NAME_IS_SEND = 8,      /* an operator that sends a message */
    NAME_IS_RECEIVE = 16,  /* an operator that receives a message */
    NAME_IS_TREE = 32,     /* a kernel that runs NCCL's tree algorithm */
    NAME_IS_OPTIMIZER = 64 /* a kernel that updates parameters */
};

/* The ranks that synchronize at a collective. */
struct program_group {
    uint32_t n;
    const uint32_t *members; /* indices of programs, ascending; NULL: a group of new ranks */
    uint64_t first, last;    /* lowest and highest rank */
};

/* The programs of a job, ascending by rank. */
struct programs {
    struct change_target job;
    struct program *list;
    uint32_t n;
    uint32_t n_matches;
    const uint8_t *names; /* bits of enum program_name by name id */
    struct program_ref *refs;
    uint64_t n_refs, refs_capacity;
    struct program_group *groups;
    uint32_t n_groups;
    uint64_t groups_capacity;
    struct arena *arena; /* of all columns */
};

/* Makes the programs of the graphs of a job. SUTRA_DATA: a rank has no profiler step, or a dependency cycle.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status programs_make(struct programs *programs, const struct change_target *job, uint32_t n_matches,
                                struct arena *arena, struct sutra_error *error);

static inline const struct rank_graph *program_graph_of(const struct programs *programs,
                                                        const struct program *program) {
    return &programs->job.graphs[program->source];
}

static inline const struct transfer *item_transfer(const struct rank_graph *graph, const struct program_item *item) {
    return item->transfer == ROW_NONE ? NULL : &graph->transfers[item->transfer];
}

/* Whether the item is a GPU node that computes or copies. */
static inline bool item_computes(const struct program_item *item) {
    return item->resource != CPU_CHAIN && item->transfer == ROW_NONE;
}

static inline bool item_is_message(const struct rank_graph *graph, const struct program_item *item) {
    return item->transfer != ROW_NONE && graph->transfers[item->transfer].kind == COMM_MESSAGE;
}

/* Whether the item is a CPU node of another thread than the profiler steps, as the backward pass is. */
static inline bool item_is_backward(const struct rank_graph *graph, const struct program *program,
                                    const struct program_item *item) {
    return item->resource == CPU_CHAIN && !item->is_mark && graph->lane[item->node] != 0 &&
           graph->lane[item->node] != program->main_thread;
}

/* Appends items first..after - 1 of the program; a copy has no marks. False: out of memory, or too many nodes. */
bool program_append(struct program_items *items, const struct program *program, row_t first, row_t after, bool is_copy,
                    struct arena *arena);

/* Numbers the matches of the new ranks, one rank after the other. */
struct match_counts {
    struct pair_table counts;  /* (rank, channel) -> matches so far */
    struct pair_table numbers; /* (order, channel) -> match */
    struct tuples channels;    /* (group of ranks, process group, message) */
    uint32_t n_matches;
};

/* False: out of memory; match_counts_free() frees the counts also then. */
bool match_counts_init(struct match_counts *counts);
void match_counts_free(struct match_counts *counts);

/* Makes the graph of a program in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status program_graph(const struct programs *programs, const struct program *program,
                                struct match_counts *counts, struct rank_graph *graph, struct arena *arena,
                                struct sutra_error *error);

/*
 * ---- Units: the forward and backward passes of micro-batches (program_units.c) ----
 *
 *     pipeline stage    prologue  F F F B F B B B  rest of the step       F: forward pass, B: backward pass
 *
 * A unit ends where the CPU chain changes between the main thread and other threads, after a send, and after the last
 * GPU node before a receive. Units without compute join the next unit.
 */

struct program_unit {
    row_t first, after; /* items */
    bool is_backward;
};

struct program_step {
    int32_t step;
    row_t first, after;  /* items */
    uint32_t first_unit; /* of n_units */
    uint32_t n_units;    /* 0: no backward pass */
};

struct program_units {
    struct program_unit *list;
    uint32_t n;
    uint64_t capacity;
    struct program_step *steps;
    uint32_t n_steps;
    uint64_t steps_capacity;
};

/* Finds the units of all steps; the arena owns them. False: out of memory. O(items). */
bool program_units_find(const struct programs *programs, const struct program *program, struct arena *arena,
                        struct program_units *units);

/* The order of the units of a step. */
enum schedule_kind { SCHEDULE_UNKNOWN, SCHEDULE_1F1B, SCHEDULE_ALL_FORWARD };

struct schedule {
    enum schedule_kind kind;
    uint32_t n_micro_batches;
    uint32_t n_warmup; /* forward passes before the first pair of F and B */
};

/* Whether unit u of F^w (FB)^(m-w) B^w is a backward pass. */
static inline bool schedule_is_backward(uint32_t u, uint32_t m, uint32_t w) {
    return u >= w && (u >= 2 * m - w || (u - w) % 2 == 1);
}

/* The schedule of a step: F^w (FB)^(m-w) B^w. F^m B^m is ALL_FORWARD. O(units). */
struct schedule schedule_find(const struct program_units *units, const struct program_step *step);

/* The periodic run of symbols that covers the most symbols: at least two repeats of at least three symbols that are not
 * all equal; of equal coverage the smallest period, then the earliest start. */
struct periodic_run {
    uint32_t start, period, repeats; /* repeats 0: none */
};

/* Finds the run. False: out of memory. O(n log n). */
bool periodic_run_find(const uint32_t *symbols, uint32_t n, struct arena *arena, struct periodic_run *run);

/*
 * ---- Edits ----
 *
 * SUTRA_DATA: refused, with the reason. SUTRA_SYSTEM: out of memory.
 */

/* The repeated block of a pass. */
struct pass_block {
    uint32_t n_kernels, n_collectives;
    uint32_t *names;  /* distinct names of its kernels, in launch order */
    uint32_t *counts; /* kernels of each name */
    uint32_t n_names;
};

/* The layers of the recorded job. A block may be a period of several layers of the model. */
struct job_layers {
    uint32_t n, n_stages;        /* repeated blocks of a pipeline, and its stages */
    struct pass_block blocks[2]; /* of a forward and of a backward pass of the first rank */
};

/* Each pipeline gets this number of layers, spread evenly over its stages; 0: the recorded number. Fills *recorded
 * (program_edits.c). */
enum sutra_status programs_set_layers(struct programs *programs, uint32_t n_layers, struct job_layers *recorded,
                                      struct sutra_error *error);

/* Each step gets this number of micro-batches; 0: the recorded number. Fills *n_recorded (program_edits.c). */
enum sutra_status programs_set_micro_batches(struct programs *programs, uint32_t n_micro_batches, uint32_t *n_recorded,
                                             struct sutra_error *error);

/* Refuses an edit after which the ranks of a group have different numbers of a collective (program.c). */
enum sutra_status programs_check_matches(const struct programs *programs, struct sutra_error *error);

/* Sets stages[p] to the number of ranks that messages connect with program p. False: out of memory. */
bool programs_stages(const struct programs *programs, struct arena *arena, uint32_t *stages);

/*
 * ---- Other numbers of data-parallel replicas (program_replicas.c) ----
 *
 * New replica d is a copy of replica d modulo their recorded number n. Copy d / n takes the durations of computation
 * from later steps. Ranks keep their layout, and collectives take the time that the network needs for the new groups.
 */

/* Assumed time of a hop, if all collectives of a level have the same number of hops. */
#define HOP_ON_HOST_NS      600
#define HOP_ACROSS_HOSTS_NS 2700

/* The estimate, and the lowest and the highest cost that the recorded collectives permit. */
enum network_bound { NETWORK_ESTIMATE, NETWORK_LOW, NETWORK_HIGH, N_NETWORKS };

/* The network on a host, or across hosts. */
struct level_network {
    bool is_known;     /* the job has collectives on this level */
    bool has_one_size; /* all collectives of a kind move the same number of bytes */
    double hop_ns[N_NETWORKS], ns_per_byte[N_NETWORKS];
};

struct job_network {
    uint64_t ranks_per_host;
    struct level_network levels[2]; /* on a host, across hosts */
};

struct replicas {
    uint32_t n, size;          /* recorded replicas, and ranks of each */
    uint32_t *replica, *index; /* of each program: its replica, and its index in the replica */
    bool *reduces;             /* by group: it reduces gradients over all replicas */
    uint32_t n_new;
    uint32_t block; /* consecutive ranks of a replica */
    bool is_sharded;
    bool has_network;  /* the caller sets the time of all collectives */
    bool assumes_ring; /* a changed group spans hosts with several ranks each, where NCCL may use other algorithms */
    struct job_network network;
    struct pair_table groups; /* (recorded group, new replica) -> new group */
};

/* The execution time of a collective in each network. */
struct network_times {
    double run_ns[N_NETWORKS];
};

/* Fits the network of the job; hop_ns NAN: the assumed time. SUTRA_SYSTEM: out of memory. */
enum sutra_status programs_fit_network(const struct programs *programs, uint64_t ranks_per_host, double hop_ns,
                                       struct job_network *network, struct sutra_error *error);

/* Finds the data-parallel replicas. */
enum sutra_status programs_find_replicas(struct programs *programs, struct replicas *replicas,
                                         struct sutra_error *error);

/* Prepares n_new replicas. */
enum sutra_status programs_prepare_replicas(struct programs *programs, struct replicas *replicas, uint32_t n_new,
                                            struct sutra_error *error);

/* The rank of a program of a new replica. */
uint64_t replica_rank(const struct replicas *replicas, uint32_t replica, uint32_t index);

/* Copies program `source` for a new replica; the items are in the arena. times[] has an element per collective. Before
 * the first call, replicas->network, has_network and groups are set. */
enum sutra_status replica_program(struct programs *programs, struct replicas *replicas, uint32_t source,
                                  uint32_t replica, struct arena *arena, struct program *made,
                                  struct network_times *times, struct sutra_error *error);

/* The root of the set of i; root[i] == i is a root. */
static inline uint32_t union_root(uint32_t *root, uint32_t i) {
    for (; root[i] != i; i = root[i])
        root[i] = root[root[i]];
    return i;
}

#endif
