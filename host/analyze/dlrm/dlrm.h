/*
 * dlrm.h - inside of struct sutra_dlrm: the columns that the stages of the analysis fill, one after the other.
 *
 *     dlrm_trim.c        which events are looked at
 *     dlrm_window.c      those with a duration by time, without data loading; the window's start
 *     dlrm_forest.c      host events below each other, as a forest in pre-order; launches and what they started
 *     dlrm_shapes.c      input and output shapes of operators
 *     dlrm_operators.c   which nodes start device work; the list of operators
 *     dlrm_device_time.c device time of operators, by stream, kernel and shape
 *     dlrm_breakdown.c   the same below labels and modules: rows of a tree for each stream
 *     dlrm_dominating.c  time of first occurrences, by operator
 *     dlrm_chart.c       the bar chart of those
 *     dlrm_overheads.c   T1..T5, their statistics
 *     dlrm_streams.c     idle and overlapping time of the streams
 *
 * Of many ranks (dlrm_ranks.c) each keeps its samples (dlrm_raw.c), whose statistics are made together (dlrm_shared.c).
 *
 * A node is a host event in the forest; nodes are numbered in pre-order, so that a subtree is a range and all stages
 * are loops over arrays. Cost: O(n log n) for the sorts and the forest, O(n) for the rest (the breakdown: times the
 * nesting of labels, which is cut at LEVELS_MAX).
 */
#ifndef ANALYZE_DLRM_H
#define ANALYZE_DLRM_H

#include "columns/column.h"
#include "columns/tuples.h"
#include "context/context.h"
#include "read/device_trace.h"
#include "sutra/dlrm.h"

/* Microseconds that the profiler itself takes, and the length of a launch. */
#define CPU_EVENT_OVERHEAD   2
#define GPU_EVENT_OVERHEAD   4
#define KERNEL_LAUNCH_LENGTH 10

/* Labels below labels that are told apart; deeper ones count for the label above them. */
#define LEVELS_MAX 64

/* What a string of the trace is as a name or as a category. */
enum dlrm_role {
    NAME_MARKER = 1 << 0,  /* begins with the module marker */
    NAME_COLON = 1 << 1,   /* contains a colon */
    NAME_LOADER = 1 << 2,  /* contains DataLoader */
    NAME_FORWARD = 1 << 3, /* contains ## Forward ## */
    NAME_ENTER = 1 << 4,   /* profiler::_record_function_enter */
    NAME_LABEL = 1 << 5,   /* of a module or a part of the step, no operator */
    NAME_IGNORED = 1 << 6, /* calls that start nothing */
    NAME_LAUNCH = 1 << 7,
    NAME_STREAM_SYNC = 1 << 8,
    NAME_TO = 1 << 9,         /* aten::to */
    NAME_STEP = 1 << 10,      /* contains ProfilerStep */
    CATEGORY_OP = 1 << 11,    /* cpu_op */
    CATEGORY_CALL = 1 << 12,  /* of the runtime */
    CATEGORY_NOTE = 1 << 13,  /* annotations of the user */
    CATEGORY_APART = 1 << 14, /* synchronisation, overhead, annotations on streams: neither host nor device work */
};

enum dlrm_node_flag {
    NODE_OPERATOR = 1, /* else a call of the runtime */
    NODE_DEVICE = 2,   /* it or a node below it starts device work */
    NODE_LAUNCH = 4,   /* it does so itself, and has no nodes below it */
};

/* Events that are looked at: rows by rising start, then falling duration. */
struct dlrm_window {
    row_t *rows, n;
    value_key main_tid;
    struct number begin, end, skipped; /* microseconds: the corrected start and end, and data loading between them */
};

struct dlrm_forest {
    row_t n, n_roots;
    row_t *event;  /* its row */
    row_t *parent; /* or ROW_NONE */
    row_t *end;    /* the first node behind its subtree */
    uint8_t *flags;
    row_t *link; /* the launch that its id leads to, or ROW_NONE */
};

/* Launches by rising start: calls of the runtime with different ids, and what they started. */
struct dlrm_links {
    row_t n, n_executed;
    row_t *caller;   /* the node that the call is in, or ROW_NONE */
    row_t *executor; /* row of the device's event, or ROW_NONE */
};

/* Device time of a group of operators: blocks[group_block[g] .. group_block[g + 1]) are its streams, whose kernels are
 * kernels[kernel[b] .. kernel[b + 1]), all in the order of first sight. */
struct dlrm_block {
    uint32_t stream;
    row_t kernel;
    double us;
};

struct dlrm_kernel {
    uint32_t name, shape; /* texts */
    uint64_t count;
    double us;
};

struct dlrm_device_time {
    row_t n_groups, n_blocks, n_kernels;
    row_t *group_block; /* n_groups + 1 */
    struct dlrm_block *blocks;
    struct dlrm_kernel *kernels;
};

