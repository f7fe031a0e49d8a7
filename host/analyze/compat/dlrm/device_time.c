/*
 * device_time.c - sums the device time of operators, by stream, kernel and shape, and the busy time of streams.
 *
 * Input: the launches below each operator. Output: for each group of operators, blocks of one stream with their
 * kernels, in the order of first occurrence. A kernel's key is its short name and the shape of the call's caller. Times
 * are added in the order of the forest (analyze/statistics.h), as in the notebook, so that printed digits are the same.
 *
 * Cost: O(n) for the nodes, O(m log depth) for the m launches, O(m log m) for the order of blocks.
 */
#include <stdlib.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "analyze/statistics.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/key_index.h"
#include "read/json.h"

/* Initial capacity of blocks and kernels. */
#define BLOCKS_FIRST 64

struct dlrm_kernel_sum {
    struct dlrm_kernel kernel;
    struct ordered_sum sum;
    row_t block, last_op, last_visit;
};

/* Visits of an operator's nodes whose depth is the minimum from each of them to the last visit. */
struct depth_minima {
    row_t *visit; /* an index in the order of visits */
    uint32_t *depth;
    uint32_t n;
};

struct summing {
    struct dlrm_work *work;
    const struct dlrm_tree *tree;
    const row_t *group;    /* per operator */
    uint32_t *depth;       /* per node, below its operator */
    struct id_order order; /* in compat mode; else the nodes' own */
    struct depth_minima minima;
    struct tuples blocks, kernels;
    uint32_t *block_stream; /* texts */
    struct dlrm_kernel_sum *sums;
    uint64_t blocks_capacity, sums_capacity;
    struct ordered_sums waiting;
    uint64_t n_without_stream;
};

/* Depth of the last common ancestor of the nodes of this visit and of the last one. */
static uint32_t common_depth(const struct summing *summing, row_t visit) {
    struct bisection at = {0, summing->minima.n};
    while (at.low < at.high)
        bisect(&at, summing->minima.visit[bisect_middle(at)] <= visit);
    return summing->minima.depth[at.low] - 1;
}

static uint32_t number_block(struct summing *summing, row_t group, value_key stream) {
    uint32_t n = summing->blocks.n, block = tuples_number(&summing->blocks, (struct tuple){{group, stream}});
    if (block != n || block == TUPLE_NONE)
        return block;
    if (!arena_grow(&summing->work->scratch, &summing->block_stream, block, &summing->blocks_capacity,
                    sizeof *summing->block_stream))
        return TUPLE_NONE;
    summing->block_stream[block] = dlrm_id_text(summing->work, stream);
    return summing->block_stream[block] == STRING_NONE ? TUPLE_NONE : block;
}

static struct dlrm_kernel_sum *find_kernel(struct summing *summing, uint32_t block, uint32_t name, uint32_t shape) {
    uint32_t n = summing->kernels.n, kernel = tuples_number(&summing->kernels, (struct tuple){{block, name, shape}});
    if (kernel == TUPLE_NONE ||
        !arena_grow(&summing->work->scratch, &summing->sums, kernel, &summing->sums_capacity, sizeof *summing->sums))
        return NULL;
    if (kernel == n)
        summing->sums[kernel] = (struct dlrm_kernel_sum){.kernel = {.name = name, .shape = shape}, .block = block};
    return &summing->sums[kernel];
}

/* Adds a GPU activity that the launch of a visited node below an operator started. */
static bool add_activity(struct summing *summing, row_t op, row_t caller, row_t executor, row_t visit) {
    struct dlrm_work *work = summing->work;
    const struct dlrm_tree *tree = summing->tree;
    value_key stream = work->events->stream[executor];
    if (!key_is_value(stream)) {
        summing->n_without_stream++;
        return true;
    }
    uint32_t name = dlrm_short_name(work, work->events->name[executor]);
    uint32_t shape = caller == ROW_NONE ? strings_intern(work->texts, "[-1]", 4) : tree->shapes.input[caller];
    uint32_t block = number_block(summing, summing->group[op], stream);
    if (name == STRING_NONE || shape == STRING_NONE || block == TUPLE_NONE)
        return false;
    struct dlrm_kernel_sum *sum = find_kernel(summing, block, name, shape);
    if (!sum)
        return false;
    uint32_t depth = sum->kernel.count && sum->last_op == op ? common_depth(summing, sum->last_visit) : 0;
    sum->kernel.count++;
    sum->last_op = op;
    sum->last_visit = visit;
    return ordered_sum_add(&summing->waiting, &sum->sum, depth, number_as_double(event_dur(work, executor)));
}

