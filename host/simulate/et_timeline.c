/*
 * et_timeline.c - makes the nodes of an .et file from the measured timeline; implements measured_et.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "simulate/communication.h"
#include "simulate/convert.h"
#include "simulate/et_format.h"
#include "simulate/measured_et.h"
#include "simulate/timeline.h"

/* The row of the plain node with an id, or ROW_NONE; plain nodes ascend by id. */
static row_t plain_row(const struct et_nodes *plain, uint64_t id) {
    row_t row = find_ascending_id(plain->id, plain->n, id);
    return row == plain->n ? ROW_NONE : row;
}

void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input) {
    struct timeline_kernels *kernels = &input->kernels;
    uint64_t most = plain->n ? plain->id[plain->n - 1] : 0;
    for (row_t k = 0; k < kernels->n; k++) {
        row_t row = plain_row(plain, kernels->id[k]);
        if (row != ROW_NONE && plain->type[row] != ET_COMP)
            kernels->traits[k] |= KERNEL_COMMUNICATES;
        most = MAX(kernels->id[k], most);
    }
    if (input->ops.n && input->ops.id[input->ops.n - 1] > most)
        most = input->ops.id[input->ops.n - 1];
    input->first_new_id = most + 1;
}

/* A node to make: a node of the timeline, or a plain node without times. */
struct source_node {
    row_t timeline; /* ROW_NONE: no times */
    row_t plain;    /* source of its fields; ROW_NONE: none */
};

struct timeline_making {
    struct et_nodes *made;
    const struct et_nodes *plain;
    const struct et_maker *maker; /* of the plain nodes */
    const struct timeline_input *input;
    const struct timeline_nodes *timeline;
    struct pool *pool;
    struct arena *arena;

    row_t *plain_of;            /* per made node: its plain node, or ROW_NONE */
    row_t *op_row, *kernel_row; /* per operator and kernel: its plain node, or ROW_NONE */
    row_t *row_op;        /* per plain node: its operator; without times: the operator up to its id; or ROW_NONE */
    row_t *op_first_part; /* per operator: the timeline row of its first part */
    struct source_node *sources; /* by ascending id */
    row_t n;
    row_t *parent;   /* per source: the timeline row of its parent, or ROW_NONE */
    uint64_t *total; /* per kernel: nanoseconds of its parts */
    uint64_t *given; /* per part of a kernel: nanoseconds of the preceding parts */
};

static bool pair_rows(struct timeline_making *making) {
    making->op_row = rows_none(making->arena, making->input->ops.n);
    making->kernel_row = arena_alloc(making->arena, making->input->kernels.n, sizeof *making->kernel_row);
    making->row_op = arena_alloc(making->arena, making->plain->n, sizeof *making->row_op);
    if (making->arena->failed)
        return false;
    /* Merge both lists, which ascend by id. */
    const struct timeline_ops *ops = &making->input->ops;
    row_t op = 0;
    for (row_t row = 0; row < making->plain->n; row++) {
        while (op < ops->n && ops->id[op] <= making->plain->id[row])
            op++;
        making->row_op[row] = op ? op - 1 : ROW_NONE;
        if (op && ops->id[op - 1] == making->plain->id[row])
            making->op_row[op - 1] = row;
    }
    const struct timeline_kernels *kernels = &making->input->kernels;
    row_t r = 0;
    for (row_t k = 0; k < kernels->n; k++) {
        while (r < making->plain->n && making->plain->id[r] < kernels->id[k])
            r++;
        bool found = r < making->plain->n && making->plain->id[r] == kernels->id[k];
        making->kernel_row[k] = found ? r : ROW_NONE;
    }
    return true;
}

/* The plain row of the operator or kernel that a timeline node is a part of. */
static row_t plain_row_of(const struct timeline_making *making, row_t at_row) {
    row_t of = making->timeline->of[at_row];
    if (of == ROW_NONE)
        return ROW_NONE;
    return making->timeline->role[at_row] == NODE_KERNEL ? making->kernel_row[of] : making->op_row[of];
}

static uint64_t source_id(const struct timeline_making *making, struct source_node source) {
    return source.timeline == ROW_NONE ? making->plain->id[source.plain] : making->timeline->id[source.timeline];
}

