/*
 * trace.h - reading the two files that a rank records: the host trace (PyTorch's execution trace, "ET") and the
 * device trace (Kineto's timeline).
 *
 * Files may be plain, gzip or zstd, told by their first bytes. Reading validates all of the JSON; a trace that was
 * read is whole, and does not change any more, unless it is restricted to a part of it.
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

/* Where the number of a trace's rank comes from: "rank" of the trace's "distributedInfo", else the number behind the
 * last "rank" of the file's name, else the position in the list of traces. */
enum sutra_rank_source { SUTRA_RANK_INFO, SUTRA_RANK_NAME, SUTRA_RANK_POSITION };

/* Read a file; "-" is standard input. *trace is the caller's, to be freed before the context.
 * SUTRA_NO_INPUT: missing, a directory, not readable. SUTRA_DATA: not JSON, or not this kind of trace (a trace of the
 * other kind is named as such); the error has the byte offset and the line. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_host_trace_read(struct sutra_context *context, const char *path,
                                        struct sutra_host_trace **trace, struct sutra_error *error);
enum sutra_status sutra_device_trace_read(struct sutra_context *context, const char *path,
                                          struct sutra_device_trace **trace, struct sutra_error *error);

/* The same for bytes in memory, which are copied; `name` stands for the file's name in errors. */
enum sutra_status sutra_host_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                         size_t size, struct sutra_host_trace **trace, struct sutra_error *error);
enum sutra_status sutra_device_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                           size_t size, struct sutra_device_trace **trace, struct sutra_error *error);

void sutra_host_trace_free(struct sutra_host_trace *trace);
void sutra_device_trace_free(struct sutra_device_trace *trace);

/* Ranks from one to another, both included. */
struct sutra_rank_range {
    int64_t first, last;
};

/* A part of the traces of a job: of some ranks, steps, a stretch of time, some work of the device. Zero every field
 * that you do not set; `size` is sizeof the struct as the caller knows it.
 *
 * Of steps and times what sutra_cut_make() (sutra/rewrite.h) keeps is kept. Of the work of the device in them that
 * stays whose name, stream and operator fit; all that passes on the host stays. */
struct sutra_restriction {
    size_t size;
    const struct sutra_rank_range *ranks; /* `n_ranks` of them, in any order; 0: all. Not read for a single trace */
    size_t n_ranks;
    const char *step;      /* from the start to the end of "ProfilerStep#" with this number, or of several: "3-5" */
    double from_us, to_us; /* from here on, before there; whole microseconds from the first start of each trace */
    const char *name;      /* of the work, or of the operator that launched it: contains this */
    const char *stream;    /* is this */
    const char *category;  /* of the operator, as in the table operator_categories, in any case of letters: "GEMM" */
};

/* Takes all events that are outside of the restriction away from a trace that nothing else was made of yet, so that
 * analyses see but the rest; the bytes of the trace stay. SUTRA_DATA: there is no such step, stream, work or time in
 * it, and the message says what there is. SUTRA_USAGE: no such category. SUTRA_SYSTEM: out of memory. After an error
 * the trace is as it was. */
enum sutra_status sutra_device_trace_restrict(struct sutra_context *context, struct sutra_device_trace *trace,
                                              const struct sutra_restriction *restriction, struct sutra_error *error);

/* Which kind of trace a file is, from its top-level keys ("nodes" or "traceEvents"). */
enum sutra_status sutra_trace_kind_of(struct sutra_context *context, const char *path, enum sutra_trace_kind *kind,
                                      struct sutra_error *error);

/* What is mended in the text of a trace that is no JSON (sutra/rewrite.h; and in contexts that are lenient when it is
 * read). */
enum sutra_mend {
    SUTRA_MEND_QUOTE,     /* a quote inside of a string, without a backslash */
    SUTRA_MEND_CONTROL,   /* a control character in a string, such as a line break */
    SUTRA_MEND_BACKSLASH, /* a backslash that escapes nothing, as in C:\path */
    SUTRA_MEND_UTF8,      /* a byte of a string that is no UTF-8 */
    SUTRA_MEND_END_QUOTE, /* a string's closing quote that is missing */
    SUTRA_MEND_NUMBER,    /* NaN or an infinity, now null */
    SUTRA_MEND_COMMA,     /* a comma too many, or one that is missing between elements */
    SUTRA_MEND_ARRAY,     /* an array of events or nodes alone, now a trace */
    SUTRA_MEND_BEGINNING, /* a byte order mark */
    SUTRA_MEND_CUT_OFF,   /* the end is missing: what was not whole is left out */
    SUTRA_MEND_ELEMENT,   /* an event or node is left out */
    SUTRA_MEND_OBJECT,    /* another trace in the file is left out: the one with most elements counts */
    SUTRA_MEND_REST,      /* what stands behind the trace is left out */
    SUTRA_N_MENDS
};

/* One place: the byte before anything was mended. */
struct sutra_mend_place {
    uint64_t offset;
    enum sutra_mend kind;
};

/* Sizes of a host trace. `schema` is "" where the file has none; it lives as long as the trace. */
struct sutra_host_summary {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* after decompression */
    uint64_t n_nodes;
    uint64_t n_rf_ids; /* nodes with a record-function id other than 0 */
    uint64_t n_roots;  /* nodes with id 1 */
    const char *schema;
    bool linked;          /* it is ET+: nodes have durations */
    uint64_t n_timed;     /* of ET+: nodes with a duration */
    uint64_t n_gpu_nodes; /* of these, GPU operators */
};
void sutra_host_trace_summary(const struct sutra_host_trace *trace, struct sutra_host_summary *summary);

/* One row of a count by name; `name` lives as long as the trace. */
struct sutra_count {
    const char *name;
    uint64_t count;
};

/* Sizes of a device trace. Times are in microseconds, as in the file. */
/* What a trace says about where and how it was recorded: rank, GPU, what was recorded. */
#define SUTRA_TRACE_FACTS 12
struct sutra_trace_fact {
    const char *name, *words; /* constants: for programs, for people */
    char text[96];            /* as it stands in the file */
};

struct sutra_device_summary {
    size_t size;      /* sizeof the struct, set by the caller */
    uint64_t n_bytes; /* after decompression */
    uint64_t n_events;
    uint64_t n_cpu_ops, n_launches, n_gpu_ops, n_arrows, n_others; /* classes of the linking rules */
    uint64_t n_rf_ids;                                             /* CPU operators with an id other than 0 */
    uint64_t n_correlations;                                       /* GPU operators whose correlation a launch has */
    uint64_t n_threads;                                            /* different tids */
    uint64_t n_streams;                                            /* different streams of GPU operators */
    double ts_begin, ts_end; /* first start and last end of the events that have a tid; 0 and 0 where there is none */
    const struct sutra_count *categories; /* most frequent first; lives until the trace's next summary, or its end */
    uint64_t n_categories;
    uint64_t n_rf_zero;     /* CPU operators with the record-function id 0, which stands for none */
    uint64_t n_memory_sets; /* GPU operators that set memory, which the linkers leave out */
    uint64_t n_steps;       /* profiler steps of different names */
    uint64_t n_facts;
    struct sutra_trace_fact facts[SUTRA_TRACE_FACTS];
};
enum sutra_status sutra_device_trace_summary(struct sutra_context *context, struct sutra_device_trace *trace,
                                             struct sutra_device_summary *summary, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
