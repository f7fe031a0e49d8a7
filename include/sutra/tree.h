/*
 * tree.h - offline post-processing of PyTorch profiler events: call tree, tensor ids, pairs of forward and backward
 * operators.
 *
 *     device trace (host trace) --\                        /--> sutra_tree_build() --> sutra_tree_write()
 *                                  --> struct sutra_profile
 *     list of profiler events ----/                        \--> sutra_correlation_find() --> sutra_correlation_write()
 *
 * Each step is also available as a function on plain arrays: sutra_inputs_...(), sutra_autograd_plumb(),
 * sutra_reassociate(), sutra_kineto_parents(), sutra_event_parents(), sutra_tensor_groups(), sutra_forward_backward().
 * The caller owns these arrays. Rows count from 0; SUTRA_ROW_NONE means no row. Limits: times in nanoseconds below 2^62
 * in magnitude, 4,294,967,294 rows. The rules equal PyTorch's torch/csrc/profiler/collection.cpp and, for pairs of
 * forward and backward operators, profiler_kineto.cpp. SUTRA_TORCH_VERSION_1_13 selects the rules up to PyTorch 1.13.
 */
#ifndef SUTRA_TREE_H
#define SUTRA_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SUTRA_ROW_NONE UINT32_MAX
#define SUTRA_NO_END   INT64_MIN /* an unrecorded end */

enum sutra_torch_version { SUTRA_TORCH_VERSION_2, SUTRA_TORCH_VERSION_1_13 };

/* ---- Flat encoding of operator inputs (collection.cpp: InputOutputEncoder) ---- */

struct sutra_inputs;

enum sutra_input_tag {
    SUTRA_INPUT_TENSOR,
    SUTRA_INPUT_UNDEFINED, /* an undefined or nested tensor */
    SUTRA_INPUT_LIST,      /* start of a tensor list */
    SUTRA_INPUT_SCALAR,
    SUTRA_INPUT_OTHER,
    SUTRA_INPUT_END, /* end of a list or an operator */
};

enum sutra_layout { SUTRA_LAYOUT_STRIDED, SUTRA_LAYOUT_OTHER };

struct sutra_tensor {
    uint64_t impl, storage; /* addresses or ids; 0: none */
    int32_t device_type, device_index;
    const char *dtype;     /* such as "float"; NULL: "" */
    uint32_t dtype_number; /* set by the reader: equal numbers mean equal names */
    uint32_t dim;          /* number of sizes */
    uint8_t layout;        /* enum sutra_layout; only strided tensors have strides */
    bool nested;           /* encoded as undefined */
};

/* Creates an encoder. The caller frees *inputs with sutra_inputs_free(). Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_inputs_create(enum sutra_torch_version torch_version, struct sutra_inputs **inputs,
                                      struct sutra_error *error);
void sutra_inputs_free(struct sutra_inputs *inputs);

/* Appends an input of the current operator. sutra_inputs_add() accepts the tags without a value: UNDEFINED, LIST, OTHER
 * and END. Each list and each operator ends with END. SUTRA_TORCH_VERSION_1_13 skips members of lists. `sizes` and
 * `strides` have tensor->dim elements; `strides` is ignored unless the layout is strided. Errors: SUTRA_USAGE: nested
 * lists; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_inputs_add(struct sutra_inputs *inputs, enum sutra_input_tag tag, struct sutra_error *error);
enum sutra_status sutra_inputs_add_tensor(struct sutra_inputs *inputs, const struct sutra_tensor *tensor,
                                          const int64_t *sizes, const int64_t *strides, struct sutra_error *error);
enum sutra_status sutra_inputs_add_scalar(struct sutra_inputs *inputs, const char *text, size_t length,
                                          struct sutra_error *error);

/* A decoded input. Pointers are valid until the next sutra_inputs_add...() call. */
struct sutra_input {
    bool in_list;               /* member of the preceding list */
    const char *dtype;          /* of the tensor; or "TensorList", "Scalar"; "": undefined and others */
    struct sutra_tensor tensor; /* set if the tag is TENSOR */
    uint64_t tensor_row;        /* index among all encoded tensors */
    const int64_t *sizes, *strides;
    uint32_t n_sizes, n_strides;
    const char *scalar; /* set if the tag is SCALAR */
};

