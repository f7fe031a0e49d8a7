/*
 * steps.h - the steps of an engine: the list of them, and for each a struct of its inputs and outputs.
 *
 * All tables are struct-of-arrays and belong to the caller. Outputs are last in a struct, belong to the caller, and are
 * complete on success. Steps return SUTRA_SYSTEM when memory runs out. Every step costs O(n log n) at most on any
 * input, with one exception: exclusive durations of many partly overlapping operators whose times have no common grid
 * (see exclusive.c).
 *
 * Two engines do the steps, one on CPU threads and one in CUDA; the rule for a single element is in rules.h, shared by
 * both, so that their results are the same bits.
 */
#ifndef MATCH_STEPS_H
#define MATCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"
#include "columns/numbers.h"
#include "match/call_tree.h"
#include "match/intervals.h"
#include "sutra/error.h"

/*
 *     step(name, its name in messages, CUT or WHOLE)
 *
 * If the device lacks memory for all of a step, CUT steps run in pieces, WHOLE steps on the CPU.
 *
 * To add a step: a line here, its struct below (struct NAME_step), cpu_NAME() in a file of match/, gpu_NAME() in
 * a file of cuda/, and for CUT pieces_NAME(). Both engines' tables and the declarations follow from the line. A call in
 * tests/engine_tables.h compares the two.
 */
#define STEPS(step)                                                                                                    \
    step(sort_numbers, "sorting", CUT) step(sort_keys, "sorting", CUT)                                                 \
        step(exclusive_durations, "exclusive durations", CUT) step(thread_order, "order between threads", CUT)         \
            step(parents, "finding parents", CUT) step(covering_ops, "finding parents", WHOLE)                         \
                step(lane_neighbours, "finding launches", WHOLE) step(queue_lengths, "counting queues", WHOLE)         \
                    step(match_frames, "nesting", WHOLE) step(event_parents, "the call tree", WHOLE)                   \
                        step(tensor_groups, "tensor ids", WHOLE) step(merge_intervals, "merging intervals", WHOLE)     \
                            step(interval_states, "overlap", WHOLE) step(sums_by_key, "sums", WHOLE)                   \
                                step(join, "joining ids", WHOLE)

/* ---- Sorting ---- */

/* order[] = the rows 0..n-1 stably sorted by number. On the CPU O(n) on sorted numbers, else O(n) for each 11 bits in
 * which they differ; the same for sort_keys. */
struct sort_numbers_step {
    struct number_column numbers;
    row_t n;
    row_t *order;
};

/* Sorts pairs (keys[i], rows[i]) stably by key as unsigned 64-bit integer, in place. */
struct sort_keys_step {
    uint64_t *keys;
    row_t *rows;
    row_t n;
};

/* ---- Operators ---- */

/*
 * CPU operators in the order of the sorted trace: ascending start, ties as in the file.
 *
 *   row       0        1        2    ...  n-1
 *   ts        start of each, ascending
 *   dur       inclusive duration
 *   thread    number of its tid, below n_threads: tids are numbered as they first occur in this table
 *   external  external id as key
 *   coalesced 1 if the name is nccl:coalesced, else 0
 */
struct cpu_ops {
    row_t n;
    uint32_t n_threads;
    struct number_column ts, dur;
    const uint32_t *thread;
    const value_key *external;
    const uint8_t *coalesced;
};

/* Exclusive durations below 0, and operators that are expensive on the CPU; real traces should have neither. */
struct exclusive_anomalies {
    uint64_t n_rounded;   /* by at most 1e-6 us for each child: replaced by 0 */
    uint64_t n_replaced;  /* by more: replaced by the inclusive duration, clipped at 0 */
    row_t first_replaced; /* the first such row, or ROW_NONE */
    uint64_t n_inspected; /* operators inspected one by one, without a faster method; 0 on the GPU */
};

/* exclusive[i] = duration of operator i less the merged intervals of the later operators of its thread that lie inside
 * it; a thread's operators are sorted stably by (start, duration). On the CPU O(n) on nested operators,
 * O(n log^2 n) on any others whose times are exact. */
