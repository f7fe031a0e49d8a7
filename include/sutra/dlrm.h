/*
 * dlrm.h - where host and device time goes in a device trace of a training job.
 *
 *     device trace --> sutra_dlrm_analyze() --> struct sutra_dlrm --> sutra_dlrm_report()   numbers and tables
 *                                                                 --> sutra_dlrm_write()    a folder of files
 *     many of them --> sutra_dlrm_ranks_make() --> struct sutra_dlrm_ranks --> sutra_dlrm_ranks_write()
 *
 * What is measured is what the trace analysis for DLRM of ml_perf_model (owensgroup, commit 1703a83) measures: queries
 * per second, device time of each operator, its breakdown below labels and modules for each stream, the operators that
 * dominate, and the overheads of the host:
 *
 *     T1  between two operators        T2  from an operator's start to its first launch
 *     T3  from its last launch to its end        T4  of a launch itself
 *     T5  between two launches, or an operator that launches nothing
 *
 * There the ids of operators and of launches are one set of numbers; in most traces they are two, and then operators
 * get kernels of others. By default launches and kernels are matched by correlation instead, and every kernel is
 * charged to the operator that launched it, on whatever thread; `compat` is for those who compare. All times are in
 * microseconds.
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

/* Which events are analyzed. */
enum sutra_trim {
    SUTRA_TRIM_AUTO,       /* `iters` iterations if the trace has as many, else all */
    SUTRA_TRIM_NONE,       /* all */
    SUTRA_TRIM_PERCENTAGE, /* starts between `from` and `to` percent of all starts, both left out */
    SUTRA_TRIM_TIME,       /* starts from `from` to `to` microseconds, both taken */
};

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_dlrm_options {
    size_t size;
    bool compat;               /* as the original, its mistakes included */
    const char *module_marker; /* beginning of the names of labels, which main thread and window are found by, and then
                                  threads count as in the original; NULL: "## ", or, unless compat, what the trace has
                                  instead of it, and an operator of any thread is charged with what it launched */
    uint64_t iters;      /* iterations; 0: 10 where that many can be cut out, else as many as the trace shows (compat:
                            10) */
    uint64_t skip_iters; /* iterations before those */
    uint64_t batch;      /* queries in an iteration; 0: 2048 */
    enum sutra_trim trim;
    double from, to;
    double iteration_us; /* an iteration's time without the profiler, which summary.log compares busy streams with; 0:
                            that of the host in the trace */
};

/* Analyzes the trace, which must outlive the result. *dlrm is the caller's; free it with sutra_dlrm_free().
 * SUTRA_DATA: no event has a time, or no name begins with the marker that was asked for. SUTRA_USAGE: a span of time
 * that lies outside of the trace. SUTRA_SYSTEM: out of memory. Warnings tell what was left out. */
enum sutra_status sutra_dlrm_analyze(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_dlrm_options *options, struct sutra_dlrm **dlrm,
                                     struct sutra_error *error);
void sutra_dlrm_free(struct sutra_dlrm *dlrm);

/* Names and shapes are numbers of texts: UTF-8, ends with a NUL, lives as long as the result. Shapes are JSON, such as
 * "[[2048, 13], [512]]"; "[[-1]]" is the shape of what has none. */
#define SUTRA_DLRM_NONE UINT32_MAX
const char *sutra_dlrm_text(const struct sutra_dlrm *dlrm, uint32_t text);

/* Device time of operators on one stream. Active time is the sum of their kernels; idle time the rest of the host's. */
struct sutra_dlrm_stream {
    uint32_t name; /* the stream's id */
    double active_us, idle_us;
    uint32_t first_row, n_rows; /* rows of the top level, among `rows` */
    uint64_t first_dominating, n_dominating;
    uint64_t first_group, n_groups;
};

/* One row of a stream's breakdown: a label, module or operator with its shape, or, where n_occurrences is 0, a kernel
 * with the shape of its caller. What is below it, rows[first_child .. first_child + n_children), is that of its first
 * occurrence, which took first_us. */
struct sutra_dlrm_row {
    uint32_t name, shape;
    uint64_t count, n_occurrences;
    double us, first_us;
    uint32_t first_child, n_children;
};

/* An operator or label of the list of dominating ones: first occurrences only, wherever they stand; with what it
 * consists of, parts[first_part .. first_part + n_parts). The first one of a stream is the total, without a name. */
struct sutra_dlrm_dominating {
    uint32_t name, shape; /* SUTRA_DLRM_NONE for the total */
    double us;
    uint64_t first_part, n_parts;
};

struct sutra_dlrm_part {
    uint32_t name, shape;
    double us;
};

/* The bar chart of a stream: groups of operators by falling time, each with a bar per variant, which is a set of
 * kernels that no other bar of the group has; shares of a bar fall from bottom to top and sum up to 1. */
struct sutra_dlrm_group {
    uint32_t name;
    double us;
    uint64_t n_all_variants; /* before equal ones were left out */
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

/* Mean and standard deviation (of the population) of one overhead; NaN without a sample. */
struct sutra_dlrm_overhead {
    enum sutra_dlrm_overhead_kind kind;
    uint32_t name;   /* the operator's; the launch's for T4; SUTRA_DLRM_NONE for T1 */
    uint32_t shapes; /* of input and output, "[input, output]", in the variant by shape; else SUTRA_DLRM_NONE */
    uint64_t n;
    double mean_us, std_us;
};

struct sutra_dlrm_report {
    size_t size; /* sizeof the struct, which the caller sets */
    bool compat, trimmed;
    bool tolerant;      /* compat: the original stops with an exception on this trace */
    const char *marker; /* the one that was used */
    uint64_t iters, batch;
    uint64_t n_events;                    /* that were looked at */
    uint64_t n_nodes;                     /* calls and operators of the host that stand in the forest */
    uint64_t n_roots, n_ops, n_colliding; /* colliding: operators whose id is a launch's too (compat) */
    uint64_t n_launches, n_launches_executed;
    double executed_us;   /* device work that a launch is known of */
    double attributed_us; /* and that an operator is known of */
    double begin_us, end_us, skipped_us;
    double host_us; /* end less begin less skipped */
    double qps;     /* NaN where host_us is not above 0 */