/* A read position in the encoded inputs. Its members are private. */
struct sutra_inputs_reader {
    const struct sutra_inputs *inputs;
    uint64_t tag, tensor, size, scalar;
    bool in_list;
};
struct sutra_inputs_reader sutra_inputs_read(const struct sutra_inputs *inputs);

/* Returns the next input of the current operator, or END at its end; the following call reads the next operator. After
 * the last operator, or within an unterminated one, every call returns END. Only in_list shows the end of a list. */
enum sutra_input_tag sutra_inputs_next(struct sutra_inputs_reader *reader, struct sutra_input *input);

/* ---- Sequence numbers of autograd (collection.cpp: materialize) ---- */

enum sutra_scope { SUTRA_SCOPE_FUNCTION = 0, SUTRA_SCOPE_BACKWARD = 1, SUTRA_SCOPE_USER = 7 };

/* Whether the name begins with "autograd::engine::evaluate_function: ": the operator runs a node of the backward
 * graph. */
bool sutra_autograd_evaluates(const char *name, size_t length);

/* Copies the sequence number and forward tid of a BACKWARD operator to the preceding operator of its thread, if this
 * operator has scope FUNCTION and evaluates[] set. Operators are in recorded order; threads may be interleaved.
 * thread[] is below n_threads. O(n + n_threads). Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_autograd_plumb(uint64_t n, uint32_t n_threads, const uint32_t *thread, const uint8_t *scope,
                                       const uint8_t *evaluates, int64_t *sequence, int64_t *forward_tid,
                                       struct sutra_error *error);

/* ---- Matching activities with events (collection.cpp: TransferEvents) ---- */

struct sutra_reassociation {
    size_t size;         /* sizeof the struct, set by the caller */
    uint64_t n_found;    /* events matched with an activity */
    uint64_t n_kineto;   /* activities that become Kineto events */
    uint64_t n_lost;     /* skipped: profiler activities without an index */
    uint64_t n_repeated; /* skipped: activities with the index of an earlier one */
    uint64_t n_beyond;   /* skipped: activities with an index beyond the events */
};

/* Matches activities with events by index[i] (below 0: none). event[i] is a row below n_events, or the row of a new
 * Kineto event, counted from n_events in the order of activities, or SUTRA_ROW_NONE if activity i is skipped.
 * of_profiler[i] is 1 for CPU operators, CPU instant events, user annotations and Python functions. O(n). Errors:
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_reassociate(uint64_t n_events, uint64_t n, const int64_t *index, const uint8_t *of_profiler,
                                    uint32_t *event, struct sutra_reassociation *report, struct sutra_error *error);

enum sutra_flow_role { SUTRA_FLOW_NONE, SUTRA_FLOW_START, SUTRA_FLOW_END };

struct sutra_kineto_columns {
    uint64_t n;
    const uint8_t *is_kineto; /* 0: a profiler event, used only as a parent */
    const uint8_t *flow_role; /* enum sutra_flow_role, for flows from CPU to GPU */
    const int64_t *flow_id;
    const uint32_t *linked; /* row of the linked event, or SUTRA_ROW_NONE */
    bool rocm;              /* skip a second start of a flow instead of failing */
};

struct sutra_kineto_report {
    size_t size;                   /* sizeof the struct, set by the caller */
    uint64_t n_by_flow, n_by_link; /* Kineto events whose parent comes from a flow or a link */
    uint64_t n_ends_alone;         /* ends of flows without a start */
    uint64_t n_repeated;           /* skipped: second starts of a flow */
    uint64_t n_in_cycles;          /* skipped: links that close a cycle */
};

/* Finds the parent of each Kineto event: the start of its flow, else the linked event. parent[i] is SUTRA_ROW_NONE for
 * all other events. Copies the parent's tid to tid[] of the Kineto event. Expected O(n). Errors: SUTRA_DATA: a flow
 * starts twice; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_kineto_parents(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                       struct sutra_kineto_report *report, struct sutra_error *error);

/* ---- Call tree (collection.cpp: build_tree) ---- */

