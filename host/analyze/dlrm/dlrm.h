/*
 * dlrm.h - the stages of the analysis, what each takes and gives, and struct sutra_dlrm, which is what they come to.
 *
 *     dlrm_trim.c        which events are looked at
 *     dlrm_window.c      those with a duration by time, without data loading; the window's start
 *     dlrm_forest.c      host events below each other, as a forest in pre-order
 *     dlrm_links.c       launches and what they started
 *     dlrm_shapes.c      input and output shapes of operators        } struct dlrm_tree: what is measured from here on
 *     dlrm_operators.c   which nodes start device work; the list of operators
 *     dlrm_device_time.c device time of operators, by stream, kernel and shape
 *     dlrm_breakdown.c   the same below labels and modules: rows of a tree for each stream
 *     dlrm_dominating.c  time of first occurrences, by operator
 *     dlrm_chart.c       the bar chart of those
 *     dlrm_overheads.c   samples of T1..T5
 *     dlrm_statistics.c  their means and deviations
 *     dlrm_streams.c     idle and overlapping time of the streams
 *
 * Of many ranks (dlrm_ranks.c) each keeps its samples (dlrm_raw.c), whose statistics are made together (dlrm_shared.c).
 *
 * A node is a host event in the forest; nodes are numbered in pre-order, so that a subtree is a range and all stages
 * are loops over arrays. Cost: O(n log n) for the sorts and the forest, O(n) for the rest (the breakdown: times the
 * nesting of labels, which is cut at LEVELS_MAX).
 *
 * What a stage gives lies in the arena of the result; what it needs on the way in another one, and is given back when
 * it returns.
 */
#ifndef ANALYZE_DLRM_DLRM_H
#define ANALYZE_DLRM_DLRM_H

#include "base/arena.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "context/context.h"
#include "facts/names.h"
#include "read/device_trace.h"
#include "sutra/dlrm.h"

/* Microseconds that the profiler itself takes, and the length of a launch. */
#define CPU_EVENT_OVERHEAD   2
#define GPU_EVENT_OVERHEAD   4
#define KERNEL_LAUNCH_LENGTH 10

/* Labels below labels that are told apart; deeper ones count for the label above them. */
#define LEVELS_MAX 64

/* Roles of names that only the notebook knows; see facts/names.h for the others. */
enum dlrm_name_role {
    DLRM_COLON = NAME_OWN,         /* contains a colon */
    DLRM_LOADER = NAME_OWN << 1,   /* contains DataLoader */
    DLRM_FORWARD = NAME_OWN << 2,  /* contains ## Forward ## */
    DLRM_ENTER = NAME_OWN << 3,    /* profiler::_record_function_enter */
    DLRM_LABEL = NAME_OWN << 4,    /* of a module or a part of the step, no operator */
    DLRM_NO_START = NAME_OWN << 5, /* calls that start nothing */
    DLRM_TO = NAME_OWN << 6,       /* aten::to */
    DLRM_MARKER = NAME_OWN << 7,   /* begins with the module marker; set when that is known */
};

/* Synchronisation, overhead, annotations on streams: neither host nor device work. */
#define CATEGORY_APART (CATEGORY_GPU_ANNOTATION | CATEGORY_SYNC | CATEGORY_OVERHEAD)

/* What every stage works with: the trace, with what its strings mean, and room for what it makes. */
struct dlrm_work {
    struct sutra_context *context;
    const struct engine *engine;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct sutra_dlrm_options *options;
    struct string_roles *roles; /* per string of the trace */
    bool as_notebook;           /* threads count as in the notebook: in compat mode, and where a marker is given */
    const value_key *external;  /* per event: "External id", or "external id" where it has none */
    struct strings *texts;      /* names, shapes as JSON, groups, legends; 0 is the shape of what has none */
    uint32_t *name_text;        /* per string of the trace: its text, or STRING_NONE */
    uint32_t *short_text;       /* the same for its short form as a kernel's name */
    struct arena *arena;        /* for what comes out */
    struct arena scratch;       /* for what is needed on the way */
};

enum dlrm_node_flag {
    NODE_OPERATOR = 1, /* else a call */
    NODE_DEVICE = 2,   /* it or a node below it starts device work */
    NODE_LAUNCH = 4,   /* it does so itself; to the original only if no nodes are below it */
};

/* Rows in file order. */
struct dlrm_trimmed {
    row_t *rows, n; /* rows NULL: all events */
    uint64_t iters; /* that they stand for */
};

