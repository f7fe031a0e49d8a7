/*
 * take_trace.h - what the steps from an exported trace to a profile share.
 */
#ifndef TREE_TAKE_TRACE_H
#define TREE_TAKE_TRACE_H

#include "base/arena.h"
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
    uint32_t n_threads;
    uint64_t n_dropped; /* fields of a wrong type */
    row_t n_untimed;    /* events left out for their times */
};

/* Fills the columns of the trace's events, in parallel; they live in the arena. */
enum sutra_status trace_rows_read(struct trace_rows *rows, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, struct arena *arena,
                                  struct sutra_error *error);

/* The steps below take a profile to which the trace's events were appended. */

/* Parents of Kineto's events: by flow, by correlation, by external id. */
enum sutra_status take_parents(struct sutra_profile *profile, struct sutra_context *context,
                               const struct trace_rows *rows, bool rocm, struct sutra_error *error);

/* Autograd's small numbers of threads, and the threads to fall back on; `by_host`: operators have numbers of the host
 * trace. */
enum sutra_status take_threads(struct sutra_profile *profile, const struct trace_rows *rows, bool by_host,
                               struct sutra_error *error);

/* Numbers and inputs that the host trace has for operators of the same rf_id. */
enum sutra_status take_host(struct sutra_profile *profile, struct sutra_context *context,
                            const struct sutra_host_trace *host, struct sutra_error *error);

/* Types and shapes of inputs that the trace has. */
enum sutra_status take_inputs(struct sutra_profile *profile, struct sutra_error *error);

#endif