/* Lists all nodes by ascending id. Timeline nodes replace the plain nodes with their ids. */
static bool list_sources(struct timeline_making *making, const struct engine *engine, struct sutra_error *error) {
    const size_t most = (size_t)making->timeline->n + making->plain->n;
    struct source_node *found = arena_alloc(making->arena, most, sizeof *found);
    uint64_t *ids = arena_alloc(making->arena, most, sizeof *ids);
    row_t *order = arena_alloc(making->arena, most, sizeof *order);
    bool *is_timed = arena_zeros(making->arena, making->plain->n, sizeof *is_timed);
    making->sources = arena_alloc(making->arena, most, sizeof *making->sources);
    if (making->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t at_row = 0; at_row < making->timeline->n; at_row++) {
        row_t origin = plain_row_of(making, at_row);
        if (origin != ROW_NONE)
            is_timed[origin] = true;
        found[making->n++] = (struct source_node){at_row, origin};
    }
    for (row_t row = 0; row < making->plain->n; row++)
        if (!is_timed[row] && making->plain->type[row] != ET_METADATA)
            found[making->n++] = (struct source_node){ROW_NONE, row};
    for (row_t i = 0; i < making->n; i++) {
        ids[i] = source_id(making, found[i]);
        order[i] = i;
    }
    if (engine->sort_keys(engine->state, &(struct sort_keys_step){ids, order, making->n}, error))
        return false;
    for (row_t i = 0; i < making->n; i++)
        making->sources[i] = found[order[i]];
    return true;
}

/* The first part of each operator has the id of the operator. */
static bool find_first_parts(struct timeline_making *making) {
    const struct timeline_ops *ops = &making->input->ops;
    making->op_first_part = rows_none(making->arena, ops->n);
    if (making->arena->failed)
        return false;
    for (row_t at_row = 0; at_row < making->timeline->n; at_row++) {
        row_t of = making->timeline->of[at_row];
        if (making->timeline->role[at_row] == NODE_OP && of != ROW_NONE && making->timeline->id[at_row] == ops->id[of])
            making->op_first_part[of] = at_row;
    }
    return true;
}

/* The weight of a part of a kernel. */
static uint64_t part_weight(const struct timeline_nodes *timeline, row_t at_row) {
    double run_ns = timeline->run_us[at_row] * 1000;
    return (uint64_t)MAX(run_ns, 1);
}

static bool measure_parts(struct timeline_making *making) {
    const struct timeline_nodes *timeline = making->timeline;
    making->total = arena_zeros(making->arena, making->input->kernels.n, sizeof *making->total);
    making->given = arena_alloc(making->arena, making->n, sizeof *making->given);
    for (row_t node = 0; !making->arena->failed && node < making->n; node++) {
        row_t at_row = making->sources[node].timeline;
        if (at_row == ROW_NONE || timeline->role[at_row] != NODE_KERNEL)
            continue;
        uint64_t *total = &making->total[timeline->of[at_row]];
        making->given[node] = *total;
        *total += part_weight(timeline, at_row);
    }
    return !making->arena->failed;
}

/* The last dependency in the chain. Rows of the chain ascend with time and follow the rows of the kernels. */
static row_t chain_dep(const struct timeline_making *making, row_t at_row) {
    const struct timeline_nodes *timeline = making->timeline;
    row_t last = ROW_NONE;
    for (uint64_t d = timeline->first_dep[at_row]; d < timeline->first_dep[at_row + 1]; d++)
        if (timeline->role[timeline->deps[d]] != NODE_KERNEL && (last == ROW_NONE || timeline->deps[d] > last))
            last = timeline->deps[d];
    return last;
}

/* The timeline row of a node's parent, if it certainly precedes the node in the chain; else ROW_NONE. */
static row_t find_parent(const struct timeline_making *making, struct source_node source) {
    const struct et_ids *ctrl = &making->plain->ctrl;
    if (source.timeline == ROW_NONE ||
        !(source.plain != ROW_NONE && making->timeline->role[source.timeline] != NODE_OP_GAP &&
          making->timeline->id[source.timeline] == making->plain->id[source.plain]) ||
        ctrl->first[source.plain] == ctrl->first[source.plain + 1])
        return ROW_NONE;
    row_t row = plain_row(making->plain, ctrl->ids[ctrl->first[source.plain]]);
    row_t op = row == ROW_NONE ? ROW_NONE : making->row_op[row];
    if (op == ROW_NONE || making->op_row[op] != row || making->op_first_part[op] == ROW_NONE)
        return ROW_NONE;
    row_t before = chain_dep(making, source.timeline);
    return before != ROW_NONE && making->op_first_part[op] <= before ? making->op_first_part[op] : ROW_NONE;
}

static uint64_t count_data_deps(const struct timeline_making *making, struct source_node source) {
    if (source.timeline != ROW_NONE)
        return making->timeline->first_dep[source.timeline + 1] - making->timeline->first_dep[source.timeline];
    return making->row_op[source.plain] != ROW_NONE;
}

static void fill_data_deps(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    uint64_t *ids = making->made->data.ids + making->made->data.first[node];
    uint64_t n = making->made->data.first[node + 1] - making->made->data.first[node];
    if (source.timeline == ROW_NONE) {
        if (n)
            ids[0] = making->input->ops.id[making->row_op[source.plain]];
        return;
    }
    const row_t *deps = making->timeline->deps + making->timeline->first_dep[source.timeline];
    for (uint64_t d = 0; d < n; d++)
        ids[d] = making->timeline->id[deps[d]];
    if (n > 1)
        qsort(ids, n, sizeof *ids, compare_uint64s);
}