static bool add_launch(struct summing *summing, row_t op, row_t node, row_t visit) {
    const struct dlrm_links *links = &summing->tree->links;
    row_t link = links->of_node[node];
    for (row_t i = links->first_started[link]; i < links->first_started[link + 1]; i++)
        if (!add_activity(summing, op, links->caller[link], links->started[i], visit))
            return false;
    return true;
}

static bool add_operators(struct summing *summing) {
    const struct dlrm_forest *forest = &summing->tree->forest;
    const struct dlrm_operators *ops = &summing->tree->ops;
    for (row_t op = 0; op < ops->n; op++) {
        row_t root = ops->node[op];
        if (!(forest->flags[root] & NODE_DEVICE))
            continue;
        summing->minima.n = 0;
        row_t first = summing->order.node ? summing->order.position[root] : root;
        for (row_t visit = first; visit - first < forest->end[root] - root; visit++) {
            row_t node = summing->order.node ? summing->order.node[visit] : visit;
            /* a node with the id of an earlier sibling counts as if it were below this sibling */
            struct depth_minima *minima = &summing->minima;
            uint32_t depth = node == root ? 0 : summing->depth[summing->tree->forest.parent[node]] + 1;
            summing->depth[node] = depth;
            depth += node != root && summing->order.again && summing->order.again[node];
            while (minima->n && minima->depth[minima->n - 1] >= depth)
                minima->n--;
            minima->visit[minima->n] = visit;
            minima->depth[minima->n++] = depth;
            if ((forest->flags[node] & NODE_LAUNCH) && !add_launch(summing, op, node, visit))
                return false;
        }
    }
    return true;
}

/* ---- The table ---- */

/* Sets order[i] to the index of the i-th of n elements, stably by key. */
static enum sutra_status sort_order(const struct engine *engine, uint64_t *keys, row_t *order, row_t n,
                                    struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        order[i] = i;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
}

static enum sutra_status make_table(const struct summing *summing, struct dlrm_device_time *time,
                                    struct sutra_error *error) {
    struct arena *scratch = &summing->work->scratch;
    const struct engine *engine = summing->work->engine;
    row_t n_blocks = summing->blocks.n, n_kernels = summing->kernels.n, n = n_kernels; /* not fewer than blocks */
    row_t *order = arena_alloc(scratch, n, sizeof *order), *block_at = arena_alloc(scratch, n_blocks, sizeof *block_at);
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    *time = (struct dlrm_device_time){
        .n_groups = summing->tree->ops.n,
        .n_blocks = n_blocks,
        .n_kernels = n_kernels,
        .group_block = arena_zeros(summing->work->arena, (size_t)summing->tree->ops.n + 1, sizeof(row_t)),
        .blocks = arena_zeros(summing->work->arena, (size_t)n_blocks + 1, sizeof(struct dlrm_block)),
        .kernels = arena_alloc(summing->work->arena, n_kernels, sizeof(struct dlrm_kernel))};
    if (scratch->failed || summing->work->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n_blocks; i++)
        keys[i] = (uint64_t)summing->blocks.list[i].part[0];
    TRY(sort_order(engine, keys, order, n_blocks, error));
    /* Blocks by group. */
    for (row_t i = 0; i < summing->blocks.n; i++) {
        row_t block = order[i];
        block_at[block] = i;
        time->blocks[i].stream = summing->block_stream[block];
        time->group_block[(row_t)summing->blocks.list[block].part[0] + 1]++;
    }
    for (row_t group = 0; group < time->n_groups; group++)
        time->group_block[group + 1] += time->group_block[group];
    for (row_t i = 0; i < n_kernels; i++)
        keys[i] = block_at[summing->sums[i].block];
    TRY(sort_order(engine, keys, order, n_kernels, error));
    /* Kernels by block, and their times into the blocks. */
    for (row_t i = 0; i < time->n_kernels; i++) {
        const struct dlrm_kernel_sum *sum = &summing->sums[order[i]];
        struct dlrm_block *block = &time->blocks[block_at[sum->block]];
        if (i == 0 || summing->sums[order[i - 1]].block != sum->block)
            block->kernel = i;
        time->kernels[i] = sum->kernel;
        time->kernels[i].us = ordered_sum_total(&summing->waiting, &sum->sum);
        block->us += time->kernels[i].us;
    }
    time->blocks[time->n_blocks].kernel = time->n_kernels;
    return SUTRA_OK;
}

