/*
 * hta.h - which events of a trace count, the kernels among them as columns, and the tables that the metrics fill.
 *
 *     device trace --> hta_rows.c: rows --> hta_kernels.c: kernels by start --------+--> struct hta_input
 *                                       --> hta_correlated.c: by correlation -------+          |
 *                                                                  hta_*.c: one metric each <--+
 *                                                                     |
 *                                                                     +--> tables of struct sutra_hta
 *
 * The input is made once and is the same for all metrics; it and what a metric needs on its way lie in an arena that
 * is gone when the tables are there.
 *
 * Times are integers of nanoseconds since the first row (NS_PER_US to the microsecond), so sums are exact. In the
 * reference's way starts are rounded up and ends down to whole microseconds as soon as one start has a fraction.
 */
#ifndef ANALYZE_HTA_HTA_H
#define ANALYZE_HTA_HTA_H

#include <stdbool.h>

#include "analyze/codec.h"
#include "analyze/hta/queues.h"
#include "analyze/table.h"
#include "base/arena.h"
#include "base/memory.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "context/context.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "match/intervals.h"
#include "read/device_trace.h"
#include "sutra/analyze.h"
#include "text/numbers.h"

enum hta_row_state {
    HTA_KEPT = 1,   /* the event counts */
    HTA_GPU = 2,    /* it ran on the GPU: on a stream with a correlation, or it is a synchronisation of the GPU */
    HTA_STREAM = 4, /* it has a stream: what most metrics call a kernel */
    HTA_WORK = 8,   /* of these, those with a category of kernels, copies or sets: no synchronisation */
};

#define STREAM_NONE (-1)

/* Columns by event; what is not HTA_KEPT is undefined. */
struct hta_rows {
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct strings *strings;
    int64_t *start, *dur; /* nanoseconds, from `base` */
    int64_t *stream;      /* STREAM_NONE: none */
    row_t *link;          /* the last event of the other side with the same correlation; 0 where there is none, ROW_NONE
                             where the event has no correlation */
    uint8_t *state;
    int64_t base;     /* nanoseconds of the first start */
    bool starts_real; /* the reference writes starts (durations) as real numbers */
    bool durs_real;
    /* Events in the order of the reference's table; with steps cut off, those of the GPU come first, and as often as
     * their correlation stands on the CPU side. */
    row_t *list;
    row_t n;
    row_t *steps; /* events named as profiler steps, by place in the file, also those that were cut off */
    row_t n_steps;
    const char *warning;              /* what there is to warn of, or NULL */
    struct string_roles *roles;       /* of each string: what the reference's tables take it for, */
    struct string_roles *queue_roles; /* and its queues, which know other launches */
};

/* The rows that are HTA_STREAM, by rising start, those of one start in the order of the table. */
struct hta_kernels {
    row_t n;
    row_t *event;
    int64_t *start, *end;
    uint32_t *type;   /* enum kernel_type */
    uint8_t *of_name; /* of each string: the type of the kernels of this name, plus 1; 0: there are none */
};

/* Kernels by correlation, for those that have one: kernels of group g are event[i] for i from first[g] to
 * first[g + 1], in the order of the table. */
struct hta_correlated {
    row_t n, n_groups;
    row_t *event, *first;
    row_t *in_table, *group; /* the same kernels in the order of the table, and their groups */
    value_key *keys;         /* and correlations */
};

/* Which step rows are in, see hta_iterations.c. */
#define ITERATION_NONE (-1) /* none: the reference has such rows, too, in its column */
#define ITERATION_NAN  (-2) /* the reference has no number there */

struct hta_iterations {
    int64_t *of_name;  /* of each string: the number of the step that it names, or ITERATION_NONE */
    int32_t *of_event; /* of events that are rows; NULL: there are no steps */
};

/* What the metrics look at. */
struct hta_input {
    struct sutra_context *context;
    const struct engine *engine;
    struct sutra_hta_options options;
    bool alone; /* nobody compares it with other ranks; false at first */
    struct hta_rows rows;
    struct hta_iterations iterations;
    struct hta_kernels kernels;
    struct hta_correlated correlated;
};

/* What they make. */
struct sutra_hta {
    struct sutra_hta_options options;
    bool starts_real, durs_real;     /* as those of hta_rows, for columns of tables */
    struct interval_states types[2]; /* without and with memory kernels */
    struct sutra_hta_summary summary;
    struct sutra_table tables[SUTRA_HTA_N_TABLES];
    bool made[SUTRA_HTA_N_TABLES];
    const char *reasons[SUTRA_HTA_N_TABLES]; /* why a table was not made */
    int64_t base;                            /* as that of hta_rows */
    struct sutra_table collectives, spans;   /* what stragglers are found by: see hta_stragglers.c */
    struct queue_list queues;                /* for charts */
    char *taken;                             /* texts of reasons that another process has told, or NULL */
    const char *warnings[2];                 /* what there is to warn of, until it is told; NULL: nothing */
};

/* The work on one trace, in two parts: the first changes nothing that is not its own, and can so be done beside other
 * work on the trace, on another thread. Times, partners and kernels are read by an engine that no one else uses
 * then. */
struct hta_making {
    struct hta_input input;
    struct engine engine;
    struct pool *pool; /* of threads that make tables at once; NULL: one does */
    bool beside;       /* the first part is on another thread, and makes tables there */
    const struct sutra_device_trace *trace;
    struct sutra_hta *made;
    struct arena arena;
    enum sutra_status status;
    struct sutra_error error;
};

/* SUTRA_SYSTEM, SUTRA_USAGE: there is nothing to do or to end. */
enum sutra_status hta_making_begin(struct hta_making *making, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, const struct sutra_hta_options *options,
                                   bool beside, struct sutra_error *error);
