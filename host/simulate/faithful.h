/*
 * faithful.h - from plain nodes to nodes that take the measured time, and the proof: they are simulated once.
 *
 *     linked traces --linked_timeline--\
 *                                       timeline --timeline--> nodes --et_timeline--> .et nodes --replay--> time
 *     ET+ -----------plus_timeline-----/
 */
#ifndef SIMULATE_FAITHFUL_H
#define SIMULATE_FAITHFUL_H

#include "context/context.h"
#include "simulate/et_nodes.h"
#include "simulate/timeline.h"

struct faithful_report {
    struct timeline_report timeline;
    double simulated_us;  /* by our own replay of the nodes */
    uint64_t n_never_ran; /* nodes that never ran in it: none, but for a mistake of ours */
    row_t departs;        /* node that first departs from the measured time, or ROW_NONE */
    double departs_us;    /* by how much: simulated less measured */
};

/* Puts the faithful nodes in place of the plain ones. In `input` it says which kernels communicate, and the first new
 * id. SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status faithful_make(struct sutra_context *context, struct timeline_input *input, struct et_nodes *nodes,
                                struct faithful_report *report, struct sutra_error *error);

#endif