/* Sums the device time of each group; `group` has the group of each operator. */
static enum sutra_status sum_groups(struct dlrm_work *work, const struct dlrm_tree *tree, const row_t *group,
                                    struct dlrm_device_time *time, struct sutra_error *error) {
    const struct dlrm_forest *forest = &tree->forest;
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct summing summing = {.work = work,
                              .tree = tree,
                              .group = group,
                              .depth = arena_alloc(scratch, forest->n, sizeof *summing.depth),
                              .minima.visit = arena_alloc(scratch, forest->n, sizeof *summing.minima.visit),
                              .minima.depth = arena_alloc(scratch, forest->n, sizeof *summing.minima.depth),
                              .block_stream = arena_alloc(scratch, BLOCKS_FIRST, sizeof *summing.block_stream),
                              .blocks_capacity = BLOCKS_FIRST,
                              .sums = arena_alloc(scratch, BLOCKS_FIRST, sizeof *summing.sums),
                              .sums_capacity = BLOCKS_FIRST};
    bool ok = !scratch->failed;
    if (ok && work->options->compat)
        ok = id_order_make(&summing.order, forest, work->external, scratch);
    enum sutra_status status = ok && add_operators(&summing) ? make_table(&summing, time, error) : error_memory(error);
    time->n_without_stream = summing.n_without_stream;
    free(summing.waiting.list);
    tuples_free(&summing.blocks);
    tuples_free(&summing.kernels);
    arena_release(scratch, mark);
    return status;
}

/* The files have a row for each id. If operators share an id, the files need a second table. */
static enum sutra_status sum_by_id(struct dlrm_work *work, const struct dlrm_tree *tree, struct dlrm_device_time *time,
                                   struct sutra_error *error) {
    const struct dlrm_operators *ops = &tree->ops;
    struct arena_mark mark = arena_mark(&work->scratch);
    struct key_index index = {0};
    row_t second = ROW_NONE, *group = arena_alloc(&work->scratch, ops->n, sizeof *group);
    enum sutra_status status =
        group ? key_index_build(&index, work->engine, ops->id, ops->n, KEY_FIRST, &second, error) : error_memory(error);
    for (row_t op = 0; op < ops->n && !status; op++)
        group[op] = key_index_find(&index, ops->id[op]);
    if (!status && second != ROW_NONE)
        status = sum_groups(work, tree, group, time, error);
    key_index_free(&index);
    arena_release(&work->scratch, mark);
    return status;
}

enum sutra_status dlrm_device_time_sum(struct dlrm_work *work, const struct dlrm_tree *tree,
                                       struct dlrm_device_time *time, struct dlrm_device_time *by_id,
                                       struct sutra_error *error) {
    enum sutra_status status = sum_groups(work, tree, tree->ops.group, time, error);
    return status || work->options->compat ? status : sum_by_id(work, tree, by_id, error);
}

/* ---- Device time of operators by name ---- */

static bool sum_by_name(const struct sutra_dlrm *dlrm, struct dlrm_operator_time *rows, struct tuples *names) {
    const struct dlrm_device_time *time = &dlrm->device_time;
    const struct dlrm_operators *ops = &dlrm->tree.ops;
    for (row_t op = 0; op < ops->n; op++) {
        row_t group = ops->group[op];
        if (time->group_block[group] == time->group_block[group + 1])
            continue;
        uint32_t row = tuples_number(names, (struct tuple){{ops->name[op]}});
        if (row == TUPLE_NONE)
            return false;
        rows[row].name = ops->name[op];
        rows[row].calls++;
        for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++)
            for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
                rows[row].kernels += time->kernels[i].count;
                rows[row].us += time->kernels[i].us;
            }
    }
    return true;
}

