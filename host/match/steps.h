/*
 * steps.h - the steps of an engine: the list of them, and for each a struct of what comes in and what goes out.
 *
 * All tables are struct-of-arrays and belong to the caller, and so do outputs, which come last in a struct and are
 * written whole on success. Steps return SUTRA_SYSTEM when memory runs out. Every step costs O(n log n) at most, on any
 * input but one: exclusive durations of many partly overlapping operators whose times have no common fixed point (see
 * exclusive.c).
 */
#ifndef MATCH_STEPS_H
#define MATCH_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/threads.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "match/call_tree.h"
#include "match/intervals.h"
#include "sutra/error.h"

/*
 *     step(name, what it is called in messages, CUT or WHOLE)
 *
 * CUT: an engine on a device does in pieces what the device has no room for; WHOLE: it leaves that to the CPU.
 *
 * To add a step: a line here, its struct below (struct NAME_step), cpu_NAME() in a file beside this one, gpu_NAME() in
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
 * which they differ; so are keys. */
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
 * CPU operators in the order of the sorted trace: rising start, ties as in the file.
 *
 *   row       0        1        2    ...  n-1
 *   ts        start of each, rising
 *   dur       inclusive duration
 *   thread    number of its tid, below n_threads: tids are numbered as they first occur in this table
 *   external  external id as key
 *   coalesced 1 where the name is nccl:coalesced, else 0
 */
struct cpu_ops {
    row_t n;
    uint32_t n_threads;
    struct number_column ts, dur;
    const uint32_t *thread;
    const value_key *external;
    const uint8_t *coalesced;
};

/* Exclusive durations below 0, and operators that are hard on the CPU: neither should real traces have. */
struct exclusive_anomalies {
    uint64_t n_rounded;   /* by at most 1e-6 us for each child: 0 was taken */
    uint64_t n_replaced;  /* by more: the inclusive duration clipped at 0 was taken */
    row_t first_replaced; /* the first such row, or ROW_NONE */
    uint64_t n_looks;     /* at operators one by one, where there is no faster way; 0 on the GPU */
};

/* exclusive[i] = duration of operator i less the merged intervals of the later operators of its thread that lie inside
 * it, where a thread's operators are sorted stably by (start, duration). On the CPU O(n) on nested operators,
 * O(n log^2 n) on any others whose times are exact. */
struct exclusive_durations_step {
    const struct cpu_ops *ops;
    struct number_column exclusive;
    struct exclusive_anomalies *anomalies;
};

/* before[i] = the operator of another thread that the group of operator i waits for, or ROW_NONE: the one with the
 * largest start that is above 0 and below the start of the group's first operator; at equal starts that of the first
 * thread, and the first on it. A thread's operators form groups that end where the next begins more than `gap`
 * (microseconds) after the last one's end. On the CPU O(n + n_threads). */
struct thread_order_step {
    const struct cpu_ops *ops;
    int64_t gap;
    row_t *before;
};

/* Operators without a duration that stand between those of a table: marker k behind the operators below before[k] and
 * the markers below k. Only the search for parents knows them. Starts and before[] rise. Their external id is
 * MARKER_EXTERNAL. */
struct op_markers {
    row_t n;
    struct number_column ts;
    const row_t *before;
    uint32_t thread; /* of all; n_threads of the table where no operator has it */
};

/* What GPU operators ask for: the CPU operators that launched them. Row i is the i-th GPU operator. */
struct parent_queries {
    row_t n;
    struct number_column launch_ts;
    const uint32_t *thread;    /* of the launch; a number >= n_threads finds nothing */
    const value_key *external; /* of the GPU operator */
    const uint8_t *nccl;       /* 1 where the GPU operator's name contains "nccl" in any case */
};

/* parent[i] = for query i, the last operator or marker that begins strictly before the launch with the launch's thread
 * and the query's external id; without one the last with the launch's thread; else ROW_NONE. Marker k counts as row
 * n + k of the table, whose n and markers together are at most ROW_LIMIT. Queries with nccl set pass over coalesced
 * operators. On the CPU O(n) to index the operators, O(log n) for a query, less where neighbours ask for neighbours. */
struct parents_step {
    const struct cpu_ops *ops;
    const struct op_markers *markers;
    const struct parent_queries *queries;
    row_t *parent;
};

/* found[i] = the operator that has begun before the moment at[i] and ends after it (both strictly); of several the one
 * with the greatest start, of equal starts the first; ROW_NONE if there is none or its start is not above 0. Operators
 * come with rising starts. On the CPU O(n) to index them, O(log n) for a moment. */
struct covering_ops_step {
    struct number_column ts, dur;
    row_t n;
    struct number_column at;
    row_t n_moments;
    row_t *found;
};

/* ---- Lanes and frames ---- */

/* Items on lanes, such as launches on streams: item k is on lane[k], below n_lanes, at time[k]; times rise. */
struct lane_items {
    row_t n;
    uint32_t n_lanes;
    const uint32_t *lane;
    const uint64_t *time;
};

/* before[i] = the last item on lane[i] at or before time[i], after[i] = the first one later than that; ROW_NONE where
 * there is none. Either may be NULL. On the CPU O(n) to index the items, O(log n) for a question. */
