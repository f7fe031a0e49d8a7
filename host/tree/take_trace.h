/*
 * take_trace.h - what the steps from an exported trace to a profile share.
 */
#ifndef TREE_TAKE_TRACE_H
#define TREE_TAKE_TRACE_H

#include "tree/profile.h"

/* What an event of the trace stands for, by its category. */
enum event_role {
    ROLE_NONE,
    ROLE_OPERATOR,
    ROLE_ANNOTATION,
    ROLE_PYTHON,
    ROLE_INSTANT,      /* memory */
    ROLE_CALL,         /* of the runtime or driver, on the host */
    ROLE_GPU_OPERATOR, /* kernel, copy, set */
    ROLE_ON_DEVICE,    /* synchronisation and annotations there */
    ROLE_LAUNCH_FLOW,  /* half of a flow from launch to kernel */
    ROLE_AUTOGRAD_FLOW /* half of a flow from forward to backward */
};

/* Columns by event of the trace; those without a role have nothing but that. */
struct trace_rows {
    uint8_t *role;
    int64_t *start, *end;
    int64_t *index;       /* Ev Idx, below 0: none */
    int64_t *sequence;    /* below 0: none */
    int64_t *forward_tid; /* small number of the forward thread, or 0 */
    int64_t *bytes;
    uint64_t *memory;
    value_key *flow;  /* id of a flow, or KEY_ABSENT */
    uint32_t *thread; /* dense number of (pid, tid) */
};

struct taking {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct sutra_host_trace *host; /* or NULL */
    const struct sutra_profile_options *options;
    struct sutra_profile *profile;
    struct trace_rows rows;
    row_t *row_of;      /* of each event of the trace: the row of the profile, or ROW_NONE */
    uint64_t n_dropped; /* fields of a wrong type */
    row_t n_untimed;    /* events left out for their times */
    struct sutra_error *error;
};

/* Fills the columns of the trace's events, in parallel. */
enum sutra_status trace_rows_read(struct taking *taking);
void trace_rows_free(struct trace_rows *rows);

/* Parents of Kineto's events: by flow, by correlation, by external id. */
enum sutra_status take_parents(struct taking *taking);

/* Autograd's small numbers of threads, and the threads to fall back on. */
enum sutra_status take_threads(struct taking *taking);

/* Numbers and inputs that the host trace has for operators of the same rf_id. */
enum sutra_status take_host(struct taking *taking);

/* Types and shapes of inputs that the trace has. */
enum sutra_status take_inputs(struct taking *taking);

#endif
