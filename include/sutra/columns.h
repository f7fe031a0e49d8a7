/*
 * columns.h - export traces, call trees, critical paths and tables as columns: Arrow C data interface.
 *
 *     device trace, host trace, ET+, ... --> struct ArrowArrayStream --> pyarrow, polars, DuckDB, or a loop in C
 *
 * Each function fills a stream of one batch: a struct array whose children are the columns. The schema has their names,
 * types and, in the metadata, their "unit". The consumer owns the columns until it releases them; the exported object
 * may be freed before. Arrays in Arrow's layout are not copied. All values may be null.
 *
 *     ids           int64; null if the id is missing or not a 64-bit integer (integral doubles, true and false count as
 *                   integers). The optional column NAME_text has such ids as formatted by Python's str().
 *     times         int64 if the file has integers only, else float64
 *     rows          uint32: indices in "traceEvents" or "nodes" of the file, from 0
 *     names         dictionaries of the used strings in order of first use; UTF-8, with U+FFFD for lone surrogates
 *     args          int64 if all values are integers; float64 if all are numbers; bool; names if all are strings; null
 *                   if all are missing. Otherwise names with the JSON text of each value, and "encoding" "json" in the
 *                   metadata. Integers beyond 64 bits become JSON text, or the nearest double in a float64 column.
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

/* ---- The Arrow C data interface and the C stream interface, as defined by arrow.apache.org ---- */

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

#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE

typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CPU  1
#define ARROW_DEVICE_CUDA 2

struct ArrowDeviceArray {
    struct ArrowArray array;
    int64_t device_id;
    ArrowDeviceType device_type;
    void *sync_event;
    int64_t reserved[3];
};

#endif

#pragma GCC visibility push(default)

/* ---- Exported columns ---- */

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_columns_options {
    size_t size;
    const char *const *names; /* selected columns in this order, `n_names` elements; NULL: all except optional ones */
    size_t n_names;
    const char *const *args; /* members of "args" of events, or attributes of nodes: additional columns after `names`;
                                "args.NAME" if the name is already a column */
    size_t n_args;
};

/* Class of an event in linking; the values are also the dictionary indices of the column "kind". */
enum sutra_event_class {
    SUTRA_CLASS_OTHER,
    SUTRA_CLASS_CPU_OPERATOR,
    SUTRA_CLASS_LAUNCH,
    SUTRA_CLASS_GPU_OPERATOR, /* kernels and memcpys */
    SUTRA_CLASS_LAUNCH_FLOW,
    SUTRA_CLASS_MEMORY_SET,
    SUTRA_N_CLASSES
};

/* Exports the events of a device trace in file order:
 *
 *     ts, dur                          microseconds, as in the file
 *     name, category, phase            category: null if missing or empty; phase: one character
 *     kind                             enum sutra_event_class: "other", "cpu_operator", "launch", "gpu_operator",
 *                                      "launch_flow", "memory_set"
 *     pid, tid                         ids
 *     stream, device                   args "stream"; args "device" of events that have a stream
 *     correlation, external_id, rf_id  args "correlation", "External id" (null if -1) and "Record function id"
 *     pid_text, tid_text, stream_text, correlation_text, external_id_text, rf_id_text   optional: ids that are not
 *                                      integers
 *
 * Errors: SUTRA_USAGE: no such column; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_device_trace_arrow(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                           struct sutra_error *error);

/* Exports the nodes of a host trace in file order: id, name, parent (the field "parent" in schema 1.0.1, later
 * "ctrl_deps"), rf_id. Errors as above. */
enum sutra_status sutra_host_trace_arrow(struct sutra_context *context, const struct sutra_host_trace *trace,
                                         const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                         struct sutra_error *error);

/* Exports the nodes of ET+ in file order:
 *
 *     id, name                 id in ET+
 *     gpu                      whether the node is a GPU operator
 *     host_id, host_row        host node from which the node, or its operator, was created
 *     event                    row of its event in the device trace; null: unlinked
 *     ctrl_deps                id of the parent
 *     inter_thread_dep         id of the node on another thread that it depends on
 *     sync_dep                 list of ids of GPU nodes that it depends on
 *     ts, inclusive_dur, exclusive_dur   microseconds
 *     category, stream         only GPU operators
 *
 * Columns from args are not available. The linked traces must still exist. Errors as above. */