static inline row_t dlrm_trimmed_at(const struct dlrm_trimmed *trimmed, row_t i) {
    return trimmed->rows ? trimmed->rows[i] : i;
}

/* Events that are looked at: rows by rising start, then falling duration. */
struct dlrm_window {
    row_t *rows, n;
    const char *marker;
    value_key main_tid;
    struct number begin, end, skipped; /* microseconds: the corrected start and end, and data loading between them */
    double device_us, looked_at_us;    /* device work of all rows that trimming left, and of those that are looked at */
    uint64_t n_without_ts, n_negative, n_odd_tid, n_loaders, n_forwards;
};

struct dlrm_forest {
    row_t n, n_roots;
    row_t *event;       /* its row */
    row_t *parent;      /* or ROW_NONE */
    row_t *end;         /* the first node behind its subtree */
    uint8_t *flags;     /* enum dlrm_node_flag; those of device work are set when operators are found */
    struct number last; /* the last end of the window and of all host events */
    uint64_t n_crossing, n_hidden;
};

/* Launches by rising start: calls with different ids, and what they started: one event each to the original. */
struct dlrm_links {
    row_t n, n_executed;
    row_t *caller;                  /* the node that the call is in, or ROW_NONE */
    row_t *first_started, *started; /* rows of the device's events: started[first_started[i] .. first_started[i + 1]) */
    row_t *of_node;                 /* per node: the launch that its id leads to, or ROW_NONE */
    double executed_us;
    double launched_us; /* the part of it that is on streams */
    bool tolerant;
    uint64_t n_orphans, n_unlaunched, n_colliding;
};

/* Per node: texts. */
struct dlrm_shapes {
    uint32_t *input, *output;
};

struct dlrm_operators {
    row_t n;
    row_t *node;
    uint32_t *name; /* texts */
    value_key *id;
    row_t *group;      /* operators with the same group share their device time */
    row_t *node_group; /* per node: the group whose time it counts as its own, or ROW_NONE */
};

/* The host's side and what it started. */
struct dlrm_tree {
    struct dlrm_forest forest;
    struct dlrm_links links;
    struct dlrm_shapes shapes;
    struct dlrm_operators ops;
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
    uint64_t n_without_stream;
};

/* See struct sutra_dlrm_report for these. */
struct dlrm_breakdown {
    struct sutra_dlrm_stream *streams;
    uint64_t n_streams;
    struct sutra_dlrm_row *rows;
    row_t n_rows;
    uint32_t *by_time;
    double attributed_us;
};

struct dlrm_dominating {
    struct sutra_dlrm_dominating *list;
    struct sutra_dlrm_part *parts;
};

