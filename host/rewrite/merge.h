/*
 * merge.h - state of a merge that the passes over the ranks and the flow arrows share.
 */
#ifndef REWRITE_MERGE_H
#define REWRITE_MERGE_H

#include "analyze/collective_matches.h"
#include "analyze/ranks.h"
#include "sutra/merge.h"
#include "write/sink.h"

/* A possible start or end of an arrow: the kernel of a collective. */
struct merge_point {
    int64_t ns, pid;
    uint32_t tid; /* its text, a string of the calls; STRING_NONE: the event is not kept */
};

struct sutra_merged {
    struct sutra_merge_options options;
    struct sutra_selection selection;
    bool selects;
    struct rank_tasks tasks;          /* of the first pass; results: struct merge_rank */
    struct sutra_device_trace **held; /* by trace: in memory for the second pass; or NULL */
    uint64_t n_held_bytes;
    struct collective_calls calls;
    struct collective_matches matches; /* in the arena of the tasks */
    struct merge_point *points;        /* by call */
    int64_t base_ns;                   /* of the timeline */
    struct sink *sink;
    size_t n_pieces; /* written to the sink; only the rank whose turn it is writes */
    struct sutra_merged_rank *ranks;
    struct sutra_merge_report report;
};

/* Appends arrows, each event after ",\n", and the end of the document, and writes them to the sink. False: out of
 * memory. */
bool merge_arrows_write(struct sutra_merged *merged);

#endif
