/*
 * analyze.h - where the time of device traces went.
 *
 *     device trace --> sutra_hta_make() --> struct sutra_hta --> sutra_hta_table() --> struct sutra_table
 *
 * The tables are those of Holistic Trace Analysis 0.5.0 or 0.6.1 ("HTA"), with its columns: with integer times all
 * numbers are equal to its own, those of the newer tables with `compat`; standard deviations agree to about 12 digits,
 * since ours come from exact sums. Times are in microseconds.
 */
#ifndef SUTRA_ANALYZE_H
#define SUTRA_ANALYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/edition.h"
#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_hta;

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_hta_options {
    size_t size;
    int64_t rank;             /* what the tables' column "rank" says */
    uint64_t n_kernels;       /* most names of kernels of each type before "others"; 0: 10 */
    uint64_t kernel_delay_us; /* gaps below it are waits for a kernel; 0: 30 */
    bool last_step;           /* keep the last ProfilerStep, which is left out if there are several */
    bool all_launches;        /* count all calls that launch something in the tables of launches and queues, not only
                                 those that HTA knows */
    bool nanoseconds;         /* keep fractions of microseconds instead of rounding as HTA does */
    bool compat;              /* compute all of HTA's tables as HTA does, its faults included */
    enum sutra_hta_edition edition;
    uint64_t full_queue;       /* kernels that a queue holds at most; 0: 1024 */
    const char *sequences_of;  /* sequences of kernels are those of operators whose name has this; NULL: "aten::" */
    uint64_t sequence_kernels; /* and that have so many kernels at least; 0: 3 */
    bool only_joined;          /* without the tables that ranks have alone */
};

/* The tables, in the order in which they are written. Those of HTA have its columns; "whole" columns of times are
 * integers where the trace's times are. */
enum sutra_hta_table {
    SUTRA_HTA_TEMPORAL,         /* rank: idle, compute, other and whole time between the first and the last kernel */
    SUTRA_HTA_TYPES,            /* type of kernel, also of two that overlap: time, share; of all ranks together */
    SUTRA_HTA_KERNELS,          /* rank, type, name: durations of the longest kernels, the rest as "others" */
    SUTRA_HTA_TYPES_MEMORY,     /* both with copies and sets of memory */
    SUTRA_HTA_KERNELS_MEMORY,   /* (once there are several types, overlaps are counted differently) */
    SUTRA_HTA_IDLE,             /* rank, stream, what the stream waited for: time, share */
    SUTRA_HTA_IDLE_STATS,       /* the same: distribution of the gaps */
    SUTRA_HTA_OVERLAP,          /* rank: how much of communication is hidden by compute, in percent */
    SUTRA_HTA_QUEUE_SUMMARY,    /* rank, stream: distribution of the queue's length */
    SUTRA_HTA_BANDWIDTH,        /* rank, kind of copy: distribution of the bandwidth while copies run */
    SUTRA_HTA_LAUNCHES,         /* one rank: each launch with its kernel */
    SUTRA_HTA_QUEUE,            /* one rank: each change of the length of a stream's queue; ts counts from the first
                                 event of the rank */
    SUTRA_HTA_RANKS,            /* ours: rank: the figures of the summary; of many ranks only */
    SUTRA_HTA_LAUNCH_CALLS,     /* ours: rank, name of the call: launches of any kind, also of graphs and of HIP */
    SUTRA_HTA_STEPS,            /* ours: rank, profiler step: its time, and the time of the kernels it launched */
    SUTRA_HTA_GPU_ANNOTATIONS,  /* rank, annotation: its durations on streams */
    SUTRA_HTA_ANNOTATIONS,      /* rank, annotation: its durations on the host */
    SUTRA_HTA_ANNOTATED,        /* one rank: each kernel with the shortest annotation around it */
    SUTRA_HTA_OPERATORS,        /* one rank: operator, kernels that it launches: how often, and the delays */
    SUTRA_HTA_SEQUENCES,        /* one rank: kernels in the order of time that calls of an operator launch */
    SUTRA_HTA_BANDWIDTH_SERIES, /* one rank: each change of the bandwidth of a kind of copy */
    SUTRA_HTA_BLOCKED,          /* rank, stream: time with a full queue */
    SUTRA_HTA_LAUNCH_HISTOGRAM, /* rank, kind of launch worth a look, stretch of microseconds: launches */
    SUTRA_HTA_STRAGGLERS,       /* ours: rank: how late it comes to collectives; of many ranks only */
    SUTRA_HTA_STRAGGLER_METRIC, /* the collectives by which HTA looks for stragglers; of many ranks only */
    SUTRA_HTA_BUSY_SERIES,      /* ours, one rank: share of each stretch of time in which a device works */
    SUTRA_HTA_N_TABLES
};

