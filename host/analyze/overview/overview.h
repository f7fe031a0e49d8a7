/*
 * overview.h - the time breakdown of a rank: in each interval, the class of GPU activity, or the cause of idle time.
 *
 *     launch model --> window --> intervals of activity, gaps --> gaps attributed to causes --> rows
 *                      overview.c                                 idle_causes.c
 *
 *     steps    |  ProfilerStep#4 ..................... |
 *     thread   |   DataLoader .... aten::mm  launch    |
 *     stream   | gemm |                       | gemm | |
 *     rows     [compute)[loading)[host )[launch)[compute)[after)
 *
 * Rows are consecutive and fill the window. A gap ends where an activity begins, and the thread that launched the
 * activity decides about the cause:
 *
 *     queued         the launch call had returned before the gap began: stream dependency, graph, hardware
 *     not started    after the launch call, if longer than NOT_STARTED_NS
 *     slow launch    the launch call of a kernel, if longer than SLOW_CALL_NS: code is loaded
 *     launch         the launch call, and from its end to the activity
 *     loading        before the launch: the thread is in a data loader,
 *     sync           in a synchronizing call,
 *     set-up         in a call that allocates memory, loads code or creates streams,
 *     after sync     none of these, but the gap began in a synchronizing call: the CPU catches up
 *     host           none of these: Python, operators, any other CPU work
 *     unknown        the trace has no launch of the activity
 *     after          after the last activity of the window
 *
 * Times are ticks of the model, nanoseconds. Cost: O(n), and O(log n) per gap.
 */
#ifndef ANALYZE_OVERVIEW_OVERVIEW_H
#define ANALYZE_OVERVIEW_OVERVIEW_H

#include "analyze/launches/launches.h"
#include "analyze/table.h"
#include "base/shared.h"
#include "facts/devices.h"
#include "sutra/overview.h"

#define NOT_STARTED_NS 200000
#define SLOW_CALL_NS   1000000

enum overview_kind {
    OVERVIEW_COMPUTE,
    OVERVIEW_COMMUNICATION, /* without compute */
    OVERVIEW_COPY,          /* memcpy and memset without either */
    OVERVIEW_QUEUED,        /* from here on: idle */
    OVERVIEW_NOT_STARTED,
    OVERVIEW_SLOW_LAUNCH,
    OVERVIEW_LAUNCH,
    OVERVIEW_LOADING,
    OVERVIEW_SYNC,
    OVERVIEW_SET_UP,
    OVERVIEW_AFTER_SYNC,
    OVERVIEW_HOST,
    OVERVIEW_UNKNOWN,
    OVERVIEW_AFTER,
    OVERVIEW_N_KINDS
};

#define OVERVIEW_FIRST_IDLE OVERVIEW_QUEUED

struct overview_window {
    int64_t from, to;
    row_t n_steps;
    row_t *steps; /* rows of hosts: profiler steps, by start */
};

struct overview_row {
    int64_t begin, end;
    row_t gap;   /* of an idle row; ROW_NONE */
    row_t frame; /* row of hosts: the shortest event of the gap's thread that covers most of the row; ROW_NONE */
    row_t wait;  /* row of hosts: the synchronizing call of kinds SYNC and AFTER_SYNC; ROW_NONE */
    uint8_t kind;
};

struct overview_gap {
    int64_t begin, end;
    row_t device;      /* row of devices: the activity that ends the gap; ROW_NONE: the window ends it */
    uint32_t thread;   /* of hosts, that launched the activity; THREAD_UNKNOWN */
    row_t first, last; /* its rows are first .. last - 1 */
};

#define THREAD_UNKNOWN UINT32_MAX

/* All in the arena. */
struct overview {
    const struct launch_model *model;
    struct string_roles *roles; /* READER_OVERVIEW's */
    struct device_summary device;
    struct overview_window window;
    struct overview_row *rows;
    struct overview_gap *gaps;
    row_t n_rows, n_gaps;
    uint8_t *classes;                /* by row of devices: enum overview_kind, one of the first three */
    uint8_t *blocks;                 /* by row of hosts: a synchronizing call */
    int64_t ticks[OVERVIEW_N_KINDS]; /* their sum is the window */
    int64_t communication, copies;   /* overlapped or not */
    int64_t first_event;             /* the start of the first event, from which ranges of the trace count */
};

/* Releases `scratch`. SUTRA_SYSTEM: out of memory. An empty trace has an empty window. */
enum sutra_status overview_make(struct sutra_context *context, const struct launch_model *model, struct arena *arena,
                                struct arena *scratch, struct overview *overview, struct sutra_error *error);

/* Drops all before a moment of the window. */
void overview_crop(struct overview *overview, int64_t from);

/* Adds durations that may overlap; saturates. */
static inline void ticks_add(int64_t *sum, int64_t ticks) {
    if (__builtin_add_overflow(*sum, ticks, sum))
        *sum = ticks < 0 ? INT64_MIN : INT64_MAX;
}

/* The length of the part of [begin, end) in [from, to). */
static inline int64_t ticks_within(int64_t begin, int64_t end, int64_t from, int64_t to) {
    begin = MAX(begin, from);
    end = MIN(end, to);
    return end > begin ? end - begin : 0;
}

static inline int64_t overview_busy(const struct overview *overview) {
    const int64_t *ticks = overview->ticks;
    return ticks[OVERVIEW_COMPUTE] + ticks[OVERVIEW_COMMUNICATION] + ticks[OVERVIEW_COPY];
}

static inline int64_t overview_length(const struct overview *overview) {
    return overview->window.to - overview->window.from;
}

static inline double percent_of_overview(const struct overview *overview, int64_t ticks) {
    int64_t window = overview_length(overview);
    return window > 0 ? (double)ticks * 100 / (double)window : 0;
}

/* Roles of the name of a row of hosts, for READER_OVERVIEW. */
static inline uint32_t overview_name(const struct overview *overview, row_t host) {
    return name_roles(overview->model->events, overview->roles, overview->model->hosts.event[host]);
}

/* Roles of NAME_OWN and above. */
#define NAME_FROM_DEVICE NAME_OWN        /* memcpy from the device to the host */
#define NAME_CAPTURES    (NAME_OWN << 1) /* calls that begin the capture of a graph */
#define NAME_CAPTURED    (NAME_OWN << 2) /* calls that end it */
#define NAME_COPY_CALL   (NAME_OWN << 3) /* contains emcpy */

/* idle_causes.c: replaces the rows of gaps. */
enum sutra_status attribute_idle_time(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                      struct arena *scratch, struct sutra_error *error);

/* Sorts n keys and returns the median, 0 if there are none; `rows` is scratch (idle_causes.c). */
enum sutra_status median_of_keys(uint64_t *keys, row_t *rows, row_t n, int64_t *median, struct sutra_error *error);

/* Names and columns of all tables (overview_ranks.c). */
extern const struct table_spec overview_table_specs[];

/* The steps of a job, recorded as profiler steps, or as the annotations that are selected as steps: *us has for each
 * number the longest duration over all ranks, in the arena, and is not sorted by duration. O(n log n). */
enum sutra_status overview_step_times(const struct sutra_overview *overview, struct arena *arena, double **us,
                                      uint64_t *n, struct sutra_error *error);

/* The activity of each stream in the window. Leaves `scratch` as it was. */
enum sutra_status overview_streams_add(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                       struct arena *scratch, struct sutra_table *table, struct sutra_error *error);

#endif
