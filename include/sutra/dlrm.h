/*
 * dlrm.h - host and device time of a training job by the method of the DLRM notebook.
 *
 *     device trace --> sutra_dlrm_analyze() --> struct sutra_dlrm --> sutra_dlrm_report()   numbers and tables
 *                                                                 --> sutra_dlrm_write()    files in a directory
 *     many of them --> sutra_dlrm_ranks_run() --> struct sutra_dlrm_ranks --> sutra_dlrm_ranks_write()
 *
 * The definitions are those in the DLRM trace analysis of ml_perf_model (owensgroup, commit 1703a83): queries per
 * second, device time per operator, breakdown by label and module for each stream, dominating operators, and host
 * overheads:
 *
 *     T1  between two operators        T2  from an operator's start to its first launch
 *     T3  from its last launch to its end        T4  launch call
 *     T5  between two launches, or an operator without launches
 *
 * The notebook uses one id space for operators and launches. Most traces have two, and the notebook then attributes
 * kernels to unrelated operators. By default sutra matches launches and kernels by correlation id and attributes each
 * kernel to the launching operator of any thread; `compat` reproduces the notebook. All times are in microseconds.
 */
#ifndef SUTRA_DLRM_H
#define SUTRA_DLRM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_dlrm;

/* Selection of events. */
enum sutra_trim {
    SUTRA_TRIM_AUTO,       /* `iters` iterations if the trace contains them, else all events */
    SUTRA_TRIM_NONE,       /* all */
    SUTRA_TRIM_PERCENTAGE, /* start time strictly between the `from` and `to` percentiles of all start times */
    SUTRA_TRIM_TIME,       /* start time from `from` to `to` microseconds, inclusive */
};

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_dlrm_options {
    size_t size;
    bool compat;               /* reproduce the notebook, including its bugs */
    const char *module_marker; /* prefix of label names, which determine main thread and window as in the notebook;
                                  NULL: "## ", or, unless compat, the prefix found in the trace, and kernels are
                                  attributed to launching operators of any thread */
    uint64_t iters;            /* number of iterations; 0: 10 if the trace contains them, else all (compat: 10) */
    uint64_t skip_iters;       /* iterations skipped before */
    uint64_t batch;            /* queries per iteration; 0: 2048 */
    enum sutra_trim trim;
    double from, to;
    double iteration_us; /* time of an iteration without the profiler, compared with stream times in summary.log; 0:
                            host time in the trace */
};

/* Analyzes a trace, which must outlive the result. The caller frees *dlrm with sutra_dlrm_free(). Errors: SUTRA_DATA:
 * no event has a time, or no name begins with the requested marker; SUTRA_USAGE: the time range is outside the trace;
 * SUTRA_SYSTEM: out of memory. Warnings report skipped events. */
enum sutra_status sutra_dlrm_analyze(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_dlrm_options *options, struct sutra_dlrm **dlrm,
                                     struct sutra_error *error);
void sutra_dlrm_free(struct sutra_dlrm *dlrm);

/* Returns a string by its id: UTF-8, NUL-terminated, valid as long as the result. Names and shapes are such ids. Shapes
 * are JSON, such as "[[2048, 13], [512]]"; "[[-1]]" means no shape. */
#define SUTRA_DLRM_NONE UINT32_MAX
const char *sutra_dlrm_text(const struct sutra_dlrm *dlrm, uint32_t text);

/* Device time of operators on one stream. Active time is the sum of kernel durations; idle time is host time minus
 * active time. */
struct sutra_dlrm_stream {
    uint32_t name; /* the stream's id */
    double active_us, idle_us;
    uint32_t first_row, n_rows; /* top-level rows in `rows` */
    uint64_t first_dominating, n_dominating;
    uint64_t first_group, n_groups;
};

/* One row of a stream's breakdown: a label, module or operator with its shape, or a kernel with the shape of its caller
 * if n_occurrences is 0. Its children, rows[first_child .. first_child + n_children), belong to the first occurrence,
 * whose duration is first_us. */
struct sutra_dlrm_row {
    uint32_t name, shape;
    uint64_t count, n_occurrences;
    double us, first_us;
    uint32_t first_child, n_children;
};

/* A dominating operator or label (first occurrence) with its parts, parts[first_part .. first_part + n_parts). The
 * first entry of a stream is the total, without a name. */
struct sutra_dlrm_dominating {
    uint32_t name, shape; /* SUTRA_DLRM_NONE for the total */
    double us;
    uint64_t first_part, n_parts;
};

struct sutra_dlrm_part {
    uint32_t name, shape;
    double us;
};

/* Bar chart of a stream: operator groups in descending order of time, with one bar per distinct set of kernels. Shares
 * of a bar are in descending order and sum to 1. */
struct sutra_dlrm_group {
    uint32_t name;
    double us;
    uint64_t n_all_variants; /* including duplicates */
    uint64_t first_variant, n_variants;
};

struct sutra_dlrm_variant {
    uint64_t first_share, n_shares;
};

struct sutra_dlrm_share {
    uint32_t name, shape, legend;
    double share;
};

enum sutra_dlrm_overhead_kind { SUTRA_T1, SUTRA_T2, SUTRA_T3, SUTRA_T4, SUTRA_T5, SUTRA_N_OVERHEADS };

/* Mean and population standard deviation of one overhead; NaN without a sample. */
struct sutra_dlrm_overhead {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name;   /* operator name; launch name for T4; SUTRA_DLRM_NONE for T1 */
    uint32_t shapes; /* "[input, output]" in the table by shape; else SUTRA_DLRM_NONE */
    uint64_t n;
    double mean_us, std_us;
};