/* The slot of a plain node whose operations are known, or ROW_NONE. */
static row_t working_slot(const struct timeline_making *making, row_t plain) {
    const struct et_maker *maker = making->maker;
    return maker->work && maker->work->n_bytes[maker->slot[plain]] ? maker->slot[plain] : ROW_NONE;
}

static bool is_kernel(const struct timeline_making *making, struct source_node source) {
    return source.timeline != ROW_NONE && making->timeline->role[source.timeline] == NODE_KERNEL;
}

static uint64_t count_attributes(const struct timeline_making *making, struct source_node source) {
    const struct et_nodes *plain = making->plain;
    if (source.plain == ROW_NONE)
        return 1; /* is_cpu_op */
    uint64_t n = plain->attr_first[source.plain + 1] - plain->attr_first[source.plain];
    return n + (working_slot(making, source.plain) != ROW_NONE ? 2 : 0) + is_kernel(making, source);
}

/* Operations and bytes of a node; a part of a kernel gets its share. */
static void fill_work(const struct timeline_making *making, row_t node, row_t slot, uint64_t at) {
    const struct source_node source = making->sources[node];
    const struct kernel_work *work = making->maker->work;
    uint64_t n_ops = work->n_ops[slot], n_bytes = work->n_bytes[slot];
    if (is_kernel(making, source)) {
        const uint64_t weight = part_weight(making->timeline, source.timeline), given = making->given[node],
                       total = making->total[making->timeline->of[source.timeline]];
        n_ops = share_amount(n_ops, given, weight, total);
        n_ops = MAX(n_ops, 1);
        n_bytes = share_amount(n_bytes, given, weight, total);
    }
    et_attribute_set(&making->made->attributes, at, ET_NAME_NUM_OPS, ET_INT64, n_ops);
    et_attribute_set(&making->made->attributes, at + 1, ET_NAME_TENSOR_SIZE, ET_UINT64, n_bytes);
}

static void fill_attributes(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_attributes *to = &making->made->attributes;
    const struct et_attributes *from = &making->plain->attributes;
    uint64_t at = making->made->attr_first[node];
    if (source.plain == ROW_NONE) {
        et_attribute_set(to, at, ET_NAME_IS_CPU_OP, ET_BOOL, 1);
        return;
    }
    for (uint64_t i = making->plain->attr_first[source.plain]; i < making->plain->attr_first[source.plain + 1]; i++)
        et_attribute_copy(to, at++, from, i);
    const row_t slot = working_slot(making, source.plain);
    if (slot != ROW_NONE) {
        fill_work(making, node, slot, at);
        at += 2;
    }
    if (is_kernel(making, source))
        et_attribute_set(to, at, ET_NAME_KERNEL_EXEC_NS, ET_INT64,
                         (uint64_t)(making->timeline->run_us[source.timeline] * 1000 + 0.5));
}

/* The name of a node with a prefix; its text is in the arena. */
static struct et_text prefixed_name(struct arena *arena, const char *prefix, struct et_text name) {
    size_t before = strlen(prefix), length = before + name.length;
    char *bytes = arena_alloc(arena, length, 1);
    if (!bytes)
        return (struct et_text){"", 0};
    memcpy(bytes, prefix, before);
    memcpy(bytes + before, name.bytes, name.length);
    return (struct et_text){bytes, (uint32_t)length};
}

static void fill_node(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_nodes *made = making->made;
    const struct timeline_nodes *timeline = making->timeline;
    const bool timed = source.timeline != ROW_NONE, plain = source.plain != ROW_NONE;
    making->plain_of[node] = source.plain;
    made->id[node] = source_id(making, source);
    made->type[node] = plain ? making->plain->type[source.plain] : ET_COMP;
    made->start_us[node] =
        timed && timeline->start[source.timeline] > 0 ? (uint64_t)timeline->start[source.timeline] : 0;
    made->duration_us[node] = timed ? timeline->duration_us[source.timeline] : 0;
    made->flags[node] = plain ? making->plain->flags[source.plain] : ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    et_text_set(made->text[ET_NODE_NAME], node,
                plain ? et_text_at(making->plain->text[ET_NODE_NAME], source.plain) : (struct et_text){"[gap]", 5});
    if (making->parent[node] != ROW_NONE)
        made->ctrl.ids[made->ctrl.first[node]] = timeline->id[making->parent[node]];
    fill_data_deps(making, node);
    fill_attributes(making, node);
}

static void count_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = et_task_start(task); node < et_task_end(making->n, task); node++) {
        struct source_node source = making->sources[node];
        making->parent[node] = find_parent(making, source);
        making->made->data.first[node + 1] = count_data_deps(making, source);
        making->made->attr_first[node + 1] = count_attributes(making, source);
    }
}

static void fill_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = et_task_start(task); node < et_task_end(making->n, task); node++)
        fill_node(making, node);
}

