/*
 * et_make.c - makes nodes of .et files from the graph of ET+ (convert.h).
 *
 *     plain nodes     --et_maker_outline()--> all of them, with the fields that measured times need
 *     measured nodes  --et_maker_fill()-----> some of them, completely: times and dependencies of the measured node, and
 *                                             the other fields of its plain node
 *
 * Complete nodes need as much memory as the graph and its input, so a writer makes some at a time. Cost: O(nodes +
 * attributes), after a sort by id if ids do not ascend.
 */
#include <string.h>

#include "base/error.h"
#include "simulate/convert.h"

enum sutra_status et_maker_begin(struct et_maker *maker, struct arena *arena, const struct node_graph *graph,
                                 struct sutra_error *error) {
    struct arena scratch = {0};
    maker->graph = graph;
    maker->slot = arena_alloc(arena, graph->n_made, sizeof *maker->slot);
    uint64_t *ids = arena_alloc(&scratch, graph->n_made, sizeof *ids);
    for (row_t i = 0; i < graph->n_made && maker->slot && ids; i++)
        if (graph->kept[graph->made[i]]) {
            maker->slot[maker->n] = graph->made[i];
            ids[maker->n++] = graph->et_plus->nodes.id[graph->message[graph->made[i]]];
        }
    const struct engine *engine = &graph->context->engine;
    enum sutra_status status =
        maker->slot && ids
            ? engine->sort_keys(engine->state, &(struct sort_keys_step){ids, maker->slot, maker->n}, error)
            : error_memory(error);
    arena_free(&scratch);
    return status;
}

/* ---- The attributes of a plain node ---- */

/* The maximum number of attributes of a plain node. */
#define ATTRIBUTES_MAX 20

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

static void add_rank(struct listed_attributes *attributes, enum et_name name, int64_t rank) {
    if (rank != RANK_NOT_RECORDED)
        attributes->list[attributes->n++] =
            (struct listed_attribute){.name = name, .kind = ET_INT32, .bits = (uint64_t)rank};
}

static void list_communication(const struct et_maker *maker, row_t row, struct listed_attributes *attributes) {
    const struct node_graph *graph = maker->graph;
    const struct comm_groups *groups = maker->groups;
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    enum et_type type = graph_type(graph, row);
    if (type == ET_COMP || type == ET_METADATA)
        return;
    if (type == ET_COMM_COLL)
        add_integer(attributes, ET_NAME_COMM_TYPE, kernel_collective(nodes->name[row], true));
    add_integer(attributes, ET_NAME_COMM_SIZE, nodes->comm_bytes[row]);
    row_t group = graph_group_row(graph, row);
    struct et_text name = nodes->pg_name[group];
    if (nodes->flags[group] & ET_PLUS_PG_NULL && !groups)
        add_empty(attributes, ET_NAME_PG_NAME);
    else if (!(nodes->flags[group] & ET_PLUS_PG_NULL) && name.length > 0)
        add_text(attributes, ET_NAME_PG_NAME, groups ? comm_group_number(groups, name) : name);
    const struct comm_ends *ends = maker->ends;
    const struct comm_end *end = ends && type != ET_COMM_COLL ? comm_end_of(ends, row) : NULL;
    if (end) {
        const bool sent = type == ET_COMM_SEND;
        add_rank(attributes, ET_NAME_COMM_SRC, sent ? ends->own : end->peer);
        add_rank(attributes, ET_NAME_COMM_DST, sent ? end->peer : ends->own);
        add_rank(attributes, ET_NAME_COMM_TAG, end->tag);
    }
}

/* An attribute of every operator, by its number among them; a null attribute has no value. */
static void list_field(const struct et_plus_nodes *nodes, row_t row, unsigned i, struct listed_attributes *attributes) {
    static const enum et_name names[] = {ET_NAME_RF_ID, ET_NAME_FW_PARENT, ET_NAME_SEQ_ID,   ET_NAME_SCOPE,
                                         ET_NAME_TID,   ET_NAME_FW_TID,    ET_NAME_OP_SCHEMA};
    if (nodes->faults[row] & ET_PLUS_BIT(ET_PLUS_FIRST_NUMBER + i))
        return;
    if (nodes->flags[row] & (uint32_t)ET_PLUS_NULL << i)
        add_empty(attributes, names[i]);
    else if (names[i] == ET_NAME_OP_SCHEMA)
        add_text(attributes, names[i], nodes->op_schema[row]);
    else
        add_integer(attributes, names[i], nodes->number[i][row]);
}

