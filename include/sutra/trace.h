/*
 * trace.h - read the two traces of a rank: the host trace (PyTorch's execution trace, "ET") and the device trace
 * (Kineto's timeline).
 *
 * Files may be plain, gzip or zstd, detected by their first bytes. Reading validates the complete JSON. Afterwards a
 * trace is immutable, except for sutra_device_trace_restrict().
 */
#ifndef SUTRA_TRACE_H
#define SUTRA_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/context.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_host_trace;
struct sutra_device_trace;

enum sutra_trace_kind { SUTRA_TRACE_HOST, SUTRA_TRACE_DEVICE };

/* Source of a trace's rank: "rank" in "distributedInfo", else the number after the last "rank" in the file name, else
 * the index in the list of traces. */
enum sutra_rank_source { SUTRA_RANK_INFO, SUTRA_RANK_NAME, SUTRA_RANK_POSITION };

/* Reads a file; "-" is standard input. Each defect (sutra_trace_defect below) is a warning. The caller frees *trace,
 * before the context. Errors: SUTRA_NO_INPUT: missing, unreadable or a directory; SUTRA_DATA: not JSON or not this kind
 * of trace, with byte offset and line; SUTRA_STRICT: the trace has a defect, in a strict context; SUTRA_SYSTEM: out of
 * memory.
 *
 * FILE/rankN is the device trace of rank N, if the events of FILE are of several ranks. Without /rankN, such a file is
 * an error that lists the ranks: SUTRA_DATA. SUTRA_USAGE: no such rank. */
enum sutra_status sutra_host_trace_read(struct sutra_context *context, const char *path,
                                        struct sutra_host_trace **trace, struct sutra_error *error);
