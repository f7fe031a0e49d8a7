/*
 * et_make.h - from the graph to the columns of an .et file: the kept nodes by rising id, with their attributes.
 */
#ifndef SIMULATE_ET_MAKE_H
#define SIMULATE_ET_MAKE_H

#include "simulate/comm_ends.h"
#include "simulate/et_nodes.h"
#include "simulate/node_graph.h"

/* What is written. */
struct et_rules {
    bool need_members;                /* the file's schema, pid, time, start_ts and finish_ts must be there */
    bool start_times;                 /* write when nodes start */
    const struct comm_groups *groups; /* numbers of process groups; NULL: they keep their names */
    const struct comm_ends *ends;     /* of sends and receives; NULL: they do not tell them */
};

/* Fills `nodes`, whose texts lie where those of ET+ do. SUTRA_DATA: a member of the file is missing or wrong.
 * O(nodes + attributes). */
enum sutra_status et_make(struct et_nodes *nodes, const struct node_graph *graph, const struct et_rules *rules,
                          struct sutra_error *error);

#endif
