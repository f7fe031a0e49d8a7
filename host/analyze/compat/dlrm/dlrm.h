/*
 * dlrm.h - the stages of the DLRM notebook's analysis, and struct sutra_dlrm, their result.
 *
 *     window.c           trims the trace; events with a duration by time, without data loading; the window's start
 *     forest.c           CPU events as a forest in pre-order; launches and their GPU activity; the list of operators
 *     device_time.c      shapes of operators; device time of operators, by stream, kernel and shape; stream times
 *     breakdown.c        device time of labels and modules: rows of a tree for each stream; dominating operators; charts
 *     overheads.c        samples of T1..T5, their means and deviations
 *     dlrm_ranks.c       the overheads of many ranks together
 *     write.c            the files; write_overheads.c the files of T1..T5
 *
 * A node is a CPU event in the forest; nodes are numbered in pre-order, so that a subtree is a range and all stages are
 * loops over arrays. Cost: O(n log n) for the sorts and the forest, O(n) for the rest (the breakdown: times the nesting
 * of labels, at most LEVELS_MAX).
 *
 * The output of a stage is in the arena of the result. Its temporary memory is in another arena, and is released when
 * it returns.
 */
#ifndef ANALYZE_COMPAT_DLRM_DLRM_H
#define ANALYZE_COMPAT_DLRM_DLRM_H

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

/* Maximum nesting of labels; deeper labels count for the label above them. */
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

/* The input of every stage: the trace with the roles of its strings, and the arenas. */
struct dlrm_work {
    struct sutra_context *context;
    const struct engine *engine;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct sutra_dlrm_options *options;
    struct string_roles *roles; /* per string of the trace */
    bool as_notebook;           /* threads count as in the notebook: in compat mode, and where a marker is given */
    const value_key *external;  /* per event: "External id", or "external id" without it */
    struct strings *texts;      /* names, shapes as JSON, groups, legends; 0: no shape */
    uint32_t *name_text;        /* per string of the trace: its text, or STRING_NONE */
    uint32_t *short_text;       /* the same for its short form as a kernel's name */
    struct arena *arena;        /* for outputs */
    struct arena scratch;       /* for temporary memory */
};

enum dlrm_node_flag {
    NODE_OPERATOR = 1, /* else a call */
    NODE_DEVICE = 2,   /* it or a node below it starts device work */
    NODE_LAUNCH = 4,   /* it does so itself; to the original only if no nodes are below it */
};

/* Rows in file order. */
struct dlrm_trimmed {
    row_t *rows, n; /* rows NULL: all events */
    uint64_t iters; /* the number of iterations */
};

static inline row_t dlrm_trimmed_at(const struct dlrm_trimmed *trimmed, row_t i) {
    return trimmed->rows ? trimmed->rows[i] : i;
}

/* The selected events: rows by ascending start, then descending duration. */
struct dlrm_window {
    row_t *rows, n;
    const char *marker;
    value_key main_tid;
    struct number begin, end, skipped; /* microseconds: the corrected start and end, and data loading between them */
    double device_us, selected_us;     /* GPU activity of all rows after trimming, and of the rows of the window */
    uint64_t n_without_ts, n_negative, n_odd_tid, n_loaders, n_forwards;
};

struct dlrm_forest {
    row_t n, n_roots;
    row_t *event;       /* its row */
    row_t *parent;      /* or ROW_NONE */
    row_t *end;         /* the first node after its subtree */
    uint8_t *flags;     /* enum dlrm_node_flag; dlrm_operators_find() sets NODE_DEVICE and NODE_LAUNCH */
    struct number last; /* the last end of the window and of all host events */
    uint64_t n_crossing, n_hidden;
};

