/*
 * profiler.h - building blocks of PyTorch's profiler: each step of sutra/tree.h as a function on plain arrays.
 *
 * Most programs need sutra_tree_build() and sutra_correlation_find() only. These functions serve programs that have
 * their own events: sutra_inputs_...(), sutra_autograd_plumb(), sutra_reassociate(), sutra_kineto_parents(),
 * sutra_event_parents(), sutra_tensor_groups(), sutra_forward_backward(). The caller owns all arrays. Rows count from
 * 0; SUTRA_ROW_NONE means no row. The limits and versions are those of sutra/tree.h.
 */
#ifndef SUTRA_PROFILER_H
#define SUTRA_PROFILER_H

#include "sutra/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

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

/* Pairs forward with backward operators. Fills pairs[0..*n_pairs) in ascending order of flow id; the caller allocates n
 * elements. Up to PyTorch 1.13, operators are processed in recorded order; a later backward operator replaces an
 * earlier one, whose flow id stays unused. Later versions process operators by end time, and the first backward
 * operator is kept. O(n log n). Errors: SUTRA_DATA: a tid or forward tid outside 0..65535 on an operator with a
 * sequence number; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_forward_backward(struct sutra_context *context, const struct sutra_sequence_columns *operators,
                                         enum sutra_torch_version torch_version, struct sutra_flow_pair *pairs,
                                         uint64_t *n_pairs, struct sutra_pair_report *report,
                                         struct sutra_error *error);

/* ---- Columns of profiles and call trees ---- */

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

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