void hta_making_do(void *arg);
/* The second part: what asks the trace for texts, and tells warnings. */
enum sutra_status hta_making_end(struct hta_making *making, struct sutra_hta **hta, struct sutra_error *error);

/* The options as they count: with what stands for 0. */
enum sutra_status hta_options_take(const struct sutra_hta_options *given, struct sutra_hta_options *taken,
                                   struct sutra_error *error);

/* Sets the two tables up that stragglers are found by. */
void hta_collectives_init(struct sutra_hta *hta);

/* ranks.c: the partial result of a rank, made with these complete options; a decoded one is the caller's to free, or
 * NULL after a failure. */
void hta_codec(struct codec *codec, const struct sutra_hta_options *options, struct sutra_hta **hta);

/* An id for a column of integers; -1 where the id is something else. */
static inline int64_t column_key(value_key key) {
    return key_is_integer(key) ? key : -1;
}

/* hta_rows.c: from a trace to rows; counts in the summary what it took and left out. */
enum sutra_status hta_rows_make(const struct hta_input *input, const struct sutra_device_trace *trace,
                                struct arena *arena, struct hta_rows *rows, struct sutra_hta_summary *summary,
                                struct sutra_error *error);

/* The same of all steps: none is cut off. */
enum sutra_status hta_rows_make_all(struct sutra_context *context, const struct sutra_hta_options *options,
                                    const struct sutra_device_trace *trace, struct arena *arena, struct hta_rows *rows,
                                    struct sutra_error *error);

/* hta_kernels.c: from rows to kernels. */
enum sutra_status hta_kernels_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                   const struct engine *engine, struct arena *arena, struct hta_kernels *kernels,
                                   struct sutra_error *error);

/* hta_correlated.c: from rows, of which n_kernels are kernels, to groups; and those of other keys, ROW_NONE for keys
 * that no kernel has. */
enum sutra_status hta_correlated_make(const struct hta_rows *rows, row_t n_kernels, const struct engine *engine,
                                      struct arena *arena, struct hta_correlated *correlated,
                                      struct sutra_error *error);
enum sutra_status hta_correlated_find(const struct hta_input *input, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error);

/* The metrics, a file each. Each makes its tables and its part of the summary. */
typedef enum sutra_status hta_metric(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error);
hta_metric hta_busy, hta_names, hta_idle, hta_launches, hta_calls, hta_queue, hta_bandwidth, hta_spans;
hta_metric hta_ranges, hta_row_table, hta_busy_series, hta_steps, hta_annotations, hta_annotated, hta_operators,
    hta_sequences, hta_collectives;

/* hta_iterations.c: the steps of all rows. */
enum sutra_status hta_iterations_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                      struct arena *arena, struct hta_iterations *iterations,
                                      struct sutra_error *error);

static inline int64_t hta_iteration(const struct hta_input *input, row_t event) {
    return input->iterations.of_event ? input->iterations.of_event[event] : ITERATION_NONE;
}

/* Whether a table is of one rank, so that there is none of all ranks; and of those, whether it has a row for each
 * launch, kernel or change, so that it is not kept. */
bool hta_table_of_rank(int id);
bool hta_table_is_series(int id);

/* From the first start of a row to the last, as the reference takes a trace's duration. */
int64_t hta_duration(const struct hta_rows *rows);

/* Fills a table of types from what one rank, or all together, spent in each state. */
void hta_types_fill(struct sutra_table *table, const struct interval_states *states);

/* The unit in which the reference adds up stretches of time of a trace: whole microseconds. */
int64_t hta_unit(const struct sutra_hta_options *options);

/* Sorts a finished table of names: by type, name and rank, or without types by rank and name. */
enum sutra_status hta_names_sort(struct sutra_table *table, struct arena *arena, struct sutra_error *error);

/* Sets a table up with integer columns where `rows` says so; for tables of many ranks too. */
void hta_table_init(struct sutra_table *table, enum sutra_hta_table id, const struct sutra_hta_options *options,
                    bool starts_real, bool durs_real);

/* Sets a table up: under its name, with the kinds of its columns as the times of the trace have them. */
struct sutra_table *hta_table_begin(struct sutra_hta *hta, enum sutra_hta_table id);

/* The columns of a distribution; `decimals` 0: not rounded. */
void table_describe(struct sutra_table *table, const struct description *description, int decimals);

/* The kind of a column for such ids of events[0..n), and the next value of one. */
enum sutra_column_kind kind_of_ids(const value_key *ids, const row_t *events, row_t n);
void table_id(struct sutra_table *table, const struct values *values, value_key id);

/* hta_short_name.c: a name without template and function arguments, as HTA shortens it, into a buffer that is emptied
 * first. O(length). */
void hta_short_name(const char *name, size_t length, struct buffer *shortened);

/* Nanoseconds as microseconds. */
static inline double us_of(int64_t ns) {
    return (double)ns / NS_PER_US;
}

static inline double us_of_wide(wide_t ns) {
    return (double)ns / NS_PER_US;
}

/* As numpy's round(): to so many decimals, halves to even. */
double rounded_to(double value, int decimals);

/*
 * What is decided about single kernels and launches, for the CPU and the CUDA engine alike. Times are
 * integers of nanoseconds.
 */

/* What a stream waited for between two kernels. */
enum idle_cause { IDLE_HOST_WAIT, IDLE_KERNEL_WAIT, IDLE_OTHER, IDLE_N_CAUSES };

/* The cause of a gap that begins where the kernel before ended: the next one was launched only afterwards; it was
 * there already, and the gap is below `delay`, which the device needs between kernels; else something else. A gap below
 * 0 (kernels of one stream that overlap) is below any delay. */
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