    /* What was left out or mended. */
    uint64_t n_without_ts;          /* events with a duration and no start */
    uint64_t n_negative;            /* durations below 0 (compat: they count as they are) */
    uint64_t n_odd_tid;             /* calls of threads that cannot be */
    uint64_t n_crossing;            /* host events that begin inside of another one and end behind it */
    uint64_t n_hidden;              /* host events in an event of a thread that is neither theirs nor the main one */
    uint64_t n_orphans;             /* events of the device or of other kinds whose id no launch before them has */
    uint64_t n_unlaunched;          /* of these on a stream */
    uint64_t n_without_stream;      /* device work below an operator that is on none */
    uint64_t n_loaders, n_forwards; /* data loading is only skipped where these are equal */

    /* Device work that a launch is known of, on all streams together: from the first start to the last end, time with
     * and without any work, and time of work beside other work. */
    bool has_streams; /* false: there is none */
    double span_us, union_us, idle_us, overlap_us;

    const struct sutra_dlrm_stream *streams;
    uint64_t n_streams, n_rows;
    const struct sutra_dlrm_row *rows;
    const uint32_t *by_time; /* rows below one parent by falling time, at the positions of those rows */
    const struct sutra_dlrm_dominating *dominating;
    const struct sutra_dlrm_part *parts;
    const struct sutra_dlrm_group *groups;
    const struct sutra_dlrm_variant *variants;
    const struct sutra_dlrm_share *shares;
    const struct sutra_dlrm_overhead *overheads, *overheads_by_shape;
    uint64_t n_overheads, n_overheads_by_shape;

    /* Durations of device work (kernels, copies and sets on streams): all, that which begins in the window, and that of
     * it which a launch is known of. attributed_us is what operators are charged with. */
    double device_us, looked_at_us, launched_us;
};

/* Everything; the arrays live as long as the result. */
void sutra_dlrm_report(const struct sutra_dlrm *dlrm, struct sutra_dlrm_report *report);

/* Writes the files to a folder that is there; each appears whole or not at all. `model` is part of the name of
 * overheads_{model}.json; NULL: the trace's name. *n_bytes (may be NULL): bytes written. */
enum sutra_status sutra_dlrm_write(struct sutra_context *context, const struct sutra_dlrm *dlrm, const char *folder,
                                   const char *model, uint64_t *n_bytes, struct sutra_error *error);

/* ---- Many ranks ---- */

struct sutra_dlrm_ranks;

/* One trace of several. */
struct sutra_dlrm_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason;                     /* why the trace is left out; NULL: it is not, and what follows is set */
    const struct sutra_dlrm_report *report; /* figures only: marker and arrays are NULL */
    double overhead_us[SUTRA_N_OVERHEADS]; /* means of the samples of each kind that count in the variant by shape; NaN:
                                              there are none */
    size_t place;                          /* among the paths */
};

/* Called once for each rank that was analyzed, as long as its analysis is there. Calls come from any thread and in any
 * order, but one at a time; `context` serves to write files. */
typedef enum sutra_status sutra_dlrm_visit(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                           const struct sutra_dlrm_rank *rank, struct sutra_error *error);

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_dlrm_ranks_options {
    size_t size;
    const struct sutra_dlrm_options *dlrm; /* of each rank; may be NULL */
    sutra_dlrm_visit *visit;               /* may be NULL */
    void *arg;
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Reads and analyzes the device traces of `n_paths` ranks, several at a time, each freed before the next: memory is
 * that of as many traces as the context has threads, and of the samples of the overheads of all. A trace that cannot
 * be read or analyzed, or whose rank an earlier one has, is left out with a warning; in a strict context that is an
 * error, as it is if no trace is left. *ranks is the caller's, and does not depend on the number of threads. */
enum sutra_status sutra_dlrm_ranks_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                        const struct sutra_dlrm_ranks_options *options, struct sutra_dlrm_ranks **ranks,
                                        struct sutra_error *error);
void sutra_dlrm_ranks_free(struct sutra_dlrm_ranks *ranks);

/* The ranks by rising number, and behind them the traces that were left out; NULL where `i` is too large. */
const struct sutra_dlrm_rank *sutra_dlrm_ranks_at(const struct sutra_dlrm_ranks *ranks, size_t i);

/* The overheads of all ranks together: of the samples of each rank that count in its variant by shape, whatever their
 * shapes. Names are numbers of texts of the ranks. */
const struct sutra_dlrm_overhead *sutra_dlrm_ranks_overheads(const struct sutra_dlrm_ranks *ranks, uint64_t *n);
const char *sutra_dlrm_ranks_text(const struct sutra_dlrm_ranks *ranks, uint32_t text);

/* Writes the overheads of all ranks, overheads_merged.json and overheads_merged_raw.csv, and their figures, ranks.csv,
 * to a folder that is there; the rest as for sutra_dlrm_write(). */
enum sutra_status sutra_dlrm_ranks_write(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                         const char *folder, const char *model, uint64_t *n_bytes,
                                         struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
