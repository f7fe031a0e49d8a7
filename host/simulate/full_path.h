/*
 * full_path.h - struct sutra_full_path: the critical path by the full rules. The measured timeline becomes nodes, one
 * replay runs them, and the path goes back from the node that ended last.
 *
 *     device trace --device_timeline--> timeline --timeline--> nodes --replay--> times and causes --> steps of the path
 */
#ifndef SIMULATE_FULL_PATH_H
#define SIMULATE_FULL_PATH_H

#include "base/arena.h"
#include "read/device_trace.h"
#include "simulate/timeline.h"
#include "sutra/critical_path.h"

/* A step of the path, of one kind. */
struct full_path_step {
    enum sutra_full_kind kind;
    bool awaited;  /* a kernel whose end the CPU waited for */
    uint32_t name; /* string of the trace; STRING_NONE for a gap */
    row_t event;   /* ROW_NONE for a gap */
    uint64_t start_ns, end_ns;
};

struct sutra_full_path {
    const struct sutra_device_trace *trace;
    row_t annotation; /* the event that selects the window, or ROW_NONE: the total trace */
    char window[80];  /* "ProfilerStep#3-5", if the window consists of steps */
    struct full_path_step *steps;
    uint64_t n_steps, steps_capacity;
    struct sutra_full_share *shares;
    struct sutra_full_slack *slacks;
    uint64_t n_slacks;
    struct sutra_full_slack_name *slack_names;
    uint64_t n_slack_names;
    struct sutra_full_report report;
    struct arena arena;
};

/* The kind of a kernel with these traits. */
static inline enum sutra_full_kind full_path_kernel_kind(uint8_t traits) {
    if (traits & KERNEL_COMMUNICATES)
        return SUTRA_FULL_COMMUNICATION;
    return traits & KERNEL_COPIES ? SUTRA_FULL_COPY : SUTRA_FULL_KERNEL;
}

#endif
