/*
 * et_timeline.c - each node of the timeline takes its words from a plain node; see et_timeline.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/et_timeline.h"
#include "simulate/timeline.h"

/* The row of the plain node with an id, or ROW_NONE; plain nodes have rising ids. */
static row_t plain_row(const struct et_nodes *plain, uint64_t id) {
    row_t row = rising_id_place(plain->id, plain->n, id);
    return row == plain->n ? ROW_NONE : row;
}

void et_timeline_prepare(const struct et_nodes *plain, struct timeline_input *input) {
    struct timeline_kernels *kernels = &input->kernels;
    uint64_t most = plain->n ? plain->id[plain->n - 1] : 0;
    for (row_t k = 0; k < kernels->n; k++) {
        row_t row = plain_row(plain, kernels->id[k]);
        if (row != ROW_NONE && plain->type[row] != ET_COMP)
            kernels->traits[k] |= KERNEL_COMMUNICATES;
        most = kernels->id[k] > most ? kernels->id[k] : most;
    }
    if (input->ops.n && input->ops.id[input->ops.n - 1] > most)
        most = input->ops.id[input->ops.n - 1];
    input->first_new_id = most + 1;
}

/* A node to be: a node of the timeline, or a plain one without times. */
struct source_node {
    row_t timeline; /* ROW_NONE: it has no times */
    row_t plain;    /* whose words it has; ROW_NONE: none */
};

struct timeline_making {
    struct et_nodes *made;
    const struct et_nodes *plain;
    const struct timeline_input *input;
    const struct timeline_nodes *timeline;
    struct pool *pool;
    struct arena *arena;

    row_t *op_row, *kernel_row; /* per operator and kernel: its plain node, or ROW_NONE */
    row_t *row_op;   /* per plain node: its operator; of one without times the one up to its id; or ROW_NONE */
    row_t *op_place; /* per operator: place of its first part in the timeline */
    struct source_node *sources; /* by rising id */
    row_t n;
    row_t *parent;   /* per source: place of the node that its parent has become, or ROW_NONE */
    uint64_t *total; /* per kernel: nanoseconds of its parts */
    uint64_t *given; /* per source that is a part of a kernel: nanoseconds of the parts before it */
};

/* Nodes that a task does. */
#define TASK_NODES 4096

static size_t count_tasks(row_t n) {
    return ((size_t)n + TASK_NODES - 1) / TASK_NODES;
}

static row_t task_end(row_t n, size_t task) {
    return (task + 1) * TASK_NODES < n ? (row_t)((task + 1) * TASK_NODES) : n;
}

/* ---- Which node is which ---- */

/* Goes through both lists of rising ids at once. */
static void pair_ops(struct timeline_making *making) {
    const struct timeline_ops *ops = &making->input->ops;
    row_t op = 0;
    for (row_t i = 0; i < ops->n; i++)
        making->op_row[i] = ROW_NONE;
    for (row_t row = 0; row < making->plain->n; row++) {
        while (op < ops->n && ops->id[op] <= making->plain->id[row])
            op++;
        making->row_op[row] = op ? op - 1 : ROW_NONE;
        if (op && ops->id[op - 1] == making->plain->id[row])
            making->op_row[op - 1] = row;
    }
}

static void pair_kernels(struct timeline_making *making) {
    const struct timeline_kernels *kernels = &making->input->kernels;
    row_t row = 0;
    for (row_t k = 0; k < kernels->n; k++) {
        while (row < making->plain->n && making->plain->id[row] < kernels->id[k])
            row++;
        bool found = row < making->plain->n && making->plain->id[row] == kernels->id[k];
        making->kernel_row[k] = found ? row : ROW_NONE;
    }
}

static bool pair_rows(struct timeline_making *making) {
    making->op_row = arena_take(making->arena, making->input->ops.n, sizeof *making->op_row);
    making->kernel_row = arena_take(making->arena, making->input->kernels.n, sizeof *making->kernel_row);
    making->row_op = arena_take(making->arena, making->plain->n, sizeof *making->row_op);
    if (making->arena->failed)
        return false;
    pair_ops(making);
    pair_kernels(making);
    return true;
}

/* ---- Which nodes there are ---- */

/* The plain row of the operator or kernel that a node of the timeline is a part of. */
static row_t words_of(const struct timeline_making *making, row_t place) {
    row_t of = making->timeline->of[place];
    if (of == ROW_NONE)
        return ROW_NONE;
    return making->timeline->role[place] == NODE_KERNEL ? making->kernel_row[of] : making->op_row[of];
}

