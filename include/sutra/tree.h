/*
 * tree.h - what PyTorch's profiler makes of its events: the call tree, ids of tensors, pairs of forward and backward
 * operators. Done offline, on columns.
 *
 *     device trace (host trace) --\                        /--> sutra_tree_build() --> sutra_tree_write()
 *                                  --> struct sutra_profile
 *     list of profiler events ----/                        \--> sutra_correlation_find() --> sutra_correlation_write()
 *
 * Each step is also there by itself, as a function of plain arrays: sutra_inputs_...(), sutra_autograd_plumb(),
 * sutra_reassociate(), sutra_kineto_parents(), sutra_event_parents(), sutra_tensor_groups(), sutra_forward_backward().
 * Arrays are the caller's. Rows count from 0; SUTRA_ROW_NONE is no row. Times are nanoseconds, below 2^62 in magnitude;
 * at most 4,294,967,294 rows. The rules are those of torch/csrc/profiler/collection.cpp and, for pairs of forward and
 * backward, of profiler_kineto.cpp; SUTRA_EDITION_1_13 stands for how these were up to PyTorch 1.13.
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
#define SUTRA_NO_END   INT64_MIN /* an end that was not recorded */

enum sutra_edition { SUTRA_EDITION_2, SUTRA_EDITION_1_13 };

/* ---- Inputs of operators, encoded flat (collection.cpp: InputOutputEncoder) ---- */

struct sutra_inputs;

enum sutra_input_tag {
    SUTRA_INPUT_TENSOR,
    SUTRA_INPUT_UNDEFINED, /* a tensor that is undefined, or nested */
    SUTRA_INPUT_LIST,      /* a list of tensors begins */
    SUTRA_INPUT_SCALAR,
    SUTRA_INPUT_OTHER,
    SUTRA_INPUT_END, /* a list or an operator ends */
};

enum sutra_layout { SUTRA_LAYOUT_STRIDED, SUTRA_LAYOUT_OTHER };

struct sutra_tensor {
    uint64_t impl, storage; /* addresses, or ids; 0: none */
    int32_t device_type, device_index;
    const char *dtype;     /* its name, such as "float"; NULL stands for "" */
    uint32_t dtype_number; /* set when read: equal numbers, equal names */
    uint32_t dim;          /* how many sizes there are */
    uint8_t layout;        /* enum sutra_layout: strided tensors have strides */
    bool nested;           /* encoded as undefined */
};

/* An encoder. *inputs is the caller's, to be freed with sutra_inputs_free(). SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_inputs_create(enum sutra_edition edition, struct sutra_inputs **inputs,
                                      struct sutra_error *error);
void sutra_inputs_free(struct sutra_inputs *inputs);

/* Appends a value of the operator at hand. sutra_inputs_add() takes the tags that carry nothing: UNDEFINED, LIST, OTHER
 * and END. Every list and every operator ends with END. With SUTRA_EDITION_1_13 members of lists are left out. `sizes`
 * and `strides` have tensor->dim numbers; strides of other layouts are not looked at.
 * SUTRA_USAGE: a list inside of a list. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_inputs_add(struct sutra_inputs *inputs, enum sutra_input_tag tag, struct sutra_error *error);
enum sutra_status sutra_inputs_add_tensor(struct sutra_inputs *inputs, const struct sutra_tensor *tensor,
                                          const int64_t *sizes, const int64_t *strides, struct sutra_error *error);
enum sutra_status sutra_inputs_add_scalar(struct sutra_inputs *inputs, const char *text, size_t length,
                                          struct sutra_error *error);

/* A value as it is read. Pointers live until something is added. */
struct sutra_input {
    bool in_list;               /* a member of the list before it */
    const char *dtype;          /* the tensor's, "TensorList", "Scalar", or "" for undefined and others */
    struct sutra_tensor tensor; /* where the tag is TENSOR */
    uint64_t tensor_row;        /* how many tensors were encoded before it */
    const int64_t *sizes, *strides;
    uint32_t n_sizes, n_strides;
    const char *scalar; /* where the tag is SCALAR */
};

/* A position among the values; its members are the library's. */
struct sutra_inputs_reader {
    const struct sutra_inputs *inputs;
    uint64_t tag, tensor, size, scalar;
    bool in_list;
};
struct sutra_inputs_reader sutra_inputs_read(const struct sutra_inputs *inputs);

/* The next value of the operator at hand; END where it ends, then comes the next operator. Behind the last operator,
 * and where an operator was not ended, there is nothing but END. The end of a list is told by in_list alone. */
enum sutra_input_tag sutra_inputs_next(struct sutra_inputs_reader *reader, struct sutra_input *input);

/* ---- Autograd's numbers (collection.cpp: materialize) ---- */

