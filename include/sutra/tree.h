/*
 * tree.h - offline post-processing of PyTorch profiler events: call tree, tensor ids, pairs of forward and backward
 * operators.
 *
 *     device trace (host trace) --\                        /--> sutra_tree_build() --> sutra_tree_write()
 *                                  --> struct sutra_profile
 *     list of profiler events ----/                        \--> sutra_correlation_find() --> sutra_correlation_write()
 *
 * Rows count from 0; SUTRA_ROW_NONE means no row. Limits: times in nanoseconds below 2^62 in magnitude, 4,294,967,294
 * rows. The rules equal PyTorch's torch/csrc/profiler/collection.cpp and, for pairs of forward and backward operators,
 * profiler_kineto.cpp. SUTRA_TORCH_VERSION_1_13 selects the rules up to PyTorch 1.13. The same steps on plain arrays
 * are in sutra/profiler.h.
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

struct sutra_pair_report {
    size_t size;            /* sizeof the struct, set by the caller */
    uint64_t n_overwritten; /* forward operators matched again by a later backward operator (1.13) */
    uint64_t n_unmatched;   /* backward operators without a forward operator */
    uint64_t n_wrapped;     /* sequence numbers above 48 bits; the low 48 bits are used */
};

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
