/*
 * critical_path.h - critical path of a device trace or of one step.
 *
 *     device trace --> sutra_critical_path_find() --> struct sutra_critical_path --> sutra_critical_path_write()
 *
 * Nodes are starts and ends of operators and kernels. Edges are durations, launch delays, gaps between kernels of a
 * stream, and synchronization. The rules equal Holistic Trace Analysis ("HTA") with pandas 2 and stable sorts. HTA
 * fails on some traces and does not read stream 0, equal stream numbers of several devices, or HIP. For such traces
 * sutra uses extended rules.
 */
#ifndef SUTRA_CRITICAL_PATH_H
#define SUTRA_CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/hta_version.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_critical_path;

/* Edges of the graph that the marked trace shows as arrows. */
enum sutra_path_arrows {
    SUTRA_ARROWS_PATH,  /* edges of the path between two events */
    SUTRA_ARROWS_WAITS, /* only dependencies, launch delays and synchronization of the path, as HTA */
    SUTRA_ARROWS_ALL,   /* all edges between two events; args.critical marks the path */
    SUTRA_N_ARROWS
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_critical_path_options {
    size_t size;
    const char *annotation; /* part of the name of the analyzed event; NULL: "ProfilerStep", or the whole trace without
                               one; "": the whole trace */
    uint64_t instance;      /* index among the events of that name, from 0 */
    enum sutra_hta_version hta_version;
    const char *data_loading; /* HTA 0.6: events whose name contains it load data and count as operators; NULL: none */
    bool only_critical;       /* the marked trace omits spans off the path, except annotations and Python functions */
    enum sutra_path_arrows arrows;
    const char *step; /* number of a profiler step or a range such as "3-5", as in struct sutra_restriction; NULL: none.
                         Excludes `annotation` and `instance` */
    uint64_t most_bytes; /* writing fails with SUTRA_DATA if the output would exceed about this size; 0: unlimited */
};

/* Finds the path. The trace must outlive *path, which the caller frees. Warns if it uses extended rules because HTA
 * fails. Errors: SUTRA_DATA: no such annotation, or no path; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_critical_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_critical_path_options *options,
                                           struct sutra_critical_path **path, struct sutra_error *error);

/* Kinds of time on the path. */
enum sutra_path_kind {
    SUTRA_PATH_OPERATOR,     /* CPU operators and runtime calls */
    SUTRA_PATH_KERNEL,       /* GPU kernels, memcpys and memsets */
    SUTRA_PATH_LAUNCH_DELAY, /* launch to kernel */
    SUTRA_PATH_KERNEL_DELAY, /* end of a kernel to the start of the next kernel on the stream */
    SUTRA_PATH_SYNC,         /* host waits for the GPU: edges of weight 0, so only their number matters */
    SUTRA_PATH_DEPENDENCY,   /* top-level operator to the next one; weight 0 */
    SUTRA_PATH_N_KINDS
};

struct sutra_path_share {
    enum sutra_path_kind kind;
    const char *name; /* of the operator or kernel; NULL: other kinds; lives as long as the trace */
    double us;
    uint64_t n_edges;
};

/* The part of the window before or after the path, and the events that start in it. */
struct sutra_path_outside {
    double us; /* duration; 0: empty */
    uint64_t n_operators, n_kernels;
    const char *longest; /* longest kernel or top-level operator; NULL: none; lives as long as the trace */
    double longest_us;   /* its time in this part */
};

struct sutra_critical_path_report {
    size_t size;               /* sizeof the struct, set by the caller */
    uint64_t n_nodes, n_edges; /* of the graph */
    uint64_t n_path_nodes;
    bool extended;      /* extended rules were used */
    const char *reason; /* why HTA finds no path; "" if it finds one */
    double us;          /* sum of all weights on the path */
    double kind_us[SUTRA_PATH_N_KINDS];
    uint64_t kind_edges[SUTRA_PATH_N_KINDS];
    double compute_us, communication_us, memory_us; /* kernels on the path */
    const struct sutra_path_share *shares;          /* by kind, then by descending time; lives as long as the path */
    uint64_t n_shares;
    double window_us;        /* duration of the annotation or the whole trace */
    double begin_us, end_us; /* of the path, relative to the start of the window */
    struct sutra_path_outside before, after;
    const char *window;                 /* the annotation or steps; NULL: the whole trace; lives as long as the path */
    enum sutra_hta_version hta_version; /* HTA version of the rules, also of extended ones */
    double data_loading_us;             /* operator time of events that load data */
};
void sutra_critical_path_report(const struct sutra_critical_path *path, struct sutra_critical_path_report *report);

/* An edge of the path, from one node to the next. */
struct sutra_path_step {
    size_t size; /* sizeof the struct, set by the caller */
    enum sutra_path_kind kind;
    const char *name;    /* the operator or kernel, or the start of the edge; lives as long as the trace */
    const char *to_name; /* the end of the edge; NULL: time of an operator or kernel */
    double at_us, us;    /* start, relative to the start of the window, and duration */
};
/* Fills *step for edge i; the path has n_path_nodes - 1 edges. */
void sutra_critical_path_step(const struct sutra_critical_path *path, uint64_t i, struct sutra_path_step *step);

enum sutra_path_format {
    SUTRA_PATH_TEXT,   /* human-readable: breakdown and path */
    SUTRA_PATH_JSON,   /* map of external ids, nodes, edges, path, breakdown */
    SUTRA_PATH_CHROME, /* the trace with args "critical_path" on events of the path, and its edges as flows */
};

/* Writes to a file as sutra_linked_write() does. */
enum sutra_status sutra_critical_path_write(struct sutra_context *context, const struct sutra_critical_path *path,
                                            enum sutra_path_format format, const char *file, struct sutra_error *error);

void sutra_critical_path_free(struct sutra_critical_path *path);

/* ---- Full rules ---- */

/* Critical path over all dependencies in the trace. The graph has the CPU work of all threads as one chain, host waits
 * for the GPU, launches, stream order, and events between streams, as .et files with measured times have. The path
 * extends from the first start to the last end, and each moment of it has one kind. */
struct sutra_full_path;

enum sutra_full_kind {
    SUTRA_FULL_OPERATOR,      /* CPU time in the operator that started last */
    SUTRA_FULL_GAP,           /* CPU time outside of operators */
    SUTRA_FULL_LAUNCH,        /* launch to kernel */
    SUTRA_FULL_STREAM_GAP,    /* end of a kernel to the start of a kernel that waits for it */
    SUTRA_FULL_KERNEL,        /* all other GPU work */
    SUTRA_FULL_COPY,          /* memcpys */
    SUTRA_FULL_COMMUNICATION, /* collectives and messages */
    SUTRA_FULL_N_KINDS
};

/* Steps of the path with the same kind and name. */
struct sutra_full_share {
    enum sutra_full_kind kind;
    const char *name; /* of the operator or kernel; NULL: gaps; lives as long as the trace */
    double us;
    uint64_t n_steps;
    uint64_t n_waits;     /* steps after which the CPU, having waited for the kernel, continues */
    uint32_t first_event; /* the first of their events in the file */
};

/* Slack: by how much an operator or kernel may become slower without extending the path, if all other durations and the
 * order of kernels on each stream stay the same. Slack is 0 on the path, except if the CPU continues while a kernel
 * runs. The slack of an operator holds for extra time at any position in it. */
struct sutra_full_slack {
    uint32_t event;
    enum sutra_full_kind kind;
    const char *name;
    double us; /* measured duration */
    double slack_us;
};

/* Slack of all operators or kernels with the same kind and name; omits slack below 0.1 us. */
struct sutra_full_slack_name {
    enum sutra_full_kind kind;
    const char *name;
    uint64_t n;
    double us;                /* total measured duration */
    double least_us, most_us; /* minimum and maximum slack */
    uint32_t first_event;
};

struct sutra_full_report {
    size_t size;        /* sizeof the struct, set by the caller */
    uint64_t n_nodes;   /* of the graph */
    uint64_t n_steps;   /* of the path */
    uint64_t n_waits;   /* steps after which the CPU, having waited for the GPU, continues */
    double us;          /* length of the path */
    double measured_us; /* first start to last end */
    double kind_us[SUTRA_FULL_N_KINDS];
    uint64_t kind_steps[SUTRA_FULL_N_KINDS];
    const struct sutra_full_share *shares; /* descending by time; lives as long as the path */
    uint64_t n_shares;
    const struct sutra_full_slack *slacks; /* by event; lives as long as the path */
    uint64_t n_slacks;
    const struct sutra_full_slack_name *slack_names; /* descending by time; lives as long as the path */
    uint64_t n_slack_names;
};

/* Finds the path in the trace, or among the operators that start and kernels that are launched within an annotation.
 * The trace must outlive *path, which the caller frees. Errors: SUTRA_DATA: no such annotation, or no events in it;
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_full_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_critical_path_options *options, struct sutra_full_path **path,
                                       struct sutra_error *error);
void sutra_full_path_report(const struct sutra_full_path *path, struct sutra_full_report *report);

/* Writes text or JSON as sutra_critical_path_write() does. Errors: also SUTRA_USAGE: no marked trace is available. */
enum sutra_status sutra_full_path_write(struct sutra_context *context, const struct sutra_full_path *path,
                                        enum sutra_path_format format, const char *file, struct sutra_error *error);
void sutra_full_path_free(struct sutra_full_path *path);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
