/*
 * analyze.h - time breakdown of device traces: the tables of Holistic Trace Analysis.
 *
 *     device trace --> sutra_hta_run() --> struct sutra_hta --> sutra_result_table() --> struct sutra_table
 *
 * Tables and columns equal Holistic Trace Analysis ("HTA") 0.5.0 or 0.6.1. If the trace has integer times, all numbers
 * equal HTA's; for newer tables only with `compat`. Standard deviations agree to about 12 digits because sutra computes
 * exact sums. Times are in microseconds.
 */
#ifndef SUTRA_ANALYZE_H
#define SUTRA_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/hta_version.h"
#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_hta;
struct sutra_companion; /* see sutra/overview.h */

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_hta_options {
    size_t size;
    int64_t rank;             /* value of the column "rank" */
    uint64_t n_kernels;       /* maximum number of kernel names per type, before "others"; 0: 10 */
    uint64_t kernel_delay_us; /* shorter gaps in microseconds count as kernel wait; 0: 30 */
    bool last_step;           /* keep the last ProfilerStep; else it is skipped if there are several */
    bool all_launches;        /* launch and queue tables count all launching calls, including calls unknown to HTA */
    bool nanoseconds;         /* keep fractions of microseconds; HTA rounds */
    bool compat;              /* compute all of HTA's tables as HTA does, including its errors */
    enum sutra_hta_version hta_version;
    uint64_t full_queue;       /* capacity of a launch queue in kernels; 0: 1024 */
    const char *sequences_of;  /* part of the names of operators in the table of kernel sequences; NULL: "aten::" */
    uint64_t sequence_kernels; /* minimum number of kernels of such an operator; 0: 3 */
    bool only_joined;          /* omit tables that exist only per rank */
    double kept_ratio;      /* names whose running sum exceeds this quantile of running sums become "others"; 0: 0.8 */
    uint64_t n_annotations; /* maximum number of annotation names before "others"; 0: 1000 */
    const char *const *kept_annotations; /* annotations that contain one of these texts never become "others" */
    size_t n_kept_annotations;
    bool rows;        /* also make SUTRA_HTA_ROWS */
    bool short_names; /* names in SUTRA_HTA_ANNOTATED without template and function arguments, as HTA shortens them */
    bool no_memory_launches; /* SUTRA_HTA_LAUNCHES without copies and sets of memory */
};

/* Tables in the order of their files. Each comment lists the keys of a row, then the values. "sutra": not a table of
 * HTA. "Single rank": not available for all ranks together. */