static void list_resource(const struct et_plus_nodes *nodes, row_t row, struct listed_attributes *attributes) {
    const bool gpu = nodes->flags[row] & ET_PLUS_IS_GPU;
    attributes->list[attributes->n++] = (struct listed_attribute){ET_NAME_IS_CPU_OP, ET_BOOL, .bits = !gpu};
    if (!(nodes->flags[row] & ET_PLUS_NO_STREAM))
        add_integer(attributes, ET_NAME_STREAM, nodes->stream[row]);
}

static void list_work(const struct et_maker *maker, row_t slot, struct listed_attributes *attributes) {
    const struct kernel_work *work = maker->work;
    if (!work || !work->n_bytes[slot])
        return;
    add_integer(attributes, ET_NAME_NUM_OPS, (int64_t)work->n_ops[slot]);
    attributes->list[attributes->n++] =
        (struct listed_attribute){.name = ET_NAME_TENSOR_SIZE, .kind = ET_UINT64, .bits = work->n_bytes[slot]};
}

static void list_attributes(const struct et_maker *maker, row_t slot, struct listed_attributes *attributes) {
    const struct et_plus_nodes *nodes = &maker->graph->et_plus->nodes;
    const row_t row = maker->graph->message[slot];
    attributes->n = 0;
    for (unsigned i = 0; i <= ET_PLUS_N_NUMBERS; i++)
        list_field(nodes, row, i, attributes);
    list_resource(nodes, row, attributes);
    if (nodes->flags[row] & ET_PLUS_IS_GPU)
        list_communication(maker, row, attributes);
    list_work(maker, slot, attributes);
}

/* Attributes in outline, which the timeline and its simulation read. */
static void list_outline(const struct et_maker *maker, row_t slot, struct listed_attributes *attributes) {
    const struct et_plus_nodes *nodes = &maker->graph->et_plus->nodes;
    const row_t row = maker->graph->message[slot];
    attributes->n = 0;
    list_field(nodes, row, ET_PLUS_TID - ET_PLUS_FIRST_NUMBER, attributes);
    list_resource(nodes, row, attributes);
    if (nodes->flags[row] & ET_PLUS_IS_GPU && et_is_communication((int32_t)graph_type(maker->graph, row)))
        add_integer(attributes, ET_NAME_COMM_SIZE, nodes->comm_bytes[row]);
}

static void set_attribute(struct et_attributes *to, uint64_t at, const struct listed_attribute *attribute) {
    if (attribute->kind == ET_STRING)
        et_attribute_set_text(to, at, attribute->name, attribute->text);
    else
        et_attribute_set(to, at, attribute->name, attribute->kind, attribute->bits);
}

/* ---- All plain nodes in outline ---- */

struct outlining {
    const struct et_maker *maker;
    struct et_nodes *nodes;
};

static uint64_t slot_id(const struct et_maker *maker, row_t slot) {
    return maker->graph->et_plus->nodes.id[maker->graph->message[slot]];
}

/* The fields that both kinds of nodes have. */
static void set_fields(const struct et_maker *maker, row_t slot, struct et_nodes *nodes, row_t node) {
    const struct et_plus_nodes *et_plus = &maker->graph->et_plus->nodes;
    row_t row = maker->graph->message[slot], under = maker->graph->under[slot];
    nodes->id[node] = et_plus->id[row];
    nodes->type[node] = (int32_t)graph_type(maker->graph, row);
    nodes->duration_us[node] = kernel_name_has(et_plus->name[row], "Optimizer.step") ? 0 : et_plus->duration_us[row];
    nodes->flags[node] = ET_HAS_INPUTS | ET_HAS_OUTPUTS;
    et_text_set(nodes->text[ET_NODE_NAME], node, et_plus->name[row]);
    if (under != ROW_NONE)
        nodes->ctrl.ids[nodes->ctrl.first[node]] = slot_id(maker, under);
}

