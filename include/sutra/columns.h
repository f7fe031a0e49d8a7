/*
 * columns.h - traces, trees, paths and tables as columns for other programs: the Arrow C data interface.
 *
 *     device trace, host trace, ET+, ... --> struct ArrowArrayStream --> pyarrow, polars, DuckDB, or a loop in C
 *
 * Each of these functions fills a stream of one batch, a struct array whose children are the columns; its schema says
 * what they are called, their types and, in the metadata, their "unit". Columns belong to the stream's consumer until
 * it releases them, also when what they were asked of was freed long ago. Numbers that we have in the layout of Arrow
 * are not copied. All values may be null.
 *
 *     ids           int64; null where the id is absent or no 64-bit integer (doubles without fraction, true and false count
 *                   as integers). Then NAME_text, a column on request, has it as Python's str() gives it.
 *     times         int64 where the file gives integers only, else float64
 *     rows          uint32: positions in "traceEvents" or "nodes" of the file, from 0
 *     names         dictionaries of the texts that are used, in the order of first use; UTF-8, in which U+FFFD stands for a
 *                   lone surrogate
 *     args          int64 if all values are integers, float64 if all are numbers, bool, names if all are strings, null if
 *                   there is none; else names of which each is JSON as it stands in the file, and the metadata has
 *                   "encoding" "json". Integers beyond 64 bits are such JSON, or beside reals the nearest double.
 */
#ifndef SUTRA_COLUMNS_H
#define SUTRA_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"
#include "sutra/critical_path.h"
#include "sutra/dlrm.h"
#include "sutra/link.h"
#include "sutra/merge.h"
#include "sutra/simulate.h"
#include "sutra/table.h"
#include "sutra/trace.h"
#include "sutra/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The Arrow C data interface and the C stream interface, as arrow.apache.org defines them ---- */

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif

#pragma GCC visibility push(default)

/* ---- What there is as columns ---- */

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_columns_options {
    size_t size;
    const char *const *names; /* columns that are wanted, in this order, `n_names` of them; NULL: those that are not on
                                 request only */
    size_t n_names;
    const char *const *args; /* members of "args" of events, or attributes of nodes, that become columns behind them;
                                where one is called as a column is that is there, as "args.NAME" */
    size_t n_args;
};

/* What an event is to the linker; the values of "kind" by their number in its dictionary. */
enum sutra_event_class {
    SUTRA_CLASS_OTHER,
    SUTRA_CLASS_CPU_OPERATOR,
    SUTRA_CLASS_LAUNCH,
    SUTRA_CLASS_GPU_OPERATOR, /* kernels and copies */
    SUTRA_CLASS_LAUNCH_FLOW,
    SUTRA_CLASS_MEMORY_SET,
    SUTRA_N_CLASSES
};

/* The events of a device trace, in the order of the file:
 *
 *     ts, dur                          microseconds, as the file has them
 *     name, category, phase            category: null where it is absent or empty; phase: one character
 *     kind                             enum sutra_event_class: "other", "cpu_operator", "launch", "gpu_operator",
 *                                      "launch_flow", "memory_set"
 *     pid, tid                         ids
 *     stream, device                   args "stream"; args "device" of events that have a stream
 *     correlation, external_id, rf_id  args "correlation", "External id" (both null where they are -1) and
 *                                      "Record function id"
 *     pid_text, tid_text, stream_text, correlation_text, external_id_text, rf_id_text   on request: ids that are no
 *                                      integers
 *
 * SUTRA_USAGE: there is no column of a name. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_device_trace_arrow(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                           struct sutra_error *error);

/* The nodes of a host trace, in the order of the file: id, name, parent (in schema 1.0.1 the field, later "ctrl_deps"),
 * rf_id. Errors as above. */
enum sutra_status sutra_host_trace_arrow(struct sutra_context *context, const struct sutra_host_trace *trace,
                                         const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                         struct sutra_error *error);

/* The nodes of ET+, in the order of its file:
 *
 *     id, name                 the id in ET+
 *     gpu                      whether it is a GPU operator
 *     host_id, host_row        of the node of the host trace that it was made of, or that its operator was
 *     event                    row of its event in the device trace; null: not linked
 *     ctrl_deps                id of the node above
 *     inter_thread_dep         id of the node on another thread that it waits for
 *     sync_dep                 list of ids of GPU nodes that it waits for
 *     ts, inclusive_dur, exclusive_dur   microseconds
 *     category, stream         of GPU operators
 *
 * There are no args. The linked traces must be there still. */
