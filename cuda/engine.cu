/*
 * engine.cu - the table of the CUDA engine: each step of match/engine.h on the GPU, and what is done where the GPU
 * cannot do it. A table that is too large is cut into pieces; what even so does not fit, or fails, is done by the CPU
 * engine with a warning, or is an error where the caller wants the GPU and nothing else.
 */
#include "cuda/engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include "base/error.h"
#include "match/steps.h"
}

const char *const cuda_phase_names[CUDA_PHASES] = {"up", "sort", "parents", "exclusive", "order", "down", "other"};

static struct cuda_engine *engine_of(void *state) {
    return static_cast<struct cuda_engine *>(state);
}

/* What a failed or oversized step comes to: *by_cpu, or an error. */
static enum sutra_status judge(struct cuda_engine *engine, const char *what, enum gpu_outcome outcome, bool *by_cpu,
                               struct sutra_error *error) {
    char text[400];
    *by_cpu = false;
    if (outcome == GPU_DONE)
        return SUTRA_OK;
    table_reset(&engine->gpu, &engine->table, engine->table.ops);
    if (outcome == GPU_TOO_SMALL) {
        uint64_t bytes = engine->gpu.memory[GPU_TABLE].most + engine->gpu.memory[GPU_SCRATCH].most;
        snprintf(text, sizeof text, "%s: %.3f MB are needed on the GPU, which has %.3f MB for it", what,
                 (double)bytes * 1e-6, (double)engine->gpu.limit * 1e-6);
    } else {
        engine->broken = true;
        snprintf(text, sizeof text, "%s: the GPU failed: %s", what, engine->gpu.failure);
    }
    if (!engine->options.may_fall_back)
        return error_set(error, SUTRA_SYSTEM, "%s; --device auto or cpu takes the CPU", text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "; the CPU does it");
    engine->options.warn(engine->options.arg, text);
    *by_cpu = true;
    return SUTRA_OK;
}

/* Once CUDA has failed, all is the CPU's where it may be, without more warnings. */
static bool is_cpus(const struct cuda_engine *engine) {
    return engine->broken && engine->options.may_fall_back;
}

static enum gpu_outcome run_step(struct cuda_engine *engine, void (*step)(struct gpu *gpu, void *arg), void *arg) {
    return engine->broken ? GPU_FAILED : gpu_run(&engine->gpu, step, arg);
}

/* A step that is not cut into pieces. */
static enum sutra_status run_whole(struct cuda_engine *engine, const char *what, void (*step)(struct gpu *, void *),
                                   void *arg, bool *by_cpu, struct sutra_error *error) {
    *by_cpu = is_cpus(engine);
    return *by_cpu ? SUTRA_OK : judge(engine, what, run_step(engine, step, arg), by_cpu, error);
}

static void load(void *state, const struct cpu_ops *ops) {
    struct cuda_engine *engine = engine_of(state);
    engine->loaded = ops;
    table_reset(&engine->gpu, &engine->table, ops);
}

/* The table of a step. Another one than the loaded may hold something else by the next step. */
static struct gpu_table *table_for(struct cuda_engine *engine, const struct cpu_ops *ops) {
    if (engine->table.ops != ops || engine->loaded != ops)
        table_reset(&engine->gpu, &engine->table, ops);
    return &engine->table;
}

/* A step that is cut into pieces where it is too large. */
static enum sutra_status run_cut(struct cuda_engine *engine, const char *what, void (*step)(struct gpu *, void *),
                                 step_in_pieces *in_pieces, void *arg, bool *by_cpu, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    *by_cpu = is_cpus(engine);
    if (*by_cpu)
        return SUTRA_OK;
    enum gpu_outcome outcome = run_step(engine, step, arg);
    if (outcome == GPU_TOO_SMALL)
        status = in_pieces(&engine->gpu, arg, &outcome, error);
    return status ? status : judge(engine, what, outcome, by_cpu, error);
}

static enum sutra_status sort_numbers(void *state, struct number_column numbers, row_t n, row_t *order,
                                      struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct sort_numbers_step step = {numbers, n, order};
    bool by_cpu;
    enum sutra_status status = run_cut(engine, "sorting", gpu_sort_numbers, pieces_sort_numbers, &step, &by_cpu, error);
    return by_cpu ? cpu_sort_numbers(engine->gpu.pool, numbers, n, order, error) : status;
}

static enum sutra_status sort_keys(void *state, uint64_t *keys, row_t *rows, row_t n, struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct sort_keys_step step = {keys, rows, n, false};
    bool by_cpu;
    enum sutra_status status = run_cut(engine, "sorting", gpu_sort_keys, pieces_sort_keys, &step, &by_cpu, error);
    if (by_cpu && step.overwritten)
        return error_set(error, SUTRA_SYSTEM,
                         "the GPU failed while its results were copied: try again with --device cpu");
    return by_cpu ? cpu_sort_keys(engine->gpu.pool, keys, rows, n, error) : status;
}