enum sutra_scope { SUTRA_SCOPE_FUNCTION = 0, SUTRA_SCOPE_BACKWARD = 1, SUTRA_SCOPE_USER = 7 };

/* Whether an operator of this name hands a node of the graph to autograd. */
bool sutra_autograd_evaluates(const char *name, size_t length);

/* Operators in recorded order, those of all threads mixed or not. Where one of scope FUNCTION with evaluates[] set is
 * followed by one of scope BACKWARD on its thread, it takes that one's sequence number and forward tid. thread[] is
 * below n_threads. O(n + n_threads). SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_autograd_plumb(uint64_t n, uint32_t n_threads, const uint32_t *thread, const uint8_t *scope,
                                       const uint8_t *evaluates, int64_t *sequence, int64_t *forward_tid,
                                       struct sutra_error *error);

/* ---- Activities and events (collection.cpp: TransferEvents) ---- */

struct sutra_reassociation {
    size_t size;         /* sizeof the struct, which the caller sets */
    uint64_t n_found;    /* events that found their activity */
    uint64_t n_kineto;   /* activities that become Kineto events */
    uint64_t n_lost;     /* activities of the profiler without an index: left out */
    uint64_t n_repeated; /* activities with an index that an earlier one has: left out */
    uint64_t n_beyond;   /* activities with an index beyond the events: left out */
};

/* event[i] = the event that activity i belongs to, by index[i] (below 0: none): a row below n_events, a row from
 * n_events on for a new Kineto event (in the order of activities), or SUTRA_ROW_NONE if it is left out. of_profiler[i]:
 * 1 for CPU operators, CPU instant events, user annotations and Python functions. O(n). SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_reassociate(uint64_t n_events, uint64_t n, const int64_t *index, const uint8_t *of_profiler,
                                    uint32_t *event, struct sutra_reassociation *report, struct sutra_error *error);

enum sutra_flow_role { SUTRA_FLOW_NONE, SUTRA_FLOW_START, SUTRA_FLOW_END };

struct sutra_kineto_columns {
    uint64_t n;
    const uint8_t *is_kineto; /* 0: an event of the profiler, which is only looked at as a parent */
    const uint8_t *flow_role; /* enum sutra_flow_role, in flows from CPU to GPU */
    const int64_t *flow_id;
    const uint32_t *linked; /* row of the linked event, or SUTRA_ROW_NONE */
    bool rocm;              /* a second start of a flow is passed over, not an error */
};

struct sutra_kineto_report {
    size_t size;                   /* sizeof the struct, which the caller sets */
    uint64_t n_by_flow, n_by_link; /* Kineto events that got their parent so */
    uint64_t n_ends_alone;         /* ends of flows without a start */
    uint64_t n_repeated;           /* second starts of a flow: passed over */
    uint64_t n_in_cycles;          /* links that led back to themselves: passed over */
};

/* parent[i] = the row above a Kineto event: where its flow starts, else the linked event; SUTRA_ROW_NONE for all
 * others. tid[] holds the events' tids; each Kineto event with a parent takes the tid of that. O(n), in expectation.
 * SUTRA_DATA: a second start of a flow. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_kineto_parents(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                       struct sutra_kineto_report *report, struct sutra_error *error);

/* ---- The tree (collection.cpp: build_tree) ---- */

struct sutra_event_columns {
    uint64_t n;
    const int64_t *start_ns, *end_ns; /* end: or SUTRA_NO_END */
    const int64_t *tid;
    const int64_t *forward_tid; /* 0: none; NULL: none has one */
    const uint8_t *placed;      /* 1: has its parent already and takes no part; NULL: none has */
};

/* Events in any order; equal starts count in the order of rows. parent[i] = the row above, or SUTRA_ROW_NONE;
 * closing_ns[i] = when the event is finished at the latest: INT64_MAX if never. Both are left alone where placed[i].
 * O(n log n). SUTRA_DATA: a time beyond 2^62. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error);

/* ---- Unique tensor ids (collection.cpp: calculate_unique_tensor_ids) ---- */

enum sutra_storage_use { SUTRA_STORAGE_INPUT, SUTRA_STORAGE_ALLOCATED, SUTRA_STORAGE_FREED };

struct sutra_storage_columns {
    uint64_t n;                       /* uses of storages, in order of time */
    const uint64_t *tensor, *storage; /* addresses; tensor: of inputs */
    const uint32_t *device;           /* a number for each device; NULL: addresses alone tell storages apart */
    const uint8_t *use;               /* enum sutra_storage_use */
};

