/*
 * engine.h - what an engine can do with columns. Two engines implement it, one on CPU threads and one in CUDA; the
 * rule for a single element is in rules.h, shared by both, so that their results are the same bits.
 *
 * All tables are struct-of-arrays and belong to the caller; outputs are arrays of the caller's, written whole on
 * success. Steps return SUTRA_SYSTEM when memory runs out. Every step costs O(n log n) at most, on any input but one:
 * exclusive durations of many partly overlapping operators whose times have no common fixed point (see exclusive.c).
 */
#ifndef MATCH_ENGINE_H
#define MATCH_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "columns/key.h"
#include "columns/number.h"
#include "columns/row.h"
#include "match/event_tree.h"
#include "match/intervals.h"
#include "sutra/error.h"

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

/* What a GPU operator asks for: the CPU operator that launched it. Row i is the i-th GPU operator. */
struct parent_queries {
    row_t n;
    struct number_column launch_ts;
    const uint32_t *thread;    /* of the launch; a number >= n_threads finds nothing */
    const value_key *external; /* of the GPU operator */
    const uint8_t *nccl;       /* 1 where the GPU operator's name contains "nccl" in any case */
};

/* Operators without a duration that stand between those of a table: marker k behind the operators below before[k] and
 * the markers below k. Only the search for parents knows them. Starts and before[] rise. */
struct op_markers {
    row_t n;
    struct number_column ts;
    const row_t *before;
    uint32_t thread; /* of all; n_threads of the table where no operator has it */
};

#define MARKER_EXTERNAL ((value_key)-1) /* of all */

/* Items on lanes, such as launches on streams: item k is on lane[k], below n_lanes, at time[k]; times rise. */
struct lane_items {
    row_t n;
    uint32_t n_lanes;
    const uint32_t *lane;
    const uint64_t *time;
};

/* Where frames of call stacks begin and end, in the order of time, the threads one after the other: tokens
 * thread_start[t] .. thread_start[t + 1] - 1 are of thread t. */
struct frame_tokens {
    row_t n;
    uint32_t n_threads;
    const row_t *thread_start; /* n_threads + 1 */
    const uint8_t *begins;     /* 1: a frame begins; 0: the innermost one that is open ends, if there is one */
};

/* Exclusive durations below 0, which real traces should not have. */
struct exclusive_anomalies {
    uint64_t n_rounded;   /* by at most 1e-6 us for each child: 0 was taken */
    uint64_t n_replaced;  /* by more: the inclusive duration clipped at 0 was taken */
    row_t first_replaced; /* the first such row, or ROW_NONE */
};

struct engine {
    const char *name;
    void *state;
    bool concurrent; /* event_parents and tensor_groups may run at once, as tasks of the pool */

    /* Until the next load (or NULL instead of a table) the columns of `ops` stay what they are, so an engine may keep
     * what it makes of them; a step on another table is fine, too. */
    void (*load)(void *state, const struct cpu_ops *ops);

    /* order[] = the rows 0..n-1 stably sorted by number. */
    enum sutra_status (*sort_numbers)(void *state, struct number_column numbers, row_t n, row_t *order,
                                      struct sutra_error *error);

    /* Sorts pairs (keys[i], rows[i]) stably by key as unsigned 64-bit integer, in place. */
    enum sutra_status (*sort_keys)(void *state, uint64_t *keys, row_t *rows, row_t n, struct sutra_error *error);

    /* exclusive[i] = duration of operator i less the merged intervals of the later operators of its thread that lie
     * inside it, where a thread's operators are sorted stably by (start, duration). */
    enum sutra_status (*exclusive_durations)(void *state, const struct cpu_ops *ops, struct number_column exclusive,
                                             struct exclusive_anomalies *anomalies, struct sutra_error *error);

    /* before[i] = the operator of another thread that the group of operator i waits for, or ROW_NONE: the one with the
     * largest start that is above 0 and below the start of the group's first operator; at equal starts that of the
     * first thread, and the first on it. A thread's operators form groups that end where the next begins more than
     * `gap` (microseconds) after the last one's end. */
    enum sutra_status (*thread_order)(void *state, const struct cpu_ops *ops, int64_t gap, row_t *before,
                                      struct sutra_error *error);

    /* parent[i] = for query i, the last operator or marker that begins strictly before the launch with the launch's
     * thread and the query's external id; without one the last with the launch's thread; else ROW_NONE. Marker k counts
     * as row n + k of the table, whose n and markers together are at most ROW_LIMIT. Queries with nccl set pass over
     * coalesced operators. */
    enum sutra_status (*parents)(void *state, const struct cpu_ops *ops, const struct op_markers *markers,
                                 const struct parent_queries *queries, row_t *parent, struct sutra_error *error);

    /* found[i] = the operator that has begun before the moment at[i] and ends after it (both strictly); of several the
     * one with the greatest start, of equal starts the first; ROW_NONE if there is none or its start is not above 0.
     * Operators come with rising starts. */
    enum sutra_status (*covering_ops)(void *state, struct number_column ts, struct number_column dur, row_t n,
                                      struct number_column at, row_t n_moments, row_t *found,
                                      struct sutra_error *error);

    /* before[i] = the last item on lane[i] at or before time[i], after[i] = the first one later than that; ROW_NONE
     * where there is none. Either may be NULL. */
    enum sutra_status (*lane_neighbours)(void *state, const struct lane_items *items, const uint32_t *lane,
                                         const uint64_t *time, row_t n, row_t *before, row_t *after,
                                         struct sutra_error *error);

    /* length[i] = how many of rows 0..i on the lane of row i go up, less how many go down; modulo 2^32. */
    enum sutra_status (*queue_lengths)(void *state, const uint32_t *lane, const uint8_t *up, row_t n, uint32_t n_lanes,
                                       uint32_t *length, struct sutra_error *error);

    /* partner[i] = where a frame begins: the token where the frame around it begins; where one ends: the token where it
     * began; ROW_NONE where there is none. */
    enum sutra_status (*match_frames)(void *state, const struct frame_tokens *tokens, row_t *partner,
                                      struct sutra_error *error);

    /* Parents of profiler events, and ids of tensors: see event_tree.h. */
    enum sutra_status (*event_parents)(void *state, const struct tree_events *events, row_t *parent, int64_t *closing,
                                       struct sutra_error *error);
    enum sutra_status (*tensor_groups)(void *state, const struct storage_uses *uses, uint32_t *number, uint32_t *group,
                                       struct sutra_error *error);

    /* Intervals and sums: see intervals.h. keys[i] is below n_keys, and the caller has zeroed as many moments. */
    enum sutra_status (*merge_intervals)(void *state, const int64_t *start, const int64_t *end, const uint32_t *segment,
                                         row_t n, uint32_t n_segments, struct merged *merged,
                                         struct sutra_error *error);
    enum sutra_status (*interval_states)(void *state, const struct merged *merged, uint32_t n_sets, int64_t unit,
                                         struct interval_states *states, struct sutra_error *error);
    enum sutra_status (*sums_by_key)(void *state, const uint32_t *keys, const int64_t *values, row_t n, uint32_t n_keys,
                                     struct moments *moments, struct sutra_error *error);

    /* found[i] = the last position whose key is wanted[i], or ROW_NONE. */
    enum sutra_status (*join)(void *state, const value_key *keys, row_t n, const value_key *wanted, row_t n_wanted,
                              row_t *found, struct sutra_error *error);
};

/* The engine that runs on the pool's threads; it lives as long as the pool and needs no freeing. */
struct engine engine_cpu(struct pool *pool);

#endif
