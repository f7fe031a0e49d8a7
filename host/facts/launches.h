/*
 * launches.h - which events belong together: calls and what they caused on the GPU have one correlation.
 *
 *     CPU    launch 7    copy 8    launch 9                     partner: the last event of the other side
 *     GPU        kernel 7    kernel 7    copy 8                 launch 7 <-> the second kernel, launch 9: none
 */
#ifndef FACTS_LAUNCHES_H
#define FACTS_LAUNCHES_H

#include "base/arena.h"
#include "columns/traces.h"
#include "facts/selection.h"
#include "match/steps.h"

/*
 * Which arrows of a selection stay: those of which all ends do.
 *
 *     thread 1   |  launch  |          an end stays if the event is kept that begins on its thread at its time
 *                 s--.
 *     stream 7        '-->f
 *                         | kernel |
 */

/* Sets `kept` of the events of kind SELECTED_ARROW, when that of all others is there; asks lone(arg, event) about ends
 * at whose moment no event begins. The arena is given back by the caller. O(n) in expectation. */
enum sutra_status arrows_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                struct selection *selection, bool (*lone)(const void *arg, row_t event),
                                const void *arg, struct arena *arena, struct sutra_error *error);

/*
 * How many operators wait on each stream: one more when a launch begins, one less when its operator does.
 *
 *     stream 7    launch a   launch b   a begins   b begins      in the order of time
 *     length         1          2          1          0          just behind each change
 */

/* Changes of queues; of those at one time the first here comes first. */
struct queue_changes {
    row_t n;
    const uint64_t *time;
    const uint64_t *stream; /* streams come in the order of these numbers */
    const uint8_t *up;      /* 1: a launch; 0: an operator that begins */
};

/* The same, stream by stream, each by time. Columns are the caller's, with room for all changes. */
struct queue_lengths {
    row_t *change;    /* its number above */
    uint32_t *lane;   /* number of its stream, below n_lanes */
    uint32_t *length; /* of its stream's queue behind it, modulo 2^32 */
    uint32_t n_lanes;
};

/* Cost: two sorts, and O(n). */
enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, struct queue_lengths *series, struct sutra_error *error);

/* Whether a correlation ties its event to others: it is there, and no list. */
static inline bool is_correlation(value_key key) {
    return key != -1 && key >= KEY_VALUES;
}

/* Finds the partners of events rows[0..n), a side of which are those with the bit `gpu` in state[event]: partner[event]
 * becomes the last event of the other side with the same correlation. That of events without one stays what it is.
 * O(n) or O(n log n), as the engine joins. */
enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error);

#endif
