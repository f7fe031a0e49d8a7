/*
 * hta.h - the input of HTA's metrics (rows, kernels, steps of one trace) and the tables that they fill.
 *
 *     device trace --> rows.c: rows, kernels by start, kernels by correlation --> struct hta_input
 *                                                                                       |
 *                       annotated.c busy.c hta_kernels.c ...: one hta_metric each  <----+
 *                                           |
 *                                           +--> tables of struct sutra_hta
 *
 * The input is made once and shared by all metrics. The input and the temporary memory of metrics are in an arena that
 * is freed when the tables are complete.
 *
 * Times are integers of nanoseconds since the first row (NS_PER_US to the microsecond), so sums are exact. As in HTA,
 * starts are rounded up and ends down to whole microseconds if any start has a fraction.
 */
#ifndef ANALYZE_COMPAT_HTA_HTA_H
#define ANALYZE_COMPAT_HTA_HTA_H

#include <stdbool.h>

#include "analyze/codec.h"
#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/numbers.h"
#include "context/context.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "match/intervals.h"
#include "read/device_trace.h"
#include "sutra/analyze.h"
#include "text/numbers.h"

enum hta_row_state {
    HTA_KEPT = 1,   /* the event is a row of HTA's table */
    HTA_GPU = 2,    /* on the GPU: on a stream with a correlation, or a synchronization of the GPU */
    HTA_STREAM = 4, /* has a stream: a kernel in most metrics */
    HTA_WORK = 8,   /* HTA_STREAM with a category of kernels, memcpys or memsets: no synchronization */
};

#define STREAM_NONE (-1)

/* Columns by event; undefined for events that are not HTA_KEPT. */
struct hta_rows {
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct strings *strings;
    int64_t *start, *dur; /* nanoseconds, from `base` */
    int64_t *stream;      /* STREAM_NONE: none */
    row_t *link;          /* the last event of the other side with the same correlation; 0: there is none; ROW_NONE: the
                             event has no correlation */
    uint8_t *state;
    int64_t base;     /* nanoseconds of the first start */
    bool starts_real; /* HTA writes starts (durations) as real numbers */
    bool durs_real;
    /* Events in the order of HTA's table; where steps are cut off, GPU rows precede CPU rows, each repeated for each
     * CPU row with its correlation. */
    row_t *list;
    row_t n;
    row_t *steps; /* events named as profiler steps, in file order, with the steps that were cut off */
    row_t n_steps;
    const char *warning;              /* or NULL */
    struct string_roles *roles;       /* by string: its role in HTA's tables, */
    struct string_roles *queue_roles; /* and in HTA's queue lengths, which know other launches */
};

/* The rows that are HTA_STREAM, ascending by start, then in the order of the table. */
struct hta_kernels {
    row_t n;
    row_t *event;
    int64_t *start, *end;
    uint32_t *type;   /* enum kernel_type */
    uint8_t *of_name; /* by string: the type of the kernels with this name, plus 1; 0: none */
};

/* Kernels by correlation: kernels of group g are event[i] for i from first[g] to first[g + 1], in the order of the
 * table. Kernels without a correlation are in no group. */
struct hta_correlated {
    row_t n, n_groups;
    row_t *event, *first;
    row_t *in_table, *group; /* the same kernels in the order of the table, and their groups */
    value_key *keys;         /* and their correlations */
};

/* The profiler step of each row, see hta_steps.c. */
#define ITERATION_NONE (-1) /* no step; HTA's column has this value, too */
#define ITERATION_NAN  (-2) /* HTA's column has NaN */

struct hta_iterations {
    int64_t *of_name;  /* by string: the number of the step that it names, or ITERATION_NONE */
    int32_t *of_event; /* by event; NULL: the trace has no steps */
};

/* The input of all metrics. */
struct hta_input {
    struct sutra_context *context;
    const struct engine *engine;
    struct sutra_hta_options options;
    bool alone; /* the rank is not compared with other ranks */
    struct hta_rows rows;
    struct hta_iterations iterations;
    struct hta_kernels kernels;
    struct hta_correlated correlated;
};

/*
 * The length of each stream's queue over time, in QUEUE_BINS equal bins, of the streams with the longest queues.
 *
 *     changes of a stream    1 2 1 2   3 2 1 0         a length holds until the next change;
 *     bins                   |-----|-----|-----|       the mean of a bin is over its time
 */
#define QUEUE_BINS  300
#define QUEUES_KEPT 8

struct queue_series {
    int64_t rank, stream;
    double begin_us, end_us; /* of the first and the last change of the rank */
    double longest;
    double most[QUEUE_BINS], mean[QUEUE_BINS]; /* by bin */
};

/* The longest first, then by rank and stream. Zero-initialise. */
struct queue_list {
    struct queue_series *list;
    uint32_t n;     /* series kept */
    uint64_t n_all; /* series added */
};