struct sutra_dlrm_report {
    size_t size; /* sizeof the struct, set by the caller */
    bool compat, trimmed;
    bool tolerant;      /* compat: the notebook raises an exception for this trace */
    const char *marker; /* the prefix used for labels */
    uint64_t iters, batch;
    uint64_t n_events;                    /* events in the window */
    uint64_t n_nodes;                     /* host calls and operators in the forest */
    uint64_t n_roots, n_ops, n_colliding; /* colliding: operators with the id of a launch (compat) */
    uint64_t n_launches, n_launches_executed;
    double executed_us;   /* GPU activity with a known launch */
    double attributed_us; /* GPU activity attributed to operators */
    double begin_us, end_us, skipped_us;
    double host_us; /* end - begin - skipped */
    double qps;     /* NaN unless host_us > 0 */

    /* Skipped or repaired events. */
    uint64_t n_without_ts;     /* events with a duration but no start time */
    uint64_t n_negative;       /* negative durations (compat: used unchanged) */
    uint64_t n_odd_tid;        /* calls with an invalid thread id */
    uint64_t n_crossing;       /* host events that partially overlap another event */
    uint64_t n_hidden;         /* host events nested in an event of another thread than theirs or the main thread */
    uint64_t n_orphans;        /* GPU activity and other events without an earlier launch of their id */
    uint64_t n_unlaunched;     /* of these, on a stream */
    uint64_t n_without_stream; /* GPU activity of an operator without a stream */
    uint64_t n_loaders, n_forwards; /* data loading is skipped only if both counts are equal */

    /* GPU activity with a known launch on all streams: first start to last end, busy time, idle time, and time with
     * overlapping activities. */
    bool has_streams; /* false: no GPU activity on a stream */
    double span_us, union_us, idle_us, overlap_us;

    const struct sutra_dlrm_stream *streams;
    uint64_t n_streams, n_rows;
    const struct sutra_dlrm_row *rows;
    const uint32_t *by_time; /* permutation: children of a row in descending order of time */
    const struct sutra_dlrm_dominating *dominating;
    const struct sutra_dlrm_part *parts;
    const struct sutra_dlrm_group *groups;
    const struct sutra_dlrm_variant *variants;
    const struct sutra_dlrm_share *shares;
    const struct sutra_dlrm_overhead *overheads, *overheads_by_shape;
    uint64_t n_overheads, n_overheads_by_shape;

    /* Total durations of GPU activity (kernels, memcpys, memsets): all, starting in the window, and of these with a
     * known launch. attributed_us is the part attributed to operators. */
    double device_us, selected_us, launched_us;
};

/* Fills the report; the arrays live as long as the result. */
void sutra_dlrm_report(const struct sutra_dlrm *dlrm, struct sutra_dlrm_report *report);

/* Writes the files atomically to an existing directory. `model` is part of the name overheads_{model}.json; NULL: the
 * name of the trace. *n_bytes (may be NULL): bytes written. */
enum sutra_status sutra_dlrm_write(struct sutra_context *context, const struct sutra_dlrm *dlrm, const char *folder,
                                   const char *model, uint64_t *n_bytes, struct sutra_error *error);

/* ---- Many ranks ---- */

struct sutra_dlrm_ranks;

/* One trace of several. */
struct sutra_dlrm_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason; /* why the trace is skipped; NULL: analyzed, and the following fields are set */
    const struct sutra_dlrm_report *report; /* numbers only: marker and arrays are NULL */
    double overhead_us[SUTRA_N_OVERHEADS];  /* mean per kind over the samples of the table by shape; NaN without a
                                              sample */
    size_t place;                           /* index in the list of paths */
};

/* Called once per analyzed rank before its analysis is freed. Calls come from any thread in any order, but never
 * concurrently; `context` may be used to write files. */
typedef enum sutra_status sutra_dlrm_visit(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                           const struct sutra_dlrm_rank *rank, struct sutra_error *error);

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_dlrm_ranks_options {
    size_t size;
    const struct sutra_dlrm_options *dlrm; /* of each rank; may be NULL */
    sutra_dlrm_visit *visit;               /* may be NULL */
    void *arg;
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Analyzes the device traces of `n_paths` ranks in parallel. Each trace is freed after its analysis, so that memory
 * holds one trace per thread and the overhead samples of all ranks. Malformed traces and duplicate ranks are skipped
 * with a warning; in a strict context, or if no trace remains, this is an error. The caller frees *ranks; the result
 * does not depend on the number of threads. */
enum sutra_status sutra_dlrm_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_dlrm_ranks_options *options, struct sutra_dlrm_ranks **ranks,
                                       struct sutra_error *error);
void sutra_dlrm_ranks_free(struct sutra_dlrm_ranks *ranks);

/* Returns the i-th rank: analyzed ranks in ascending order, followed by skipped traces; NULL after the last one. */
const struct sutra_dlrm_rank *sutra_dlrm_ranks_get(const struct sutra_dlrm_ranks *ranks, size_t i);

/* Overheads over all ranks, from the samples of each rank's table by shape, for all shapes together. Names are string
 * ids for sutra_dlrm_ranks_text(). */
const struct sutra_dlrm_overhead *sutra_dlrm_ranks_overheads(const struct sutra_dlrm_ranks *ranks, uint64_t *n);
const char *sutra_dlrm_ranks_text(const struct sutra_dlrm_ranks *ranks, uint32_t text);

/* Writes the overheads of all ranks (overheads_merged.json, overheads_merged_raw.csv) and their numbers (ranks.csv) as
 * sutra_dlrm_write() does. */
enum sutra_status sutra_dlrm_ranks_write(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                         const char *folder, const char *model, uint64_t *n_bytes,
                                         struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