enum sutra_hta_table {
    SUTRA_HTA_TEMPORAL,         /* rank: idle, compute, other and total time from the first to the last kernel */
    SUTRA_HTA_TYPES,            /* kernel type, or two overlapping types: time, share; over all ranks */
    SUTRA_HTA_KERNELS,          /* rank, type, name: durations of the longest kernels; the rest as "others" */
    SUTRA_HTA_TYPES_MEMORY,     /* the two tables above, including memcpys and memsets */
    SUTRA_HTA_KERNELS_MEMORY,   /* (counts overlaps differently if there are several types) */
    SUTRA_HTA_IDLE,             /* rank, stream, idle category: time, share */
    SUTRA_HTA_IDLE_STATS,       /* rank, stream, idle category: distribution of the gaps */
    SUTRA_HTA_OVERLAP,          /* rank: percentage of communication that overlaps with compute */
    SUTRA_HTA_QUEUE_SUMMARY,    /* rank, stream: distribution of the queue length */
    SUTRA_HTA_BANDWIDTH,        /* rank, memcpy kind: distribution of the bandwidth during memcpys */
    SUTRA_HTA_LAUNCHES,         /* single rank: launches with their kernels */
    SUTRA_HTA_QUEUE,            /* single rank: changes of the queue length of each stream; ts is relative to the first
                                   event */
    SUTRA_HTA_RANKS,            /* sutra: rank: values of the summary; only for several ranks */
    SUTRA_HTA_LAUNCH_CALLS,     /* sutra: rank, runtime call: launches of any kind, including graphs and HIP */
    SUTRA_HTA_STEPS,            /* sutra: rank, profiler step: its time, and the time of the kernels that it launched */
    SUTRA_HTA_GPU_ANNOTATIONS,  /* rank, annotation: durations on streams */
    SUTRA_HTA_ANNOTATIONS,      /* rank, annotation: durations on the CPU */
    SUTRA_HTA_ANNOTATED,        /* single rank: kernels, each with its shortest enclosing annotation */
    SUTRA_HTA_OPERATORS,        /* single rank: operator, sequence of its kernels: count, delays */
    SUTRA_HTA_SEQUENCES,        /* single rank: sequence of kernels launched by one operator call: count, durations */
    SUTRA_HTA_BANDWIDTH_SERIES, /* single rank: changes of the bandwidth of each memcpy kind */
    SUTRA_HTA_BLOCKED,          /* rank, stream: time with a full queue */
    SUTRA_HTA_LAUNCH_HISTOGRAM, /* rank, kind of outlier, duration bin: number of launches */
    SUTRA_HTA_STRAGGLERS,       /* sutra: rank: delay of its arrival at collectives; only for several ranks */
    SUTRA_HTA_STRAGGLER_METRIC, /* the collectives that HTA's straggler search uses; only for several ranks */
    SUTRA_HTA_BUSY_SERIES,      /* sutra: single rank: GPU busy share per time bin */
    SUTRA_HTA_RANGES,           /* single rank: cuda_profiler_range event, operator that encloses its launch */
    SUTRA_HTA_COUNTERS,         /* single rank: names of the performance counters of cuda_profiler_range events */
    SUTRA_HTA_ROWS,             /* sutra: single rank: events that the other tables are made of; on request */
    SUTRA_HTA_N_TABLES
};

/* Computes the tables of one rank. The trace may be freed before *hta, which the caller frees. Traces without kernels
 * are valid; sutra_result_table() returns the reason for each missing table. Errors: SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_hta_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const struct sutra_hta_options *options, struct sutra_hta **hta,
                                struct sutra_error *error);
void sutra_hta_free(struct sutra_hta *hta);

/* Summary of one rank. Times are in microseconds; NaN: not available. */
struct sutra_hta_summary {
    size_t size;                                        /* sizeof the struct, set by the caller */
    uint64_t n_events;                                  /* events in the trace */
    uint64_t n_rows;                                    /* analyzed events: with duration and category, in the kept
                                                           steps */
    uint64_t n_kernels;                                 /* of these, kernels, memcpys and memsets */
    uint64_t n_streams;                                 /* distinct streams of kernels and memcpys */
    uint64_t n_steps;                                   /* distinct ProfilerStep names; the last of several is
                                                           skipped */
    uint64_t n_bad_times;                               /* skipped: missing start, or start or duration too large */
    uint64_t n_negative;                                /* negative durations */
    double first_us;                                    /* first start, on the clock of the trace */
    double span_us;                                     /* first start to last end of kernels */
    double busy_us, idle_us;                            /* with and without a kernel on any stream */
    double compute_us;                                  /* with a compute kernel */
    double communication_us;                            /* with a communication kernel */
    double overlap_us;                                  /* with both */
    double exposed_us;                                  /* with communication but no compute or memory kernel */
    double memory_us;                                   /* with a memcpy or memset but no compute kernel */
    double host_wait_us, kernel_wait_us, other_wait_us; /* idle time by category, summed over streams */
    uint64_t n_launches;                                /* launches with a kernel, by any call */
    uint64_t n_short;                                   /* of these, with a kernel shorter than the call */
    double launch_us;                                   /* time in these calls */
    double delay_median_us;                             /* queue delay: end of the call to the start of the kernel */
    double queue_mean;                                  /* mean, maximum and stream of the longest queue */
    int64_t queue_most, queue_stream;
    uint64_t n_unlisted; /* kernels of calls that the launch and queue tables do not count */
    uint64_t n_no_work;  /* events on streams that are not work, such as synchronization */
};
void sutra_hta_summary(const struct sutra_hta *hta, struct sutra_hta_summary *summary);

