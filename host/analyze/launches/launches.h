/*
 * launches.h - the launch model of a trace, which all analyses share: host events as trees, GPU activities, the call
 * that launched each activity, and the operator to which each is attributed.
 *
 *     device trace --+--> hosts.c: host events, a tree for each thread -----+
 *                    +--> launches.c: kernels, memcpys, memsets, their calls +--> links, attribution, busy times
 *
 *     thread 7   | aten::linear ............................. |      hosts     0 linear
 *                |   aten::addmm ...................          |                1 addmm           end[0] = 3
 *                |      cudaLaunchKernel 12                   |                2 launch          end[1] = 3
 *     stream 7                              | gemm 12 |               devices  0 gemm            call 2, launcher 1
 *
 *     parent of a host event  the last event of its thread that began and has not ended
 *     call of an activity     same correlation (a runtime's call before a driver's), else an arrow
 *     class of an activity    facts/kernel_class.h
 *     launcher                innermost operator that runs at the call, else the call
 *
 * Times are integers of ticks, which are nanoseconds, so sums and differences are exact. An analysis that reproduces
 * another program may fill a model by the rules of this program, with other ticks (analyze/compat/).
 *
 * Cost: sorts of events, and O(n log n) for busy times. All columns are in the arena.
 */
#ifndef ANALYZE_LAUNCHES_LAUNCHES_H
#define ANALYZE_LAUNCHES_LAUNCHES_H

#include "base/arena.h"
#include "context/context.h"
#include "facts/kernel_class.h"
#include "facts/names.h"
#include "facts/profiler_steps.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "match/intervals.h"
#include "read/device_trace.h"

/* Options of launch_model_build(). */
enum launch_options { LAUNCHES_NO_FRAMES = 1 /* skip Python functions */ };

enum host_kind { HOST_OPERATOR, HOST_CALL, HOST_FRAME, HOST_ANNOTATION, HOST_NONE };

/* Host events in pre-order, thread by thread, so that a subtree is a range of rows. */
struct host_rows {
    row_t n;
    uint32_t n_threads;
    row_t *event;          /* of the trace */
    uint32_t *name;        /* string of the trace */
    row_t *parent;         /* row of this table, or ROW_NONE */
    row_t *end;            /* the first row after the subtree */
    row_t *around;         /* the innermost operator that has not ended when the event begins */
    int64_t *start, *stop; /* ticks */
    uint32_t *thread;      /* below n_threads; a thread of a process */
    uint8_t *kind;         /* enum host_kind */
    uint32_t *replayed;    /* index + 1 in graphs->replays of rows without CPU time, else 0; NULL: none (graphs.h) */
};

/* GPU activities in file order: kernels, memcpys, memsets. Activities that only wait or record are skipped. */
struct device_rows {
    row_t n;
    row_t *event;
    int64_t *start, *stop; /* ticks */
    uint8_t *class;        /* enum device_class */
    uint8_t *kind;         /* row of kernel_kinds[] (facts/kernel_class.h) */
    row_t *call;           /* row of hosts: the call that launched it, or ROW_NONE */
    row_t *launcher;       /* row of hosts: the operator or call to which it is attributed, or ROW_NONE */
    row_t *replayed;       /* row of hosts: the replayed operator of a graph kernel, or ROW_NONE; NULL: none */
    row_t *by_start;       /* these rows ascending by start, equal ones in file order */
};

/* Activities by call: the calls in rows a .. b - 1 of hosts launched device[first[a]] .. device[first[b] - 1], in the
 * order of calls. Each activity occurs at most once. */
struct launch_links {
    row_t n;
    row_t *first; /* hosts.n + 1 */
    row_t *device;
};

/* Launchers: operators, and calls outside of operators, to which activities are attributed; ascending by start. */
struct attribution_table {
    row_t n;
    row_t *host;      /* row of hosts */
    row_t *of_host;   /* by row of hosts: index in this table, or ROW_NONE */
    row_t *first;     /* n + 1: activities of launcher i are device[first[i]] .. device[first[i + 1] - 1] */
    row_t *device;    /* rows of devices, by start */
    wide_t *work;     /* ticks: sum of the durations of its activities */
    int64_t *direct;  /* ticks in which any of its activities runs */
    int64_t *subtree; /* the same for all activities launched by it and its descendants */
};

struct graph_kernels;

