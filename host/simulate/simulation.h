/*
 * simulation.h - inside of struct sutra_simulation: a job's graphs, how long each node takes, and what became of it.
 */
#ifndef SIMULATE_SIMULATION_H
#define SIMULATE_SIMULATION_H

#include "context/context.h"
#include "simulate/job.h"
#include "simulate/replay.h"
#include "sutra/simulate.h"

/* A stretch of the critical path, the last first: a node, and from when to when it was the one that all waited for. */
struct path_step {
    struct replay_node node;
    uint64_t start_ns, end_ns;
};

struct simulation_name {
    uint32_t name; /* string of the names */
    uint8_t work;  /* enum work_kind of the first of its nodes */
    uint64_t n_nodes, run_ns, path_ns, free_ns, wait_ns;
};

/* A node that never ran, and another one that explains it. */
struct stuck_reason {
    struct replay_node node, awaited;
    enum sutra_deadlock_cause why;
};

/* How long a rank waited for another one; ranks by their places. */
struct simulation_wait {
    uint32_t rank, awaited;
    uint64_t n, ns;
};

struct simulation_meeting {
    uint32_t number;
    uint64_t n; /* members */
    struct replay_node first, last;
    uint64_t start_ns, last_ns, run_ns, end_ns, wait_ns;
};

struct sutra_simulation {
    const struct sutra_et_ranks *job;
    struct sutra_et_ranks *own; /* the same, where it ends with the simulation; or NULL */
    uint32_t n;
    const uint64_t *ranks;
    const struct strings *names;
    struct rank_graph *graphs; /* the job's, with what nodes run on */
    struct replay_graph *runs; /* the same as replay() takes them */
    uint64_t **run_ns;         /* per node: execution, with all changes */
    uint64_t **wait_ns;        /* per node: launch latency, which changes leave alone */
    struct replay_times *times;
    uint32_t n_meetings;
    struct simulation_wait *waits; /* the longest first */
    uint64_t n_waits;
    struct simulation_meeting *met; /* in the order of their ends */
    uint64_t n_met;
    struct path_step *steps; /* the last one first */
    uint64_t n_steps;
    struct simulation_name *by_name;
    uint64_t n_by_name;
    uint64_t n_stuck;           /* nodes that never ran, */
    struct stuck_reason *stuck; /* and why */
    uint64_t n_reasons;
    struct arena arena;
};

/* Finds why nodes never ran. */
enum sutra_status simulation_find_stuck(struct sutra_simulation *simulation, struct sutra_error *error);

#endif