static void count_outlined(void *arg, size_t task) {
    const struct outlining *all = arg;
    const struct et_maker *maker = all->maker;
    struct listed_attributes attributes;
    for (row_t node = et_task_start(task); node < et_task_end(maker->n, task); node++) {
        list_outline(maker, maker->slot[node], &attributes);
        all->nodes->attr_first[node + 1] = attributes.n;
        all->nodes->ctrl.first[node + 1] = maker->graph->under[maker->slot[node]] != ROW_NONE;
        all->nodes->data.first[node + 1] = 0;
    }
}

static void outline_nodes(void *arg, size_t task) {
    const struct outlining *all = arg;
    const struct et_maker *maker = all->maker;
    struct listed_attributes attributes;
    for (row_t node = et_task_start(task); node < et_task_end(maker->n, task); node++) {
        const uint64_t at = all->nodes->attr_first[node];
        set_fields(maker, maker->slot[node], all->nodes, node);
        list_outline(maker, maker->slot[node], &attributes);
        for (unsigned i = 0; i < attributes.n; i++)
            set_attribute(&all->nodes->attributes, at + i, &attributes.list[i]);
    }
}

enum sutra_status et_maker_outline(const struct et_maker *maker, struct et_nodes *nodes, struct pool *pool,
                                   struct sutra_error *error) {
    struct outlining all = {maker, nodes};
    nodes->slim = true;
    TRY(et_nodes_take(nodes, maker->n, maker->n, 0, 0, error));
    pool_run(pool, et_tasks(maker->n), count_outlined, &all);
    for (row_t node = 0; node < maker->n; node++) {
        nodes->attr_first[node + 1] += nodes->attr_first[node];
        nodes->ctrl.first[node + 1] += nodes->ctrl.first[node];
    }
    TRY(et_attributes_take(nodes, &nodes->attributes, nodes->attr_first[maker->n], error));
    pool_run(pool, et_tasks(maker->n), outline_nodes, &all);
    return SUTRA_OK;
}

/* ---- Some nodes, completely ---- */

/* The slot of the plain node of a node, or ROW_NONE. */
static row_t slot_of(const struct et_maker *maker, row_t node) {
    row_t plain = maker->measured ? maker->plain[node] : node;
    return plain == ROW_NONE ? ROW_NONE : maker->slot[plain];
}

static void set_inputs_and_outputs(const struct et_maker *maker, row_t slot, struct et_plus_texts *texts,
                                   struct et_nodes *nodes, row_t node) {
    const struct et_plus_nodes *et_plus = &maker->graph->et_plus->nodes;
    for (int i = 0; i < ET_PLUS_N_IO; i++)
        et_text_set(nodes->text[ET_INPUT_VALUES + i], node,
                    slot == ROW_NONE ? (struct et_text){"", 0}
                                     : et_plus_io_text(texts, et_plus, maker->graph->message[slot], i));
}

/* Fills a plain node. */
static void fill_plain(const struct et_maker *maker, row_t slot, struct et_nodes *nodes, row_t node) {
    const struct node_graph *graph = maker->graph;
    struct listed_attributes attributes;
    uint64_t n_data = nodes->data.first[node], n_attributes = nodes->attr_first[node];
    set_fields(maker, slot, nodes, node);
    nodes->ctrl.first[node + 1] = nodes->ctrl.first[node] + (graph->under[slot] != ROW_NONE);
    if (maker->start_times)
        nodes->start_us[node] = graph->et_plus->nodes.start_us[graph->message[slot]];
    for (row_t dep = graph->first_dep[slot]; dep != ROW_NONE; dep = graph->deps[dep].next)
        nodes->data.ids[n_data++] = slot_id(maker, graph->deps[dep].slot);
    list_attributes(maker, slot, &attributes);
    for (unsigned i = 0; i < attributes.n; i++)
        set_attribute(&nodes->attributes, n_attributes++, &attributes.list[i]);
    nodes->data.first[node + 1] = n_data;
    nodes->attr_first[node + 1] = n_attributes;
}

/* The attributes of a measured node: the attributes of its plain node, some with other values, and attributes
 * that only the measured node has. Both lists have the same order. */
