/*
 * collectives.h - collectives over all ranks of a job: straggler, waits, bandwidths, clock offsets, and errors.
 *
 *     device traces, or logs --> sutra_collectives_run() --> struct sutra_collectives --> sutra_result_table()
 *                                                                                     --> sutra_collectives_straggler()
 *
 * Collectives of different ranks match if process group (name and members) and sequence number "Seq" are equal. Without
 * recorded numbers, sutra matches them by order and realigns ranks that lack some. Times are in microseconds,
 * bandwidths in decimal GB/s.
 *
 * Logs of NCCL Inspector (JSON lines, plain or compressed) record the duration of each collective on each rank, but no
 * start times. A rank waits for the difference to the shortest duration. Shares are of the time in collectives of the
 * median rank. Columns of times, operators and data types are empty; tables of clocks, hosts and operators are missing.
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
    bool arrivals;                               /* also make the table with one row per rank and collective */
    uint64_t ranks_per_host;                     /* 0: number of GPUs per host, if the traces record it */
    double link_gb_per_s;                        /* peak bandwidth of a GPU's links in one direction; 0: from data
                                                    sheets (within hosts) */
    const struct sutra_restriction *restriction; /* may be NULL */
};

/* Tables in the order of their files. Each comment lists the keys of a row, then the values. */
enum sutra_collectives_table {
    SUTRA_COLLECTIVES_ALL,      /* collective or message: ranks, bytes, waits, skews, transfer, bandwidths */
    SUTRA_COLLECTIVES_ARRIVALS, /* the same and rank: arrival, wait, duration */
    SUTRA_COLLECTIVES_KINDS,    /* group, type, data type, size: sums */
    SUTRA_COLLECTIVES_GROUPS,   /* group: sums */
    SUTRA_COLLECTIVES_SIZES,    /* type, within or between hosts, size bin: distribution of the bus bandwidth */
    SUTRA_COLLECTIVES_RANKS,    /* rank: wait, wait of other ranks for it, count of last arrivals, compute time */
    SUTRA_COLLECTIVES_CLOCKS,   /* rank: clock offset, drift, residual */
    SUTRA_COLLECTIVES_HOSTS,    /* host: clock offset, drift and residual of its ranks */
    SUTRA_COLLECTIVES_CHECKS,   /* violated check: group, number, ranks, first occurrence */
    SUTRA_COLLECTIVES_EXCESS,   /* phase, operator of the straggler: time beyond the median rank */
    SUTRA_COLLECTIVES_N_TABLES
};

/* Reads the device traces of `n_paths` ranks, or `n_paths` NCCL Inspector logs of any ranks (SUTRA_USAGE: both; or a
 * restriction of events, with logs), in parallel and keeps only their collectives. Memory holds one trace per
 * thread and about 200 bytes per rank and collective. If a rank is the straggler, its trace and the median rank's are
 * read again. Unreadable traces and duplicate ranks are skipped with a warning; in a strict context, or if no trace
 * remains, this is an error. The caller frees *collectives; the result does not depend on the number of threads. */
enum sutra_status sutra_collectives_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                        const struct sutra_collectives_options *options,
                                        struct sutra_collectives **collectives, struct sutra_error *error);
void sutra_collectives_free(struct sutra_collectives *collectives);

/* One trace: analyzed ranks in ascending order, followed by skipped traces. Of logs: one rank; a log may contain
 * several. */
struct sutra_collectives_rank {
    const char *path;
    int64_t rank;
    enum sutra_rank_source source;
    const char *reason; /* why the trace is skipped; NULL: analyzed */
};
const struct sutra_collectives_rank *sutra_collectives_at(const struct sutra_collectives *collectives, size_t i);

/* Summary of the job. */
struct sutra_collectives_summary {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_ranks, n_skipped;
    uint64_t n_collectives, n_messages, n_calls; /* calls: summed over all ranks */
    uint64_t n_untold;                           /* collective kernels without recorded arguments */
    double span_us;                              /* first start to last end of GPU work */
    double wait_us;                              /* sum over all ranks */
    double transfer_us;                          /* sum of the shortest duration of each collective */
    uint64_t n_impossible;                       /* collectives that a rank ends before the last rank arrives, by
                                                    recorded */
    uint64_t n_impossible_aligned;               /* and by aligned clocks; counted per rank */
    uint64_t n_clocks_set;                       /* ranks whose clocks were aligned */
    double clocks_apart_us;                      /* largest difference of two ranks' clocks */
    double clock_residual_us;                    /* median difference that remains after alignment */
    uint64_t n_checks, n_faults;                 /* faults: checks that are errors */
    uint64_t n_untimed;                          /* records of logs without a time of the GPU: not analyzed */
    bool from_logs; /* of NCCL Inspector: no timeline; span_us is the time in collectives of the median rank */
};
void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary);

/* The rank that the other ranks wait for most, and the cause; the sentence names all stragglers. Strings live as long
 * as `collectives`. */
struct sutra_collectives_straggler {
    size_t size;           /* sizeof the struct, set by the caller */
    int64_t rank;          /* -1: no rank is the straggler */
    double wait_caused_us; /* mean wait of the other ranks at collectives where it arrives last */
    double span_us;        /* duration of the job */
    uint64_t n_last, n_collectives;
    int64_t median_rank;               /* the rank it is compared with; -1: none */
    bool on_host;                      /* the CPU is slower, not the GPU */
    const char *phase, *operator_name; /* where most of the excess is: "forward", "aten::mm"; or "" */
    double excess_us;                  /* of that operator in that phase */
    const char *sentence;              /* human-readable summary, one line */
};
void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