/* number[i] = the storage's number (the allocation id), in the order of first sight, new after it was freed; group[i] =
 * the tensor id, or SUTRA_ROW_NONE for memory that is no input's storage. O(n), in expectation.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_tensor_groups(struct sutra_context *context, const struct sutra_storage_columns *uses,
                                      uint32_t *number, uint32_t *group, struct sutra_error *error);

/* ---- Forward and backward (profiler_kineto.cpp: generateForwardBackwardLink) ---- */

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
    size_t size;            /* sizeof the struct, which the caller sets */
    uint64_t n_overwritten; /* pairs whose forward operator got another backward operator (1.13) */
    uint64_t n_unmatched;   /* backward operators without a forward operator */
    uint64_t n_wrapped;     /* sequence numbers of more than 48 bits: the low 48 counted */
};

/* pairs[0..*n_pairs), with room for n, by rising flow id. Up to PyTorch 1.13 operators count in recorded order and a
 * later backward operator takes a forward operator over, though numbers were given to all. Later editions take
 * operators by their end, and the first backward operator keeps the forward operator. O(n log n). SUTRA_DATA: a tid or
 * forward tid above 65535 or below 0 on an operator with a sequence number. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_forward_backward(struct sutra_context *context, const struct sutra_sequence_columns *operators,
                                         enum sutra_edition edition, struct sutra_flow_pair *pairs, uint64_t *n_pairs,
                                         struct sutra_pair_report *report, struct sutra_error *error);

/* ---- Profiles: the events of a trace, or as PyTorch recorded them ---- */

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

/* How small thread numbers of autograd were matched with the threads of a trace. */
enum sutra_thread_source {
    SUTRA_THREADS_GIVEN,     /* they were not needed, or are the tids themselves */
    SUTRA_THREADS_HOST,      /* by the host trace */
    SUTRA_THREADS_FLOWS,     /* by the trace's own forward/backward flows */
    SUTRA_THREADS_SEQUENCES, /* by sequence numbers and names of forward and backward operators */
};

struct sutra_profile_options {
    size_t size;
    bool rocm;   /* of several starts of a flow the first counts; else the last one before its end */
    bool inputs; /* take types and shapes of inputs from the trace where there is no host trace */
};

/* Takes the events of an exported trace, which must outlive the profile, as must the host trace (may be NULL).
 * Operators, annotations, Python functions and memory events are the profiler's; calls of the runtime and the driver,
 * kernels, copies, sets and synchronisation are Kineto's; `ac2g` flows, and where a trace has none for an event its
 * correlation, lead from launch to kernel; "External id" gives the linked event where it is not just the correlation.
 * SUTRA_DATA: a second start of a flow, a thread number above 65535, a time that is too large. SUTRA_SYSTEM: out of
 * memory. What is left out or mended is told as a warning with its count. */
enum sutra_status sutra_profile_take(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_host_trace *host, const struct sutra_profile_options *options,
                                     struct sutra_profile **profile, struct sutra_error *error);

/* Reads a JSON file with an array "events" of profiler events: kind, name, start_ns, end_ns, tid, and as the kind wants
 * forward_tid, sequence_number, scope, correlation_id, inputs (null, {"impl", "storage", "dtype", "sizes", "strides",
 * "layout", "device"}, {"list"}, {"scalar"}), ptr, bytes, device. Errors as sutra_device_trace_read() has them. */
enum sutra_status sutra_profile_read(struct sutra_context *context, const char *path, struct sutra_profile **profile,
                                     struct sutra_error *error);
enum sutra_status sutra_profile_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                      struct sutra_profile **profile, struct sutra_error *error);
void sutra_profile_free(struct sutra_profile *profile);

/* The columns of a profile in recorded order; they live as long as it does. */
struct sutra_profile_columns {
    size_t size; /* sizeof the struct, which the caller sets */
    uint64_t n;
    const uint8_t *kind;              /* enum sutra_event_kind */
    const int64_t *start_ns, *end_ns; /* end: or SUTRA_NO_END */
    const uint32_t *thread;           /* number of the thread, in the order of first sight */
    const uint32_t *forward_thread;   /* the same of the forward tid; SUTRA_ROW_NONE: none, or not in the trace */
    const int64_t *sequence;          /* below 0: none */
    const uint32_t *parent;           /* of Kineto events with a flow or link: the row above, else SUTRA_ROW_NONE */
    const uint32_t *event;            /* position in the trace's "traceEvents", or in "events" */
};
void sutra_profile_columns(const struct sutra_profile *profile, struct sutra_profile_columns *columns);
const char *sutra_profile_name(const struct sutra_profile *profile, uint64_t row);

