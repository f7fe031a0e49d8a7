/*
 * merge.h - state of a merge that the passes over the ranks and the flow arrows share.
 */
#ifndef REWRITE_MERGE_H
#define REWRITE_MERGE_H

#include "analyze/collective_matches.h"
#include "analyze/ranks.h"
#include "base/arena.h"
#include "base/memory.h"
#include "read/device_trace.h"
#include "sutra/merge.h"
#include "write/sink.h"

/* A possible start or end of an arrow: the kernel of a collective. */
struct merge_point {
    int64_t ns, pid;
    uint32_t tid; /* its text, a string of the calls; STRING_NONE: the event is not kept */
};

/* Ranks whose collectives are matched with each other: all ranks, or the ranks of a role of a run. Roles may have
 * groups with the same names. */
struct merge_role {
    const struct chosen_window *window; /* of the role, or NULL */
    struct collective_calls calls;
    struct collective_matches matches; /* in the arena of the tasks, like */
    struct rank_clock *clocks;
    row_t n_clocks;
    struct merge_point *points; /* by call */
};

struct sutra_merged {
    struct sutra_merge_options options;
    struct sutra_selection selection;
    bool selects;
    struct rank_tasks tasks; /* of the first pass; results: struct merge_rank */
    uint64_t n_held_bytes;
    struct merge_role *roles;
    size_t n_roles;
    int64_t base_ns; /* of the timeline */
    struct sink *sink;
    size_t n_pieces; /* written to the sink; only the rank whose turn it is writes */
    struct sutra_merged_rank *ranks;
    struct sutra_merge_report report;
};

/* Appends arrows, each event after ",\n", and the end of the document, and writes them to the sink. False: out of
 * memory. */
bool merge_arrows_write(struct sutra_merged *merged);

/*
 * The processes of one rank in a timeline of all ranks, one per kind of activity.
 *
 *     pid 8123, tid 8123, 8200  (operators, calls)          "rank 3: CPU"             with its threads
 *     pid 0,    tid 7           (kernels, memcpy)      ->   "rank 3: GPU stream 7"
 *     pid 0,    tid 20          (kernels)                   "rank 3: GPU stream 20"
 *     pid Spans                                             "rank 3: Spans"
 *
 * A lane is the events with the same pid and tid. Each lane with GPU activities becomes a process of its own; the other
 * lanes are grouped by pid. Metadata of processes are replaced; metadata of threads stay if the thread has events.
 *
 * Cost: O(events), and O(n log n) in lanes.
 */

/* Processes of a rank are numbered from position * MERGE_PROCESSES + 1; a rank has fewer than MERGE_PROCESSES. */
#define MERGE_PROCESSES 10000

enum merge_kind { MERGE_CPU, MERGE_GPU, MERGE_OTHER };

struct merge_process {
    enum merge_kind kind;
    value_key pid, tid; /* in the trace; tid: only for a GPU */
    row_t event;        /* first event of the process */
    uint32_t number;    /* order of discovery */
};

/* Allocated in the arena. */
struct merge_lanes {
    uint32_t *lane;                  /* per event */
    uint32_t *process;               /* per lane; PAIR_NONE: no event is kept */
    bool *on_gpu;                    /* per lane */
    struct merge_process *processes; /* CPU, then GPUs by device and stream, then others */
    uint32_t n_lanes, n_processes, n_of_cpu;
    bool many_devices;
};

/* Finds the lanes and processes of the kept events, and clears kept[] of events that a timeline cannot contain.
 * SUTRA_DATA: too many processes. SUTRA_SYSTEM: out of memory. */
enum sutra_status merge_lanes_find(const struct sutra_device_trace *trace, uint8_t *kept, struct arena *arena,
                                   struct merge_lanes *lanes, struct sutra_error *error);

/* The process of an event of the rank at `position`. */
static inline int64_t merge_process_of(const struct merge_lanes *lanes, uint32_t position, row_t event) {
    return (int64_t)position * MERGE_PROCESSES + 1 + lanes->process[lanes->lane[event]];
}

/* Appends metadata that name and order the processes of a rank, such as "rank 3", each after ",\n". */
void merge_lanes_write(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, const char *rank,
                       uint32_t position, struct buffer *out);

/* Appends the tid of an event for metadata or a flow. */
void merge_tid_write(const struct sutra_device_trace *trace, struct json_span tid, struct buffer *out);

/*
 * Rewrites an event of the trace of one rank for a timeline of all ranks.
 *
 *     {"ph": "X", "pid": 8123, "ts": 10.5, "args": {"correlation": 7}}
 *                        30001       12.0                          6755399441055751  all other bytes are unchanged
 *
 * Cost: the bytes that are copied.
 */

/* How the ids of a rank become unique: the position of the rank is shifted left by `bits`. */
struct merge_ids {
    uint32_t position;
    unsigned bits;
};

/* The number of bits that leaves room for all positions, and one more, in the integers that doubles represent. */
static inline unsigned merge_id_bits(uint64_t n_ranks) {
    return 53 - (unsigned)(64 - __builtin_clzll(n_ranks + 1));
}

/* Changes to the events of a rank. */
struct merge_changes {
    const struct sutra_device_trace *trace; /* read by a context that notes offsets of values */
    struct event_forms learned;
    int64_t shift_ns; /* is added to times */
    struct merge_ids ids;
};

/* Appends the event, an object; `pid` replaces its process. */
void merge_event_write(struct merge_changes *changes, row_t event, int64_t pid, struct buffer *out);

/* Appends a flow id or correlation that differs from the ids of other ranks. `text` is `length` bytes of JSON, a string
 * or an integer; anything else, and a negative number, is no id and stays unchanged. */
void merge_id_write(struct merge_ids ids, const char *text, size_t length, struct buffer *out);

#endif