enum sutra_status sutra_linked_arrow(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* Exports a call tree by position:
 *
 *     event                    row of the event in the file
 *     name, kind               "operator", "backend", "allocation", "out_of_memory", "python_call", "python_c_call",
 *                              "kineto"
 *     parent, depth            position of the parent; number of ancestors
 *     start_ns, end_ns, host_ns, host_self_ns, device_ns, device_self_ns   nanoseconds
 *     thread                   thread number in order of first occurrence
 *
 * Columns from args are not available. The profile must still exist. Errors as above. */
enum sutra_status sutra_tree_arrow(struct sutra_context *context, const struct sutra_tree *tree,
                                   const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                   struct sutra_error *error);

/* Exports the pairs of correlations: kind ("fwdbwd", "launch", "operator"), from_event and to_event (rows in the file),
 * flow_id (only fwdbwd). Columns from args are not available. The profile must still exist. Errors as above. */
enum sutra_status sutra_correlation_arrow(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                          struct sutra_error *error);

/* Exports the edges of a critical path's graph, by start node:
 *
 *     from_event, from_end, to_event, to_end   rows in the file; true: end of the event, false: its start
 *     weight                                   microseconds
 *     kind                                     "operator", "dependency", "launch_delay", "kernel_delay", "sync"
 *     critical                                 whether the edge is on the path
 *
 * Columns from args are not available. The trace must still exist. Errors as above. */
enum sutra_status sutra_critical_path_arrow(struct sutra_context *context, const struct sutra_critical_path *path,
                                            const struct sutra_columns_options *options,
                                            struct ArrowArrayStream *stream, struct sutra_error *error);

/* Exports results of sutra_dlrm_analyze(); see struct sutra_dlrm_report. Times are in microseconds. */
enum sutra_dlrm_columns {
    SUTRA_DLRM_STREAMS,            /* stream, active_us, idle_us */
    SUTRA_DLRM_ROWS,               /* stream (only top-level rows), name, shape, count, n_occurrences, us, first_us,
                                      first_child (index among these rows), n_children */
    SUTRA_DLRM_OVERHEADS,          /* kind ("T1" ... "T5"), name, n, mean_us, std_us */
    SUTRA_DLRM_OVERHEADS_BY_SHAPE, /* the same, and shapes */
    SUTRA_DLRM_N_COLUMNS
};
enum sutra_status sutra_dlrm_arrow(const struct sutra_dlrm *dlrm, enum sutra_dlrm_columns which,
                                   struct ArrowArrayStream *stream, struct sutra_error *error);

/* Exports results of sutra_simulate(): one column per member of a struct of sutra/simulate.h, with its name. Times are
 * in nanoseconds if the name ends in _ns, else in microseconds; infinite values are null. */
enum sutra_simulated_columns {
    SUTRA_SIMULATED_RANKS,       /* struct sutra_simulated_rank */
    SUTRA_SIMULATED_WAITS,       /* struct sutra_simulated_wait; "ns" is in nanoseconds */
    SUTRA_SIMULATED_COLLECTIVES, /* struct sutra_simulated_collective */
    SUTRA_SIMULATED_LINKS,       /* struct sutra_network_link; is_fitted is 1 or 0 */
    SUTRA_SIMULATED_PATH,        /* struct sutra_simulated_step; work: "cpu", "computation", "communication" */
    SUTRA_SIMULATED_NAMES,       /* struct sutra_simulated_name, without free_ns */
    SUTRA_SIMULATED_DEADLOCKED,  /* struct sutra_deadlocked_node; why: "depends", "meets", "behind", "held" */
    SUTRA_SIMULATED_N_COLUMNS
};
enum sutra_status sutra_simulation_arrow(const struct sutra_simulation *simulation, enum sutra_simulated_columns which,
                                         struct ArrowArrayStream *stream, struct sutra_error *error);

/* Exports the ranks of a merged timeline: the members of struct sutra_merged_rank. */
enum sutra_status sutra_merged_arrow(const struct sutra_merged *merged, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* Exports the repairs: offset (in bytes), kind (sutra_repair_kind_name()). */
enum sutra_status sutra_repair_arrow(const struct sutra_repair *repair, struct ArrowArrayStream *stream,
                                     struct sutra_error *error);

/* Exports a table. Text is UTF-8; real numbers that are not available are null. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_table_arrow(const struct sutra_table *table, struct ArrowArrayStream *stream,
                                    struct sutra_error *error);

/*
 * ---- Columns in the memory of a CUDA device, for programs that analyze them there: Arrow C device interface ----
 *
 *     stream of one batch --> struct sutra_device_columns --> struct ArrowDeviceArray, any number of times, no copies
 */

struct sutra_device_columns;

/* Copies a batch to CUDA device `device_number` of the context's options, also if the context computes on the CPU, and
 * waits for the end. Copies all buffers, including dictionaries, children and bits of valid rows, into one allocation.
 * Takes the stream, which one of the functions above filled, and releases it, also on failure. The caller frees
 * *columns with sutra_device_columns_free(); they do not use the context afterwards. Cost: O(bytes). Errors:
 * SUTRA_UNAVAILABLE: no such device; SUTRA_SYSTEM: out of memory on the device or the host, or CUDA failed. */
enum sutra_status sutra_device_columns_create(struct sutra_context *context, struct ArrowArrayStream *stream,
                                              struct sutra_device_columns **columns, struct sutra_error *error);

/* Exports the columns without a copy: device_type is ARROW_DEVICE_CUDA, and sync_event is NULL, since all copies have
 * ended. `schema` may be NULL. The consumer releases both; the memory is freed with the last array and `columns`. Safe
 * to call from any thread. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_device_columns_arrow(struct sutra_device_columns *columns, struct ArrowDeviceArray *array,
                                             struct ArrowSchema *schema, struct sutra_error *error);

/* Releases the caller's columns; NULL is allowed. */
void sutra_device_columns_free(struct sutra_device_columns *columns);

/* Writes columns to a file in Arrow's IPC format (Feather version 2), which pyarrow, polars, DuckDB and pandas open.
 * Takes the stream, which one of the functions above filled, and releases it, also on failure. "-" is standard output;
 * the file is compressed as a whole if the name ends in .gz or .zst. *n_rows, *n_bytes (may be NULL): rows and
 * uncompressed bytes. Errors: SUTRA_NO_OUTPUT: cannot be created; SUTRA_IO: writing failed, and no file remains;
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_columns_write(struct sutra_context *context, struct ArrowArrayStream *stream, const char *path,
                                      uint64_t *n_rows, uint64_t *n_bytes, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