/* Makes the tables of one rank. *hta is the caller's; the trace may be freed before it.
 * SUTRA_SYSTEM: out of memory. A trace without kernels is no error: tables that cannot be made tell why. */
enum sutra_status sutra_hta_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_hta_options *options, struct sutra_hta **hta,
                                 struct sutra_error *error);
void sutra_hta_free(struct sutra_hta *hta);

/* A table, or NULL where it could not be made; *reason (may be NULL) is then why. Both live as long as `hta`. */
const struct sutra_table *sutra_hta_table(const struct sutra_hta *hta, enum sutra_hta_table id, const char **reason);

/* The figures of one rank; times in microseconds. What could not be computed is NaN. */
struct sutra_hta_summary {
    size_t size;             /* sizeof the struct, which the caller sets */
    uint64_t n_events;       /* in the trace */
    uint64_t n_rows;         /* that count: with a duration and a category, in the steps that are kept */
    uint64_t n_kernels;      /* of these kernels, copies and what sets memory */
    uint64_t n_streams;      /* different streams of kernels and copies */
    uint64_t n_steps;        /* different names with "ProfilerStep"; with two or more the last is cut off */
    uint64_t n_bad_times;    /* left out: a start that is missing, a start or duration that is too large */
    uint64_t n_negative;     /* durations below 0 */
    double first_us;         /* the first start, on the trace's own clock */
    double span_us;          /* from the first start of a kernel to the last end */
    double busy_us, idle_us; /* of that: with and without a kernel on some stream */
    double compute_us;       /* with a compute kernel */
    double communication_us; /* with a communication kernel */
    double overlap_us;       /* with both */
    double exposed_us;       /* with communication and neither compute nor memory kernels */
    double memory_us;        /* with a copy or set of memory and no compute kernel */
    double host_wait_us, kernel_wait_us, other_wait_us; /* gaps of all streams together, by what they wait for */
    uint64_t n_launches;                                /* with a kernel, by any call */
    uint64_t n_short;       /* of these, those whose kernel is shorter than the call itself */
    double launch_us;       /* time in these calls */
    double delay_median_us; /* from the end of the call to the start of the kernel */
    double queue_mean;      /* length of the fullest queue */
    int64_t queue_most, queue_stream;
    uint64_t n_unlisted; /* kernels of calls that the tables of launches and queues do not count */
    uint64_t n_no_work;  /* events on streams that are no work, as those of synchronisation */
};
void sutra_hta_summary(const struct sutra_hta *hta, struct sutra_hta_summary *summary);

/* Writes the trace once more, with counters that Perfetto shows: lengths of queues, bandwidths of copies, and the share
 * of time that each device works. `hta` has the tables of this trace. For files as sutra_table_write(). */
enum sutra_status sutra_hta_write_counters(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_hta *hta, const char *path, uint64_t *n_bytes,
                                           struct sutra_error *error);

/* The rank that the tables are of. */
int64_t sutra_hta_rank_of(const struct sutra_hta *hta);

/* ---- Many ranks ---- */

struct sutra_hta_ranks;

/* One trace of several. */
struct sutra_hta_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason;                      /* why the trace is left out; NULL: it is not */
    const struct sutra_hta_summary *summary; /* zeros where it is */
};

/* Called once for each rank whose tables are made, those of a single rank among them, which are not kept. Calls come
 * from any thread and in any order, but one at a time; `context` serves to write tables. */
typedef enum sutra_status sutra_hta_visit(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                          struct sutra_error *error);