struct sutra_profile_report {
    size_t size;                              /* sizeof the struct, which the caller sets */
    uint64_t n_events;                        /* of the profile */
    uint64_t n_operators, n_memory, n_python; /* of these */
    uint64_t n_kineto, n_launched, n_linked;  /* of these: all, by flow, by link */
    uint64_t n_other;                         /* events of the trace of other kinds: left out */
    uint64_t n_threads;
    enum sutra_thread_source threads;
};
void sutra_profile_report(const struct sutra_profile *profile, struct sutra_profile_report *report);

/* ---- The call tree of a profile ---- */

struct sutra_tree;

enum sutra_tree_format {
    SUTRA_TREE_JSON,   /* all of it */
    SUTRA_TREE_TEXT,   /* for people: an indented line for each event */
    SUTRA_TREE_CHROME, /* the trace itself, with flows to children on other threads and streams */
    SUTRA_TREE_EVENTS, /* {"parent": [...], "tensor_ids": [...]} in the order of the file's events */
};

struct sutra_tree_write_options {
    size_t size;
    uint64_t max_depth; /* text: levels that are shown, 0 for all */
    double min_us;      /* text: events that take less on host and device are left out with all below them */
    uint64_t max_lines; /* text: lines that are shown, 0 for all */
    uint32_t n_columns; /* text: of a terminal, into which names are shortened; 0: they are whole */
};

/* Builds the tree of a profile, which must outlive it. *tree is the caller's. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_tree_build(struct sutra_context *context, const struct sutra_profile *profile,
                                   enum sutra_edition edition, struct sutra_tree **tree, struct sutra_error *error);

/* Columns by position: events by rising start, ties as they were recorded. */
struct sutra_tree_columns {
    size_t size; /* sizeof the struct, which the caller sets */
    uint64_t n;
    const uint32_t *row;                    /* of the profile */
    const uint32_t *parent;                 /* position above, or SUTRA_ROW_NONE */
    const uint32_t *depth;                  /* 0 at the top */
    const uint32_t *child_begin, *children; /* those of i are children[child_begin[i]] .. [child_begin[i + 1] - 1] */
    const int64_t *end_ns; /* as the tree settles it: borrowed, or moved to the start; or SUTRA_NO_END */
    const int64_t *host_ns, *host_self_ns;     /* of events on the host: from start to end; less children there */
    const int64_t *device_ns, *device_self_ns; /* of GPU operators at or below; those without an operator in between */
    const uint32_t *tensor_id; /* of allocations; SUTRA_ROW_NONE: none; NULL: shapes or memory were not recorded */
    const uint32_t *allocation_id;
};
void sutra_tree_columns(const struct sutra_tree *tree, struct sutra_tree_columns *columns);

struct sutra_tree_report {
    size_t size;                           /* sizeof the struct, which the caller sets */
    uint64_t n_events, n_roots, n_adopted; /* adopted: below an event of another host thread */
    uint64_t max_depth;                    /* levels */
    uint64_t n_borrowed;                   /* ends that were missing and taken from the event above */
    uint64_t n_endless;                    /* events that never end */
    uint64_t n_reversed;                   /* ends before their start: moved there */
    uint64_t n_tensors;                    /* different tensor ids */
};
void sutra_tree_report(const struct sutra_tree *tree, struct sutra_tree_report *report);

/* Writes to a file as sutra_linked_write() does. `options` may be NULL. SUTRA_USAGE: SUTRA_TREE_CHROME of a profile
 * that was not taken from a trace. */
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
    SUTRA_CORRELATION_CHROME, /* the trace itself with flows, in place of those of the same kind that it has */
};

struct sutra_correlation_options {
    size_t size;
    enum sutra_edition edition;
    enum sutra_correlation_kind kind;
};

/* Finds the pairs of a profile, which must outlive them. *correlation is the caller's. Errors as those of
 * sutra_forward_backward(). */
enum sutra_status sutra_correlation_find(struct sutra_context *context, const struct sutra_profile *profile,
                                         const struct sutra_correlation_options *options,
                                         struct sutra_correlation **correlation, struct sutra_error *error);

struct sutra_correlation_report {
    size_t size;                                /* sizeof the struct, which the caller sets */
    uint64_t n_fwdbwd, n_launches, n_operators; /* pairs of each kind */
    const struct sutra_pair_report *pairs;      /* lives as long as the correlation */
};
void sutra_correlation_report(const struct sutra_correlation *correlation, struct sutra_correlation_report *report);

/* Writes to a file as sutra_linked_write() does. SUTRA_USAGE: SUTRA_CORRELATION_CHROME of a profile that was not taken
 * from a trace. */
enum sutra_status sutra_correlation_write(struct sutra_context *context, const struct sutra_correlation *correlation,
                                          enum sutra_correlation_format format, const char *path, uint64_t *n_bytes,
                                          struct sutra_error *error);
void sutra_correlation_free(struct sutra_correlation *correlation);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