struct exclusive_durations_step {
    const struct cpu_ops *ops;
    struct number_column exclusive;
    struct exclusive_anomalies *anomalies;
};

/* before[i] = the operator of another thread that the group of operator i waits for, or ROW_NONE: the one with the
 * largest start that is above 0 and below the start of the group's first operator; at equal starts the first one of the
 * first thread. A thread's operators form groups that end where the next begins more than `gap` (microseconds) after
 * the last one's end. On the CPU O(n + n_threads). */
struct thread_order_step {
    const struct cpu_ops *ops;
    int64_t gap;
    row_t *before;
};

/* Operators without a duration between the operators of a table: marker k follows the operators below before[k] and the
 * markers below k. Only the search for parents reads them. Starts and before[] ascend. Their external id is
 * MARKER_EXTERNAL. */
struct op_markers {
    row_t n;
    struct number_column ts;
    const row_t *before;
    uint32_t thread; /* of all markers; n_threads of the table if no operator has it */
};

/* One query for each GPU operator: the CPU operator that launched it. Row i is the i-th GPU operator. */
struct parent_queries {
    row_t n;
    struct number_column launch_ts;
    const uint32_t *thread;    /* of the launch; a number >= n_threads finds nothing */
    const value_key *external; /* of the GPU operator */
    const uint8_t *nccl;       /* 1 if the GPU operator's name contains "nccl" in any case */
};

/* parent[i] = for query i, the last operator or marker that begins strictly before the launch with the launch's thread
 * and the query's external id; without one the last with the launch's thread; else ROW_NONE. Marker k counts as row
 * n + k of the table, whose n and markers together are at most ROW_LIMIT. Queries with nccl set skip coalesced
 * operators. On the CPU O(n) to index the operators, O(log n) for a query, less if neighbouring queries have
 * neighbouring answers. */
struct parents_step {
    const struct cpu_ops *ops;
    const struct op_markers *markers;
    const struct parent_queries *queries;
    row_t *parent;
};

/* found[i] = the operator that has begun before the moment at[i] and ends after it (both strictly); of several the one
 * with the greatest start, of equal starts the first; ROW_NONE if there is none or its start is not above 0. Operators
 * are sorted by start. On the CPU O(n) to index them, O(log n) for a moment. */
struct covering_ops_step {
    struct number_column ts, dur;
    row_t n;
    struct number_column at;
    row_t n_moments;
    row_t *found;
};

/* ---- Lanes and frames ---- */

/* Items on lanes, such as launches on streams: item k is on lane[k], below n_lanes, at time[k]; times ascend. */
struct lane_items {
    row_t n;
    uint32_t n_lanes;
    const uint32_t *lane;
    const uint64_t *time;
};

/* before[i] = the last item on lane[i] at or before time[i], after[i] = the first one later than that; ROW_NONE if
 * there is none. Either may be NULL. On the CPU O(n) to index the items, O(log n) for a query. */
struct lane_neighbours_step {
    const struct lane_items *items;
    const uint32_t *lane;
    const uint64_t *time;
    row_t n;
    row_t *before, *after;
};

/* length[i] = number of rows 0..i on the lane of row i with `up`, less those without; modulo 2^32. On the CPU
 * O(n + n_lanes). */
struct queue_lengths_step {
    const uint32_t *lane;
    const uint8_t *up;
    row_t n;
    uint32_t n_lanes;
    uint32_t *length;
};

/* Begins and ends of call stack frames in order of time, grouped by thread: tokens thread_start[t] ..
 * thread_start[t + 1] - 1 are of thread t. */
struct frame_tokens {
    row_t n;
    uint32_t n_threads;
    const row_t *thread_start; /* n_threads + 1 */
    const uint8_t *begins;     /* 1: a frame begins; 0: the innermost open frame ends, if any */
};

/* partner[i] = the begin of the enclosing frame if token i begins a frame, else the begin of the frame that it ends;
 * ROW_NONE if there is none. On the CPU O(n). */
struct match_frames_step {
    const struct frame_tokens *tokens;
    row_t *partner;
};

/* ---- Events and storages: see call_tree.h ---- */