static void fill_measured_attributes(const struct et_maker *maker, row_t of, row_t slot, struct et_nodes *nodes,
                                     row_t node) {
    const struct et_nodes *measured = maker->measured;
    const struct et_attributes *from = &measured->attributes;
    struct et_attributes *to = &nodes->attributes;
    struct listed_attributes attributes = {.n = 0};
    uint64_t n = nodes->attr_first[node], own = measured->attr_first[of];
    if (slot != ROW_NONE)
        list_attributes(maker, slot, &attributes);
    for (unsigned i = 0; i < attributes.n; i++) {
        bool has_own = own < measured->attr_first[of + 1] && from->name[own] == (uint32_t)attributes.list[i].name;
        if (has_own)
            et_attribute_copy(to, n++, from, own++);
        else
            set_attribute(to, n++, &attributes.list[i]);
    }
    while (own < measured->attr_first[of + 1])
        et_attribute_copy(to, n++, from, own++);
    nodes->attr_first[node + 1] = n;
}

/* Fills a measured node, number `of`; its plain node has the slot, or ROW_NONE. */
static void fill_measured(const struct et_maker *maker, row_t of, row_t slot, struct et_nodes *nodes, row_t node) {
    const struct et_nodes *measured = maker->measured;
    nodes->id[node] = measured->id[of];
    nodes->type[node] = measured->type[of];
    nodes->start_us[node] = measured->start_us[of];
    nodes->duration_us[node] = measured->duration_us[of];
    nodes->flags[node] = measured->flags[of];
    et_text_set(nodes->text[ET_NODE_NAME], node, et_text_at(measured->text[ET_NODE_NAME], of));
    et_ids_copy(&nodes->ctrl, node, &measured->ctrl, of);
    et_ids_copy(&nodes->data, node, &measured->data, of);
    fill_measured_attributes(maker, of, slot, nodes, node);
}

/* The number of data dependencies of some nodes. */
static uint64_t count_data_deps(const struct et_maker *maker, row_t first, row_t end) {
    const struct node_graph *graph = maker->graph;
    uint64_t n = 0;
    if (maker->measured)
        return maker->measured->data.first[end] - maker->measured->data.first[first];
    for (row_t i = first; i < end; i++)
        for (row_t dep = graph->first_dep[maker->slot[i]]; dep != ROW_NONE; dep = graph->deps[dep].next)
            n++;
    return n;
}

enum sutra_status et_maker_fill(const struct et_maker *maker, row_t first, row_t end, struct et_plus_texts *texts,
                                struct et_nodes *nodes, struct sutra_error *error) {
    const row_t n = end - first;
    const uint64_t most_attributes = (uint64_t)n * (ATTRIBUTES_MAX + 1);
    TRY(et_nodes_take(nodes, n, n, count_data_deps(maker, first, end), most_attributes, error));
    for (row_t node = 0; node < n; node++) {
        row_t slot = slot_of(maker, first + node);
        if (maker->measured)
            fill_measured(maker, first + node, slot, nodes, node);
        else
            fill_plain(maker, slot, nodes, node);
        set_inputs_and_outputs(maker, slot, texts, nodes, node);
    }
    nodes->attributes.n = nodes->attr_first[n];
    return et_plus_texts_failed(texts) ? error_memory(error) : SUTRA_OK;
}

static bool make_and_encode(const void *of, const struct et_nodes *nodes, row_t first, row_t end, struct buffer *out) {
    const struct et_maker *maker = of;
    struct et_nodes made = {.names = nodes->names};
    struct et_plus_texts texts;
    bool ok = et_plus_texts_begin(&texts, &maker->graph->et_plus->document->source) &&
              et_maker_fill(maker, first, end, &texts, &made, NULL) == SUTRA_OK;
    for (row_t row = 0; ok && row < made.n; row++)
        et_write_node(&made, row, out);
    et_plus_texts_end(&texts);
    arena_free(&made.arena);
    return ok && !out->failed;
}

enum sutra_status et_maker_write(const struct et_maker *maker, const struct et_nodes *nodes,
                                 struct sutra_context *context, const char *path, uint64_t *n_bytes,
                                 struct sutra_error *error) {
    const struct et_supply supply = {maker->measured ? maker->measured->n : maker->n, maker, make_and_encode};
    return et_write(nodes, &supply, context, path, n_bytes, error);
}
