/*
 * merge.h - merge the device traces of several ranks into one timeline for trace viewers.
 *
 *     rank 0's trace --\                                  rank 0: CPU | rank 0: GPU stream 7
 *     rank 1's trace ---> sutra_merge() --> one trace     rank 1: CPU | rank 1: GPU stream 7
 *     rank 2's trace --/                                  rank 2: CPU | rank 2: GPU stream 7
 *
 * The timeline has one process per rank for the CPU and one per GPU stream, named and in rank order. Process ids, flow
 * ids and correlations are made unique across ranks, and clocks are aligned. Arrows connect the kernels of a collective
 * on all ranks. All other text of kept events stays byte for byte.
 */
#ifndef SUTRA_MERGE_H
#define SUTRA_MERGE_H

#include "sutra/rewrite.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* How clocks are aligned: by the ends of collectives, which are simultaneous on all ranks; or not at all. */
enum sutra_clocks { SUTRA_CLOCKS_COLLECTIVES, SUTRA_CLOCKS_NONE };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_merge_options {
    size_t size;
    const struct sutra_selection *selection; /* events of each rank; NULL: all */
    enum sutra_clocks clocks;
    bool no_arrows;  /* omit arrows between ranks */
    uint64_t memory; /* bytes of traces kept between the two passes; 0: 1 GiB */
};

/* A rank of the timeline. Times are in nanoseconds. */
struct sutra_merged_rank {
    int64_t rank;
    const char *path;
    int64_t offset_ns;   /* added to its times, in addition to the difference of base times */
    int64_t residual_ns; /* remaining distance between ends of collectives: median, including clock drift */
    uint64_t n_aligned;  /* collectives used for alignment; 0: the clock is unchanged */
    uint64_t n_events, n_kept;
};

struct sutra_merge_report {
    size_t size; /* sizeof the struct, set by the caller */
    uint64_t n_ranks;
    const struct sutra_merged_rank *ranks; /* ascending by rank; live as long as the sutra_merged */
    uint64_t n_events, n_kept, n_processes;
    uint64_t n_collectives; /* connected by arrows */
    uint64_t n_skipped;     /* skipped: unreadable traces and duplicate ranks */
    uint64_t n_bytes;       /* uncompressed bytes written */
};

/* Result of a merge. */
struct sutra_merged;

/* Merges traces into `output`; it is compressed if the name ends in .gz or .zst; "-" is standard output. Unreadable
 * traces and duplicate ranks are skipped with a warning; in a strict context this is an error. There are two passes:
 * traces that exceed `memory` are read twice, in parallel, so "-" is not allowed as an input. The output does not
 * depend on the number of threads. The caller frees *merged. Errors: SUTRA_USAGE: no traces, or more than 1,048,576;
 * SUTRA_DATA: no trace is readable, or no such step; SUTRA_NO_OUTPUT, SUTRA_IO: cannot be written; SUTRA_SYSTEM: out of
 * memory. */
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