struct launch_model {
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct strings *strings;
    struct string_roles *roles;
    double ticks_per_us;
    struct host_rows hosts;
    struct device_rows devices;
    struct launch_links links;
    struct attribution_table attributions;
    const struct graph_kernels *graphs; /* owners of graph kernels (graphs.h), or NULL */
    int64_t from, to;                   /* selected time range (restriction.c), else all */
    uint64_t n_untimed;                 /* skipped events: start or duration missing, negative or too large, */
    uint64_t n_untimed_hosts;           /* and the CPU events among them */
    bool has_arrow_calls;               /* devices.call has starts of arrows, while the model is built */
    row_t n_syncs;                      /* skipped activities that wait or record: not busy */
};

/* Builds the model; `scratch` is released on success, and `model` is undefined after a failure. SUTRA_SYSTEM: out of
 * memory. */
enum sutra_status launch_model_build(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     unsigned options, struct arena *arena, struct arena *scratch,
                                     struct launch_model *model, struct sutra_error *error);

/* Warns about CPU events without known times; call once for each trace. GPU activities: facts/validity.h. */
void launch_model_warn(struct sutra_context *context, const struct launch_model *model);

/* Determines launchers again, after links or devices->replayed have changed. */
enum sutra_status launch_model_attribute(struct launch_model *model, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error);

/* ticks[i] = for how long any activity runs that row hosts[i] or a descendant launched. O((n + links) log links). */
enum sutra_status launch_model_busy_time(const struct launch_model *model, const row_t *hosts, row_t n,
                                         struct arena *scratch, int64_t *ticks, struct sutra_error *error);

/* around[row] = the innermost marked ancestor of each row of hosts that has not ended when the row begins, or ROW_NONE.
 * O(n) in expectation. */
enum sutra_status find_marked_ancestors(const struct launch_model *model, const uint8_t *marked, struct arena *scratch,
                                        row_t *around, struct sutra_error *error);

/* Removes the activities whose events are not marked, and attributes the remaining ones again. Host events remain. */
enum sutra_status launch_model_keep(struct launch_model *model, const uint8_t *kept, struct arena *arena,
                                    struct arena *scratch, struct sutra_error *error);

/* The category of each launcher, in the arena (facts/op_categories.h). */
enum sutra_status categorize_launchers(const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                       uint8_t **categories, struct sutra_error *error);

static inline uint32_t host_name(const struct launch_model *model, row_t host) {
    return model->hosts.name[host];
}

/* The host events for profiler_steps_find(); `kinds` has a bit per enum host_kind. */
static inline struct step_rows host_step_rows(const struct launch_model *model, uint32_t kinds) {
    const struct host_rows *hosts = &model->hosts;
    return (struct step_rows){.strings = model->strings,
                              .events = model->events,
                              .event = hosts->event,
                              .start = hosts->start,
                              .end = hosts->stop,
                              .kind = hosts->kind,
                              .n = hosts->n,
                              .kinds = kinds};
}

/* Prefix of names of modules. */
#define MODULE_PREFIX "nn.Module: "

/* Whether a row of hosts is a module: a Python function named "nn.Module: "; and marks for all rows. */
bool host_is_module(const struct launch_model *model, row_t host);
void mark_modules(const struct launch_model *model, uint8_t *marked);

/* The CPU time of a row of hosts. */
static inline int64_t host_ticks(const struct host_rows *hosts, row_t row) {
    return hosts->replayed && hosts->replayed[row] ? 0 : hosts->stop[row] - hosts->start[row];
}

/* Whether a moment is in the selected time range. */
static inline bool launch_model_includes(const struct launch_model *model, int64_t moment) {
    return moment >= model->from && moment < model->to;
}

static inline double launch_model_us(const struct launch_model *model, int64_t ticks) {
    return (double)ticks / model->ticks_per_us;
}

/* ---- Internal to the files that build a model ---- */

/* The end of an event with known times, from its start. Ticks. */
static inline int64_t end_ticks(const struct launch_model *model, row_t event, int64_t start) {
    return start + ns_of_us(number_at(model->events->usable_dur, event));
}

/* launches.c: an empty model, with room for all activities; names have their meanings for `reader`. The arena records
 * a failure. */
struct launch_model launch_model_begin(const struct sutra_device_trace *trace, enum reader reader, struct arena *arena);

/* hosts.c: lists of events in file order: host events and the calls among them, GPU activities, arrows from calls to
 * activities. reserve_event_lists() reserves the lists, for host events whose bit of enum host_kind is in `kinds` and
 * for activities whose category has one of device_roles; the other two, which may run in parallel, fill one side each.
 */
