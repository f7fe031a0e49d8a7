/*
 * faithful.h - converts plain nodes to nodes that reproduce the measured time, and checks the result by one simulation.
 *
 *     linked traces --linked_timeline--\
 *                                       timeline --timeline--> nodes --et_timeline--> .et nodes --replay--> time
 *     ET+ -----------plus_timeline-----/
 *
 * The nodes of a rank of a job are not simulated, since their times depend on other ranks. Instead the times at which
 * its communication was ready and done are reported.
 */
#ifndef SIMULATE_FAITHFUL_H
#define SIMULATE_FAITHFUL_H

#include "context/context.h"
#include "simulate/et_timeline.h"
#include "sutra/convert.h"

struct faithful_report {
    struct timeline_report timeline;
    double simulated_us;  /* by our own replay of the nodes */
    uint64_t n_never_ran; /* nodes that the replay did not run; not 0 only by a bug */
    row_t departs;        /* the first node that differs from the measured time, or ROW_NONE */
    double departs_us;    /* simulated less measured start */
};

/* Times of a rank for its job: whole microseconds since `origin`, as in the durations of the nodes. */
struct rank_marks {
    double origin, end; /* first start and last end, as in the trace */
    uint64_t first_id;  /* of the first CPU node, if any */
    bool has_ops;
    row_t n; /* kernels that communicate */
    uint64_t *id;
    row_t *event; /* of the device trace */
    int64_t *ready_us, *done_us;
};

/* A rank of a job: its collectives (input), and their times (output, in the arena). */
struct rank_of_job {
    const row_t *events; /* rows of the device trace, ascending: kernels of collectives */
    row_t n_events;
    struct arena *arena;
    struct rank_marks marks;
};

/* sutra_converted_run_faithful() for a rank of a job, without simulation; job NULL: for a rank alone. */
enum sutra_status converted_make_faithful(struct sutra_context *context, struct sutra_converted *converted,
                                          const struct sutra_linked *linked,
                                          const struct sutra_faithful_options *options, struct rank_of_job *job,
                                          struct sutra_faithful_report *report, struct sutra_error *error);

#endif