/* One measured overhead. `name` is the operator's, or the launch's for T4, and NONE for T1; `shapes` is that of both
 * shapes in the variant by shape. */
struct dlrm_sample {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name, shapes;
    struct number us;
};

struct dlrm_samples {
    struct dlrm_sample *list;
    uint64_t n, capacity;
};

/* Launches of the first call of an operator that has any: texts launches[first .. first + n). */
struct dlrm_launch_list {
    uint32_t name;
    uint64_t first, n;
};

struct dlrm_launches {
    struct dlrm_launch_list *lists;
    uint32_t *names;
    uint64_t n_lists, n_names, lists_capacity, names_capacity;
};

/* Busy time of one stream: as the original counts it, and as it is. */
struct dlrm_stream_time {
    uint32_t name;
    struct number original, sum;
};

struct dlrm_stream_times {
    struct dlrm_stream_time *list;
    uint32_t n;
    uint64_t capacity;
    struct number idle, overlap, original_overlap, original_total, span, active, sum;
};

struct sutra_dlrm {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct sutra_dlrm_options options;
    char *marker;
    struct sutra_dlrm_report report;

    uint32_t *roles;           /* per string of the trace */
    value_key *lower_external; /* "external id" of events without an "External id", or NULL: there is none */
    row_t *trimmed, n_trimmed; /* rows in file order; NULL: all events */
    struct strings texts;      /* names, shapes as JSON, groups, legends; 0 is the shape of what has none */
    uint32_t *name_text;       /* per string of the trace: its text, or STRING_NONE */
    uint32_t *short_text;      /* the same for its short form as a kernel's name */
    struct dlrm_window window;
    struct dlrm_forest forest;
    struct number host; /* time of the host: the window's less data loading */
    struct dlrm_links links;
    uint32_t *input_shape, *output_shape; /* per node: texts */

    row_t n_ops, *ops; /* nodes */
    row_t *op_group;   /* operators with the same group share their device time */
    row_t *node_group; /* per node: the group whose time it counts as its own, or ROW_NONE */
    struct dlrm_device_time device_time, device_time_by_id;
    struct dlrm_stream_times stream_times;
    uint32_t *stream_names; /* texts of the streams of all events in the window, sorted */
    uint32_t n_stream_names;

    struct sutra_dlrm_stream *streams;
    struct sutra_dlrm_row *rows;
    uint32_t *by_time; /* each row's children by falling time, at their parent's first_child */
    struct sutra_dlrm_dominating *dominating;
    struct sutra_dlrm_part *parts;
    struct sutra_dlrm_group *groups;
    struct sutra_dlrm_variant *variants;
    struct sutra_dlrm_share *shares;

    uint32_t *op_shapes; /* per operator: the text of both shapes */
    struct dlrm_samples samples, samples_by_shape;
    struct dlrm_launches launches, launches_by_shape;
    struct sutra_dlrm_overhead *overheads, *overheads_by_shape;
    double *kept;        /* samples by shape that count, those of one row of overheads_by_shape behind the other's */
    bool kept_fractions; /* one of them was no integer */
};

enum sutra_status dlrm_options_take(const struct sutra_dlrm_options *given, struct sutra_dlrm_options *taken,
                                    struct sutra_error *error);

/* The stages, in their order. */
enum sutra_status dlrm_trim(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_window_find(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_forest_build(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_shapes_read(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_operators_find(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_device_time_sum(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_breakdown_make(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_dominating_find(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_chart_make(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_overheads_measure(struct sutra_dlrm *dlrm, struct sutra_error *error);
enum sutra_status dlrm_streams_measure(struct sutra_dlrm *dlrm, struct sutra_error *error);

static inline bool event_is(const struct sutra_dlrm *dlrm, row_t event, uint32_t role) {
    return (dlrm->roles[dlrm->events->name[event]] & role) != 0;
}

static inline bool event_in(const struct sutra_dlrm *dlrm, row_t event, uint32_t role) {
    uint32_t category = dlrm->events->category[event];
    return category != STRING_NONE && (dlrm->roles[category] & role);
}

static inline bool node_is(const struct sutra_dlrm *dlrm, row_t node, uint32_t role) {
    return event_is(dlrm, dlrm->forest.event[node], role);
}

static inline value_key dlrm_external_id(const struct sutra_dlrm *dlrm, row_t event) {
    return dlrm->lower_external ? dlrm->lower_external[event] : dlrm->events->external[event];
}

static inline struct number event_ts(const struct sutra_dlrm *dlrm, row_t event) {
    return number_at(dlrm->events->ts, event);
}

static inline struct number event_dur(const struct sutra_dlrm *dlrm, row_t event) {
    return number_at(dlrm->events->dur, event);
}

static inline struct number event_end(const struct sutra_dlrm *dlrm, row_t event) {
    return number_add(event_ts(dlrm, event), event_dur(dlrm, event));
}

#endif