bool dlrm_operator_times(const struct sutra_dlrm *dlrm, struct arena *arena, struct dlrm_operator_time **times,
                         uint32_t *n) {
    struct tuples names = {0};
    struct dlrm_operator_time *rows = arena_zeros(arena, dlrm->tree.ops.n, sizeof *rows);
    bool ok = rows && sum_by_name(dlrm, rows, &names);
    if (ok) {
        *times = rows;
        *n = names.n;
    }
    tuples_free(&names);
    return ok;
}

/*
 * ---- Idle and overlapping time of all streams, and busy time of each stream ----
 *
 * Input: GPU activity by start time. Output: the notebook's figures, which count some kernels twice, and the correct
 * figures:
 *
 *     |--a--|     |--b--------|                 span      from the first start to the last end
 *                    |--c--|       |--d--|      union     a + b + d;  idle: the rest
 *                                               overlap   c: with an earlier kernel
 *
 * The notebook counts a whole kernel as overlapping if it starts before the last end, the first kernel included. If
 * several kernels overlap, it counts the last of them twice for its stream. Cost: O(n log n).
 */

struct streams {
    struct dlrm_work *work;
    struct dlrm_stream_times *times;
    row_t *event; /* by start */
    row_t n;
    struct tuples ids;
    uint64_t capacity; /* of the list of times */
};

static enum sutra_status sort_events(struct streams *streams, const struct dlrm_links *links,
                                     struct sutra_error *error) {
    const struct dlrm_work *work = streams->work;
    struct arena *scratch = &streams->work->scratch;
    row_t n = links->first_started[links->n], *order = arena_alloc(scratch, n, sizeof *order);
    row_t *events = arena_alloc(scratch, n, sizeof *events);
    struct number_column ts = numbers_alloc(scratch, n);
    streams->event = arena_alloc(scratch, n, sizeof *streams->event);
    TRY(arena_status(scratch, error));
    for (; streams->n < n; streams->n++) {
        events[streams->n] = links->started[streams->n];
        number_set(ts, streams->n, event_ts(work, events[streams->n]));
    }
    TRY(work->engine->sort_numbers(work->engine->state, &(struct sort_numbers_step){ts, n, order}, error));
    for (row_t i = 0; i < n; i++)
        streams->event[i] = events[order[i]];
    return SUTRA_OK;
}

static struct number later_of(struct number a, struct number b) {
    return number_compare(b, a) > 0 ? b : a;
}

/* The number of an event's stream; a new stream gets a row. TUPLE_NONE: out of memory. */
static uint32_t stream_of(struct streams *streams, row_t event) {
    struct dlrm_work *work = streams->work;
    struct dlrm_stream_times *times = streams->times;
    value_key id = work->events->stream[event];
    uint32_t n = streams->ids.n, number = tuples_number(&streams->ids, (struct tuple){{id}});
    if (number != n || number == TUPLE_NONE)
        return number;
    if (!arena_grow(work->arena, &times->list, n, &streams->capacity, sizeof *times->list))
        return TUPLE_NONE;
    times->list[n] = (struct dlrm_stream_time){dlrm_id_text(work, id), number_integer(0), number_integer(0)};
    times->n = n + 1;
    return times->list[n].name == STRING_NONE ? TUPLE_NONE : number;
}

