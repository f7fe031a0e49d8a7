/*
 * dlrm_device_time.c - device time of operators, by stream, kernel and shape.
 *
 * In come the launches below each operator; out come, for each group of operators, blocks of one stream with their
 * kernels, in the order of first sight. A kernel's key is its short name and the shape of the call's caller. Times are
 * added up in the order of the forest (ordered_sums.h), as the original does, so that printed digits are the same.
 *
 * Cost: O(n) for the nodes, O(m log depth) for the m launches, O(m log m) for the order of blocks.
 */
#include "analyze/dlrm/dlrm_names.h"

#include "analyze/dlrm/dlrm_id_order.h"
#include "analyze/ordered_sums.h"
#include "base/bisect.h"
#include "base/error.h"
#include "match/key_index.h"

/* Room for blocks and kernels at first. */
#define BLOCKS_FIRST 64

struct dlrm_kernel_sum {
    struct dlrm_kernel kernel;
    struct ordered_sum sum;
    row_t block, last_op, last_visit;
};

/* Visits of an operator's nodes whose depth is the least from them on, up to the last visit. */
struct least_depths {
    row_t *visit; /* a place in the order of visits */
    uint32_t *depth;
    uint32_t n;
};

struct summing {
    struct dlrm_work *work;
    const struct dlrm_tree *tree;
    const row_t *group;    /* per operator */
    uint32_t *depth;       /* per node, below its operator */
    struct id_order order; /* in compat mode; else the nodes' own */
    struct least_depths least;
    struct tuples blocks, kernels;
    uint32_t *block_stream; /* texts */
    struct dlrm_kernel_sum *sums;
    uint64_t blocks_capacity, sums_capacity;
    struct ordered_sums waiting;
    uint64_t n_without_stream;
};

/* Depth at which the node of a visit was left for that of the last one: where the two meet. */
static uint32_t meeting_depth(const struct summing *summing, row_t visit) {
    struct bisection at = {0, summing->least.n};
    while (at.low < at.high)
        bisect(&at, summing->least.visit[bisect_middle(at)] <= visit);
    return summing->least.depth[at.low] - 1;
}

/* A node with the id of a sibling before it is added to what that one has, as if it were below it. */
static void visit_node(struct summing *summing, row_t op, row_t node, row_t visit) {
    struct least_depths *least = &summing->least;
    uint32_t depth = node == op ? 0 : summing->depth[summing->tree->forest.parent[node]] + 1;
    summing->depth[node] = depth;
    depth += node != op && summing->order.again && summing->order.again[node];
    while (least->n && least->depth[least->n - 1] >= depth)
        least->n--;
    least->visit[least->n] = visit;
    least->depth[least->n++] = depth;
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

/* Counts a device event that the launch of a visited node below an operator started. */
static bool add_work(struct summing *summing, row_t op, row_t caller, row_t executor, row_t visit) {
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
    uint32_t depth = sum->kernel.count && sum->last_op == op ? meeting_depth(summing, sum->last_visit) : 0;
    sum->kernel.count++;
    sum->last_op = op;
    sum->last_visit = visit;
    return ordered_sum_add(&summing->waiting, &sum->sum, depth, number_as_double(event_dur(work, executor)));
}

static bool add_launch(struct summing *summing, row_t op, row_t node, row_t visit) {
    const struct dlrm_links *links = &summing->tree->links;
    row_t link = links->of_node[node];
    for (row_t i = links->first_started[link]; i < links->first_started[link + 1]; i++)
        if (!add_work(summing, op, links->caller[link], links->started[i], visit))
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
        summing->least.n = 0;
        row_t first = summing->order.node ? summing->order.place[root] : root;
        for (row_t visit = first; visit - first < forest->end[root] - root; visit++) {
            row_t node = summing->order.node ? summing->order.node[visit] : visit;
            visit_node(summing, root, node, visit);
            if ((forest->flags[node] & NODE_LAUNCH) && !add_launch(summing, op, node, visit))
                return false;
        }
    }
    return true;
}

/* ---- The table ---- */

