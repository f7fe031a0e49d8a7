/*
 * link.h - links a host trace to a device trace.
 *
 * Host operators and CPU operators are joined by record-function ids. If ids fail, they are matched by names
 * (name_match.c). pairing.h checks whether both traces were recorded together.
 *
 * Cost: O(n), and of matching by names (align/op_match.h).
 */
#ifndef LINK_LINK_H
#define LINK_LINK_H

#include "context/context.h"
#include "facts/names.h"
#include "facts/validity.h"
#include "match/key_index.h"
#include "match/steps.h"
#include "read/device_trace.h"
#include "read/host_trace.h"
#include "sutra/link.h"

struct pairing;

/* Classes of events to the linker: annotations are operators, profiler steps are not. */
enum event_class { EVENT_OTHER, EVENT_CPU_OP, EVENT_LAUNCH, EVENT_GPU_OP, EVENT_LAUNCH_FLOW, EVENT_MEMORY_SET };

/* Whether an event is a profiler step on the CPU. O(1). */
static inline bool event_is_step(const struct device_events *events, const struct string_roles *roles, row_t event) {
    return name_roles(events, roles, event) & NAME_STEP &&
           category_roles(events, roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION);
}

/* `roles` are of READER_LINKER. O(1). */
enum event_class event_classify(const struct device_events *events, const struct string_roles *roles, row_t event);

/*
 * Launches by calls that chakra_trace_link does not know, such as cudaGraphLaunch: calls of any name with the
 * correlation of a GPU activity, as the launch model of the analyses uses them (unknown_launches.c).
 */

/* call[i] = the call with the correlation of activity gpu[i], or ROW_NONE: calls_by_correlation() (facts/launches.h).
 * The caller releases `scratch`. O(events + n). */
enum sutra_status find_unknown_calls(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const row_t *gpu, row_t n, struct arena *scratch, row_t *call,
                                     struct sutra_error *error);

/* Where call[i] is ROW_NONE, it becomes the call that begins where an arrow to the activity starts. */
enum sutra_status find_arrow_calls(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const row_t *gpu, row_t n, row_t *call, struct sutra_error *error);

/* The names of n calls (or ROW_NONE), descending by count; allocated in *counts, which the caller frees. */
enum sutra_status count_call_names(const struct sutra_device_trace *trace, const row_t *call, row_t n,
                                   struct sutra_count **counts, row_t *n_counts, struct sutra_error *error);

/* Turns counts by string into a list of the strings that occur, descending by count; returns their number. */
row_t sort_counts(struct sutra_count *counts, const struct strings *strings);

/* "cudaGraphLaunch 13, cudaMemcpy2DAsync 7 and 2 others", with at most five names. */
#define CALL_NAMES_TEXT 1000
struct call_names {
    char text[CALL_NAMES_TEXT];
};
struct call_names call_names_text(const struct sutra_count *counts, uint64_t n);

/*
 * The nodes of a host trace in the order of the output, and the host operators among them.
 *
 * A unit is a run of nodes with the same id (nearly always one): they share a new id, and the last of them is the host
 * operator if the root is among its ancestors.
 *
 *     sorted nodes   0  1  2  3  4  5        rows of nodes, by id, ties in file order
 *     units          0  1  1  2  3  3        unit u: sorted nodes unit_start[u] .. unit_start[u + 1]
 */

struct host_ops {
    row_t n_nodes, n_units;
    row_t *node;          /* rows of nodes, sorted by id */
    row_t *unit_start;    /* n_units + 1 */
    uint8_t *reachable;   /* per unit: 1 if it is a host operator */
    struct key_index ids; /* id -> unit */
};

/* The columns are in the arena. The caller frees the index, also after a failure. */
enum sutra_status host_ops_build(struct host_ops *ops, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct arena *arena, struct sutra_error *error);
void host_ops_free(struct host_ops *ops);

/* The node that represents a unit as host operator: the last one of its id. */
static inline row_t unit_node(const struct host_ops *ops, row_t unit) {
    return ops->node[ops->unit_start[unit + 1] - 1];
}

/*
 * The operators of a device trace as tables in the order of the sorted trace, with the results of the engine's steps.
 *
 *     events --sort, classify--> CPU ops, launches, GPU ops --engine--> exclusive durations, order, parents, groups
 */

/* Microseconds between operators of a thread that begin a new group of dependencies between threads. */
#define LINK_GROUP_GAP_US 1000

struct device_ops {
    row_t *order;               /* all events, sorted stably by timestamp */
    struct string_roles *roles; /* of every string of the trace */

    /* CPU operators, sorted; row i is event cpu_event[i]. This is the table of the engine. */
    struct cpu_ops cpu;
    row_t *cpu_event;
    struct number_column exclusive; /* exclusive duration of each */
    row_t *waits_for;               /* CPU op of another thread that gives the inter-thread dependency, or none */
    struct key_index rf;            /* rf_id -> position in rf_op; the last operator of each rf_id */
    row_t *rf_op;                   /* CPU operators with an rf_id */
    row_t n_rf;

    /* GPU operators that found a CPU operator, by the external id of that operator, each group in sorted order. */
    row_t *grouped_event;
    row_t n_grouped;
    row_t n_groups;
    row_t *group_start;      /* n_groups + 1 */
    struct key_index groups; /* external id -> group */

    row_t n_launches, n_gpu, n_memory_sets, n_without_launch, n_without_parent;
    struct trace_defect
        unknown_launch; /* of n_without_launch: calls that chakra_trace_link does not know launch them; */
    struct sutra_count *unknown_calls; /* the names of these calls, descending by count */
    row_t n_unknown_calls;
    row_t n_untimed; /* operators without a start or a duration: 0 is used, as chakra_trace_link does */
    uint64_t n_fields_dropped;
    struct exclusive_anomalies anomalies;
};

