/*
 * merge.h - the device traces of several ranks as one timeline, for viewers.
 *
 *     rank 0's trace --\                                  rank 0: CPU | rank 0: GPU stream 7
 *     rank 1's trace ---> sutra_merge() --> one trace     rank 1: CPU | rank 1: GPU stream 7
 *     rank 2's trace --/                                  rank 2: CPU | rank 2: GPU stream 7
 *
 * A process for the CPU of each rank and for each stream of its GPUs, named and in order of ranks. Processes, flow ids
 * and correlations become different from rank to rank, times count by one clock, and arrows join what the ranks of a
 * collective do; all else that is kept of an event stays byte for byte.
 */
#ifndef SUTRA_MERGE_H
#define SUTRA_MERGE_H

#include "sutra/rewrite.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* How clocks are brought together: by the ends of collectives, which come at once on all ranks; or not. */
enum sutra_clocks { SUTRA_CLOCKS_COLLECTIVES, SUTRA_CLOCKS_NONE };

/* Zero every field that you do not set; `size` is sizeof the struct. */
struct sutra_merge_options {
    size_t size;
    const struct sutra_selection *selection; /* of the events of each rank; NULL: all */
    enum sutra_clocks clocks;
    bool no_arrows;  /* between ranks */
    uint64_t memory; /* bytes of traces that stay between the two looks at them; 0: 1 GiB */
};

/* A rank of the timeline. Times are nanoseconds. */
struct sutra_merged_rank {
    int64_t rank;
    const char *path;
    int64_t offset_ns;   /* was added to its times, beside what their base differs by */
    int64_t residual_ns; /* how far ends of collectives then still lie apart: the median, and what clocks drift */
    uint64_t n_aligned;  /* collectives that tell it; 0: its clock stays */
    uint64_t n_events, n_kept;
};

struct sutra_merge_report {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_ranks;
    const struct sutra_merged_rank *ranks; /* by rank; live as long as what was merged */
    uint64_t n_events, n_kept, n_processes;
    uint64_t n_collectives; /* which arrows join */
    uint64_t n_left_out;    /* traces that cannot be read, or of a rank that an earlier one is of */
    uint64_t n_bytes;       /* of the text that was written */
};

/* What became of it; the caller's, to be freed. */
struct sutra_merged;

/* Merges the traces at the paths into `output`, which is compressed if it ends in .gz or .zst; "-" is standard output.
 * Ranks that cannot be read are left out with a warning; in a strict context that is an error. Each trace is looked at
 * twice; those that do not stay in memory are read twice, as many at a time as the context has threads, so "-" cannot
 * be an input. The file is the same bytes for any number of threads. SUTRA_USAGE: no traces, or more than 1,048,576.
 * SUTRA_DATA: none can be read, or the first with no such step. SUTRA_NO_OUTPUT, SUTRA_IO: it cannot be written.
 * SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_merge(struct sutra_context *context, const char *const *paths, size_t n_paths,
                              const struct sutra_merge_options *options, const char *output,
                              struct sutra_merged **merged, struct sutra_error *error);
void sutra_merged_report(const struct sutra_merged *merged, struct sutra_merge_report *report);
void sutra_merged_free(struct sutra_merged *merged);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