struct sutra_event_columns {
    uint64_t n;
    const int64_t *start_ns, *end_ns; /* end: or SUTRA_NO_END */
    const int64_t *tid;
    const int64_t *forward_tid; /* 0: none; NULL: all none */
    const uint8_t *placed;      /* 1: has a parent already and is ignored; NULL: all 0 */
};

/* Finds the parent of each event. Events may be in any order; equal starts are ordered by row. parent[i] is a row or
 * SUTRA_ROW_NONE. closing_ns[i] is the latest time at which the event is finished; INT64_MAX: never. Elements with
 * placed[i] are unchanged. O(n log n). Errors: SUTRA_DATA: a time beyond 2^62; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error);

/* ---- Unique tensor ids (collection.cpp: calculate_unique_tensor_ids) ---- */

enum sutra_storage_use { SUTRA_STORAGE_INPUT, SUTRA_STORAGE_ALLOCATED, SUTRA_STORAGE_FREED };

struct sutra_storage_columns {
    uint64_t n;                       /* uses of storages, in order of time */
    const uint64_t *tensor, *storage; /* addresses; tensor: only for inputs */
    const uint32_t *device;           /* device number; NULL: compare storages by address alone */
    const uint8_t *use;               /* enum sutra_storage_use */
};

/* Assigns number[i], the allocation id of the storage in order of first use, with a new id after each free; and
 * group[i], the tensor id, or SUTRA_ROW_NONE for memory that is not the storage of an input. Expected O(n). Errors:
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_tensor_groups(struct sutra_context *context, const struct sutra_storage_columns *uses,
                                      uint32_t *number, uint32_t *group, struct sutra_error *error);

/* ---- Pairs of forward and backward operators (profiler_kineto.cpp: generateForwardBackwardLink) ---- */

struct sutra_sequence_columns {
    uint64_t n; /* operators in recorded order */
    const int64_t *tid, *forward_tid, *sequence;
    const int64_t *start_ns, *end_ns; /* end: or SUTRA_NO_END */
};

struct sutra_flow_pair {
    uint32_t forward, backward; /* rows */
    uint64_t flow_id;           /* from 1 */
};

struct sutra_pair_report {
    size_t size;            /* sizeof the struct, set by the caller */
    uint64_t n_overwritten; /* forward operators matched again by a later backward operator (1.13) */
    uint64_t n_unmatched;   /* backward operators without a forward operator */
    uint64_t n_wrapped;     /* sequence numbers above 48 bits; the low 48 bits are used */
};

/* Pairs forward with backward operators. Fills pairs[0..*n_pairs) in ascending order of flow id; the caller allocates n
 * elements. Up to PyTorch 1.13, operators are processed in recorded order; a later backward operator replaces an
 * earlier one, whose flow id stays unused. Later versions process operators by end time, and the first backward
 * operator is kept. O(n log n). Errors: SUTRA_DATA: a tid or forward tid outside 0..65535 on an operator with a
 * sequence number; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_forward_backward(struct sutra_context *context, const struct sutra_sequence_columns *operators,
                                         enum sutra_torch_version torch_version, struct sutra_flow_pair *pairs,
                                         uint64_t *n_pairs, struct sutra_pair_report *report,
                                         struct sutra_error *error);

/* ---- Profiles: the events of a trace, or as recorded by PyTorch ---- */

struct sutra_profile;

enum sutra_event_kind {
    SUTRA_EVENT_OPERATOR,
    SUTRA_EVENT_BACKEND,
    SUTRA_EVENT_ALLOCATION,
    SUTRA_EVENT_OUT_OF_MEMORY,
    SUTRA_EVENT_PYTHON_CALL,
    SUTRA_EVENT_PYTHON_C_CALL,
    SUTRA_EVENT_KINETO,
};

/* How autograd's small thread numbers were matched with the threads of a trace. */
enum sutra_thread_source {
    SUTRA_THREADS_GIVEN,     /* no match needed, or the numbers are tids */
    SUTRA_THREADS_HOST,      /* by the host trace */
    SUTRA_THREADS_FLOWS,     /* by forward/backward flows in the trace */
    SUTRA_THREADS_SEQUENCES, /* by sequence numbers and names of forward and backward operators */
};