/* Changes of the queues of a rank: stream by stream, each by time. */
struct queue_times {
    row_t n;
    const int64_t *ns;
    const int64_t *length;  /* from this change on */
    const uint32_t *lane;   /* number of the stream, */
    const int64_t *streams; /* and its id, by number */
};

/* Adds the series of one rank. False: out of memory. O(changes + streams + bins). */
bool queue_list_add(struct queue_list *list, int64_t rank, const struct queue_times *times);

/* Adds the series of a list, shifted by later_us. The result does not depend on the order of additions. */
bool queue_list_join(struct queue_list *list, const struct queue_list *added, double later_us);
void queue_list_free(struct queue_list *list);

/* Encodes the list, or decodes it into an empty one. */
void queue_list_codec(struct codec *codec, struct queue_list *list);

/* The tables of one rank. */
struct sutra_hta {
    struct sutra_result result;
    struct sutra_hta_options options;
    bool starts_real, durs_real;     /* of hta_rows, for columns of tables */
    struct interval_states types[2]; /* without and with memory kernels */
    struct sutra_hta_summary summary;
    int64_t base;                          /* of hta_rows */
    struct sutra_table collectives, spans; /* input of stragglers.c */
    struct queue_list queues;              /* for charts */
    const char *warnings[2];               /* to report at the end; NULL: none */
};

/* The run of one trace, in two parts. The first (hta_making_do()) changes nothing but its own data, so that it can run
 * on another thread, with an engine of its own, while the caller uses the trace. */
struct hta_making {
    struct hta_input input;
    struct engine engine;
    struct pool *pool;   /* runs metrics in parallel; NULL: one thread */
    bool in_background;  /* the first part runs on another thread, and runs the metrics of the job there */
    bool concurrent;     /* several metrics are running, */
    size_t first_metric; /* from this one on */
    const struct sutra_device_trace *trace;
    struct sutra_hta *made;
    struct arena arena;
    enum sutra_status status;
    struct sutra_error error;
};

/* On failure there is nothing to run or to end. */
enum sutra_status hta_making_begin(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct sutra_hta_options *options, bool in_background, struct hta_making **of,
                                   struct sutra_error *error);
void hta_making_do(void *of);
/* The second part, on the caller's thread: reads texts of the trace, reports warnings, and frees the run. *hta is a
 * struct sutra_hta. */
enum sutra_status hta_making_end(void *of, void **hta, struct sutra_error *error);

/* Checks options and fills in defaults. */
enum sutra_status hta_options_init(const struct sutra_hta_options *given, struct sutra_hta_options *taken,
                                   struct sutra_error *error);

/* Initializes the two tables that stragglers are found by. */
void hta_collectives_init(struct sutra_hta *hta);

/* An id for a column of integers; -1 where the id is something else. */
static inline int64_t column_key(value_key key) {
    return key_is_integer(key) ? key : -1;
}

/* rows.c: the rows of a trace; counts kept and skipped events in the summary. */
enum sutra_status hta_rows_make(const struct hta_input *input, const struct sutra_device_trace *trace,
                                struct arena *arena, struct hta_rows *rows, struct sutra_hta_summary *summary,
                                struct sutra_error *error);

/* The same without cutting off the last step. */
enum sutra_status hta_rows_make_all(struct sutra_context *context, const struct sutra_hta_options *options,
                                    const struct sutra_device_trace *trace, struct arena *arena, struct hta_rows *rows,
                                    struct sutra_error *error);

/* rows.c: the kernels of rows. */
enum sutra_status hta_kernels_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                   const struct engine *engine, struct arena *arena, struct hta_kernels *kernels,
                                   struct sutra_error *error);

/* rows.c: groups of the n_kernels kernels by correlation; and the groups of other keys, ROW_NONE for keys that no
 * kernel has. */
enum sutra_status hta_correlated_make(const struct hta_rows *rows, row_t n_kernels, const struct engine *engine,
                                      struct arena *arena, struct hta_correlated *correlated,
                                      struct sutra_error *error);
enum sutra_status hta_correlated_find(const struct hta_input *input, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error);

/* The metrics. Each fills its tables and its fields of the summary. */
typedef enum sutra_status hta_metric(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error);
hta_metric hta_busy, hta_names, hta_idle, hta_launches, hta_calls, hta_queue, hta_bandwidth, hta_spans;
hta_metric hta_ranges, hta_row_table, hta_busy_series, hta_steps, hta_annotations, hta_annotated, hta_operators,
    hta_sequences, hta_collectives;

/* hta_steps.c: the steps of all rows. */
enum sutra_status hta_iterations_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                      struct arena *arena, struct hta_iterations *iterations,
                                      struct sutra_error *error);

