/*
 * et_make.c - attributes are listed node by node, twice: to count them and to write them down.
 */
#include "simulate/et_make.h"

#include <string.h>

#include "base/error.h"
#include "read/fields.h"
#include "simulate/kernel_names.h"

/* Nodes that a task does. */
#define TASK_NODES 4096

/* Most attributes of a node. */
#define ATTRIBUTES_MAX 20

/* A range of nodes; they are counted from its first on. */
struct making {
    struct et_nodes *nodes;
    const struct node_graph *graph;
    const struct et_rules *rules;
    const row_t *slot; /* per node */
    row_t n;
};

/* ---- attributes ---- */

struct listed_attribute {
    enum et_name name;
    enum et_kind kind;
    struct et_text text;
    uint64_t bits;
};

struct listed_attributes {
    struct listed_attribute list[ATTRIBUTES_MAX];
    unsigned n;
};

static void add_integer(struct listed_attributes *attributes, enum et_name name, int64_t value) {
    attributes->list[attributes->n++] =
        (struct listed_attribute){.name = name, .kind = ET_INT64, .bits = (uint64_t)value};
}

static void add_text(struct listed_attributes *attributes, enum et_name name, struct et_text text) {
    attributes->list[attributes->n++] = (struct listed_attribute){.name = name, .kind = ET_STRING, .text = text};
}

static void add_empty(struct listed_attributes *attributes, enum et_name name) {
    attributes->list[attributes->n++] = (struct listed_attribute){.name = name};
}

/* rf_id and the others that every operator has; one that is null has no value. */
static void list_own(const struct plus_nodes *nodes, row_t row, struct listed_attributes *attributes) {
    static const enum et_name names[] = {ET_NAME_RF_ID, ET_NAME_FW_PARENT, ET_NAME_SEQ_ID,   ET_NAME_SCOPE,
                                         ET_NAME_TID,   ET_NAME_FW_TID,    ET_NAME_OP_SCHEMA};
    for (unsigned i = 0; i <= PLUS_N_NUMBERS; i++) {
        if (nodes->faults[row] & PLUS_BIT(PLUS_FIRST_NUMBER + i))
            continue;
        if (nodes->flags[row] & (uint32_t)PLUS_NULL << i)
            add_empty(attributes, names[i]);
        else if (i < PLUS_N_NUMBERS)
            add_integer(attributes, names[i], nodes->number[i][row]);
        else
            add_text(attributes, names[i], nodes->op_schema[row]);
    }
}

static void add_rank(struct listed_attributes *attributes, enum et_name name, int64_t rank) {
    if (rank != RANK_UNTOLD)
        attributes->list[attributes->n++] =
            (struct listed_attribute){.name = name, .kind = ET_INT32, .bits = (uint64_t)rank};
}

/* From where to where, and which of several. */
static void list_ends(const struct comm_ends *ends, row_t row, bool sent, struct listed_attributes *attributes) {
    const struct comm_end *end = ends ? comm_end_of(ends, row) : NULL;
    if (!end)
        return;
    add_rank(attributes, ET_NAME_COMM_SRC, sent ? ends->own : end->peer);
    add_rank(attributes, ET_NAME_COMM_DST, sent ? end->peer : ends->own);
    add_rank(attributes, ET_NAME_COMM_TAG, end->tag);
}

static void list_communication(const struct making *making, row_t row, struct listed_attributes *attributes) {
    const struct node_graph *graph = making->graph;
    const struct comm_groups *groups = making->rules->groups;
    const struct plus_nodes *nodes = &graph->plus->nodes;
    enum et_type type = graph_type(graph, row);
    if (type == ET_COMP || type == ET_METADATA)
        return;
    if (type == ET_COMM_COLL)
        add_integer(attributes, ET_NAME_COMM_TYPE, kernel_collective(nodes->name[row], true));
    add_integer(attributes, ET_NAME_COMM_SIZE, nodes->comm_bytes[row]);
    row_t group = graph_group_row(graph, row);
    struct et_text name = nodes->pg_name[group];
    if (nodes->flags[group] & PLUS_PG_NULL && !groups)
        add_empty(attributes, ET_NAME_PG_NAME);
    else if (!(nodes->flags[group] & PLUS_PG_NULL) && name.length > 0)
        add_text(attributes, ET_NAME_PG_NAME, groups ? comm_group_number(groups, name) : name);
    if (type != ET_COMM_COLL)
        list_ends(making->rules->ends, row, type == ET_COMM_SEND, attributes);
}

