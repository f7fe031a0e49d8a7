/*
 * steps.h - the steps of the CUDA engine, to be run by gpu_run() with a pointer to their structure: host columns in,
 * host columns out, as match/engine.h describes them.
 */
#ifndef CUDA_STEPS_H
#define CUDA_STEPS_H

#include "cuda/gpu.h"
#include "cuda/table.h"

struct sort_numbers_step {
    struct number_column numbers;
    row_t n;
    row_t *order;
};
void gpu_sort_numbers(struct gpu *gpu, void *arg);

struct sort_keys_step {
    uint64_t *keys;
    row_t *rows;
    row_t n;
    bool overwritten; /* what came down has begun to replace keys and rows: after a failure they are lost */
};
void gpu_sort_keys(struct gpu *gpu, void *arg);

struct gpu_anomalies {
    uint64_t n_rounded, n_replaced, first_replaced; /* UINT64_MAX: none */
};

struct exclusive_step {
    struct gpu_table *table;
    struct number_column exclusive;
    uint8_t *left; /* by thread: 1 where the results do not count and the CPU must do the thread */
    struct gpu_anomalies anomalies;
};
void gpu_exclusive(struct gpu *gpu, void *arg);

/* What a part of a table must know of the rows before it, and gives to the next part. Starts differ between parts. */
struct order_carry {
    row_t n_rows; /* before this part */
    struct begun begun;
    struct number_column ts, dur; /* by thread: of its last operator */
    row_t *before;                /* by thread: the answer of its last group */
    uint8_t *seen;                /* by thread: 1 where it had an operator */
};

struct thread_order_step {
    struct gpu_table *table;
    int64_t gap;
    row_t *before;
    struct order_carry *carry; /* NULL: the table is whole; else its `begun` is brought forward */
};
void gpu_thread_order(struct gpu *gpu, void *arg);

struct parents_step {
    struct gpu_table *table;
    const struct op_markers *markers;
    const struct parent_queries *queries;
    row_t *parent;
};
void gpu_parents(struct gpu *gpu, void *arg);

struct covering_step {
    struct number_column ts, dur;
    row_t n;
    struct number_column at;
    row_t n_moments;
    row_t *found;
    bool left; /* no one kind of key holds all times: the CPU must do it */
};
void gpu_covering(struct gpu *gpu, void *arg);

struct lane_neighbours_step {
    const struct lane_items *items;
    const uint32_t *lane;
    const uint64_t *time;
    row_t n;
    row_t *before, *after;
};
void gpu_lane_neighbours(struct gpu *gpu, void *arg);

struct queue_lengths_step {
    const uint32_t *lane;
    const uint8_t *up;
    row_t n;
    uint32_t n_lanes;
    uint32_t *length;
};
void gpu_queue_lengths(struct gpu *gpu, void *arg);

struct match_frames_step {
    const struct frame_tokens *tokens;
    row_t *partner;
};
void gpu_match_frames(struct gpu *gpu, void *arg);

struct event_parents_step {
    const struct tree_events *events;
    row_t *parent;
    int64_t *closing;
    bool left; /* the CPU must do it */
};
void gpu_event_parents(struct gpu *gpu, void *arg);

struct tensor_groups_step {
    const struct storage_uses *uses;
    uint32_t *number, *group;
};
void gpu_tensor_groups(struct gpu *gpu, void *arg);

struct merge_step {
    const int64_t *start, *end;
    const uint32_t *segment; /* NULL: all are of segment 0 */
    row_t n;
    uint32_t n_segments;
    struct merged merged;
    bool no_memory; /* the host's has run out */
};
void gpu_merge_intervals(struct gpu *gpu, void *arg);

struct states_step {
    const struct merged *merged; /* at most 2^31 groups */
    uint32_t n_sets;
    int64_t unit;
    struct interval_states states;
};
void gpu_interval_states(struct gpu *gpu, void *arg);

struct sums_step {
    const uint32_t *keys;
    const int64_t *values;
    row_t n;
    uint32_t n_keys;
    struct moments *moments;
    bool no_memory;
};
void gpu_sums_by_key(struct gpu *gpu, void *arg);

struct join_step {
    const value_key *keys;
    row_t n;
    const value_key *wanted;
    row_t n_wanted;
    row_t *found;
};
void gpu_join(struct gpu *gpu, void *arg);

#endif