/* Makes the tables, which are in the arena except for the indexes and unknown_calls. `any_call`: calls that
 * chakra_trace_link does not know are launches, too. SUTRA_DATA: an operator has a field of a wrong type; SUTRA_STRICT:
 * several launches have the same correlation. */
enum sutra_status device_ops_build(struct device_ops *ops, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool any_call, struct arena *arena,
                                   struct sutra_error *error);
void device_ops_free(struct device_ops *ops);

/* Replaces each operator in waits_for by the last one with its rf_id; one without an id gives no dependency. O(n). */
void device_ops_resolve_waits(struct device_ops *ops, const struct sutra_device_trace *trace, struct values *values);

/* The GPU operators that belong to a CPU operator: *n rows of events. */
static inline const row_t *device_ops_group(const struct device_ops *ops, row_t cpu_op, row_t *n) {
    row_t group = key_index_find(&ops->groups, ops->cpu.external[cpu_op]);
    *n = group == ROW_NONE ? 0 : ops->group_start[group + 1] - ops->group_start[group];
    return group == ROW_NONE ? NULL : ops->grouped_event + ops->group_start[group];
}

/*
 * struct sutra_linked: the contents of ET+ as columns over the units of the host trace.
 *
 * The output is a row of entries. A unit's entries are its nodes, then one GPU node for each GPU operator of its linked
 * CPU operator:
 *
 *     unit      0     1              2     3 (two nodes of one id)
 *     entries   N     N  g  g  g     N     N  N  g
 *     new ids   0     1  2  3  4     5     6  6  7
 */

/* The node has no ctrl_deps. */
#define CTRL_DEPS_NONE (-1)

/* Lists of GPU nodes that nodes wait for; list i: nodes[start[i]] .. nodes[start[i + 1] - 1], new ids. */
struct linked_sync {
    struct key_index targets; /* new id of a node -> its list */
    row_t *start, *nodes;
    row_t n_lists;
};

struct sutra_linked {
    const struct sutra_host_trace *host;
    const struct sutra_device_trace *device;
    struct arena arena; /* of all columns */
    struct host_ops units;
    struct device_ops ops;

    row_t *unit_op;     /* per unit: its CPU operator, or ROW_NONE */
    row_t *unit_after;  /* per unit: the unit that it waits for on another thread, or ROW_NONE */
    row_t *unit_entry;  /* per unit, and one more: its first entry */
    row_t *unit_id;     /* per unit: its new id */
    int64_t *ctrl_deps; /* per sorted node: new id of its ctrl_deps, or CTRL_DEPS_NONE */
    struct linked_sync sync;
    struct sutra_link_report report;
    struct sutra_link_match match;
    struct arena kept;                 /* of the names in `match`; linked_traces_free_columns() keeps */
    struct sutra_count *unknown_calls; /* these and the calls of ops */
    row_t n_unknown_calls;
    struct trace_validity found; /* DEFECT_UNKNOWN_LAUNCH */
};

/* Whether the linked operators cover less than 90 % of the profiler steps. */
static inline bool link_match_is_part(const struct sutra_link_match *match) {
    return match->covered_us > 0 && match->covered_us < 0.9 * match->steps_us;
}

/* A linked trace with its inputs, for callers that free the columns early. */
struct linked_traces {
    struct sutra_linked *linked;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
};

/* Frees the columns of all three, and the event offsets of the device trace. The report, the texts, the strings of the
 * device trace and the members of the host trace remain valid; otherwise the three may only be freed. */
void linked_traces_free_columns(const struct linked_traces *traces);

/* Frees columns that neither et_plus_linked() nor later steps read, and the event offsets of the device trace, which
 * et_plus_linked_arguments() must have read before. */
void linked_traces_free_keys(const struct linked_traces *traces);

/* The GPU operators of a unit: *n rows of events. */
static inline const row_t *linked_gpu_ops(const struct sutra_linked *linked, row_t unit, row_t *n) {
    *n = 0;
    if (linked->unit_op[unit] == ROW_NONE)
        return NULL;
    return device_ops_group(&linked->ops, linked->unit_op[unit], n);
}

/* The GPU nodes that the node with this new id waits for: *n new ids. */
static inline const row_t *linked_waits_for(const struct sutra_linked *linked, row_t id, row_t *n) {
    const struct linked_sync *sync = &linked->sync;
    row_t list = sync->n_lists ? key_index_find(&sync->targets, id) : ROW_NONE;
    *n = list == ROW_NONE ? 0 : sync->start[list + 1] - sync->start[list];
    return list == ROW_NONE ? NULL : sync->nodes + sync->start[list];
}

/* Finds the CPU operator of each unit: fills unit_op, linked->match and the counts of host operators in the report, and
 * the dependencies between CPU operators, by ids or names. SUTRA_DATA: `match` is NAMES and names do not match, or
 * there is no such step. SUTRA_STRICT: in a strict context, ids fail and `match` is AUTO, or names are not sure. */
enum sutra_status match_units(struct sutra_linked *linked, struct sutra_context *context,
                              const struct sutra_link_options *options, const struct pairing *pairing,
                              struct sutra_error *error);

/* Adds synchronization dependencies, the GPU nodes that each node waits for: fills linked->sync and
 * the report's n_sync. The other members of `linked` are complete. Without a critical path there are no dependencies,
 * and a warning reports the reason. */
enum sutra_status sync_build(struct sutra_linked *linked, struct sutra_context *context, struct sutra_error *error);

#endif