static enum sutra_status fill(struct timeline_making *making, struct sutra_error *error) {
    struct et_nodes *made = making->made;
    const uint64_t most_deps = making->timeline->n_deps + making->plain->n;
    making->parent = arena_alloc(making->arena, making->n, sizeof *making->parent);
    making->plain_of = arena_alloc(&made->arena, making->n, sizeof *making->plain_of);
    made->slim = true;
    TRY(et_nodes_take(made, making->n, making->n, most_deps, 0, error));
    TRY(arena_status(making->arena, error));
    pool_run(making->pool, et_tasks(making->n), count_task, making);
    for (row_t node = 0; node < making->n; node++) {
        made->ctrl.first[node + 1] = made->ctrl.first[node] + (making->parent[node] != ROW_NONE);
        made->data.first[node + 1] += made->data.first[node];
        made->attr_first[node + 1] += made->attr_first[node];
    }
    TRY(et_attributes_take(made, &made->attributes, made->attr_first[making->n], error));
    pool_run(making->pool, et_tasks(making->n), fill_task, making);

    /* Names of gaps are in the arena, which is not shared by threads. */
    for (row_t node = 0; node < making->n; node++) {
        struct source_node source = making->sources[node];
        if (source.plain == ROW_NONE || source.timeline == ROW_NONE ||
            making->timeline->role[source.timeline] != NODE_OP_GAP)
            continue;
        struct et_text name = et_text_at(making->plain->text[ET_NODE_NAME], source.plain);
        et_text_set(made->text[ET_NODE_NAME], node, prefixed_name(&made->arena, "[rest] ", name));
    }
    return arena_status(&made->arena, error);
}

/* Copies the attributes of the file, and allocates n_more. The ids of names are the same in all files made here. */
static enum sutra_status copy_metadata(struct et_nodes *made, const struct et_nodes *plain, uint64_t n_more,
                                       struct sutra_error *error) {
    const struct et_attributes *from = &plain->metadata;
    TRY(et_attributes_take(made, &made->metadata, from->n + n_more, error));
    made->version = plain->version;
    for (uint64_t i = 0; i < from->n; i++) {
        et_attribute_copy(&made->metadata, i, from, i);
        if (!et_kind_is_text(from->kind[i]))
            continue;
        char *bytes = arena_alloc(&made->arena, from->length[i], 1);
        if (bytes && from->length[i])
            memcpy(bytes, from->value[i].bytes, from->length[i]);
        made->metadata.value[i].bytes = bytes;
    }
    return arena_status(&made->arena, error);
}

/* Records for which resources of the GPU the file was made. */
static void set_gpu_attribute(struct et_nodes *made, uint64_t at, bool per_stream) {
    static const struct et_text words[] = {{"one", 3}, {"streams", 7}};
    et_attribute_set_text(&made->metadata, at, ET_NAME_GPU, words[per_stream]);
}

/* Whether a kernel has the same duration and dependencies with one resource as with a resource per stream. */
static bool is_same_kernel(const struct timeline_nodes *one, const struct timeline_nodes *streams, row_t k) {
    const uint64_t n = one->first_dep[k + 1] - one->first_dep[k];
    return one->duration_us[k] == streams->duration_us[k] && one->run_us[k] == streams->run_us[k] &&
           n == streams->first_dep[k + 1] - streams->first_dep[k] &&
           memcmp(one->deps + one->first_dep[k], streams->deps + streams->first_dep[k], n * sizeof *one->deps) == 0;
}

/* Makes the kernels that a resource per stream changes; `making` has made all nodes for one resource. */
static enum sutra_status make_stream_kernels(struct timeline_making *making, struct measured_nodes *made,
                                             struct sutra_error *error) {
    const struct timeline_nodes *one = making->timeline;
    making->n = 0;
    for (row_t k = 0; k < making->input->kernels.n; k++)
        if (!is_same_kernel(one, one->per_stream, k))
            making->sources[making->n++] = (struct source_node){k, making->kernel_row[k]};
    making->timeline = one->per_stream;
    making->made = &made->nodes;
    TRY_ALLOC(measure_parts(making), error);
    TRY(fill(making, error));
    made->plain = making->plain_of;
    TRY(copy_metadata(&made->nodes, making->plain, 2, error));
    struct et_attributes *metadata = &made->nodes.metadata;
    set_gpu_attribute(&made->nodes, metadata->n - 2, true);
    et_attribute_set(metadata, metadata->n - 1, ET_NAME_FIRST_PART, ET_UINT64, one->first_part_id);
    return SUTRA_OK;
}

static enum sutra_status make_nodes(struct timeline_making *making, const struct engine *engine,
                                    struct measured_nodes *made, struct measured_nodes *streams,
                                    struct sutra_error *error) {
    TRY_ALLOC(pair_rows(making) && list_sources(making, engine, error) && find_first_parts(making) &&
                  measure_parts(making),
              error);
    TRY(fill(making, error));
    TRY(copy_metadata(&made->nodes, making->plain, 1, error));
    set_gpu_attribute(&made->nodes, making->plain->metadata.n, making->input->options.per_stream);
    made->plain = making->plain_of;
    return streams ? make_stream_kernels(making, streams, error) : SUTRA_OK;
}