static void list_work(const struct kernel_work *work, row_t slot, struct listed_attributes *attributes) {
    if (!work || work->n_bytes[slot] == 0)
        return;
    add_integer(attributes, ET_NAME_NUM_OPS, (int64_t)work->n_ops[slot]);
    attributes->list[attributes->n++] =
        (struct listed_attribute){.name = ET_NAME_TENSOR_SIZE, .kind = ET_UINT64, .bits = work->n_bytes[slot]};
}

static void list_attributes(const struct making *making, row_t slot, struct listed_attributes *attributes) {
    const struct plus_nodes *nodes = &making->graph->plus->nodes;
    row_t row = making->graph->message[slot];
    bool gpu = nodes->flags[row] & PLUS_IS_GPU;
    attributes->n = 0;
    list_own(nodes, row, attributes);
    attributes->list[attributes->n++] = (struct listed_attribute){ET_NAME_IS_CPU_OP, ET_BOOL, .bits = !gpu};
    if (!(nodes->flags[row] & PLUS_NO_STREAM))
        add_integer(attributes, ET_NAME_STREAM, nodes->stream[row]);
    if (gpu)
        list_communication(making, row, attributes);
    list_work(making->rules->work, slot, attributes);
}

/* ---- nodes ---- */

static row_t node_row(const struct making *making, row_t node) {
    return making->graph->message[making->slot[node]];
}

static uint64_t slot_id(const struct making *making, row_t slot) {
    return making->graph->plus->nodes.id[making->graph->message[slot]];
}

static void count_attributes(void *arg, size_t task) {
    struct making *making = arg;
    struct listed_attributes attributes;
    row_t end = (row_t)((task + 1) * TASK_NODES < making->n ? (task + 1) * TASK_NODES : making->n);
    for (row_t node = (row_t)(task * TASK_NODES); node < end; node++) {
        list_attributes(making, making->slot[node], &attributes);
        making->nodes->attr_first[node + 1] = attributes.n;
    }
}

static void put_attributes(const struct making *making, row_t node) {
    struct et_attributes *to = &making->nodes->attributes;
    struct listed_attributes attributes;
    list_attributes(making, making->slot[node], &attributes);
    uint64_t at = making->nodes->attr_first[node];
    for (unsigned i = 0; i < attributes.n; i++, at++) {
        const struct listed_attribute *attribute = &attributes.list[i];
        to->name[at] = (uint32_t)attribute->name;
        to->kind[at] = (uint8_t)attribute->kind;
        to->length[at] = attribute->text.length;
        if (attribute->kind == ET_STRING)
            to->value[at].bytes = attribute->text.bytes;
        else
            to->value[at].bits = attribute->bits;
    }
}

static void put_dependencies(const struct making *making, row_t node, row_t slot) {
    const struct node_graph *graph = making->graph;
    struct et_nodes *nodes = making->nodes;
    uint64_t at = nodes->data.first[node];
    if (graph->under[slot] != ROW_NONE)
        nodes->ctrl.ids[nodes->ctrl.first[node]] = slot_id(making, graph->under[slot]);
    for (row_t dep = graph->first_dep[slot]; dep != ROW_NONE; dep = graph->deps[dep].next)
        nodes->data.ids[at++] = slot_id(making, graph->deps[dep].slot);
}

static uint64_t duration_of(const struct plus_nodes *plus, row_t row) {
    return kernel_name_has(plus->name[row], "Optimizer.step") ? 0 : plus->duration_us[row];
}