/* Launches by ascending start: calls with different ids and their GPU activity, in the notebook one event each. */
struct dlrm_links {
    row_t n, n_executed;
    row_t *caller;                  /* the node that the call is in, or ROW_NONE */
    row_t *first_started, *started; /* rows of GPU activity: started[first_started[i] .. first_started[i + 1]) */
    row_t *of_node;                 /* per node: its launch, or ROW_NONE */
    double executed_us;
    double launched_us; /* of events on streams */
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

/* CPU events and the GPU activity that they launched. */
struct dlrm_tree {
    struct dlrm_forest forest;
    struct dlrm_links links;
    struct dlrm_shapes shapes;
    struct dlrm_operators ops;
};

/* Device time of a group of operators: blocks[group_block[g] .. group_block[g + 1]) are its streams, whose kernels are
 * kernels[kernel[b] .. kernel[b + 1]), all in the order of first occurrence. */
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

/* One measured overhead. `name` is the operator's, or the launch's for T4, and NONE for T1; `shapes` is the text of
 * both shapes in the variant by shape. */
struct dlrm_sample {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name, shapes;
    struct number us;
};

struct dlrm_samples {
    struct dlrm_sample *list;
    uint64_t n;
};

/* Launches of the first call of an operator with launches: names[first .. first + n). */
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
    double *kept;       /* samples that count, by row; by shape only */
    bool has_fractions; /* not all samples are integers */
};

/* Busy time of one stream: as the notebook counts it, and the correct sum. */
struct dlrm_stream_time {
    uint32_t name;
    struct number original, sum;
};

struct dlrm_stream_times {
    uint32_t *names; /* texts of the streams of all events in the window, sorted */
    uint32_t n_names;
    struct dlrm_stream_time *list; /* of streams with GPU activity, in the order of their first */
    uint32_t n;
    struct number idle, overlap, original_overlap, original_total, span, active, sum;
};

/* The result of the stages. */
struct sutra_dlrm {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct sutra_dlrm_options options;
    struct sutra_dlrm_report report; /* points into the arena, as do all following members */
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

/* Measurements. `by_id` is empty if no two operators have the same id. */
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

/* Dominating operators and charts; both set the ranges of the streams of the breakdown. */
enum sutra_status dlrm_dominating_find(struct dlrm_work *work, struct dlrm_breakdown *breakdown,
                                       struct dlrm_dominating *made, struct sutra_error *error);
enum sutra_status dlrm_chart_make(struct dlrm_work *work, const struct dlrm_dominating *dominating,
                                  struct dlrm_breakdown *breakdown, struct dlrm_chart *chart,
                                  struct sutra_error *error);

/* The order in which the notebook adds device time: siblings that share an id are next to each other. */
struct id_order {
    row_t *node;     /* the forest in this order, in which a subtree is a range too */
    row_t *position; /* per node: its index in the order */
    uint8_t *again;  /* per node: an earlier sibling has its id */
};

/* Makes the order in the arena; `external` has the ids by event. Returns false if memory runs out. */
bool id_order_make(struct id_order *order, const struct dlrm_forest *forest, const value_key *external,
                   struct arena *arena);

struct dlrm_operator_time {
    uint32_t name; /* text */
    uint64_t calls, kernels;
    double us;
};

/* Sums the device time of all operators that started GPU activity by name, in the order of first occurrence; *times is
 * in the arena. Returns false if memory runs out, and leaves both outputs unchanged. O(operators + kernels). */
bool dlrm_operator_times(const struct sutra_dlrm *dlrm, struct arena *arena, struct dlrm_operator_time **times,
                         uint32_t *n);

/* ---- Events and nodes ---- */

static inline bool event_is(const struct dlrm_work *work, row_t event, uint32_t role) {
    return (name_roles(work->events, work->roles, event) & role) != 0;
}

static inline bool event_in(const struct dlrm_work *work, row_t event, uint32_t role) {
    return (category_roles(work->events, work->roles, event) & role) != 0;
}

/* Whether it is a kernel, memcpy or memset: on a stream, and no annotation. */
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

/* ---- Names as texts, and their short forms in charts. Each returns STRING_NONE if memory runs out. ---- */

/* The text of a string of the trace. */
uint32_t dlrm_name(struct dlrm_work *work, uint32_t string);

/* The text of a kernel's short name: without template arguments and namespaces. */
uint32_t dlrm_short_name(struct dlrm_work *work, uint32_t string);

/* The text of a kernel's abbreviation in a chart's legend. */
uint32_t dlrm_legend(struct dlrm_work *work, uint32_t name);

/* The text of an operator's name up to its first '#'. */
uint32_t dlrm_group_name(struct dlrm_work *work, uint32_t name);

/* The text of an id, such as a stream's, as Python's str() gives it. */
uint32_t dlrm_id_text(struct dlrm_work *work, value_key id);

#endif