enum sutra_status et_timeline_make(struct measured_nodes *made, struct measured_nodes *streams,
                                   const struct et_nodes *plain, const struct et_maker *maker,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error) {
    struct arena scratch = {0};
    struct timeline_making making = {.made = &made->nodes,
                                     .maker = maker,
                                     .plain = plain,
                                     .input = input,
                                     .timeline = timeline,
                                     .pool = context->pool,
                                     .arena = &scratch};
    enum sutra_status status = make_nodes(&making, &context->engine, made, streams, error);
    arena_free(&scratch);
    return status;
}

/*
 * ---- The file of a rank for its job ----
 *
 * Copies all nodes. Collectives get their durations and matches; a node [start] delays the first CPU node, and for
 * ASTRA-sim a node [meet] precedes each matched collective, and in its network model a node [alpha] precedes [meet].
 */

/* The maximum number of new attributes of a communication: the four of its match, its execution time, and the
 * attributes of its type. */
#define MORE_ATTRIBUTES 9

/* The nodes of a collective: itself, [meet] and [alpha]. */
#define COLLECTIVE_NODES 3

struct job_copy {
    struct et_nodes *made;
    const struct et_nodes *alone;
    const struct matched_collectives *rank;
    row_t first;      /* row of the first CPU node, or ROW_NONE */
    row_t *row;       /* of each collective */
    uint64_t next_id; /* of new nodes */
    uint64_t start_id;
    uint64_t *meet_id;                     /* per matched collective, for ASTRA-sim: its node [meet] */
    uint64_t *alpha_id;                    /* in its network model: its node [alpha], less than that of [meet] */
    uint64_t n_ctrl, n_data, n_attributes; /* so far */
};

static bool is_matched(const struct matched_collective *node) {
    return node->matched_collective != NOT_MATCHED;
}

static bool has_alpha_node(const struct job_copy *copy, row_t i) {
    return copy->rank->astra && copy->rank->nodes[i].is_modeled;
}

static bool has_meet_node(const struct job_copy *copy, row_t i) {
    return copy->rank->astra && is_matched(&copy->rank->nodes[i]);
}

/* Finds the rows of the collectives, numbers the new nodes and allocates all nodes. */
static enum sutra_status prepare_copy(struct job_copy *copy, struct arena *arena, struct sutra_error *error) {
    const struct et_nodes *alone = copy->alone;
    const struct matched_collectives *rank = copy->rank;
    uint64_t n_nodes = (uint64_t)alone->n + rank->has_start;
    copy->row = arena_alloc(arena, rank->n, sizeof *copy->row);
    copy->meet_id = arena_alloc(arena, rank->n, sizeof *copy->meet_id);
    copy->alpha_id = arena_alloc(arena, rank->n, sizeof *copy->alpha_id);
    TRY(arena_status(arena, error));
    copy->next_id = alone->n ? alone->id[alone->n - 1] + 1 : 0;
    copy->first = rank->has_start ? find_ascending_id(alone->id, alone->n, rank->first_node) : alone->n;
    if (rank->has_start && copy->first == alone->n)
        return error_set(error, SUTRA_DATA, "node %" PRIu64 " is not in the file; it is the first node of the rank",
                         rank->first_node);
    if (rank->has_start)
        copy->start_id = copy->next_id++;
    for (row_t i = 0; i < rank->n; i++) {
        copy->row[i] = find_ascending_id(alone->id, alone->n, rank->nodes[i].node);
        if (copy->row[i] == alone->n)
            return error_set(error, SUTRA_DATA, "node %" PRIu64 " is not in the file; it is a collective",
                             rank->nodes[i].node);
        copy->alpha_id[i] = has_alpha_node(copy, i) ? copy->next_id++ : 0;
        copy->meet_id[i] = has_meet_node(copy, i) ? copy->next_id++ : 0;
        n_nodes += (uint64_t)has_meet_node(copy, i) + has_alpha_node(copy, i);
    }
    if (n_nodes > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "too many nodes: the rank has more than %u", ROW_LIMIT);
    uint64_t n_communications = (uint64_t)rank->n * COLLECTIVE_NODES;
    for (row_t row = 0; row < alone->n && rank->astra; row++)
        n_communications += et_is_communication(alone->type[row]);
    return et_nodes_take(copy->made, (row_t)n_nodes, alone->ctrl.first[alone->n],
                         alone->data.first[alone->n] + 3 * (uint64_t)rank->n + 1,
                         alone->attr_first[alone->n] + n_communications * MORE_ATTRIBUTES + 1, error);
}