struct lane_neighbours_step {
    const struct lane_items *items;
    const uint32_t *lane;
    const uint64_t *time;
    row_t n;
    row_t *before, *after;
};

/* length[i] = how many of rows 0..i on the lane of row i go up, less how many go down; modulo 2^32. On the CPU
 * O(n + n_lanes). */
struct queue_lengths_step {
    const uint32_t *lane;
    const uint8_t *up;
    row_t n;
    uint32_t n_lanes;
    uint32_t *length;
};

/* Where frames of call stacks begin and end, in the order of time, the threads one after the other: tokens
 * thread_start[t] .. thread_start[t + 1] - 1 are of thread t. */
struct frame_tokens {
    row_t n;
    uint32_t n_threads;
    const row_t *thread_start; /* n_threads + 1 */
    const uint8_t *begins;     /* 1: a frame begins; 0: the innermost one that is open ends, if there is one */
};

/* partner[i] = where a frame begins: the token where the frame around it begins; where one ends: the token where it
 * began; ROW_NONE where there is none. On the CPU O(n). */
struct match_frames_step {
    const struct frame_tokens *tokens;
    row_t *partner;
};

/* ---- Events and storages: see event_tree.h ---- */

/* parent[i] = the row above, or ROW_NONE; closing[i] = when the event leaves its stack: EVENT_OPEN if never, its start
 * if it enters none. Rows that are placed are left alone in both. On the CPU O(n + n_threads). */
struct event_parents_step {
    const struct tree_events *events;
    row_t *parent;
    int64_t *closing;
};

/* number[i] = the storage's number, in the order of first sight; group[i] = the tensor's id: the number of the group of
 * storages that it belongs to, or STORAGE_NONE for memory that no tensor was ever seen with. On the CPU O(n), in
 * expectation. */
struct tensor_groups_step {
    const struct storage_uses *uses;
    uint32_t *number, *group;
};

/* ---- Intervals and sums: see intervals.h ---- */

/* Merges the intervals [start[i], end[i]) of each segment. Rows have rising starts (equal ones in any order);
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
 * ends); between each bound and the next, the state is the sum of 1 << segment over starts before, less that over ends
 * before, and the stretch counts, also in whole units. State 0, and sums that are no state because groups end before
 * they start, are left out. Bounds are below INT64_MAX. On the CPU O(n) where ends rise within each segment, else
 * O(n log n). */
struct interval_states_step {
    const struct merged *merged;
    uint32_t n_sets;
    int64_t unit;
    struct interval_states *states;
};

/* moments[keys[i]] takes in values[i] for all i. Keys are below n_keys, and the caller has zeroed as many moments. On
 * the CPU O(n). */
struct sums_by_key_step {
    const uint32_t *keys;
    const int64_t *values;
    row_t n;
    uint32_t n_keys;
    struct moments *moments;
};

/* ---- Ids ---- */

/* found[i] = the last position whose key is wanted[i], or ROW_NONE. On the CPU O(n + n_wanted) where keys lie close
 * together. */
struct join_step {
    const value_key *keys;
    row_t n;
    const value_key *wanted;
    row_t n_wanted;
    row_t *found;
};

/*
 * The steps of match/steps.h by the CPU, for the CPU engine's table, for each other, for the CUDA engine
 * where the GPU cannot do one, and for tests. `pool` is a struct pool; it may be NULL for sorts, covering operators and
 * joins, whose steps are then done on the caller's thread, as tasks of a pool need it, and where no pool is used: all
 * but exclusive durations and parents.
 */

#define CPU_STEP(name, what, pieces)                                                                                   \
    enum sutra_status cpu_##name(void *pool, struct name##_step *step, struct sutra_error *error);
STEPS(CPU_STEP)
#undef CPU_STEP

/* Steps for each operator after which a walk for exclusive durations gives way to the sweep, and these durations with
 * another number than that. */
#define EXCLUSIVE_BUDGET 16
enum sutra_status cpu_exclusive_within(struct pool *pool, struct exclusive_durations_step *step, uint32_t budget,
                                       struct sutra_error *error);

/* Rows by thread: those of thread t are rows[start[t]] .. rows[start[t + 1] - 1], in the order in which order[] has
 * them (NULL: rising). start[] has n_threads + 1 places. O(n + n_threads). */
void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows);

/*
 * What can do the steps of match/steps.h. Two engines do them, one on CPU threads and one in CUDA; the rule
 * for a single element is in rules.h, shared by both, so that their results are the same bits.
 */

struct engine {
    const char *name;
    void *state;
    bool concurrent; /* event_parents and tensor_groups may run at once, as tasks of the pool */

    /* Until the next load (or NULL instead of a table) the columns of `ops` stay what they are, so an engine may keep
     * what it makes of them; a step on another table is fine, too. */
    void (*load)(void *state, const struct cpu_ops *ops);

#define STEP_FIELD(name, what, pieces)                                                                                 \
    enum sutra_status (*name)(void *state, struct name##_step *step, struct sutra_error *error);
    STEPS(STEP_FIELD)
#undef STEP_FIELD
};

/* The engine that runs on the pool's threads; it lives as long as the pool and needs no freeing. */
struct engine engine_cpu(struct pool *pool);

#endif
