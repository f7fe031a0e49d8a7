/*
 * launches.h - connects launches and GPU activity: by correlation, by flow arrows, and in queues of streams.
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
 * Flow arrows of a selection: an arrow is kept if all its ends are.
 *
 *     thread 1   |  launch  |          an end is kept if the event that begins on its thread at its time is
 *                 s--.
 *     stream 7        '-->f
 *                         | kernel |
 */

/* Sets `kept` of the events of kind SELECTED_ARROW; all others are set already. lone(arg, event) decides about ends at
 * whose time no event begins. The caller releases the arena. O(n) in expectation. */
enum sutra_status arrows_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                struct selection *selection, bool (*lone)(const void *arg, row_t event),
                                const void *arg, struct arena *arena, struct sutra_error *error);

/*
 * Queue lengths of streams: plus one when a launch begins, minus one when its GPU operator begins.
 *
 *     stream 7    launch a   launch b   a begins   b begins      in the order of time
 *     length         1          2          1          0          after each change
 */

/* Changes of queues; changes at one time are in the order of this table. */
struct queue_changes {
    row_t n;
    const uint64_t *time;
    const uint64_t *stream; /* streams come in the order of these numbers */
    const uint8_t *up;      /* 1: a launch; 0: a GPU operator begins */
};

/* The changes grouped by stream, each by time. The caller allocates the columns. */
struct queue_lengths {
    row_t *change;    /* its row in the table of changes */
    uint32_t *lane;   /* number of its stream, below n_lanes */
    uint32_t *length; /* of its stream's queue after it, modulo 2^32 */
    uint32_t n_lanes;
};

/* Cost: two sorts, and O(n). */
enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, struct queue_lengths *series, struct sutra_error *error);

/* Whether a correlation can match other events: it is present and not a list. */
static inline bool is_correlation(value_key key) {
    return key != -1 && key >= KEY_VALUES;
}

/* Finds the partners of events rows[0..n): partner[event] becomes the last event of the other side with the same
 * correlation; without one it does not change. Events with the bit `gpu` in state[event] are one side. O(n) or
 * O(n log n), as the engine joins. */
enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error);

#endif