/* Busy time of each stream, as the notebook counts it and correctly. */
static bool measure_each(struct streams *streams, struct dlrm_stream_times *times) {
    const struct dlrm_work *work = streams->work;
    for (row_t i = 0; i < streams->n;) {
        struct number begin = event_ts(work, streams->event[i]), front = begin;
        row_t j = i;
        for (; j < streams->n && (j == i || number_compare(event_ts(work, streams->event[j]), front) < 0); j++) {
            uint32_t stream = stream_of(streams, streams->event[j]);
            if (stream == TUPLE_NONE)
                return false;
            struct number *us = &times->list[stream].original;
            *us = number_add(*us, event_dur(work, streams->event[j]));
            front = j == i ? event_end(work, streams->event[j]) : later_of(front, event_end(work, streams->event[j]));
        }
        times->original_total = number_add(times->original_total, number_subtract(front, begin));
        i = j - i > 1 ? j - 1 : j;
    }
    for (row_t i = 0; i < streams->n; i++) {
        struct number *us = &times->list[stream_of(streams, streams->event[i])].sum;
        *us = number_add(*us, event_dur(work, streams->event[i]));
    }
    return true;
}

/* ---- Names of all streams ---- */

static int compare_texts(const void *left, const void *right, void *arg) {
    const struct strings *texts = arg;
    return strcmp(strings_text(texts, *(const uint32_t *)left), strings_text(texts, *(const uint32_t *)right));
}

static bool name_streams(struct dlrm_work *work, const struct dlrm_window *window, struct dlrm_stream_times *times) {
    struct tuples ids = {0};
    bool ok = true;
    for (row_t i = 0; i < window->n && ok; i++) {
        value_key id = work->events->stream[window->rows[i]];
        ok = !key_is_value(id) || tuples_number(&ids, (struct tuple){{id}}) != TUPLE_NONE;
    }
    times->names = ok ? arena_alloc(work->arena, ids.n, sizeof *times->names) : NULL;
    ok = times->names != NULL;
    for (; ok && times->n_names < ids.n; times->n_names++) {
        times->names[times->n_names] = dlrm_id_text(work, ids.list[times->n_names].part[0]);
        ok = times->names[times->n_names] != STRING_NONE;
    }
    tuples_free(&ids);
    if (ok)
        qsort_r(times->names, times->n_names, sizeof *times->names, compare_texts, work->texts);
    return ok;
}

enum sutra_status dlrm_streams_measure(struct dlrm_work *work, const struct dlrm_window *window,
                                       const struct dlrm_links *links, struct dlrm_stream_times *times,
                                       struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct streams streams = {.work = work, .times = times};
    *times = (struct dlrm_stream_times){0};
    enum sutra_status status =
        name_streams(work, window, times) ? sort_events(&streams, links, error) : error_memory(error);
    if (!status && streams.n > 0) {
        /* Idle and overlapping time. */
        struct number last = event_end(work, streams.event[0]);
        struct number active = event_dur(work, streams.event[0]);
        for (row_t i = 0; i < streams.n; i++) {
            struct number ts = event_ts(work, streams.event[i]), end = event_end(work, streams.event[i]);
            struct number dur = event_dur(work, streams.event[i]);
            times->sum = number_add(times->sum, dur);
            if (number_compare(ts, last) > 0) {
                times->idle = number_add(times->idle, number_subtract(ts, last));
                active = number_add(active, dur);
            } else {
                /* The notebook subtracts start from end, which rounds differently than the duration. */
                times->original_overlap =
                    number_add(times->original_overlap, (work->options->compat ? number_subtract(end, ts) : dur));
                if (i > 0) {
                    struct number shared = number_subtract(number_compare(end, last) < 0 ? end : last, ts);
                    times->overlap = number_add(times->overlap, later_of(number_integer(0), shared));
                    active = number_add(active, later_of(number_integer(0), number_subtract(end, last)));
                }
            }
            last = number_compare(ts, last) > 0 ? end : later_of(last, end);
        }
        times->span = number_subtract(last, event_ts(work, streams.event[0]));
        times->active = active;
        status = measure_each(&streams, times) ? SUTRA_OK : error_memory(error);
    }
    tuples_free(&streams.ids);
    arena_release(&work->scratch, mark);
    return status;
}

/*
 * ---- Input and output shapes of the operators in the forest ----
 *
 * Fills two columns with the number of each shape's text. Shards of the forest are read in parallel, each with its own
 * table of texts, and then numbered in order, so that numbers do not depend on the number of shards. Cost: O(bytes of
 * the operators' events).
 */

#define SHARD_NODES 4096

