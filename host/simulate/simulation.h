/*
 * simulation.h - the ranks of a job (struct sutra_et_ranks), and their simulation (struct sutra_simulation).
 *
 *     file of each rank --et_read, slim--> columns --rank_graph--> graph      in parallel; the columns are freed
 *     all graphs --> names and matches of the job, its network, its stragglers
 *     graphs --what-if--> durations --replay--> times --> waits, matches, critical path, sums by name
 *
 * Cost: O(nodes + dependencies), some 100 bytes per node.
 */
#ifndef SIMULATE_SIMULATION_H
#define SIMULATE_SIMULATION_H

#include "columns/strings.h"
#include "context/context.h"
#include "simulate/et_file.h"
#include "simulate/rank_graph.h"
#include "simulate/replay.h"
#include "simulate/what_if.h"
#include "sutra/simulate.h"

/* A group of ranks with a number above 0. */
struct astra_group {
    uint32_t number;
    const int64_t *ranks;
    uint32_t n_ranks;
};

/* ASTRA-sim's configuration of a job whose ranks synchronize in nodes [meet]. */
struct astra_job {
    const struct astra_group *groups;
    uint32_t n_groups, n_ranks;
    bool replays; /* each node lasts as recorded, also communication: "replay-only" */
    /* The network: rings in one or two dimensions, the inner one of neighboring ranks, without latency. Two dimensions
     * also avoid a crash: for groups smaller than the job, ASTRA-sim frees a single implementation once per group. */
    uint32_t n_dimensions, n_of_dimension[2];
    double gib_per_s[2]; /* 0: not fitted; [meet] costs no time */
};

/* Writes system.json, network.yml and memory.json, and with groups comm_group.json. */
enum sutra_status astra_files_write(struct sutra_context *context, const char *folder, const struct astra_job *job,
                                    struct sutra_error *error);

/* Writes the groups as a file such as comm_group.json: {"3": [0, 1]}. */
enum sutra_status group_file_write(struct sutra_context *context, const char *folder, const char *name,
                                   const struct astra_group *groups, uint32_t n_groups, struct sutra_error *error);

/* The parts of ASTRA-sim's configuration that sutra does not simulate. */
struct astra_config {
    bool replays;                                             /* durations of all nodes: "replay-only" */
    bool has_roofline, has_custom_collectives, tracks_memory; /* system.json */
    bool has_topology;                                        /* network.yml */
    bool has_memory_model;                                    /* memory.json: another than NO_MEMORY_EXPANSION */
    const char *malformed; /* the name of a file that is not JSON, and is ignored; or NULL */
};

/* Reads the files of a directory, as far as they exist. */
struct astra_config astra_config_read(const struct sutra_context *context, const char *folder);

struct sutra_et_ranks {
    uint32_t n;
    uint64_t *ranks;
    struct rank_graph *graphs;
    struct strings names; /* names of the nodes of all graphs */
    uint32_t n_matched_collectives;
    bool lacks_matches; /* no file records matches: the nodes have the roles of files of other tools */
    struct network network;
    struct rank_slowness *slowness;
    bool gpu_streams;        /* all files were made for a resource per stream */
    bool records_gpu;        /* all files record the resources for which they were made */
    uint32_t ranks_per_host; /* recorded; 0: not recorded */
    struct arena *arenas;    /* per rank: its graph */
    struct arena arena;
    /* Of a changed job (scale.c): */
    bool shares_names;               /* with the recorded job */
    uint32_t *sources;               /* the recorded rank of each rank; NULL: a recorded job */
    bool has_interval;               /* the time has an interval, */
    bool has_one_size;               /* which is wide, as collectives of one size do not determine the bandwidth, */
    bool assumes_ring;               /* and which assumes rings across hosts */
    uint32_t n_layers;               /* 0: the recorded number */
    const struct job_layers *layers; /* of the recorded job (program.h), if n_layers is set */
    double start_skew_ns;            /* between the recorded ranks */
};

/* The ranks of files that were read. SUTRA_DATA, SUTRA_SYSTEM: as sutra_simulate(). */
enum sutra_status et_ranks_of(struct sutra_context *context, const struct sutra_et *const *ets, const uint64_t *numbers,
                              uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error);

/* Changes the nodes of the r-th file, which was read slim, into `made`, which the caller initialized. May change
 * `read`; the texts of `made` may be in its memory. Several threads call it, for different files. */
typedef enum sutra_status nodes_change(void *arg, uint32_t r, struct et_nodes *read, struct et_nodes *made,
                                       struct sutra_error *error);

/* sutra_et_ranks_read() of files whose nodes are changed. */
enum sutra_status et_ranks_read_changed(struct sutra_context *context, const char *const *paths,
                                        const uint64_t *numbers, uint32_t n, nodes_change *change, void *arg,
                                        struct sutra_et_ranks **ranks, struct sutra_error *error);

/* ---- A simulation ---- */

/* A step of the critical path: a node, and the interval in which it determined the time. The last step is first. */
struct path_step {
    struct replay_node node;
    uint64_t start_ns, end_ns;
};

struct simulation_name {
    uint32_t name; /* id of the name */
    uint8_t work;  /* enum work_kind of its first node */
    uint64_t n_nodes, run_ns, path_ns, free_ns, wait_ns;
};

/* A node that never ran, and the node that explains it. */
struct stuck_reason {
    struct replay_node node, awaited;
    enum sutra_deadlock_cause why;
};

/* The time for which a rank waited for another one; both are indices of ranks. */
struct simulation_wait {
    uint32_t rank, awaited;
    uint64_t n, ns;
};

struct simulation_match {
    uint32_t number;
    uint64_t n; /* members */
    struct replay_node first, last;
    uint64_t start_ns, last_ns, run_ns, end_ns, wait_ns;
};

struct sutra_simulation {
    const struct sutra_et_ranks *job;
    struct sutra_et_ranks *own; /* the same, if the simulation owns it; or NULL */
    uint32_t n;
    const uint64_t *ranks;
    const struct strings *names;
    struct rank_graph *graphs; /* the graphs of the job, with resources */
    struct replay_graph *runs; /* the input of replay() */
    uint64_t **run_ns;         /* per node: execution time, with all changes */
    uint64_t **wait_ns;        /* per node: launch latency, which changes do not affect */
    struct replay_times *times;
    uint32_t n_matched_collectives;
    struct simulation_wait *waits; /* the longest first */
    uint64_t n_waits;
    struct simulation_match *met; /* matches by their ends */
    uint64_t n_met;
    struct path_step *steps; /* the last one first */
    uint64_t n_steps;
    struct simulation_name *by_name;
    uint64_t n_by_name;
    uint64_t n_stuck;           /* nodes that never ran */
    struct stuck_reason *stuck; /* explanations */
    uint64_t n_reasons;
    struct arena arena;
};

/* Explains why nodes never ran. */
enum sutra_status simulation_find_stuck(struct sutra_simulation *simulation, struct sutra_error *error);

#endif
