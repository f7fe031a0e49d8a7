/*
 * launches.h - connects launches and GPU activity: by id and policy, by flow arrows, and in queues of streams.
 *
 *     CPU    launch 7    copy 8    launch 9                     partner: the last event of the other side
 *     GPU        kernel 7    kernel 7    copy 8                 launch 7 <-> the second kernel, launch 9: none
 */
#ifndef FACTS_LAUNCHES_H
#define FACTS_LAUNCHES_H

#include "base/arena.h"
#include "columns/traces.h"
#include "facts/names.h"
#include "facts/selection.h"
#include "match/key_index.h"
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

/*
 * Selection of launches: which of several calls with the id of a GPU activity launched it. The id is a correlation, or
 * by some readers a flow's or an external id. Calls may repeat ids in joined or malformed traces.
 *
 *     calls by start     a 7     b 9     c 7           FIRST  LAST  LAST_BEFORE
 *     activity                 7                         a      c      a
 */
enum launch_policy {
    LAUNCH_FIRST,      /* the first one: the DLRM notebook; ROCm's profiles */
    LAUNCH_LAST,       /* the last one, as a Python dictionary keeps it: trace_link; HTA by correlation_partners() */
    LAUNCH_LAST_BEFORE /* the last one that starts no later than the activity, else the first: chakra_trace_link and
                          PyTorch's profiles; the calls ascend by start */
};

/* Calls by id; a call is its index in the list. */
struct launch_index {
    struct key_index ids; /* id -> first call, by LAUNCH_LAST the last */
    row_t repeated;       /* the first call whose id an earlier call has, or ROW_NONE */
    uint64_t n_repeated;  /* such calls, unless LAUNCH_LAST */
    /* LAUNCH_LAST_BEFORE, if ids repeat: the calls of id number i are call[first[i]] .. call[first[i + 1] - 1]. */
    row_t *number, *first, *call; /* number: by call, of its id */
    struct number_column start;
};

/* `start`, of the calls, is used by LAUNCH_LAST_BEFORE only; it must outlive the index, as the arena. The caller frees
 * the index. SUTRA_SYSTEM: out of memory. O(n) or O(n log n), as key_index_build(). */
enum sutra_status launch_index_build(struct launch_index *index, const struct engine *engine, const value_key *ids,
                                     struct number_column start, row_t n, enum launch_policy policy,
                                     struct arena *arena, struct sutra_error *error);
void launch_index_free(struct launch_index *index);

/* The call with this id by LAUNCH_FIRST or LAUNCH_LAST, or ROW_NONE. */
static inline row_t launch_index_find(const struct launch_index *index, value_key id) {
    return key_index_find(&index->ids, id);
}

/* The same by any policy, for an activity with this start. O(log n). */
row_t launch_index_find_before(const struct launch_index *index, value_key id, struct number start);

/* call[i] = the call that launched activity gpu[i], by our rules: the last call of the runtime with its correlation,
 * else the last one of a driver, which another device's runtime may record with the same correlation; else ROW_NONE.
 * `calls` are events; an event without usable times does not count. `roles` are of READER_TREE. O(n_calls + n), as the
 * engine joins. */
enum sutra_status calls_by_correlation(const struct device_events *events, const struct string_roles *roles,
                                       const row_t *calls, row_t n_calls, const row_t *gpu, row_t n,
                                       const struct engine *engine, struct arena *scratch, row_t *call,
                                       struct sutra_error *error);

/* Events of one side, CPU or GPU, and their correlations; match[i] = the last event of the other side, as an index,
 * with the correlation of event i. */
struct launch_side {
    row_t n;
    row_t *event, *match;
    value_key *correlation;
};

/* Room for n events; the arena may have failed. */
struct launch_side launch_side_alloc(struct arena *arena, row_t n);
static inline void launch_side_add(struct launch_side *side, const struct device_events *events, row_t event) {
    side->event[side->n] = event;
    side->correlation[side->n++] = events->correlation[event];
}
enum sutra_status launch_side_match(struct launch_side *side, const struct launch_side *other,
                                    const struct engine *engine, struct sutra_error *error);

/* Finds the partners of events rows[0..n): partner[event] becomes the last event of the other side with the same
 * correlation; without one it does not change. Events with the bit `gpu` in state[event] are one side. O(n) or
 * O(n log n), as the engine joins. */
enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error);

#endif
