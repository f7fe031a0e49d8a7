/*
 * collectives.h - collectives over all ranks of a job: who waited for whom, how fast they were, how far clocks are
 * apart, and what is wrong with them.
 *
 *     device traces --> sutra_collectives_make() --> struct sutra_collectives --> sutra_collectives_table()
 *                                                                            --> sutra_collectives_straggler()
 *
 * Collectives of ranks meet by their group (its name and its members), and their number "Seq" in it, or, where that is
 * not told, by their order, realigned where a rank lost some. Times are in microseconds, bandwidths in decimal GB/s.
 */
#ifndef SUTRA_COLLECTIVES_H
#define SUTRA_COLLECTIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/table.h"
#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_collectives;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_collectives_options {
    size_t size;
    bool compat;             /* TraceLens' tables instead of ours, with its rules and its arithmetic */
    bool arrivals;           /* also the table with a row for each rank of each collective */
    uint64_t ranks_per_host; /* 0: as many as a host has GPUs, where the traces tell that */
    double link_gb_per_s; /* what a GPU's links do at most in one direction; 0: as data sheets have it inside hosts */
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* The tables, in the order in which they are written. */
enum sutra_collectives_table {
    SUTRA_COLLECTIVES_ALL,      /* each collective and message: ranks, bytes, waits, skews, transfer, bandwidths */
    SUTRA_COLLECTIVES_ARRIVALS, /* each rank of each of them: arrival, wait, duration */
    SUTRA_COLLECTIVES_KINDS,    /* group, type, data type, size: the same added up */
    SUTRA_COLLECTIVES_GROUPS,   /* group: the same added up */
    SUTRA_COLLECTIVES_SIZES,    /* type, place, stretch of sizes: distribution of the bus bandwidth */
    SUTRA_COLLECTIVES_RANKS,    /* rank: time waited, time waited for, times last, compute */
    SUTRA_COLLECTIVES_CLOCKS,   /* rank: how far its clock is ahead, how it drifts, and what is left */
    SUTRA_COLLECTIVES_HOSTS,    /* host: the same of its ranks together */
    SUTRA_COLLECTIVES_CHECKS,   /* what is wrong: group, number, ranks, first place */
    SUTRA_COLLECTIVES_EXCESS, /* phase, operator: what the rank that the others wait for does longer than the median */
    SUTRA_COLLECTIVES_NCCL_LONG, /* from here: TraceLens' */
    SUTRA_COLLECTIVES_NCCL_SUMMARY_LONG,
    SUTRA_COLLECTIVES_NCCL_IMPLICIT_SYNC,
    SUTRA_COLLECTIVES_NCCL_SUMMARY_IMPLICIT_SYNC,
    SUTRA_COLLECTIVES_NCCL_ALL2ALLV,
    SUTRA_COLLECTIVES_NCCL_SUMMARY_ALL2ALLV,
    SUTRA_COLLECTIVES_NCCL_HEATMAP,
    SUTRA_COLLECTIVES_STRAGGLER_SUMMARY,
    SUTRA_COLLECTIVES_N_TABLES
};

/* Reads the device traces of `n_paths` ranks, several at a time, and keeps of each what its collectives tell: memory is
 * that of as many traces as the context has threads, and about 200 bytes for each rank of each collective. If one rank
 * holds the others up, its trace and that of the median rank are read once more. A trace that cannot be read, or whose
 * rank an earlier one has, is left out with a warning; in a strict context that is an error, as it is if no trace is
 * left. *collectives is the caller's, and does not depend on the number of threads. */
enum sutra_status sutra_collectives_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                         const struct sutra_collectives_options *options,
                                         struct sutra_collectives **collectives, struct sutra_error *error);
void sutra_collectives_free(struct sutra_collectives *collectives);

/* A table, or NULL where it was not asked for, or there is nothing to tell. Lives as long as `collectives`. */
const struct sutra_table *sutra_collectives_table(const struct sutra_collectives *collectives,
                                                  enum sutra_collectives_table id);

/* One trace of those that were read, by rising rank, and behind them those that were left out. */
struct sutra_collectives_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason; /* why it is left out; NULL: it is not */
};
const struct sutra_collectives_rank *sutra_collectives_at(const struct sutra_collectives *collectives, size_t i);

/* The figures of the whole job. */
struct sutra_collectives_summary {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_ranks, n_left_out;
    uint64_t n_collectives, n_messages, n_calls; /* calls: of all ranks */
    uint64_t n_untold;                           /* kernels of collectives without arguments */
    double span_us;                              /* from the first work of a device to the last */
    double waited_us;                            /* of all ranks */
    double transfer_us;                          /* the shortest durations, added up */
    uint64_t n_impossible;         /* ranks that end a collective before the last one has come to it, by */
    uint64_t n_impossible_aligned; /* their own clocks; and by clocks as they were set right */
    uint64_t n_clocks_set;         /* ranks whose clocks were set right */
    double clocks_apart_us;        /* the largest difference of two ranks' clocks */
    double clock_residual_us;      /* what is left of it, in the middle */
    uint64_t n_checks, n_faults;   /* faults: checks that are errors */
};
void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary);

/* The rank that the others wait for most, and why. Texts live as long as `collectives`. */
struct sutra_collectives_straggler {
    size_t size;          /* sizeof the struct, set by the caller */
    int64_t rank;         /* -1: no rank holds the others up */
    double waited_for_us; /* by the others, on average, at collectives that it came last to */
    double span_us;       /* of the job */
    uint64_t n_last, n_collectives;
    int64_t median_rank;               /* what it is compared with; -1: nothing */
    bool on_host;                      /* it is the host that takes longer, not the device */
    const char *phase, *operator_name; /* "forward", "aten::mm", where most of it is; "" */
    double excess_us;                  /* of that operator in that phase */
    const char *sentence;              /* all of it, as one line for people */
};
void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