struct shape_shard {
    struct strings texts;
    uint32_t *map;
    struct buffer text;
    bool failed;
};

struct shape_reader {
    const struct dlrm_work *work;
    const struct dlrm_forest *forest;
    const struct dlrm_shapes *shapes;
    struct shape_shard *shards;
    size_t n_shards;
};

/* The first node of a shard; for the shard after the last one, the end of the forest. */
static row_t first_node(const struct shape_reader *reader, size_t shard) {
    return (row_t)part_offset(reader->forest->n, reader->n_shards, shard);
}

static uint32_t read_shape(struct shape_shard *shard, const char *bytes, struct json_span place) {
    shard->text.length = 0;
    if (place.at)
        shape_append(&shard->text, bytes + place.at);
    else
        buffer_append(&shard->text, SHAPE_NONE, sizeof SHAPE_NONE - 1);
    uint32_t shape =
        shard->text.failed ? STRING_NONE : strings_intern(&shard->texts, shard->text.bytes, shard->text.length);
    shard->failed |= shape == STRING_NONE;
    return shape;
}

static void read_shard(void *arg, size_t number) {
    const struct shape_reader *reader = arg;
    const struct dlrm_forest *forest = reader->forest;
    const struct sutra_device_trace *trace = reader->work->trace;
    struct shape_shard *shard = &reader->shards[number];
    const char *bytes = trace->document.source.bytes;
    row_t end = first_node(reader, number + 1);
    struct event_forms learned = {0};
    shard->failed = !strings_init(&shard->texts);
    for (row_t node = first_node(reader, number); node < end && !shard->failed; node++) {
        struct event_spans places = {0};
        if (forest->flags[node] & NODE_OPERATOR)
            event_find(trace, forest->event[node], &learned, &places);
        reader->shapes->input[node] = read_shape(shard, bytes, places.field[FIELD_INPUT_DIMS]);
        reader->shapes->output[node] = read_shape(shard, bytes, places.field[FIELD_OUTPUT_DIMS]);
    }
    event_forms_free(&learned);
}

static void map_shard(void *arg, size_t number) {
    const struct shape_reader *reader = arg;
    const struct dlrm_shapes *shapes = reader->shapes;
    const uint32_t *map = reader->shards[number].map;
    row_t end = first_node(reader, number + 1);
    for (row_t node = first_node(reader, number); node < end; node++) {
        shapes->input[node] = map[shapes->input[node]];
        shapes->output[node] = map[shapes->output[node]];
    }
}

enum sutra_status dlrm_shapes_read(struct dlrm_work *work, const struct dlrm_forest *forest, struct dlrm_shapes *shapes,
                                   struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n_shards = forest->n / SHARD_NODES + 1;
    *shapes = (struct dlrm_shapes){.input = arena_alloc(work->arena, forest->n, sizeof *shapes->input),
                                   .output = arena_alloc(work->arena, forest->n, sizeof *shapes->output)};
    struct shape_reader reader = {.work = work,
                                  .forest = forest,
                                  .shapes = shapes,
                                  .shards = arena_zeros(&work->scratch, n_shards, sizeof *reader.shards),
                                  .n_shards = n_shards};
    bool ok = !work->arena->failed && reader.shards;
    if (ok) {
        pool_run(work->context->pool, reader.n_shards, read_shard, &reader);
        for (size_t i = 0; i < reader.n_shards && ok; i++) {
            struct shape_shard *shard = &reader.shards[i];
            shard->map = shard->failed ? NULL : arena_alloc(&work->scratch, shard->texts.n, sizeof *shard->map);
            ok = shard->map != NULL;
            for (uint32_t text = 0; ok && text < shard->texts.n; text++) {
                shard->map[text] =
                    strings_intern(work->texts, strings_text(&shard->texts, text), strings_length(&shard->texts, text));
                ok = shard->map[text] != STRING_NONE;
            }
        }
        if (ok)
            pool_run(work->context->pool, reader.n_shards, map_shard, &reader);
        for (size_t i = 0; i < reader.n_shards; i++) {
            strings_free(&reader.shards[i].texts);
            buffer_free(&reader.shards[i].text);
        }
    }
    arena_release(&work->scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}