enum sutra_status sutra_device_trace_read(struct sutra_context *context, const char *path,
                                          struct sutra_device_trace **trace, struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` is the file name in errors. */
enum sutra_status sutra_host_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                         size_t size, struct sutra_host_trace **trace, struct sutra_error *error);
enum sutra_status sutra_device_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                           size_t size, struct sutra_device_trace **trace, struct sutra_error *error);

void sutra_host_trace_free(struct sutra_host_trace *trace);
void sutra_device_trace_free(struct sutra_device_trace *trace);

/* A defect of a trace, such as GPU activities without a start time or nodes that are not below the root: the events or
 * nodes that cannot be true, and the effect on results. docs/linking.md lists the defects of host traces. */
struct sutra_trace_defect {
    size_t size;         /* sizeof the struct, set by the caller */
    const char *name;    /* constant: "no_time", "not_below_root", ... (docs/validity.md) */
    uint64_t count, of;  /* affected events or nodes, and inspected ones */
    double largest_us;   /* of one event; NaN if the defect is not an amount of time */
    const char *example; /* the first one: "'aten::mm', node 25" */
    const char *cause;   /* "node 24 is absent"; "": the defect is its own cause */
    const char *effect;  /* constant */
    char message[800];   /* all of this in one line, as the warning after reading without the file's name */
};

/* Defects of a trace, found when the trace was read, in the order of the warnings. False: the trace has not more than
 * `index` defects. A strict context does not read a trace with defects (SUTRA_STRICT). */
bool sutra_host_trace_defect(const struct sutra_host_trace *trace, size_t index, struct sutra_trace_defect *defect);
bool sutra_device_trace_defect(const struct sutra_device_trace *trace, size_t index, struct sutra_trace_defect *defect);

/* An inclusive range of ranks. */
struct sutra_rank_range {
    int64_t first, last;
};

/* Selects a part of a job's traces: ranks, steps, a time range, GPU work. Initialize all other fields to zero.
 * `size` is sizeof the caller's struct.
 *
 * Steps and time range select events as sutra_cut_run() does (sutra/rewrite.h). Name, stream and category select
 * GPU work among these events; CPU events are unaffected. */
struct sutra_restriction {
    size_t size;
    const struct sutra_rank_range *ranks; /* `n_ranks` elements in any order; 0: all. Ignored for a single trace */
    size_t n_ranks;
    const char *step;      /* number N of "ProfilerStep#N", or a range: "3-5" */
    double from_us, to_us; /* [from, to) in whole microseconds after the first start of each trace */
    const char *name;      /* text contained in the name of the work or of its launching operator */
    const char *stream;    /* the stream */
    const char *category;  /* category of the launching operator, see table operator_categories; case-insensitive:
                              "GEMM" */
};

/* Removes all events outside of the restriction, so that analyses do not see them; the bytes of the trace are
 * unchanged. Call it before any other use of the trace. The trace is unchanged on failure. Errors: SUTRA_DATA: no such
 * step, stream, work or time, with the available ones; SUTRA_USAGE: no such category; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_device_trace_restrict(struct sutra_context *context, struct sutra_device_trace *trace,
                                              const struct sutra_restriction *restriction, struct sutra_error *error);

/* Detects the kind of trace from the top-level keys ("nodes" or "traceEvents"). Errors as for reading. */
enum sutra_status sutra_trace_kind_of(struct sutra_context *context, const char *path, enum sutra_trace_kind *kind,
                                      struct sutra_error *error);

/* Repairs of malformed JSON, by sutra_repair_read() (sutra/rewrite.h) or when a lenient context reads a trace. */
enum sutra_repair_kind {
    SUTRA_REPAIR_QUOTE,     /* an unescaped quote in a string */
    SUTRA_REPAIR_CONTROL,   /* a control character in a string, such as a line break */
    SUTRA_REPAIR_BACKSLASH, /* a backslash without a valid escape, as in C:\path */
    SUTRA_REPAIR_UTF8,      /* a byte of a string that is not UTF-8 */
    SUTRA_REPAIR_END_QUOTE, /* a missing closing quote */
    SUTRA_REPAIR_NUMBER,    /* NaN or infinity, replaced by null */
    SUTRA_REPAIR_COMMA,     /* a surplus comma, or a missing comma between elements */
    SUTRA_REPAIR_BRACKET,   /* a missing closing brace or bracket */
    SUTRA_REPAIR_ARRAY,     /* a bare array of events or nodes, converted to a trace */
    SUTRA_REPAIR_BEGINNING, /* a byte order mark */
    SUTRA_REPAIR_CUT_OFF,   /* truncated end: the incomplete element is dropped */
    SUTRA_REPAIR_ELEMENT,   /* a dropped event or node */
    SUTRA_REPAIR_OBJECT,    /* a dropped second trace in the file: the trace with the most elements is kept */
    SUTRA_REPAIR_REST,      /* dropped text after the trace */
    SUTRA_N_REPAIR_KINDS
};

/* One repair, at a byte offset of the input. */
struct sutra_repair_site {
    uint64_t offset;
    enum sutra_repair_kind kind;
};

/* Counts of a host trace. */
struct sutra_host_summary {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* after decompression */
    uint64_t n_nodes;
    uint64_t n_rf_ids; /* nodes with a nonzero record-function id */
    uint64_t n_roots;  /* nodes with id 1 */
    const char *schema;
    bool linked;          /* ET+: nodes have durations */
    uint64_t n_timed;     /* ET+: nodes with a duration */
    uint64_t n_gpu_nodes; /* of these, GPU operators */
};
void sutra_host_trace_summary(const struct sutra_host_trace *trace, struct sutra_host_summary *summary);

/* A name and its count; `name` lives as long as the trace. */
struct sutra_count {
    const char *name;
    uint64_t count;
};

/* Counts of a device trace. Times are in microseconds, as in the file. */
/* Recording conditions in the trace, such as rank, GPU and profiler options. */
#define SUTRA_TRACE_FACTS 12
struct sutra_trace_fact {
    const char *name, *words; /* constants: key, human-readable name */
    char text[96];            /* value as in the file */
};

struct sutra_device_summary {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* after decompression */
    uint64_t n_events;
    uint64_t n_cpu_ops, n_launches, n_gpu_ops, n_arrows, n_others; /* classes of the linking rules */
    uint64_t n_rf_ids;                                             /* CPU operators with a nonzero record-function id */
    uint64_t n_correlations;                                       /* GPU operators whose correlation a launch has */
    uint64_t n_threads;                                            /* distinct tids */
    uint64_t n_streams;                                            /* distinct streams of GPU operators */
    double ts_begin, ts_end;                                       /* first start and last end of events with a tid; 0
                                                                      and 0: none */
    const struct sutra_count *categories;                          /* descending by count; valid until the next summary
                                                                      of the trace or its free */
    uint64_t n_categories;
    uint64_t n_rf_zero;     /* CPU operators with record-function id 0, which means none */
    uint64_t n_memory_sets; /* memsets, which linkers skip */
    uint64_t n_steps;       /* distinct profiler steps */
    uint64_t n_facts;
    struct sutra_trace_fact facts[SUTRA_TRACE_FACTS];
    const char *device_kind;                 /* "cuda", "rocm", "xpu", "mtia", "npu", or "none" */
    uint64_t n_unknown_launches;             /* GPU operators launched by calls that chakra_trace_link does not know */
    const struct sutra_count *unknown_calls; /* these calls, descending by count; valid as `categories` */
    uint64_t n_unknown_calls;
};
enum sutra_status sutra_device_trace_summary(struct sutra_context *context, struct sutra_device_trace *trace,
                                             struct sutra_device_summary *summary, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