enum sutra_status sutra_linked_arrow(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* A call tree, by position:
 *
 *     event                    row of the event in the file
 *     name, kind               "operator", "backend", "allocation", "out_of_memory", "python_call", "python_c_call", "kineto"
 *     parent, depth            position above; levels above
 *     start_ns, end_ns, host_ns, host_self_ns, device_ns, device_self_ns   nanoseconds
 *     thread                   number of the thread, in the order of first sight
 *
 * There are no args. The profile must be there still. */
enum sutra_status sutra_tree_arrow(struct sutra_context *context, const struct sutra_tree *tree,
                                   const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                   struct sutra_error *error);

/* The pairs of correlations: kind ("fwdbwd", "launch", "operator"), from_event and to_event (rows in the file), flow_id
 * (of fwdbwd). There are no args. The profile must be there still. */
enum sutra_status sutra_correlation_arrow(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                          struct sutra_error *error);

/* The edges of the graph of a critical path, by the node that they lead from:
 *
 *     from_event, from_end, to_event, to_end   rows in the file, and whether it is the end of the event or its start
 *     weight                                   microseconds
 *     kind                                     "operator", "dependency", "launch_delay", "kernel_delay", "sync"
 *     critical                                 whether it is on the path
 *
 * There are no args. The trace must be there still. */
enum sutra_status sutra_critical_path_arrow(struct sutra_context *context, const struct sutra_critical_path *path,
                                            const struct sutra_columns_options *options,
                                            struct ArrowArrayStream *stream, struct sutra_error *error);

/* What sutra_dlrm_analyze() found; see struct sutra_dlrm_report. Times are in microseconds. */
enum sutra_dlrm_columns {
    SUTRA_DLRM_STREAMS,   /* stream, active_us, idle_us */
    SUTRA_DLRM_ROWS,      /* stream (of rows of the top level), name, shape, count, n_occurrences, us, first_us,
                                      first_child, n_children (among these rows) */
    SUTRA_DLRM_OVERHEADS, /* kind ("T1" ... "T5"), name, n, mean_us, std_us */
    SUTRA_DLRM_OVERHEADS_BY_SHAPE, /* the same, and shapes */
    SUTRA_DLRM_N_COLUMNS
};
enum sutra_status sutra_dlrm_arrow(const struct sutra_dlrm *dlrm, enum sutra_dlrm_columns which,
                                   struct ArrowArrayStream *stream, struct sutra_error *error);

/* What sutra_simulate() found, item by item: the members of the structs of sutra/simulate.h by their names. Times are
 * in nanoseconds where the name ends in _ns, else in microseconds; what is infinite is null. */
enum sutra_simulated_columns {
    SUTRA_SIMULATED_RANKS,    /* struct sutra_simulated_rank */
    SUTRA_SIMULATED_WAITS,    /* struct sutra_simulated_wait; "ns" are nanoseconds */
    SUTRA_SIMULATED_MEETINGS, /* struct sutra_simulated_meeting */
    SUTRA_SIMULATED_LINKS,    /* struct sutra_network_link; is_fitted is 1 or 0 */
    SUTRA_SIMULATED_PATH,     /* struct sutra_simulated_step; work: "cpu", "computation", "communication" */
    SUTRA_SIMULATED_NAMES,    /* struct sutra_simulated_name, without free_ns */
    SUTRA_SIMULATED_STUCK,    /* struct sutra_stuck_node; why: "depends", "meets", "behind", "held" */
    SUTRA_SIMULATED_N_COLUMNS
};
enum sutra_status sutra_simulation_arrow(const struct sutra_simulation *simulation, enum sutra_simulated_columns which,
                                         struct ArrowArrayStream *stream, struct sutra_error *error);

/* The ranks of a merged timeline: the members of struct sutra_merged_rank. */
enum sutra_status sutra_merged_arrow(const struct sutra_merged *merged, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* The places that were mended: offset (the byte), mended (sutra_mend_name()). */
enum sutra_status sutra_repair_arrow(const struct sutra_repair *repair, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* Any table; text is UTF-8. A real number that could not be computed is null. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_table_arrow(const struct sutra_table *table, struct ArrowArrayStream *stream,
                                    struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