struct sutra_profile_options {
    size_t size;
    bool rocm;   /* a flow that starts twice: use the first start, else the last start before its end */
    bool inputs; /* without a host trace, read types and shapes of inputs from the device trace */
};

/* Creates a profile from an exported trace. The trace and the host trace (may be NULL) must outlive *profile, which the
 * caller frees. Operators, annotations, Python functions and memory events are profiler events. Runtime and driver
 * calls, kernels, memcpys, memsets and synchronization are Kineto events. `ac2g` flows lead from launch to kernel; for
 * events without a flow, the correlation does. "External id" is the linked event unless it equals the correlation.
 * Warns about skipped and corrected events, with their number. Errors: SUTRA_DATA: a flow starts twice, a thread number
 * exceeds 65535, or a time is too large; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_profile_from_trace(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_host_trace *host,
                                           const struct sutra_profile_options *options, struct sutra_profile **profile,
                                           struct sutra_error *error);

/* Reads a JSON file with an array "events" of profiler events. Fields: kind, name, start_ns, end_ns, tid; depending on
 * the kind also forward_tid, sequence_number, scope, correlation_id, inputs (null, {"impl", "storage", "dtype",
 * "sizes", "strides", "layout", "device"}, {"list"}, {"scalar"}), ptr, bytes, device. The caller frees *profile. Errors
 * as for sutra_device_trace_read(). */
enum sutra_status sutra_profile_read(struct sutra_context *context, const char *path, struct sutra_profile **profile,
                                     struct sutra_error *error);
enum sutra_status sutra_profile_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                      struct sutra_profile **profile, struct sutra_error *error);
void sutra_profile_free(struct sutra_profile *profile);

/* The columns of a profile in recorded order; they live as long as the profile. */
struct sutra_profile_columns {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n;
    const uint8_t *kind;              /* enum sutra_event_kind */
    const int64_t *start_ns, *end_ns; /* end: or SUTRA_NO_END */
    const uint32_t *thread;           /* thread number in order of first occurrence */
    const uint32_t *forward_thread;   /* thread number of the forward tid; SUTRA_ROW_NONE: none, or not in the trace */
    const int64_t *sequence;          /* below 0: none */
    const uint32_t *parent;           /* parent row of Kineto events with a flow or link, else SUTRA_ROW_NONE */
    const uint32_t *event;            /* index in "traceEvents" or "events" of the file */
};
void sutra_profile_columns(const struct sutra_profile *profile, struct sutra_profile_columns *columns);
const char *sutra_profile_name(const struct sutra_profile *profile, uint64_t row);

struct sutra_profile_report {
    size_t size;                              /* sizeof the struct, set by the caller */
    uint64_t n_events;                        /* all events of the profile */
    uint64_t n_operators, n_memory, n_python; /* events of these kinds */
    uint64_t n_kineto, n_launched, n_linked;  /* Kineto events: all, with a flow, with a link */
    uint64_t n_other;                         /* skipped: events of other kinds */
    uint64_t n_threads;
    enum sutra_thread_source threads;
};
void sutra_profile_report(const struct sutra_profile *profile, struct sutra_profile_report *report);

/* ---- Call tree of a profile ---- */

struct sutra_tree;

enum sutra_tree_format {
    SUTRA_TREE_JSON,   /* all columns */
    SUTRA_TREE_TEXT,   /* human-readable: one indented line per event */
    SUTRA_TREE_CHROME, /* the trace with flows to children on other threads and streams */
    SUTRA_TREE_EVENTS, /* {"parent": [...], "tensor_ids": [...]} in the order of the file's events */
};

struct sutra_tree_write_options {
    size_t size;
    uint64_t max_depth; /* text: number of levels; 0: all */
    double min_us;      /* text: omit events shorter on both CPU and GPU, with their subtrees */
    uint64_t max_lines; /* text: number of lines; 0: all */
    uint32_t n_columns; /* text: terminal width to which names are shortened; 0: unlimited */
};

