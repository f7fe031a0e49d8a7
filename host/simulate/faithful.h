/*
 * faithful.h - from plain nodes to nodes that take the measured time, and the proof: they are simulated once.
 *
 *     linked traces --linked_timeline--\
 *                                       timeline --timeline--> nodes --et_timeline--> .et nodes --replay--> time
 *     ET+ -----------plus_timeline-----/
 *
 * Of a rank of a job the nodes are not simulated, since what they take is only known when it meets the other ranks; in
 * place of that it is told when its communication was ready and when it was done.
 */
#ifndef SIMULATE_FAITHFUL_H
#define SIMULATE_FAITHFUL_H

#include "context/context.h"
#include "simulate/et_nodes.h"
#include "simulate/timeline.h"
#include "sutra/convert.h"

struct faithful_report {
    struct timeline_report timeline;
    double simulated_us;  /* by our own replay of the nodes */
    uint64_t n_never_ran; /* nodes that never ran in it: none, but for a mistake of ours */
    row_t departs;        /* node that first departs from the measured time, or ROW_NONE */
    double departs_us;    /* by how much: simulated less measured */
};

/* What a job needs of a rank. Times are whole microseconds since `origin`, as durations of the nodes have them. */
struct rank_marks {
    double origin, end; /* first start and last end, as the trace has them */
    uint64_t first_id;  /* of the first node of the processor, if it has any */
    bool has_ops;
    row_t n; /* kernels that communicate */
    uint64_t *id;
    row_t *event; /* of the device trace */
    int64_t *ready_us, *done_us;
};

/* A rank of a job: what is known to be communication, and what comes out of it, in the arena. */
struct rank_of_job {
    const row_t *events; /* of the device trace, rising: kernels of collectives */
    row_t n_events;
    struct arena *arena;
    struct rank_marks marks;
};

/* Puts the faithful nodes in place of the plain ones. In `input` it says which kernels communicate, and the first new
 * id. `job` is NULL for a rank alone. SUTRA_SYSTEM: out of memory. O(n log n). */
enum sutra_status faithful_make(struct sutra_context *context, struct timeline_input *input, struct et_nodes *nodes,
                                struct rank_of_job *job, struct faithful_report *report, struct sutra_error *error);

/* sutra_converted_run_faithful() for a rank of a job, of which nothing is simulated; or alone, with NULL. */
enum sutra_status converted_make_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error);

#endif
