/*
 * merge.h - inside of merging: what the passes over the ranks share.
 *
 *     pass 1   each rank: its collectives            -->  clocks, and what belongs together
 *     pass 2   each rank: its events, changed        -->  pieces, handed on in the order of the list
 *     last     arrows between the ranks of a collective
 *
 * The first traces of the list stay in memory from one pass to the other, up to a limit; those behind are read in both.
 *
 * Cost: reading each trace once or twice and writing it once. Memory: the traces that stay, one more and its text for
 * each thread, the collectives of all ranks.
 */
#ifndef REWRITE_MERGE_H
#define REWRITE_MERGE_H

#include "analyze/collective_matches.h"
#include "analyze/rank_clocks.h"
#include "analyze/ranks.h"
#include "sutra/merge.h"
#include "write/sink.h"

/* What is known of a rank after the first pass, at its place in the list of traces. */
struct merge_rank {
    int64_t base_ns; /* what its times count from */
    int64_t shift_ns;
    int64_t offset_ns, residual_ns; /* of its clock */
    row_t n_aligned;
    int64_t n_devices; /* of its host, as its trace tells */
    uint32_t position; /* among the ranks that are merged */
    uint64_t first_call, n_calls;
    row_t n_events, n_kept;
    uint32_t n_processes;
};

/* Where an arrow can begin or end: at the kernel of a collective. */
struct merge_point {
    int64_t ns, pid;
    uint32_t tid; /* its text, among the strings of the calls; STRING_NONE: the event is not kept */
};

struct sutra_merged {
    struct sutra_merge_options options;
    struct sutra_selection selection;
    bool selects;
    struct rank_tasks tasks;          /* of the first pass; results: struct merge_rank */
    struct sutra_device_trace **held; /* by trace: it stays for the second pass; or NULL */
    uint64_t n_held_bytes;
    struct collective_calls calls;
    struct collective_matches matches; /* in the arena of the tasks */
    struct merge_point *points;        /* by call */
    int64_t base_ns;                   /* of the timeline */
    struct sink *sink;
    size_t n_pieces; /* that were handed to the sink, by whose turn it is */
    struct sutra_merged_rank *ranks;
    struct sutra_merge_report report;
};

static inline struct merge_rank *merge_rank_at(const struct sutra_merged *merged, size_t number) {
    return (struct merge_rank *)merged->tasks.results + number;
}

/* Appends arrows, each event behind ",\n", and hands them to the sink. False: out of memory. */
bool merge_arrows_write(struct sutra_merged *merged);

#endif