/* The counters of sutra_hta_write_counters(), as bits; HTA has the first two. */
enum sutra_hta_counters {
    SUTRA_HTA_COUNTERS_QUEUE = 1,     /* lengths of queues */
    SUTRA_HTA_COUNTERS_BANDWIDTH = 2, /* bandwidths of copies */
    SUTRA_HTA_COUNTERS_BUSY = 4,      /* sutra: the share of time that each device works */
    SUTRA_HTA_COUNTERS_ALL = 7
};

/* Writes the trace with the selected counters for Perfetto. `hta` has the tables of this trace. Writes as
 * sutra_table_write() does. */
enum sutra_status sutra_hta_write_counters(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_hta *hta, unsigned counters, const char *path,
                                           uint64_t *n_bytes, struct sutra_error *error);

/* The rank of the tables. */
int64_t sutra_hta_rank_of(const struct sutra_hta *hta);

/* ---- Many ranks ---- */

struct sutra_hta_ranks;

/* One trace of several. */
struct sutra_hta_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason;                      /* why the trace is skipped; NULL: analyzed */
    const struct sutra_hta_summary *summary; /* zeros if the trace is skipped */
};

/* Called once per analyzed rank with all tables, including single-rank tables, which are not kept. Calls come from any
 * thread in any order, but never concurrently; `context` may be used to write tables. */
typedef enum sutra_status sutra_hta_visit(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                          struct sutra_error *error);

/* Called before the trace is freed. */
typedef enum sutra_status sutra_hta_visit_trace(void *arg, struct sutra_context *context,
                                                const struct sutra_device_trace *trace, const struct sutra_hta *hta,
                                                struct sutra_error *error);

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_hta_ranks_options {
    size_t size;
    const struct sutra_hta_options *hta; /* options of each rank, except `rank`; may be NULL */
    sutra_hta_visit *visit;              /* may be NULL */
    void *arg;
    sutra_hta_visit_trace *visit_trace;          /* may be NULL; called before `visit` */
    const struct sutra_restriction *restriction; /* may be NULL; the last selected step is kept */
};

/* Analyzes the device traces of `n_paths` ranks in parallel. Each trace is freed after its analysis, so that memory
 * holds one trace per thread. Unreadable traces and duplicate ranks are skipped with a warning; in a strict context,
 * or if no trace remains, this is an error. The caller frees *ranks; the result does not depend on the number of
 * threads. */
enum sutra_status sutra_hta_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                      struct sutra_error *error);
void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks);

/* Returns the option `companion` of sutra_overview_run() that makes the tables of all ranks with default options, as a
 * struct sutra_hta_ranks. */
const struct sutra_companion *sutra_hta_companion(void);

/* Returns the i-th rank: analyzed ranks in ascending order, followed by skipped traces; NULL after the last one. */
const struct sutra_hta_rank *sutra_hta_ranks_get(const struct sutra_hta_ranks *ranks, size_t i);

/* Options with their defaults, as used for the tables. They live as long as the ranks. */
const struct sutra_hta_options *sutra_hta_ranks_rules(const struct sutra_hta_ranks *ranks);

/* Writes a list as JSON: the numbers of the profiler steps, [10, 11]; or HTA's straggler candidates for one to three
 * candidates, {"num_candidates=1": [3], ...}, null if HTA fails. Writes as sutra_table_write() does. */
enum sutra_hta_list {
    SUTRA_HTA_LIST_STEPS,
    SUTRA_HTA_LIST_STRAGGLERS,
    SUTRA_HTA_LIST_RULES, /* sutra: options of the tables, {"hta_version": "0.5", "compat": false, ...} */
};
enum sutra_status sutra_hta_ranks_write_list(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                             enum sutra_hta_list list, const char *path, uint64_t *n_bytes,
                                             struct sutra_error *error);