static inline int64_t hta_iteration(const struct hta_input *input, row_t event) {
    return input->iterations.of_event ? input->iterations.of_event[event] : ITERATION_NONE;
}

/* Fills a table of types from the time that one rank, or all ranks, spent in each state. */
void hta_types_fill(struct sutra_table *table, const struct interval_states *states);

/* Sorts a complete table of names: by type, name and rank, or without types by rank and name. */
enum sutra_status hta_names_sort(struct sutra_table *table, struct arena *arena, struct sutra_error *error);

/* Initializes the tables of one or many ranks. False: out of memory. */
bool hta_result_init(struct sutra_result *result);

/* The kinds of columns that are real numbers. starts_real, durs_real: times are. */
uint32_t hta_real_kinds(const struct sutra_hta_options *options, bool starts_real, bool durs_real);

/* rows.c: cells of tables. */

/* The columns of a distribution; `decimals` 0: not rounded. */
void table_describe(struct sutra_table *table, const struct description *description, int decimals);

/* The kind of the column for the ids of events[0..n), and a function that adds a value to it. */
enum sutra_column_kind kind_of_ids(const value_key *ids, const row_t *events, row_t n);
void table_id(struct sutra_table *table, const struct values *values, value_key id);

/* hta_kernels.c: a name without template and function arguments, as HTA shortens it. Overwrites the buffer.
 * O(length). */
void hta_short_name(const char *name, size_t length, struct buffer *shortened);

/* Nanoseconds as microseconds. */
static inline double us_of(int64_t ns) {
    return (double)ns / NS_PER_US;
}

static inline double us_of_wide(wide_t ns) {
    return (double)ns / NS_PER_US;
}

/* As numpy's round(): to a number of decimals, halves to even. */
double rounded_to(double value, int decimals);

/*
 * ---- call_tree.c: the call tree of each CPU thread ----
 *
 * Rows nest by their times.
 *
 *     thread    [ aten::linear                    ]      call_tree_visit(): aten::linear, parent ROW_NONE
 *                  [ aten::addmm  [launch] ]             aten::addmm, parent aten::linear; launch, parent aten::addmm
 *
 * As in HTA (`compat`): threads with the number 0 are a GPU's, each row that ends removes the last row of the stack,
 * and rows of the backward thread are below the annotations of backward (or the steps) of the forward thread. HTA fails
 * at durations below 0, which are 0 here.
 */

struct hta_call_tree {
    const struct hta_input *input;
    row_t n; /* rows of threads, by thread, start, and descending duration */
    row_t *event;
    struct tuples threads;
    row_t *first;     /* of each thread, and the end */
    uint32_t forward; /* threads that HTA joins, or TUPLE_NONE */
    uint32_t backward;
    row_t *anchor; /* rows of the forward thread that may be parents of rows of the backward thread */
    row_t n_anchors;
    row_t *stack;
    int64_t *ends; /* of the rows of each thread, ascending; for HTA only */
};

/* Called for each row of each thread by start, the backward thread last. */
typedef void call_visit(void *arg, row_t event, row_t parent);

/* On failure call_tree_free() is still due; all memory but `threads` is in the arena. */
enum sutra_status call_tree_make(struct hta_call_tree *tree, const struct hta_input *input, struct arena *arena,
                                 struct sutra_error *error);
void call_tree_visit(const struct hta_call_tree *tree, call_visit *visit, void *arg);
void call_tree_free(struct hta_call_tree *tree);

/* Whether a row is in the tree of a thread. */
bool call_tree_has(const struct hta_input *input, row_t event);

/* The end of a row; a row with a duration below 0 ends at its start. */
static inline int64_t hta_end(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + MAX(rows->dur[event], 0);
}

/* ---- Rules for single kernels and launches, shared by the CPU and the CUDA engine; nanoseconds ---- */

/* Why a stream was idle between two kernels. */
enum idle_cause { IDLE_HOST_WAIT, IDLE_KERNEL_WAIT, IDLE_OTHER, IDLE_N_CAUSES };

/* The cause of a gap from the end of a kernel to the start of the next: host wait if the next one was launched after
 * that end; kernel wait if it was queued and the gap is below `delay`, which the device needs between kernels; else
 * other. A gap below 0 (overlapping kernels of one stream) is below any delay. */
SHARED enum idle_cause idle_cause_of(int64_t last_end, int64_t start, bool has_launch, int64_t launch, int64_t delay) {
    if (has_launch && launch > last_end)
        return IDLE_HOST_WAIT;
    return start - last_end < delay ? IDLE_KERNEL_WAIT : IDLE_OTHER;
}

/* From the end of a launch to the start of its kernel; a kernel may start before the launch returns. */
SHARED int64_t launch_delay_of(int64_t launch, int64_t launch_dur, int64_t start) {
    int64_t delay = start - launch - launch_dur;
    return delay > 0 ? delay : 0;
}

#endif