/* Does the threads again that the GPU left, on the CPU. */
static enum sutra_status do_left_threads(struct cuda_engine *engine, const struct cpu_ops *ops,
                                         struct exclusive_step *step, struct sutra_error *error) {
    uint32_t n_left = 0;
    for (uint32_t t = 0; t < ops->n_threads; t++)
        n_left += step->left[t];
    if (n_left == 0)
        return SUTRA_OK;
    char text[160];
    snprintf(text, sizeof text, "exclusive durations on %u of %u threads by the CPU: their operators overlap too far",
             n_left, ops->n_threads);
    engine->options.note(engine->options.arg, text);
    return pieces_left(engine->gpu.pool, ops, step, error);
}

static enum sutra_status exclusive_durations(void *state, const struct cpu_ops *ops, struct number_column exclusive,
                                             struct exclusive_anomalies *anomalies, struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct exclusive_step step = {
        table_for(engine, ops), exclusive, host_new<uint8_t>(ops->n_threads), {0, 0, UINT64_MAX}};
    bool by_cpu = false;
    enum sutra_status status = step.left ? SUTRA_OK : error_memory(error);
    if (!status)
        status = run_cut(engine, "exclusive durations", gpu_exclusive, pieces_exclusive, &step, &by_cpu, error);
    if (!status && !by_cpu)
        status = do_left_threads(engine, ops, &step, error);
    free(step.left);
    if (status)
        return status;
    if (by_cpu)
        return cpu_exclusive_durations(engine->gpu.pool, ops, EXCLUSIVE_BUDGET, exclusive, anomalies, error);
    anomalies->n_rounded = step.anomalies.n_rounded;
    anomalies->n_replaced = step.anomalies.n_replaced;
    anomalies->first_replaced =
        step.anomalies.first_replaced < ops->n ? (row_t)step.anomalies.first_replaced : ROW_NONE;
    return SUTRA_OK;
}

static enum sutra_status thread_order(void *state, const struct cpu_ops *ops, int64_t gap, row_t *before,
                                      struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct thread_order_step step = {};
    step.table = table_for(engine, ops);
    step.gap = gap;
    step.before = before;
    bool by_cpu;
    enum sutra_status status =
        run_cut(engine, "order between threads", gpu_thread_order, pieces_thread_order, &step, &by_cpu, error);
    return by_cpu ? cpu_thread_order(ops, gap, before, error) : status;
}

static enum sutra_status parents(void *state, const struct cpu_ops *ops, const struct op_markers *markers,
                                 const struct parent_queries *queries, row_t *parent, struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct parents_step step = {table_for(engine, ops), markers, queries, parent};
    bool by_cpu;
    enum sutra_status status = run_cut(engine, "finding parents", gpu_parents, pieces_parents, &step, &by_cpu, error);
    return by_cpu ? cpu_parents(engine->gpu.pool, ops, markers, queries, parent, error) : status;
}

static enum sutra_status covering_ops(void *state, struct number_column ts, struct number_column dur, row_t n,
                                      struct number_column at, row_t n_moments, row_t *found,
                                      struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct covering_step step = {ts, dur, n, at, n_moments, found, false};
    bool by_cpu;
    enum sutra_status status = run_whole(engine, "finding parents", gpu_covering, &step, &by_cpu, error);
    if (!status && step.left) {
        by_cpu = true;
        engine->options.note(engine->options.arg,
                             "parents by the CPU: integer times beyond 2^53 and doubles have no common key");
    }
    return by_cpu ? cpu_covering_ops(engine->gpu.pool, ts, dur, n, at, n_moments, found, error) : status;
}

static enum sutra_status join(void *state, const value_key *keys, row_t n, const value_key *wanted, row_t n_wanted,
                              row_t *found, struct sutra_error *error) {
    struct join_step step = {keys, n, wanted, n_wanted, found};
    bool by_cpu;
    enum sutra_status status = run_whole(engine_of(state), "joining ids", gpu_join, &step, &by_cpu, error);
    return by_cpu ? cpu_join(engine_of(state)->gpu.pool, keys, n, wanted, n_wanted, found, error) : status;
}

static enum sutra_status lane_neighbours(void *state, const struct lane_items *items, const uint32_t *lane,
                                         const uint64_t *time, row_t n, row_t *before, row_t *after,
                                         struct sutra_error *error) {
    struct lane_neighbours_step step = {items, lane, time, n, before, after};
    bool by_cpu;
    enum sutra_status status =
        run_whole(engine_of(state), "finding launches", gpu_lane_neighbours, &step, &by_cpu, error);
    return by_cpu ? cpu_lane_neighbours(items, lane, time, n, before, after, error) : status;
}