static void put_node(const struct making *making, row_t node) {
    const struct plus_nodes *plus = &making->graph->plus->nodes;
    struct et_nodes *nodes = making->nodes;
    row_t row = node_row(making, node);
    nodes->id[node] = plus->id[row];
    nodes->type[node] = (int32_t)graph_type(making->graph, row);
    nodes->duration_us[node] = duration_of(plus, row);
    if (making->rules->start_times)
        nodes->start_us[node] = plus->start_us[row];
    nodes->flags[node] = ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    et_text_put(nodes->text[ET_NODE_NAME], node, plus->name[row]);
    for (int i = 0; i < PLUS_N_IO; i++)
        et_text_put(nodes->text[ET_INPUT_VALUES + i], node, plus->io[i][row]);
    put_dependencies(making, node, making->slot[node]);
    put_attributes(making, node);
}

static void put_nodes(void *arg, size_t task) {
    struct making *making = arg;
    row_t end = (row_t)((task + 1) * TASK_NODES < making->n ? (task + 1) * TASK_NODES : making->n);
    for (row_t node = (row_t)(task * TASK_NODES); node < end; node++)
        put_node(making, node);
}

/* ---- all of it ---- */

enum sutra_status et_maker_begin(struct et_maker *maker, struct arena *arena, const struct node_graph *graph,
                                 const struct et_rules *rules, struct sutra_error *error) {
    struct arena scratch = {0};
    *maker = (struct et_maker){.graph = graph, .rules = *rules};
    maker->slot = arena_take(arena, graph->n_made, sizeof *maker->slot);
    uint64_t *ids = arena_take(&scratch, graph->n_made, sizeof *ids);
    for (row_t i = 0; i < graph->n_made && maker->slot && ids; i++)
        if (graph->kept[graph->made[i]]) {
            maker->slot[maker->n] = graph->made[i];
            ids[maker->n++] = graph->plus->nodes.id[graph->message[graph->made[i]]];
        }
    const struct engine *engine = &graph->context->engine;
    enum sutra_status status =
        maker->slot && ids
            ? engine->sort_keys(engine->state, &(struct sort_keys_step){ids, maker->slot, maker->n}, error)
            : error_memory(error);
    arena_free(&scratch);
    return status;
}

/* Where each node's dependencies begin. */
static void count_dependencies(struct making *making) {
    const struct node_graph *graph = making->graph;
    struct et_nodes *nodes = making->nodes;
    for (row_t node = 0; node < making->n; node++) {
        row_t slot = making->slot[node];
        uint64_t n = 0;
        for (row_t dep = graph->first_dep[slot]; dep != ROW_NONE; dep = graph->deps[dep].next)
            n++;
        nodes->data.first[node + 1] = nodes->data.first[node] + n;
        nodes->ctrl.first[node + 1] = nodes->ctrl.first[node] + (graph->under[slot] != ROW_NONE);
    }
}

static void run(struct pool *pool, size_t n_tasks, void (*work)(void *making, size_t task), struct making *making) {
    if (pool)
        pool_run(pool, n_tasks, work, making);
    for (size_t task = 0; task < n_tasks && !pool; task++)
        work(making, task);
}

/* How many data dependencies the nodes have. */
static uint64_t n_dependencies(const struct making *making) {
    const struct node_graph *graph = making->graph;
    uint64_t n = 0;
    for (row_t node = 0; node < making->n; node++)
        for (row_t dep = graph->first_dep[making->slot[node]]; dep != ROW_NONE; dep = graph->deps[dep].next)
            n++;
    return n;
}

enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_nodes *nodes,
                                struct pool *pool, struct sutra_error *error) {
    struct making making = {nodes, maker->graph, &maker->rules, maker->slot + first, end - first};
    size_t n_tasks = ((size_t)making.n + TASK_NODES - 1) / TASK_NODES;
    enum sutra_status status = et_nodes_take(nodes, making.n, making.n, n_dependencies(&making), 0, error);
    if (status)
        return status;
    count_dependencies(&making);
    run(pool, n_tasks, count_attributes, &making);
    for (row_t node = 0; node < making.n; node++)
        nodes->attr_first[node + 1] += nodes->attr_first[node];
    status = et_attributes_take(nodes, &nodes->attributes, nodes->attr_first[making.n], error);
    if (!status)
        run(pool, n_tasks, put_nodes, &making);
    return status;
}