struct event_lists {
    row_t n_host, n_calls, n_device, n_arrows;
    row_t *host, *call, *device, *arrow;
    row_t n_host_endless, n_device_endless; /* events without a duration */
    uint8_t *kind_of;                       /* by string of a category: enum host_kind */
    uint8_t *lists_of;                      /* by string of a category: the lists of its events */
};
enum sutra_status reserve_event_lists(const struct launch_model *model, unsigned kinds, uint32_t device_roles,
                                      struct arena *arena, struct event_lists *lists, struct sutra_error *error);
void list_host_events(const struct launch_model *model, struct event_lists *lists);
void list_device_events(const struct launch_model *model, struct event_lists *lists);

/* hosts.c: thread[i] = the number of the thread of event rows[i], as threads first occur. False: out of memory. */
bool number_threads(const struct device_events *events, const row_t *rows, row_t n, uint32_t *thread,
                    uint32_t *n_threads);

/* launches.c: sorts rows of devices by start. */
enum sutra_status sort_devices(struct device_rows *rows, struct arena *scratch, struct sutra_error *error);

/* launches.c: makes model->attributions from devices.launcher. */
enum sutra_status attribute_to_launchers(struct launch_model *model, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error);

/* launches.c: counts the listed events that have no row. */
void count_untimed(struct launch_model *model, const struct event_lists *lists);

/* hosts.c: path compression: lets all rows on the path from `row` to `found` refer to `found`. */
static inline void compress_path(row_t *above, row_t row, row_t found) {
    while (row != found) {
        row_t then = above[row];
        above[row] = found;
        row = then;
    }
}

/* hosts.c: rows of the listed host events; overwrites the list. */
enum sutra_status make_host_rows(struct sutra_context *context, struct launch_model *model,
                                 const struct exact_times *times, const struct event_lists *lists, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error);

/* hosts.c: replaces arrows in devices.call by the event of the innermost operator or call that runs where the arrow
 * starts. O(n log n). */
enum sutra_status find_arrow_rows(struct launch_model *model, const struct exact_times *times, struct arena *scratch,
                                  struct sutra_error *error);

/* Replaces n host events (or ROW_NONE) by their rows of hosts. */
enum sutra_status find_call_rows(const struct launch_model *model, row_t *calls, row_t n, struct arena *scratch,
                                 struct sutra_error *error);

/* Makes model->links of n pairs of a call (or ROW_NONE) and an activity, in this order; `device` NULL: 0 .. n - 1. */
enum sutra_status order_launch_links(struct launch_model *model, const row_t *call, const row_t *device, row_t n,
                                     struct arena *arena, struct sutra_error *error);

/* ids[event] = the id of each of n arrows. */
enum sutra_status read_arrow_ids(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const row_t *arrows, row_t n, const value_key **ids, struct sutra_error *error);

/*
 * ---- GPU busy time by class: the intervals in which activities of each class run, merged, and their overlap ----
 *
 *     compute          [=====]        [==]             class 0   [=====]        [==]
 *     communication        [========]                  class 1       [========]
 *     memcpy           [=] [=]                [==]     class 2   [=] [=]                [==]
 *                                                      exposed       |..com...|         |copy|
 *
 * Input: the GPU activities of a launch model, ascending by start. Cost: O(n).
 */

/* Merges the intervals of each class, clipped to [from, to). classes[i], below DEVICE_N_CLASSES, is the class of row i
 * of devices; DEVICE_NO_WORK, and rows without a mark in `counts` (NULL: all rows count), are skipped. The result needs
 * merged_free(). SUTRA_SYSTEM: out of memory. */
enum sutra_status merge_busy_intervals(const struct launch_model *model, const uint8_t *classes, const uint8_t *counts,
                                       int64_t from, int64_t to, const struct engine *engine, struct arena *scratch,
                                       struct merged *merged, struct sutra_error *error);

/* Ticks. compute + exposed communication + exposed copies + idle = total. */
struct busy_times {
    int64_t compute;               /* computation runs */
    int64_t exposed_communication; /* communication without computation */
    int64_t exposed_copies;        /* memcpy without either */
    int64_t busy, idle, total;     /* total: from the first start to the last end */
    int64_t communication, copies; /* overlapped or not */
};

/* Measures the activities that have a mark in `counts` (NULL: all), by the classes of devices. */
enum sutra_status measure_busy_times(const struct launch_model *model, const uint8_t *counts,
                                     const struct engine *engine, struct arena *scratch, struct busy_times *times,
                                     struct sutra_error *error);

#endif