static void add_integer(struct job_copy *copy, enum et_name name, enum et_kind kind, uint64_t bits) {
    et_attribute_set(&copy->made->attributes, copy->n_attributes++, name, kind, bits);
}

static void add_text(struct job_copy *copy, enum et_name name, const char *words) {
    et_attribute_set_text(&copy->made->attributes, copy->n_attributes++, name,
                          (struct et_text){words, (uint32_t)strlen(words)});
}

/* Whether an attribute of a collective is replaced. */
static bool is_replaced(const struct job_copy *copy, uint32_t name) {
    static const enum et_name always[] = {ET_NAME_KERNEL_EXEC_NS, ET_NAME_MEETING, ET_NAME_MEETING_KIND,
                                          ET_NAME_MEETING_RANKS, ET_NAME_MEETING_BYTES};
    static const enum et_name astra[] = {ET_NAME_COMM_TYPE, ET_NAME_COMM_SIZE, ET_NAME_PG_NAME,  ET_NAME_COMM_SRC,
                                         ET_NAME_COMM_DST,  ET_NAME_COMM_TAG,  ET_NAME_IS_CPU_OP};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (name == (uint32_t)always[i])
            return true;
    for (size_t i = 0; i < sizeof astra / sizeof *astra && copy->rank->astra; i++)
        if (name == (uint32_t)astra[i])
            return true;
    return false;
}

/* Attributes for ASTRA-sim. A collective of all ranks also has a group (job/matched_collectives.c). */
static void add_astra_attributes(struct job_copy *copy, uint32_t group, enum et_collective type, uint64_t bytes) {
    char digits[16];
    const uint32_t number = group ? group : copy->rank->all_ranks;
    const int length = snprintf(digits, sizeof digits, "%" PRIu32, number);
    const char *kept = number ? arena_text(&copy->made->arena, digits, (size_t)length) : NULL;
    add_integer(copy, ET_NAME_IS_CPU_OP, ET_BOOL, 0);
    add_integer(copy, ET_NAME_COMM_TYPE, ET_INT64, (uint64_t)type);
    add_integer(copy, ET_NAME_COMM_SIZE, ET_INT64, bytes);
    if (kept)
        add_text(copy, ET_NAME_PG_NAME, kept);
}

static enum et_collective type_of_kind(enum comm_kind kind) {
    static const enum et_collective types[N_COMM_KINDS] = {
        [COMM_ALL_REDUCE] = ET_ALL_REDUCE,
        [COMM_ALL_GATHER] = ET_ALL_GATHER,
        [COMM_REDUCE_SCATTER] = ET_REDUCE_SCATTER,
        [COMM_ALL_TO_ALL] = ET_ALL_TO_ALL,
        [COMM_ALL_TO_ALL_V] = ET_ALL_TO_ALL,
        [COMM_MESSAGE] = ET_ALL_TO_ALL,
        [COMM_BROADCAST] = ET_BROADCAST,
        [COMM_REDUCE] = ET_REDUCE,
        [COMM_GATHER] = ET_GATHER,
        [COMM_SCATTER] = ET_SCATTER,
        [COMM_BARRIER] = ET_BARRIER,
        [COMM_OTHER] = ET_ALL_REDUCE,
    };
    return types[kind];
}

static void add_data_dep(struct job_copy *copy, uint64_t id) {
    copy->made->data.ids[copy->n_data++] = id;
}

static void copy_data_deps(struct job_copy *copy, row_t row) {
    const struct et_ids *data = &copy->alone->data;
    for (uint64_t d = data->first[row]; d < data->first[row + 1]; d++)
        add_data_dep(copy, data->ids[d]);
}

/* The dependencies of a collective on its rank. */
static void add_rank_deps(struct job_copy *copy, row_t i) {
    const struct matched_collective *node = &copy->rank->nodes[i];
    const uint64_t first = copy->n_data;
    copy_data_deps(copy, copy->row[i]);
    bool is_missing = node->has_before;
    for (uint64_t d = first; d < copy->n_data; d++)
        is_missing = is_missing && copy->made->data.ids[d] != node->before;
    if (is_missing)
        add_data_dep(copy, node->before);
}

/* Ends the lists of a node. */
static void end_node(struct job_copy *copy, row_t row) {
    copy->made->ctrl.first[row + 1] = copy->n_ctrl;
    copy->made->data.first[row + 1] = copy->n_data;
    copy->made->attr_first[row + 1] = copy->n_attributes;
}

/* Its start by the clock of the job. */
static uint64_t aligned_start(const struct job_copy *copy, row_t row) {
    uint64_t start = copy->alone->start_us[row];
    int64_t aligned;
    if (start == 0 || __builtin_sub_overflow((int64_t)start, copy->rank->ahead_us, &aligned) || aligned < 1)
        return start;
    return (uint64_t)aligned;
}

static void copy_ctrl_deps(struct job_copy *copy, row_t row) {
    const struct et_ids *ctrl = &copy->alone->ctrl;
    for (uint64_t c = ctrl->first[row]; c < ctrl->first[row + 1]; c++)
        copy->made->ctrl.ids[copy->n_ctrl++] = ctrl->ids[c];
}