/* parent[i] = the parent's row, or ROW_NONE; closing[i] = the time when the event leaves its stack: EVENT_OPEN if
 * never, its start if it enters none. Rows with `placed` are not changed in either. On the CPU O(n + n_threads). */
struct event_parents_step {
    const struct tree_events *events;
    row_t *parent;
    int64_t *closing;
};

/* number[i] = the storage's number, in the order of first occurrence; group[i] = the tensor's id: the number of the
 * group of storages that it belongs to, or STORAGE_NONE for memory that no tensor ever used. On the CPU O(n), in
 * expectation. */
struct tensor_groups_step {
    const struct storage_uses *uses;
    uint32_t *number, *group;
};

/* ---- Intervals and sums: see intervals.h ---- */

/* Merges the intervals [start[i], end[i]) of each segment. Rows ascend by start (equal ones in any order);
 * segment[i] < n_segments (NULL: all are of segment 0). The result needs merged_free(). On the CPU
 * O(n + n_segments). */
struct merge_intervals_step {
    const int64_t *start, *end;
    const uint32_t *segment;
    row_t n;
    uint32_t n_segments;
    struct merged *merged;
};

/* Sweeps over the bounds of the groups of the first `n_sets` segments in the order of (time, segment, starts before
 * ends). The state between two bounds is the sum of 1 << segment over earlier starts, less that over earlier ends; the
 * time between them is added to the state, also in whole units. State 0 is skipped, and so are invalid sums, which
 * result from groups that end before they start. Bounds are below INT64_MAX. On the CPU O(n) if ends ascend within each
 * segment, else O(n log n). */
struct interval_states_step {
    const struct merged *merged;
    uint32_t n_sets;
    int64_t unit;
    struct interval_states *states;
};

/* Adds values[i] to moments[keys[i]] for all i. Keys are below n_keys; the caller has zeroed n_keys moments. On the CPU
 * O(n). */
struct sums_by_key_step {
    const uint32_t *keys;
    const int64_t *values;
    row_t n;
    uint32_t n_keys;
    struct moments *moments;
};

/* ---- Ids ---- */

/* found[i] = the last position whose key is wanted[i], or ROW_NONE. On the CPU O(n + n_wanted) if keys are close
 * together. */
struct join_step {
    const value_key *keys;
    row_t n;
    const value_key *wanted;
    row_t n_wanted;
    row_t *found;
};

/*
 * The steps on the CPU: for the CPU engine's table, for other steps, for the CUDA engine's fallback, and for tests.
 * `pool` is a struct pool. Only sorts, covering operators, joins, exclusive durations and parents use it; it may be
 * NULL for the first three, which then run on the caller's thread, as within a task of a pool.
 */

#define CPU_STEP(name, what, pieces)                                                                                   \
    enum sutra_status cpu_##name(void *pool, struct name##_step *step, struct sutra_error *error);
STEPS(CPU_STEP)
#undef CPU_STEP

/* Steps per operator after which the walk for exclusive durations switches to the sweep, and the step with another
 * budget. */
#define EXCLUSIVE_BUDGET 16
enum sutra_status cpu_exclusive_within(struct pool *pool, struct exclusive_durations_step *step, uint32_t budget,
                                       struct sutra_error *error);

/* Groups rows by thread: rows[start[t]] .. rows[start[t + 1] - 1] are the rows of thread t, in the order of order[]
 * (NULL: ascending). start[] has n_threads + 1 elements. O(n + n_threads). */
void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows);

struct engine {
    const char *name;
    void *state;
    bool concurrent; /* event_parents and tensor_groups may run simultaneously, as tasks of the pool */

    /* Announces that the columns of `ops` do not change until the next load (NULL: no table), so that an engine may
     * keep copies and indexes of them. Steps on other tables remain possible. */
    void (*load)(void *state, const struct cpu_ops *ops);

#define STEP_FIELD(name, what, pieces)                                                                                 \
    enum sutra_status (*name)(void *state, struct name##_step *step, struct sutra_error *error);
    STEPS(STEP_FIELD)
#undef STEP_FIELD
};

/* The engine on the threads of the pool; it is valid as long as the pool and is not freed. */
struct engine engine_cpu(struct pool *pool);

#endif