static enum sutra_status queue_lengths(void *state, const uint32_t *lane, const uint8_t *up, row_t n, uint32_t n_lanes,
                                       uint32_t *length, struct sutra_error *error) {
    struct queue_lengths_step step = {lane, up, n, n_lanes, length};
    bool by_cpu;
    enum sutra_status status = run_whole(engine_of(state), "counting queues", gpu_queue_lengths, &step, &by_cpu, error);
    return by_cpu ? cpu_queue_lengths(lane, up, n, n_lanes, length, error) : status;
}

static enum sutra_status match_frames(void *state, const struct frame_tokens *tokens, row_t *partner,
                                      struct sutra_error *error) {
    struct match_frames_step step = {tokens, partner};
    bool by_cpu;
    enum sutra_status status = run_whole(engine_of(state), "nesting", gpu_match_frames, &step, &by_cpu, error);
    return by_cpu ? cpu_match_frames(tokens, partner, error) : status;
}

static enum sutra_status event_parents(void *state, const struct tree_events *events, row_t *parent, int64_t *closing,
                                       struct sutra_error *error) {
    struct cuda_engine *engine = engine_of(state);
    struct event_parents_step step = {events, parent, closing, false};
    bool by_cpu;
    enum sutra_status status = run_whole(engine, "the call tree", gpu_event_parents, &step, &by_cpu, error);
    if (!status && step.left) {
        by_cpu = true;
        engine->options.note(engine->options.arg, "the call tree by the CPU: events overlap too far, or have whole "
                                                  "microseconds and look at other threads");
    }
    return by_cpu ? cpu_event_parents(events, parent, closing, error) : status;
}

static enum sutra_status tensor_groups(void *state, const struct storage_uses *uses, uint32_t *number, uint32_t *group,
                                       struct sutra_error *error) {
    struct tensor_groups_step step = {uses, number, group};
    bool by_cpu;
    enum sutra_status status = run_whole(engine_of(state), "tensor ids", gpu_tensor_groups, &step, &by_cpu, error);
    return by_cpu ? cpu_tensor_groups(uses, number, group, error) : status;
}

static enum sutra_status merge_intervals(void *state, const int64_t *start, const int64_t *end, const uint32_t *segment,
                                         row_t n, uint32_t n_segments, struct merged *merged,
                                         struct sutra_error *error) {
    struct merge_step step = {start, end, segment, n, n_segments, {}, false};
    bool by_cpu;
    enum sutra_status status =
        run_whole(engine_of(state), "merging intervals", gpu_merge_intervals, &step, &by_cpu, error);
    if (!status && step.no_memory)
        status = error_memory(error);
    if (status || by_cpu)
        merged_free(&step.merged);
    else
        *merged = step.merged;
    return by_cpu ? cpu_merge_intervals(start, end, segment, n, n_segments, merged, error) : status;
}

static enum sutra_status interval_states(void *state, const struct merged *merged, uint32_t n_sets, int64_t unit,
                                         struct interval_states *states, struct sutra_error *error) {
    struct states_step step = {merged, n_sets, unit, {}};
    bool by_cpu = merged->first[n_sets] > ROW_LIMIT / 2;
    enum sutra_status status = SUTRA_OK;
    if (!by_cpu)
        status = run_whole(engine_of(state), "overlap", gpu_interval_states, &step, &by_cpu, error);
    if (!status && !by_cpu)
        *states = step.states;
    return by_cpu ? cpu_interval_states(merged, n_sets, unit, states, error) : status;
}

static enum sutra_status sums_by_key(void *state, const uint32_t *keys, const int64_t *values, row_t n, uint32_t n_keys,
                                     struct moments *moments, struct sutra_error *error) {
    struct sums_step step = {keys, values, n, n_keys, moments, false};
    bool by_cpu;
    enum sutra_status status = run_whole(engine_of(state), "sums", gpu_sums_by_key, &step, &by_cpu, error);
    if (!status && by_cpu)
        cpu_sums_by_key(keys, values, n, moments);
    return !status && step.no_memory ? error_memory(error) : status;
}

void engine_cuda_fill(struct cuda_engine *made, struct engine *engine) {
    memset(engine, 0, sizeof *engine);
    engine->name = "cuda";
    engine->state = made;
    engine->load = load;
    engine->sort_numbers = sort_numbers;
    engine->sort_keys = sort_keys;
    engine->exclusive_durations = exclusive_durations;
    engine->thread_order = thread_order;
    engine->parents = parents;
    engine->covering_ops = covering_ops;
    engine->lane_neighbours = lane_neighbours;
    engine->queue_lengths = queue_lengths;
    engine->match_frames = match_frames;
    engine->event_parents = event_parents;
    engine->tensor_groups = tensor_groups;
    engine->merge_intervals = merge_intervals;
    engine->interval_states = interval_states;
    engine->sums_by_key = sums_by_key;
    engine->join = join;
}