/* order[i] = which of n elements comes i-th, stably by key. */
static enum sutra_status order_by(const struct engine *engine, uint64_t *keys, row_t *order, row_t n,
                                  struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        order[i] = i;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
}

/* Puts the kernels in their places, and their times into their blocks. */
static void fill_kernels(const struct summing *summing, struct dlrm_device_time *time, const row_t *order,
                         const row_t *block_at) {
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
}

static void fill_blocks(const struct summing *summing, struct dlrm_device_time *time, const row_t *order,
                        row_t *block_at) {
    for (row_t i = 0; i < summing->blocks.n; i++) {
        row_t block = order[i];
        block_at[block] = i;
        time->blocks[i].stream = summing->block_stream[block];
        time->group_block[(row_t)summing->blocks.list[block].part[0] + 1]++;
    }
    for (row_t group = 0; group < time->n_groups; group++)
        time->group_block[group + 1] += time->group_block[group];
}

static struct dlrm_device_time time_new(row_t n_groups, row_t n_blocks, row_t n_kernels, struct arena *arena) {
    return (struct dlrm_device_time){.n_groups = n_groups,
                                     .n_blocks = n_blocks,
                                     .n_kernels = n_kernels,
                                     .group_block = arena_zeros(arena, (size_t)n_groups + 1, sizeof(row_t)),
                                     .blocks = arena_zeros(arena, (size_t)n_blocks + 1, sizeof(struct dlrm_block)),
                                     .kernels = arena_take(arena, n_kernels, sizeof(struct dlrm_kernel))};
}

static enum sutra_status make_table(const struct summing *summing, struct dlrm_device_time *time,
                                    struct sutra_error *error) {
    struct arena *scratch = &summing->work->scratch;
    const struct engine *engine = summing->work->engine;
    row_t n_blocks = summing->blocks.n, n_kernels = summing->kernels.n, n = n_kernels; /* not fewer than blocks */
    row_t *order = arena_take(scratch, n, sizeof *order), *block_at = arena_take(scratch, n_blocks, sizeof *block_at);
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    *time = time_new(summing->tree->ops.n, n_blocks, n_kernels, summing->work->arena);
    if (scratch->failed || summing->work->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n_blocks; i++)
        keys[i] = (uint64_t)summing->blocks.list[i].part[0];
    enum sutra_status status = order_by(engine, keys, order, n_blocks, error);
    if (status)
        return status;
    fill_blocks(summing, time, order, block_at);
    for (row_t i = 0; i < n_kernels; i++)
        keys[i] = block_at[summing->sums[i].block];
    status = order_by(engine, keys, order, n_kernels, error);
    if (!status)
        fill_kernels(summing, time, order, block_at);
    return status;
}

/* Device time of the groups that `group` gives for each operator. */
static enum sutra_status sum_groups(struct dlrm_work *work, const struct dlrm_tree *tree, const row_t *group,
                                    struct dlrm_device_time *time, struct sutra_error *error) {
    const struct dlrm_forest *forest = &tree->forest;
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    struct summing summing = {.work = work,
                              .tree = tree,
                              .group = group,
                              .depth = arena_take(scratch, forest->n, sizeof *summing.depth),
                              .least.visit = arena_take(scratch, forest->n, sizeof *summing.least.visit),
                              .least.depth = arena_take(scratch, forest->n, sizeof *summing.least.depth),
                              .block_stream = arena_take(scratch, BLOCKS_FIRST, sizeof *summing.block_stream),
                              .blocks_capacity = BLOCKS_FIRST,
                              .sums = arena_take(scratch, BLOCKS_FIRST, sizeof *summing.sums),
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

/* Files have a row for each id, which several operators may share: then they need a table of their own. */
static enum sutra_status sum_by_id(struct dlrm_work *work, const struct dlrm_tree *tree, struct dlrm_device_time *time,
                                   struct sutra_error *error) {
    const struct dlrm_operators *ops = &tree->ops;
    struct arena_mark mark = arena_mark(&work->scratch);
    struct key_index index = {0};
    row_t second = ROW_NONE, *group = arena_take(&work->scratch, ops->n, sizeof *group);
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