/* The same list of straggler candidates for any number of candidates, from the profiler steps in steps[0..n_steps) only
 * (NULL: all): [3, 1], or null where HTA fails. */
enum sutra_status sutra_hta_ranks_write_stragglers(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                                   const int64_t *steps, size_t n_steps, uint64_t n_candidates,
                                                   const char *path, uint64_t *n_bytes, struct sutra_error *error);

/* Sums over all analyzed ranks. Exceptions: n_steps is the maximum, delay_median_us is the mean of the medians weighted
 * by launches, and the queue is the longest. */
struct sutra_hta_sums {
    size_t size;                         /* sizeof the struct, set by the caller */
    const struct sutra_hta_summary *all; /* lives as long as the ranks */
    size_t n_ranks, n_skipped;
    int64_t queue_rank;
};
void sutra_hta_ranks_sum(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums);

/* The main cause of the slowest rank's time. */
enum sutra_hta_cause { SUTRA_CAUSE_COMPUTE, SUTRA_CAUSE_COMMUNICATION, SUTRA_CAUSE_MEMORY, SUTRA_CAUSE_IDLE };

/* The rank with the longest time from the first to the last kernel; the lowest rank of several. The cause is the part
 * that exceeds the median of all ranks most: compute, exposed communication, exposed memcpy, or idle time. */
struct sutra_hta_slowest {
    size_t size; /* sizeof the struct, set by the caller */
    int64_t rank;
    double span_us, median_span_us;
    enum sutra_hta_cause cause;
    double cause_us, median_cause_us;
    int64_t awaited_rank; /* the rank with the least communication time, for which the other ranks wait; -1: none */
};

/* Returns 0 if fewer than two ranks have kernels. */
int sutra_hta_ranks_slowest(const struct sutra_hta_ranks *ranks, struct sutra_hta_slowest *slowest);

/* ---- Two traces: TraceDiff of HTA 0.5.0 ---- */

struct sutra_hta_compare;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_hta_compare_options {
    size_t size;
    const struct sutra_rank_range *ranks; /* selected ranks, `n_ranks` elements; 0: all. The lowest one is compared */
    size_t n_ranks;
    const char *step[2]; /* of A and of B; NULL: the lowest */
};

enum sutra_hta_compare_table {
    SUTRA_HTA_COMPARE_ALL, /* name: counts and durations in one step; _SHORT: by HTA's short names */
    SUTRA_HTA_COMPARE_ALL_SHORT,
    SUTRA_HTA_COMPARE_CPU,
    SUTRA_HTA_COMPARE_CPU_SHORT,
    SUTRA_HTA_COMPARE_GPU,
    SUTRA_HTA_COMPARE_GPU_SHORT,
    SUTRA_HTA_COMPARE_N_TABLES
};

/* Compare two sides, as sutra_diff_run() and sutra_diff_run_of() do. The caller frees *compare. Errors: SUTRA_DATA: no
 * such step, or no steps. */
enum sutra_status sutra_hta_compare_run(struct sutra_context *context, const char *const *paths_a, size_t n_a,
                                        const char *const *paths_b, size_t n_b,
                                        const struct sutra_hta_compare_options *options,
                                        struct sutra_hta_compare **compare, struct sutra_error *error);
enum sutra_status sutra_hta_compare_run_of(struct sutra_context *context, const struct sutra_device_trace *a,
                                           const struct sutra_device_trace *b,
                                           const struct sutra_hta_compare_options *options,
                                           struct sutra_hta_compare **compare, struct sutra_error *error);
void sutra_hta_compare_free(struct sutra_hta_compare *compare);

/* Writes the lists of names of a table (added, deleted, called more often, less often, equally often) as JSON. Writes
 * as sutra_table_write() does. */
enum sutra_status sutra_hta_compare_write_changes(struct sutra_context *context,
                                                  const struct sutra_hta_compare *compare,
                                                  enum sutra_hta_compare_table id, const char *path, uint64_t *n_bytes,
                                                  struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