/* Builds the call tree. The profile must outlive *tree, which the caller frees. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_tree_build(struct sutra_context *context, const struct sutra_profile *profile,
                                   enum sutra_torch_version torch_version, struct sutra_tree **tree,
                                   struct sutra_error *error);

/* Columns by position. Events are in ascending order of start; equal starts are in recorded order. */
struct sutra_tree_columns {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n;
    const uint32_t *row;                       /* row of the profile */
    const uint32_t *parent;                    /* position of the parent, or SUTRA_ROW_NONE */
    const uint32_t *depth;                     /* 0: root */
    const uint32_t *child_begin, *children;    /* children of i: children[child_begin[i]] .. [child_begin[i + 1] - 1] */
    const int64_t *end_ns;                     /* final end: recorded, inherited from the parent, or moved to the start;
                                                  or SUTRA_NO_END */
    const int64_t *host_ns, *host_self_ns;     /* CPU events: duration; the same without children on the thread */
    const int64_t *device_ns, *device_self_ns; /* total duration of GPU operators in the subtree; only those whose
                                                  nearest operator is this event */
    const uint32_t *tensor_id;                 /* of allocations; SUTRA_ROW_NONE: none; NULL: the trace lacks shapes or
                                                  memory events */
    const uint32_t *allocation_id;
};
void sutra_tree_columns(const struct sutra_tree *tree, struct sutra_tree_columns *columns);

struct sutra_tree_report {
    size_t size;                           /* sizeof the struct, set by the caller */
    uint64_t n_events, n_roots, n_adopted; /* adopted: the parent is on another CPU thread */
    uint64_t max_depth;                    /* number of levels */
    uint64_t n_borrowed;                   /* missing ends, replaced by the parent's end */
    uint64_t n_endless;                    /* events without an end */
    uint64_t n_reversed;                   /* ends before the start, moved to the start */
    uint64_t n_tensors;                    /* distinct tensor ids */
};
void sutra_tree_report(const struct sutra_tree *tree, struct sutra_tree_report *report);

/* Writes to a file as sutra_linked_write() does. `options` may be NULL. Errors: also SUTRA_USAGE: SUTRA_TREE_CHROME for
 * a profile that was not created from a trace. */
enum sutra_status sutra_tree_write(struct sutra_context *context, const struct sutra_tree *tree,
                                   enum sutra_tree_format format, const struct sutra_tree_write_options *options,
                                   const char *path, uint64_t *n_bytes, struct sutra_error *error);
void sutra_tree_free(struct sutra_tree *tree);

/* ---- Correlations of a profile ---- */

struct sutra_correlation;

enum sutra_correlation_kind {
    SUTRA_CORRELATION_FWDBWD, /* forward and backward operators */
    SUTRA_CORRELATION_AC2G,   /* launches and kernels, operators and kernels */
    SUTRA_CORRELATION_ALL,
};

enum sutra_correlation_format {
    SUTRA_CORRELATION_JSON,
    SUTRA_CORRELATION_CSV,
    SUTRA_CORRELATION_CHROME, /* the trace, with its flows of the same kind replaced */
};

struct sutra_correlation_options {
    size_t size;
    enum sutra_torch_version torch_version;
    enum sutra_correlation_kind kind;
};

/* Finds the pairs of a profile. The profile must outlive *correlation, which the caller frees. Errors as for
 * sutra_forward_backward(). */
enum sutra_status sutra_correlation_find(struct sutra_context *context, const struct sutra_profile *profile,
                                         const struct sutra_correlation_options *options,
                                         struct sutra_correlation **correlation, struct sutra_error *error);

struct sutra_correlation_report {
    size_t size;                                /* sizeof the struct, set by the caller */
    uint64_t n_fwdbwd, n_launches, n_operators; /* pairs of each kind */
    const struct sutra_pair_report *pairs;      /* lives as long as the correlation */
};
void sutra_correlation_report(const struct sutra_correlation *correlation, struct sutra_correlation_report *report);

/* Writes to a file as sutra_linked_write() does. Errors: also SUTRA_USAGE: SUTRA_CORRELATION_CHROME for a profile that
 * was not created from a trace. */
enum sutra_status sutra_correlation_write(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          enum sutra_correlation_format format, const char *path, uint64_t *n_bytes,
                                          struct sutra_error *error);
void sutra_correlation_free(struct sutra_correlation *correlation);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