struct dlrm_chart {
    struct sutra_dlrm_group *groups;
    struct sutra_dlrm_variant *variants;
    struct sutra_dlrm_share *shares;
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
    uint64_t n;
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

/* Overheads of one variant. */
struct dlrm_overheads {
    struct dlrm_samples samples;
    struct dlrm_launches launches;
    uint32_t *op_shapes; /* per operator: the text of both shapes; by shape only */
    struct sutra_dlrm_overhead *list;
    uint64_t n;
    double *kept;       /* samples that count, those of one row behind the other's; by shape only */
    bool has_fractions; /* one of them was no integer */
};

/* Busy time of one stream: as the original counts it, and as it is. */
struct dlrm_stream_time {
    uint32_t name;
    struct number original, sum;
};

struct dlrm_stream_times {
    uint32_t *names; /* texts of the streams of all events in the window, sorted */
    uint32_t n_names;
    struct dlrm_stream_time *list; /* of those with work, in the order of their first */
    uint32_t n;
    struct number idle, overlap, original_overlap, original_total, span, active, sum;
};

/* What the stages come to. */
struct sutra_dlrm {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct sutra_dlrm_options options;
    struct sutra_dlrm_report report; /* points to what lies in the arena, as does all that follows */
    struct arena arena;
    struct strings texts;
    struct dlrm_trimmed trimmed;
    struct number begin, end, skipped, host; /* of the window; host: its time less data loading */
    struct dlrm_tree tree;
    struct dlrm_device_time device_time, device_time_by_id;
    struct dlrm_overheads by_name, by_shape;
    struct dlrm_stream_times stream_times;
};

enum sutra_status dlrm_options_take(const struct sutra_dlrm_options *given, struct sutra_dlrm_options *taken,
                                    struct sutra_error *error);

/* ---- The stages, in their order ---- */

enum sutra_status dlrm_trim(struct dlrm_work *work, struct dlrm_trimmed *trimmed, struct sutra_error *error);
enum sutra_status dlrm_window_find(struct dlrm_work *work, const struct dlrm_trimmed *trimmed,
                                   struct dlrm_window *window, struct sutra_error *error);

/* The tree. */
enum sutra_status dlrm_forest_build(struct dlrm_work *work, const struct dlrm_window *window,
                                    struct dlrm_forest *forest, struct sutra_error *error);
enum sutra_status dlrm_links_find(struct dlrm_work *work, const struct dlrm_window *window,
                                  const struct dlrm_forest *forest, struct dlrm_links *links,
                                  struct sutra_error *error);
enum sutra_status dlrm_shapes_read(struct dlrm_work *work, const struct dlrm_forest *forest, struct dlrm_shapes *shapes,
                                   struct sutra_error *error);
enum sutra_status dlrm_operators_find(struct dlrm_work *work, const struct dlrm_links *links,
                                      struct dlrm_forest *forest, struct dlrm_operators *ops,
                                      struct sutra_error *error);

/* What is measured. `by_id` has nothing where no two operators have the same id. */
enum sutra_status dlrm_device_time_sum(struct dlrm_work *work, const struct dlrm_tree *tree,
                                       struct dlrm_device_time *time, struct dlrm_device_time *by_id,
                                       struct sutra_error *error);
enum sutra_status dlrm_breakdown_make(struct dlrm_work *work, const struct dlrm_tree *tree,
                                      const struct dlrm_device_time *time, double host_us,
                                      struct dlrm_breakdown *breakdown, struct sutra_error *error);
enum sutra_status dlrm_overheads_measure(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                                         struct dlrm_overheads *overheads, struct sutra_error *error);
enum sutra_status dlrm_streams_measure(struct dlrm_work *work, const struct dlrm_window *window,
                                       const struct dlrm_links *links, struct dlrm_stream_times *times,
                                       struct sutra_error *error);

/* What dominates; both give the streams of the breakdown their parts of it. */
enum sutra_status dlrm_dominating_find(struct dlrm_work *work, struct dlrm_breakdown *breakdown,
                                       struct dlrm_dominating *made, struct sutra_error *error);
enum sutra_status dlrm_chart_make(struct dlrm_work *work, const struct dlrm_dominating *dominating,
                                  struct dlrm_breakdown *breakdown, struct dlrm_chart *chart,
                                  struct sutra_error *error);

/* ---- Of events and nodes ---- */

static inline bool event_is(const struct dlrm_work *work, row_t event, uint32_t role) {
    return (name_roles(work->events, work->roles, event) & role) != 0;
}

static inline bool event_in(const struct dlrm_work *work, row_t event, uint32_t role) {
    return (category_roles(work->events, work->roles, event) & role) != 0;
}

/* Whether it is a kernel, a copy or a set: on a stream, and no annotation. */
static inline bool event_is_work(const struct dlrm_work *work, row_t event) {
    return key_is_value(work->events->stream[event]) &&
           !event_in(work, event, CATEGORY_CPU_OP | CATEGORY_CALL | CATEGORY_ANNOTATION | CATEGORY_APART);
}

static inline struct number event_ts(const struct dlrm_work *work, row_t event) {
    return number_at(work->events->ts, event);
}

static inline struct number event_dur(const struct dlrm_work *work, row_t event) {
    return number_at(work->events->dur, event);
}

static inline struct number event_end(const struct dlrm_work *work, row_t event) {
    return number_add(event_ts(work, event), event_dur(work, event));
}

/*
 * Names as texts, and what the charts make of them. Each returns STRING_NONE when memory runs out.
 */

/* The text of a string of the trace. */
uint32_t dlrm_name(struct dlrm_work *work, uint32_t string);

/* The text of a kernel's short name: what stands before its template arguments, without namespaces. */
uint32_t dlrm_short_name(struct dlrm_work *work, uint32_t string);

/* The text of the word that stands for a kernel in a chart's legend. */
uint32_t dlrm_legend(struct dlrm_work *work, uint32_t name);

/* The text of an operator's name up to its first '#'. */
uint32_t dlrm_group_name(struct dlrm_work *work, uint32_t name);

/* The text of an id, such as a stream's, as Python's str() gives it. */
uint32_t dlrm_id_text(struct dlrm_work *work, value_key id);

#endif