/* Copies a node without its dependencies and attributes. */
static void copy_node(struct job_copy *copy, row_t row) {
    const struct et_nodes *alone = copy->alone;
    struct et_nodes *made = copy->made;
    made->id[row] = alone->id[row];
    made->type[row] = alone->type[row];
    made->start_us[row] = aligned_start(copy, row);
    made->duration_us[row] = alone->duration_us[row];
    made->flags[row] = alone->flags[row];
    for (int column = 0; column < et_text_columns(made); column++)
        et_text_set(made->text[column], row, et_text_at(alone->text[column], row));
}

/* Copies the attributes of a node. */
static void copy_attributes(struct job_copy *copy, row_t row, bool without_replaced) {
    const struct et_nodes *alone = copy->alone;
    for (uint64_t i = alone->attr_first[row]; i < alone->attr_first[row + 1]; i++)
        if (!without_replaced || !is_replaced(copy, alone->attributes.name[i]))
            et_attribute_copy(&copy->made->attributes, copy->n_attributes++, &alone->attributes, i);
}

static void add_collective(struct job_copy *copy, row_t i) {
    const struct matched_collective *node = &copy->rank->nodes[i];
    const row_t row = copy->row[i];
    copy_node(copy, row);
    copy->made->duration_us[row] = node->is_modeled ? node->moving_us : node->duration_us;
    if (!has_alpha_node(copy, i)) /* else [alpha] has all dependencies */
        copy_ctrl_deps(copy, row);
    if (copy->rank->astra || !et_is_communication(copy->made->type[row]))
        copy->made->type[row] = ET_COMM_COLL;
    if (has_meet_node(copy, i))
        add_data_dep(copy, copy->meet_id[i]);
    else
        add_rank_deps(copy, i);
    copy_attributes(copy, row, true);
    if (copy->rank->astra && node->is_modeled) {
        /* A message is an all-reduce of its two ranks, which moves as much. */
        const enum et_collective type = node->kind == COMM_MESSAGE ? ET_ALL_REDUCE : type_of_kind(node->kind);
        add_astra_attributes(copy, node->group, type, node->size);
    } else if (copy->rank->astra) {
        add_astra_attributes(copy, node->group, ET_BROADCAST, node->bytes ? node->bytes : 1);
    } else if (!et_is_communication(copy->alone->type[row])) {
        add_integer(copy, ET_NAME_COMM_TYPE, ET_INT64, (uint64_t)type_of_kind(node->kind));
        add_integer(copy, ET_NAME_COMM_SIZE, ET_INT64, node->bytes);
    }
    add_integer(copy, ET_NAME_KERNEL_EXEC_NS, ET_INT64, node->is_modeled ? node->moving_ns : node->run_ns);
    if (is_matched(node) && !copy->rank->astra)
        add_integer(copy, ET_NAME_MEETING, ET_INT64, node->matched_collective);
    add_text(copy, ET_NAME_MEETING_KIND, collective_kind_names[node->kind]);
    add_integer(copy, ET_NAME_MEETING_RANKS, ET_INT64, node->n_ranks);
    add_integer(copy, ET_NAME_MEETING_BYTES, ET_INT64, node->bytes);
    end_node(copy, row);
}

/* Fills a new node. */
static void fill_new_node(struct job_copy *copy, row_t row, uint64_t id, enum et_type type, struct et_text name) {
    struct et_nodes *made = copy->made;
    made->id[row] = id;
    made->type[row] = (int32_t)type;
    made->duration_us[row] = 0;
    made->flags[row] = ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    for (int column = 0; column < et_text_columns(made); column++)
        et_text_set(made->text[column], row, (struct et_text){"", 0});
    et_text_set(made->text[ET_NODE_NAME], row, name);
}

static void copy_stream(struct job_copy *copy, row_t i) {
    int64_t stream;
    if (et_integer(copy->alone, copy->row[i], ET_NAME_STREAM, &stream))
        add_integer(copy, ET_NAME_STREAM, ET_INT64, (uint64_t)stream);
}

/* A broadcast of the time that bandwidth does not scale; kernel_exec_ns is 0, so no what-if of sutra scales it. */
static void add_alpha_node(struct job_copy *copy, row_t row, row_t i) {
    const struct matched_collective *node = &copy->rank->nodes[i];
    fill_new_node(
        copy, row, copy->alpha_id[i], ET_COMM_COLL,
        prefixed_name(&copy->made->arena, "[alpha] ", et_text_at(copy->alone->text[ET_NODE_NAME], copy->row[i])));
    copy->made->duration_us[row] = node->duration_us - node->moving_us;
    copy_ctrl_deps(copy, copy->row[i]);
    add_rank_deps(copy, i);
    add_astra_attributes(copy, node->group, ET_BROADCAST, 8);
    copy_stream(copy, i);
    add_integer(copy, ET_NAME_KERNEL_EXEC_NS, ET_INT64, 0);
    end_node(copy, row);
}

