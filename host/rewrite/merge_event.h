/*
 * merge_event.h - an event of one rank's trace as it stands in a timeline of all ranks.
 *
 *     {"ph": "X", "pid": 8123, "ts": 10.5, "args": {"correlation": 7}}
 *                        30001       12.0                          6755399441055751  all else stays byte for byte
 *
 * Cost: the bytes that are copied.
 */
#ifndef REWRITE_MERGE_EVENT_H
#define REWRITE_MERGE_EVENT_H

#include "base/arena.h"
#include "base/memory.h"
#include "read/device_trace.h"

/*
 * The processes of one rank in a timeline of all ranks: one for each kind of work.
 *
 *     pid 8123, tid 8123, 8200  (operators, calls)          "rank 3: CPU"             its threads as they were
 *     pid 0,    tid 7           (kernels, copies)      ->   "rank 3: GPU stream 7"
 *     pid 0,    tid 20          (kernels)                   "rank 3: GPU stream 20"
 *     pid Spans                                             "rank 3: Spans"
 *
 * A lane is what events share that have one pid and one tid. It is one of a GPU if work of the device stands there;
 * each of those is a process by itself, the others are by their pid. Metadata of processes are made anew, those of
 * threads stay where the thread has events.
 *
 * Cost: O(events), and O(n log n) in lanes.
 */

/* Processes of a rank have the numbers from position * MERGE_PROCESSES + 1 on; so many, less one, are the most. */
#define MERGE_PROCESSES 10000

enum merge_kind { MERGE_CPU, MERGE_GPU, MERGE_OTHER };

struct merge_process {
    enum merge_kind kind;
    value_key pid, tid; /* in the trace; tid only of a GPU's */
    row_t event;        /* the first one there */
    uint32_t number;    /* in the order in which they were found */
};

/* In the arena. */
struct merge_lanes {
    uint32_t *lane;                  /* of each event */
    uint32_t *process;               /* of each lane, or PAIR_NONE: nothing stays there */
    bool *on_gpu;                    /* per lane */
    struct merge_process *processes; /* CPU, then GPUs by device and stream, then others */
    uint32_t n_lanes, n_processes, n_of_cpu;
    bool many_devices;
};

/* Finds them among the events with kept[event], which may be NULL: all; what cannot stay is taken off the list.
 * SUTRA_DATA: too many processes. SUTRA_SYSTEM: out of memory. */
enum sutra_status merge_lanes_find(const struct sutra_device_trace *trace, uint8_t *kept, struct arena *arena,
                                   struct merge_lanes *lanes, struct sutra_error *error);

/* The process of an event in the timeline, of a rank at a position. */
static inline int64_t merge_process_of(const struct merge_lanes *lanes, uint32_t position, row_t event) {
    return (int64_t)position * MERGE_PROCESSES + 1 + lanes->process[lanes->lane[event]];
}

/* Appends metadata that name and order the processes of a rank, each behind ",\n". */
void merge_lanes_write(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, int64_t rank,
                       uint32_t position, struct buffer *out);

/* Appends the thread of an event, as a metadatum or flow names it. */
void merge_tid_write(const struct sutra_device_trace *trace, struct json_place tid, struct buffer *out);

/* How a rank's ids become different from those of others: its position among all stands above so many bits. */
struct merge_ids {
    uint32_t position;
    unsigned bits;
};

/* As many bits as leave room for all ranks, and one more position, in the integers that doubles hold. */
static inline unsigned merge_id_bits(uint64_t n_ranks) {
    return 53 - (unsigned)(64 - __builtin_clzll(n_ranks + 1));
}

/* What becomes of the events of a rank. */
struct merge_changes {
    const struct sutra_device_trace *trace; /* read by a context that notes places */
    struct event_forms learned;
    int64_t shift_ns; /* is added to times */
    struct merge_ids ids;
};

/* Appends the event, which is an object, without what stands behind it; `pid` becomes its process. */
void merge_event_write(struct merge_changes *changes, row_t event, int64_t pid, struct buffer *out);

/* Appends a flow id or correlation so that it differs from those of other ranks: `length` bytes of JSON at `text`, a
 * string or an integer. What is neither, or negative, stays: it is none. */
void merge_id_write(struct merge_ids ids, const char *text, size_t length, struct buffer *out);

#endif