static uint64_t source_id(const struct timeline_making *making, struct source_node source) {
    return source.timeline == ROW_NONE ? making->plain->id[source.plain] : making->timeline->id[source.timeline];
}

/* All nodes by rising id. What is of the timeline stands in for the plain nodes of the same ids. */
static bool list_sources(struct timeline_making *making, const struct engine *engine, struct sutra_error *error) {
    const size_t most = (size_t)making->timeline->n + making->plain->n;
    struct source_node *found = arena_take(making->arena, most, sizeof *found);
    uint64_t *ids = arena_take(making->arena, most, sizeof *ids);
    row_t *order = arena_take(making->arena, most, sizeof *order);
    bool *is_timed = arena_zeros(making->arena, making->plain->n, sizeof *is_timed);
    making->sources = arena_take(making->arena, most, sizeof *making->sources);
    if (making->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t place = 0; place < making->timeline->n; place++) {
        row_t words = words_of(making, place);
        if (words != ROW_NONE)
            is_timed[words] = true;
        found[making->n++] = (struct source_node){place, words};
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

/* Where the first part of each operator stands: it has the operator's id. */
static bool find_first_parts(struct timeline_making *making) {
    const struct timeline_ops *ops = &making->input->ops;
    making->op_place = arena_take(making->arena, ops->n, sizeof *making->op_place);
    if (making->arena->failed)
        return false;
    for (row_t op = 0; op < ops->n; op++)
        making->op_place[op] = ROW_NONE;
    for (row_t place = 0; place < making->timeline->n; place++) {
        row_t of = making->timeline->of[place];
        if (making->timeline->role[place] == NODE_OP && of != ROW_NONE && making->timeline->id[place] == ops->id[of])
            making->op_place[of] = place;
    }
    return true;
}

/* What a part of a kernel counts among the others. */
static uint64_t part_weight(const struct timeline_nodes *timeline, row_t place) {
    double run_ns = timeline->run_us[place] * 1000;
    return run_ns >= 1 ? (uint64_t)run_ns : 1;
}

/* By rising id. */
static bool measure_parts(struct timeline_making *making) {
    const struct timeline_nodes *timeline = making->timeline;
    making->total = arena_zeros(making->arena, making->input->kernels.n, sizeof *making->total);
    making->given = arena_take(making->arena, making->n, sizeof *making->given);
    for (row_t node = 0; !making->arena->failed && node < making->n; node++) {
        row_t place = making->sources[node].timeline;
        if (place == ROW_NONE || timeline->role[place] != NODE_KERNEL)
            continue;
        uint64_t *total = &making->total[timeline->of[place]];
        making->given[node] = *total;
        *total += part_weight(timeline, place);
    }
    return !making->arena->failed;
}

/* ---- Dependencies ---- */

/* Places of the chain rise with time, and lie behind those of the kernels. */
static row_t chain_dep(const struct timeline_making *making, row_t place) {
    const struct timeline_nodes *timeline = making->timeline;
    row_t last = ROW_NONE;
    for (uint64_t d = timeline->first_dep[place]; d < timeline->first_dep[place + 1]; d++)
        if (timeline->role[timeline->deps[d]] != NODE_KERNEL && (last == ROW_NONE || timeline->deps[d] > last))
            last = timeline->deps[d];
    return last;
}

static bool is_first_part(const struct timeline_making *making, struct source_node source) {
    return source.plain != ROW_NONE && making->timeline->role[source.timeline] != NODE_REST &&
           making->timeline->id[source.timeline] == making->plain->id[source.plain];
}

/* The place of the node that a node's parent has become, if that is sure to come before it in the chain; else
 * ROW_NONE. */
static row_t parent_place(const struct timeline_making *making, struct source_node source) {
    const struct et_ids *ctrl = &making->plain->ctrl;
    if (source.timeline == ROW_NONE || !is_first_part(making, source) ||
        ctrl->first[source.plain] == ctrl->first[source.plain + 1])
        return ROW_NONE;
    row_t row = plain_row(making->plain, ctrl->ids[ctrl->first[source.plain]]);
    row_t op = row == ROW_NONE ? ROW_NONE : making->row_op[row];
    if (op == ROW_NONE || making->op_row[op] != row || making->op_place[op] == ROW_NONE)
        return ROW_NONE;
    row_t before = chain_dep(making, source.timeline);
    return before != ROW_NONE && making->op_place[op] <= before ? making->op_place[op] : ROW_NONE;
}

static uint64_t count_data_deps(const struct timeline_making *making, struct source_node source) {
    if (source.timeline != ROW_NONE)
        return making->timeline->first_dep[source.timeline + 1] - making->timeline->first_dep[source.timeline];
    return making->row_op[source.plain] != ROW_NONE;
}

static int compare_ids(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put_data_deps(const struct timeline_making *making, row_t node) {
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
        qsort(ids, n, sizeof *ids, compare_ids);
}

/* ---- Words ---- */

static uint64_t count_attributes(const struct timeline_making *making, struct source_node source) {
    const struct et_nodes *plain = making->plain;
    if (source.plain == ROW_NONE)
        return 1; /* is_cpu_op */
    uint64_t n = plain->attr_first[source.plain + 1] - plain->attr_first[source.plain];
    return n + (source.timeline != ROW_NONE && making->timeline->role[source.timeline] == NODE_KERNEL);
}

static void put_attribute(struct et_attributes *attributes, uint64_t at, enum et_name name, enum et_kind kind,
                          uint64_t bits) {
    attributes->name[at] = (uint32_t)name;
    attributes->kind[at] = (uint8_t)kind;
    attributes->length[at] = 0;
    attributes->value[at].bits = bits;
}

/* A part of a kernel does a part of its work. */
static void share_work(const struct timeline_making *making, row_t node, struct et_attributes *attributes,
                       uint64_t begin, uint64_t end) {
    const row_t place = making->sources[node].timeline;
    const uint64_t weight = part_weight(making->timeline, place), total = making->total[making->timeline->of[place]];
    for (uint64_t i = begin; i < end; i++) {
        uint64_t *amount = &attributes->value[i].bits;
        if (attributes->name[i] == ET_NAME_NUM_OPS || attributes->name[i] == ET_NAME_TENSOR_SIZE) {
            uint64_t share = work_share(*amount, making->given[node], weight, total);
            *amount = share || attributes->name[i] == ET_NAME_TENSOR_SIZE ? share : 1;
        }
    }
}

static void put_attributes(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_attributes *to = &making->made->attributes;
    const struct et_attributes *from = &making->plain->attributes;
    uint64_t at = making->made->attr_first[node];
    if (source.plain == ROW_NONE) {
        put_attribute(to, at, ET_NAME_IS_CPU_OP, ET_BOOL, 1);
        return;
    }
    for (uint64_t i = making->plain->attr_first[source.plain]; i < making->plain->attr_first[source.plain + 1]; i++) {
        to->name[at] = from->name[i];
        to->kind[at] = from->kind[i];
        to->length[at] = from->length[i];
        to->value[at++] = from->value[i];
    }
    if (at < making->made->attr_first[node + 1]) {
        share_work(making, node, to, making->made->attr_first[node], at);
        put_attribute(to, at, ET_NAME_KERNEL_EXEC_NS, ET_INT64,
                      (uint64_t)(making->timeline->run_us[source.timeline] * 1000 + 0.5));
    }
}

/* "[rest] operator"; the text lies in the arena of the nodes. */
static struct et_text rest_name(const struct timeline_making *making, row_t plain) {
    static const char before[] = "[rest] ";
    struct et_text name = et_text_at(making->plain->text[ET_NODE_NAME], plain);
    size_t length = sizeof before - 1 + name.length;
    char *bytes = arena_take(&making->made->arena, length, 1);
    if (!bytes)
        return (struct et_text){"", 0};
    memcpy(bytes, before, sizeof before - 1);
    memcpy(bytes + sizeof before - 1, name.bytes, name.length);
    return (struct et_text){bytes, (uint32_t)length};
}

static bool is_rest(const struct timeline_making *making, struct source_node source) {
    return source.plain != ROW_NONE && source.timeline != ROW_NONE &&
           making->timeline->role[source.timeline] == NODE_REST;
}

static void put_node(const struct timeline_making *making, row_t node) {
    struct source_node source = making->sources[node];
    struct et_nodes *made = making->made;
    const struct timeline_nodes *timeline = making->timeline;
    const bool timed = source.timeline != ROW_NONE, plain = source.plain != ROW_NONE;
    made->id[node] = source_id(making, source);
    made->type[node] = plain ? making->plain->type[source.plain] : ET_COMP;
    made->start_us[node] =
        timed && timeline->start[source.timeline] > 0 ? (uint64_t)timeline->start[source.timeline] : 0;
    made->duration_us[node] = timed ? timeline->duration_us[source.timeline] : 0;
    made->flags[node] = plain ? making->plain->flags[source.plain] : ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    et_text_put(made->text[ET_NODE_NAME], node,
                plain ? et_text_at(making->plain->text[ET_NODE_NAME], source.plain) : (struct et_text){"[gap]", 5});
    for (int column = ET_INPUT_VALUES; column < ET_TEXT_COLUMNS; column++)
        et_text_put(made->text[column], node,
                    plain ? et_text_at(making->plain->text[column], source.plain) : (struct et_text){"", 0});
    if (making->parent[node] != ROW_NONE)
        made->ctrl.ids[made->ctrl.first[node]] = timeline->id[making->parent[node]];
    put_data_deps(making, node);
    put_attributes(making, node);
}

/* ---- All nodes ---- */

static void count_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = (row_t)(task * TASK_NODES); node < task_end(making->n, task); node++) {
        struct source_node source = making->sources[node];
        making->parent[node] = parent_place(making, source);
        making->made->data.first[node + 1] = count_data_deps(making, source);
        making->made->attr_first[node + 1] = count_attributes(making, source);
    }
}

static void put_task(void *arg, size_t task) {
    const struct timeline_making *making = arg;
    for (row_t node = (row_t)(task * TASK_NODES); node < task_end(making->n, task); node++)
        put_node(making, node);
}

/* Names that are new lie in the arena, which one thread takes from at a time. */
static void name_rests(const struct timeline_making *making) {
    for (row_t node = 0; node < making->n; node++)
        if (is_rest(making, making->sources[node]))
            et_text_put(making->made->text[ET_NODE_NAME], node, rest_name(making, making->sources[node].plain));
}

static enum sutra_status fill(struct timeline_making *making, struct sutra_error *error) {
    struct et_nodes *made = making->made;
    const uint64_t most_deps = making->timeline->n_deps + making->plain->n;
    making->parent = arena_take(making->arena, making->n, sizeof *making->parent);
    enum sutra_status status = et_nodes_take(made, making->n, making->n, most_deps, 0, error);
    if (status || making->arena->failed)
        return error_memory(error);
    pool_run(making->pool, count_tasks(making->n), count_task, making);
    for (row_t node = 0; node < making->n; node++) {
        made->ctrl.first[node + 1] = made->ctrl.first[node] + (making->parent[node] != ROW_NONE);
        made->data.first[node + 1] += made->data.first[node];
        made->attr_first[node + 1] += made->attr_first[node];
    }
    status = et_attributes_take(made, &made->attributes, made->attr_first[making->n], error);
    if (status)
        return status;
    pool_run(making->pool, count_tasks(making->n), put_task, making);
    name_rests(making);
    return made->arena.failed ? error_memory(error) : SUTRA_OK;
}

/* Its text, which lies in the arena of `plain`, once more in our own; out of memory the arena tells. */
static void copy_text(struct arena *arena, struct et_attributes *attributes, uint64_t at) {
    const uint32_t length = attributes->length[at];
    char *bytes = arena_take(arena, length, 1);
    if (bytes && length)
        memcpy(bytes, attributes->value[at].bytes, length);
    attributes->value[at].bytes = bytes;
}

/* The file's own attributes. Names have the same numbers in all files that we make. */
static enum sutra_status copy_metadata(struct et_nodes *made, const struct et_nodes *plain, struct sutra_error *error) {
    const struct et_attributes *from = &plain->metadata;
    enum sutra_status status = et_attributes_take(made, &made->metadata, from->n, error);
    if (status)
        return status;
    made->version = plain->version;
    memcpy(made->metadata.name, from->name, from->n * sizeof *from->name);
    memcpy(made->metadata.kind, from->kind, from->n * sizeof *from->kind);
    memcpy(made->metadata.length, from->length, from->n * sizeof *from->length);
    memcpy(made->metadata.value, from->value, from->n * sizeof *from->value);
    for (uint64_t i = 0; i < from->n; i++)
        if (et_kind_is_text(from->kind[i]))
            copy_text(&made->arena, &made->metadata, i);
    return arena_status(&made->arena, error);
}

enum sutra_status et_timeline_make(struct et_nodes *made, const struct et_nodes *plain,
                                   const struct timeline_input *input, const struct timeline_nodes *timeline,
                                   struct sutra_context *context, struct sutra_error *error) {
    struct arena scratch = {0};
    struct timeline_making making = {
        .made = made, .plain = plain, .input = input, .timeline = timeline, .pool = context->pool, .arena = &scratch};
    bool listed = pair_rows(&making) && list_sources(&making, &context->engine, error) && find_first_parts(&making) &&
                  measure_parts(&making);
    enum sutra_status status = listed ? SUTRA_OK : error_memory(error);
    if (!status)
        status = fill(&making, error);
    if (!status)
        status = copy_metadata(made, plain, error);
    arena_free(&scratch);
    return status;
}