static void add_meet_node(struct job_copy *copy, row_t row, row_t i) {
    const struct matched_collective *node = &copy->rank->nodes[i];
    fill_new_node(
        copy, row, copy->meet_id[i], ET_COMM_COLL,
        prefixed_name(&copy->made->arena, "[meet] ", et_text_at(copy->alone->text[ET_NODE_NAME], copy->row[i])));
    if (has_alpha_node(copy, i))
        add_data_dep(copy, copy->alpha_id[i]);
    else
        add_rank_deps(copy, i);
    add_astra_attributes(copy, node->group, ET_ALL_REDUCE, 8 * (uint64_t)node->n_ranks);
    add_integer(copy, ET_NAME_MEETING, ET_INT64, node->matched_collective);
    end_node(copy, row);
}

/* Copies a node that is no collective of the job. ASTRA-sim would let other communication wait for ranks that may lack
 * it; as a broadcast it is replayed. */
static void add_other_node(struct job_copy *copy, row_t row) {
    const bool is_replayed = copy->rank->astra && et_is_communication(copy->alone->type[row]);
    copy_node(copy, row);
    copy_ctrl_deps(copy, row);
    copy_data_deps(copy, row);
    if (row == copy->first)
        add_data_dep(copy, copy->start_id);
    copy_attributes(copy, row, is_replayed);
    if (is_replayed) {
        const int64_t exec_ns = et_integer_or(copy->alone, row, ET_NAME_KERNEL_EXEC_NS, -1);
        copy->made->type[row] = ET_COMM_COLL;
        add_astra_attributes(copy, 0, ET_BROADCAST, 1);
        if (exec_ns >= 0)
            add_integer(copy, ET_NAME_KERNEL_EXEC_NS, ET_INT64, (uint64_t)exec_ns);
    }
    end_node(copy, row);
}

/* By ascending id: the nodes of the rank alone, then the new ones. */
static void add_nodes(struct job_copy *copy) {
    row_t next = 0, n = copy->alone->n;
    for (row_t row = 0; row < n; row++) {
        if (next < copy->rank->n && copy->row[next] == row) {
            add_collective(copy, next++);
        } else {
            add_other_node(copy, row);
        }
    }
    if (copy->rank->has_start) {
        row_t start_row = n++;
        fill_new_node(copy, start_row, copy->start_id, ET_COMP, (struct et_text){"[start]", 7});
        copy->made->duration_us[start_row] = copy->rank->start_us;
        add_integer(copy, ET_NAME_IS_CPU_OP, ET_BOOL, 1);
        end_node(copy, start_row);
    }
    for (row_t i = 0; i < copy->rank->n; i++) {
        if (has_alpha_node(copy, i))
            add_alpha_node(copy, n++, i);
        if (has_meet_node(copy, i))
            add_meet_node(copy, n++, i);
    }
}

static enum sutra_status copy_for_job(struct job_copy *copy, struct arena *scratch, struct sutra_error *error) {
    struct et_nodes *made = copy->made;
    const struct et_nodes *alone = copy->alone;
    const struct matched_collectives *rank = copy->rank;
    made->slim = alone->slim;
    const uint64_t n_metadata = alone->metadata.n;
    uint64_t at_gpu = 0;
    while (at_gpu < n_metadata && alone->metadata.name[at_gpu] != ET_NAME_GPU)
        at_gpu++;
    /* Unknown names of attributes keep their ids. */
    for (uint32_t i = made->names.n; i < alone->names.n; i++)
        if (strings_intern(&made->names, strings_text(&alone->names, i), strings_length(&alone->names, i)) != i)
            return error_memory(error);
    TRY(prepare_copy(copy, scratch, error));
    add_nodes(copy);
    TRY(copy_metadata(made, alone, (uint64_t)(at_gpu == n_metadata) + (rank->ranks_per_host > 0) + (rank->n == 0),
                      error));
    set_gpu_attribute(made, at_gpu, rank->per_stream);
    uint64_t at = made->metadata.n;
    if (rank->n == 0)
        et_attribute_set(&made->metadata, --at, ET_NAME_MEETINGS, ET_INT64, 0);
    if (rank->ranks_per_host)
        et_attribute_set(&made->metadata, --at, ET_NAME_RANKS_PER_HOST, ET_INT64, rank->ranks_per_host);
    return arena_status(&made->arena, error);
}

enum sutra_status et_make_for_job(struct et_nodes *made, const struct et_nodes *alone,
                                  const struct matched_collectives *rank, struct sutra_error *error) {
    struct arena scratch = {0};
    struct job_copy copy = {.made = made, .alone = alone, .rank = rank};
    enum sutra_status status = copy_for_job(&copy, &scratch, error);
    arena_free(&scratch);
    return status;
}
