/*
 * engine_cpu.c - the table of the CPU engine: each step of engine.h on the pool that is the engine's state.
 */
#include "match/engine.h"
#include "match/steps.h"

static enum sutra_status sort_numbers(void *state, struct number_column numbers, row_t n, row_t *order,
                                      struct sutra_error *error) {
    return cpu_sort_numbers(state, numbers, n, order, error);
}

static enum sutra_status sort_keys(void *state, uint64_t *keys, row_t *rows, row_t n, struct sutra_error *error) {
    return cpu_sort_keys(state, keys, rows, n, error);
}

static enum sutra_status exclusive_durations(void *state, const struct cpu_ops *ops, struct number_column exclusive,
                                             struct exclusive_anomalies *anomalies, struct sutra_error *error) {
    return cpu_exclusive_durations(state, ops, EXCLUSIVE_BUDGET, exclusive, anomalies, error);
}

/* Linear and short: not worth a pool. */
static enum sutra_status thread_order(void *state, const struct cpu_ops *ops, int64_t gap, row_t *before,
                                      struct sutra_error *error) {
    (void)state;
    return cpu_thread_order(ops, gap, before, error);
}

static enum sutra_status parents(void *state, const struct cpu_ops *ops, const struct op_markers *markers,
                                 const struct parent_queries *queries, row_t *parent, struct sutra_error *error) {
    return cpu_parents(state, ops, markers, queries, parent, error);
}

static enum sutra_status covering_ops(void *state, struct number_column ts, struct number_column dur, row_t n,
                                      struct number_column at, row_t n_moments, row_t *found,
                                      struct sutra_error *error) {
    return cpu_covering_ops(state, ts, dur, n, at, n_moments, found, error);
}

static enum sutra_status join(void *state, const value_key *keys, row_t n, const value_key *wanted, row_t n_wanted,
                              row_t *found, struct sutra_error *error) {
    return cpu_join(state, keys, n, wanted, n_wanted, found, error);
}

/* Linear and short, as are the next ones. */
static enum sutra_status lane_neighbours(void *state, const struct lane_items *items, const uint32_t *lane,
                                         const uint64_t *time, row_t n, row_t *before, row_t *after,
                                         struct sutra_error *error) {
    (void)state;
    return cpu_lane_neighbours(items, lane, time, n, before, after, error);
}

static enum sutra_status queue_lengths(void *state, const uint32_t *lane, const uint8_t *up, row_t n, uint32_t n_lanes,
                                       uint32_t *length, struct sutra_error *error) {
    (void)state;
    return cpu_queue_lengths(lane, up, n, n_lanes, length, error);
}

static enum sutra_status match_frames(void *state, const struct frame_tokens *tokens, row_t *partner,
                                      struct sutra_error *error) {
    (void)state;
    return cpu_match_frames(tokens, partner, error);
}

static enum sutra_status event_parents(void *state, const struct tree_events *events, row_t *parent, int64_t *closing,
                                       struct sutra_error *error) {
    (void)state;
    return cpu_event_parents(events, parent, closing, error);
}

static enum sutra_status tensor_groups(void *state, const struct storage_uses *uses, uint32_t *number, uint32_t *group,
                                       struct sutra_error *error) {
    (void)state;
    return cpu_tensor_groups(uses, number, group, error);
}

static enum sutra_status merge_intervals(void *state, const int64_t *start, const int64_t *end, const uint32_t *segment,
                                         row_t n, uint32_t n_segments, struct merged *merged,
                                         struct sutra_error *error) {
    (void)state;
    return cpu_merge_intervals(start, end, segment, n, n_segments, merged, error);
}

static enum sutra_status interval_states(void *state, const struct merged *merged, uint32_t n_sets, int64_t unit,
                                         struct interval_states *states, struct sutra_error *error) {
    (void)state;
    return cpu_interval_states(merged, n_sets, unit, states, error);
}

static enum sutra_status sums_by_key(void *state, const uint32_t *keys, const int64_t *values, row_t n, uint32_t n_keys,
                                     struct moments *moments, struct sutra_error *error) {
    (void)state;
    (void)n_keys;
    (void)error;
    cpu_sums_by_key(keys, values, n, moments);
    return SUTRA_OK;
}

/* The columns are where they are needed. */
static void load(void *state, const struct cpu_ops *ops) {
    (void)state;
    (void)ops;
}

struct engine engine_cpu(struct pool *pool) {
    return (struct engine){
        .name = "cpu",
        .state = pool,
        .concurrent = true,
        .load = load,
        .sort_numbers = sort_numbers,
        .sort_keys = sort_keys,
        .exclusive_durations = exclusive_durations,
        .thread_order = thread_order,
        .parents = parents,
        .covering_ops = covering_ops,
        .lane_neighbours = lane_neighbours,
        .queue_lengths = queue_lengths,
        .match_frames = match_frames,
        .event_parents = event_parents,
        .tensor_groups = tensor_groups,
        .merge_intervals = merge_intervals,
        .interval_states = interval_states,
        .sums_by_key = sums_by_key,
        .join = join,
    };
}