/* The same while the trace is still there. */
typedef enum sutra_status sutra_hta_visit_trace(void *arg, struct sutra_context *context,
                                                const struct sutra_device_trace *trace, const struct sutra_hta *hta,
                                                struct sutra_error *error);

/* Options; zero every field that you do not set. `size` is sizeof the struct as the caller knows it. */
struct sutra_hta_ranks_options {
    size_t size;
    const struct sutra_hta_options *hta; /* of each rank; `rank` is not read; may be NULL */
    sutra_hta_visit *visit;              /* may be NULL */
    void *arg;
    sutra_hta_visit_trace *visit_trace;          /* may be NULL; called before `visit` */
    const struct sutra_restriction *restriction; /* may be NULL; the last of the steps that it names is kept */
};

/* Reads and analyzes the device traces of `n_paths` ranks, several at a time, each freed before the next: memory is
 * that of as many traces as the context has threads. A trace that cannot be read, or whose rank an earlier one has, is
 * left out with a warning; in a strict context that is an error, as it is if no trace is left. *ranks is the caller's,
 * and does not depend on the number of threads. */
enum sutra_status sutra_hta_ranks_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                       struct sutra_error *error);
void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks);

/* The ranks by rising number, and behind them the traces that were left out; NULL where `i` is too large. */
const struct sutra_hta_rank *sutra_hta_ranks_at(const struct sutra_hta_ranks *ranks, size_t i);

/* A table of all ranks, or NULL where it could not be made; *reason (may be NULL) is then why. There is none for
 * tables of one rank. */
const struct sutra_table *sutra_hta_ranks_table(const struct sutra_hta_ranks *ranks, enum sutra_hta_table id,
                                                const char **reason);

/* By which rules the tables were made: options as they count, with what stands for 0. Lives as long as the ranks. */
const struct sutra_hta_options *sutra_hta_ranks_rules(const struct sutra_hta_ranks *ranks);

/* What HTA gives as lists, as JSON: the numbers of the profiler's steps, [10, 11]; and the ranks that may be stragglers
 * for one to three candidates, {"num_candidates=1": [3], ...}, null where HTA fails. For files as
 * sutra_table_write(). */
enum sutra_hta_list {
    SUTRA_HTA_LIST_STEPS,
    SUTRA_HTA_LIST_STRAGGLERS,
    SUTRA_HTA_LIST_RULES, /* ours: by which rules the tables were made, {"edition": "0.5", "compat": false, ...} */
};
enum sutra_status sutra_hta_ranks_write_list(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                             enum sutra_hta_list list, const char *path, uint64_t *n_bytes,
                                             struct sutra_error *error);

/* The figures of all ranks that were not left out: sums; steps are the most of any rank, delay_median_us is the mean of
 * the ranks' medians by launches, and the queue is the fullest. */
struct sutra_hta_sums {
    size_t size;                         /* sizeof the struct, which the caller sets */
    const struct sutra_hta_summary *all; /* lives as long as the ranks */
    size_t n_ranks, n_left_out;
    int64_t queue_rank;
};
void sutra_hta_ranks_sum(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums);

/* What the slowest rank spends its time on. */
enum sutra_hta_cause { SUTRA_CAUSE_COMPUTE, SUTRA_CAUSE_COMMUNICATION, SUTRA_CAUSE_MEMORY, SUTRA_CAUSE_IDLE };

/* The rank with the longest time from the first to the last kernel (the lowest, if several have that), and of what it
 * has the most beyond the median of all ranks: compute, communication or copies that nothing hides, or idle time. */
struct sutra_hta_slowest {
    size_t size; /* sizeof the struct, which the caller sets */
    int64_t rank;
    double span_us, median_span_us;
    enum sutra_hta_cause cause;
    double cause_us, median_cause_us;
    int64_t awaited_rank; /* the one with the least time in communication: the others wait for it; -1: there is none */
};

/* Returns 0 where fewer than two ranks have kernels. */
int sutra_hta_ranks_slowest(const struct sutra_hta_ranks *ranks, struct sutra_hta_slowest *slowest);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
