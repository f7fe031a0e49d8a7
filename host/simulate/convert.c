/*
 * convert.c - ET+ in, protobuf nodes out: reading, the graph, the columns, the bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/convert.h"
#include "simulate/et_graph.h"
#include "simulate/plus.h"
#include "simulate/timeline_sources.h"
#include "text/quantities.h"

/*
 * Attributes are listed node by node, twice: to count them and to write them down.
 */

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
    if (rank != RANK_NOT_RECORDED)
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

/* Puts the nodes in order; the list lies in the arena. O(n log n) where ids do not rise. SUTRA_SYSTEM: out of
 * memory. */
static enum sutra_status et_maker_begin(struct et_maker *maker, struct arena *arena, const struct node_graph *graph,
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

/* The caller's options as we know them. */
static enum sutra_status convert_options_take(const struct sutra_convert_options *options,
                                              struct sutra_convert_options *taken, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_convert_options, compat);
    return options_take(&form, options, taken, error);
}

static struct graph_rules graph_rules_of(const struct sutra_convert_options *options) {
    bool mend = !options->compat;
    return (struct graph_rules){.drop_absent = mend && !options->keep_absent,
                                .drop_metadata = mend && !options->keep_metadata,
                                .keep_rootless = mend && !options->drop_rootless,
                                .lax_attributes = mend,
                                .refuse_types = mend && options->refuse_types,
                                .refuse_nested = mend && options->refuse_nested};
}

static struct figure lacking(uint64_t n_messages) {
    return counted_text(n_messages, "send or receive lacks comm_src, comm_dst and comm_tag",
                        "sends and receives lack comm_src, comm_dst and comm_tag");
}

/* What a simulator may miss in the file. */
static void warn_of_lacks(struct sutra_context *context, const struct sutra_convert_report *report,
                          const struct comm_ends *ends) {
    static const char then[] = "; ASTRA-sim runs them only if it replays durations (\"replay-only\": 1)";
    uint64_t n_messages = report->n_sends + report->n_receives;
    if (report->n_unknown)
        context_warn(context, "%s written as computation",
                     counted_text(report->n_unknown, "NCCL kernel of an unknown collective",
                                  "NCCL kernels of unknown collectives")
                         .text);
    if (!ends && n_messages)
        context_warn(context, "%s%s", lacking(n_messages).text, then);
    if (ends && ends->n_without_peer)
        context_warn(context, "%s: no peer in the record_param_comms, c10d::send or c10d::recv_ above%s",
                     lacking(ends->n_without_peer).text, then);
    if (ends && ends->n_without_members)
        context_warn(context,
                     "%s: the trace has the peer's rank in a process group, but not the members of the group%s",
                     lacking(ends->n_without_members).text, then);
}

/* Rings are refused, or opened with a warning that names the first. */
static enum sutra_status open_rings(struct node_graph *graph, bool refuse, struct sutra_error *error) {
    struct sutra_error ring;
    if (refuse)
        return node_cycles_refuse(graph, error);
    enum sutra_status status = node_cycles_refuse(graph, &ring);
    if (status != SUTRA_DATA)
        return status ? error_memory(error) : SUTRA_OK;
    context_warn(graph->context, "%s; such cycles are broken at a dependency on another thread", ring.message);
    return node_cycles_break(graph, error);
}

/* Attributes of a row that are missing or of a wrong type. */
static uint64_t attributes_lost(const struct node_graph *graph, row_t row) {
    uint32_t attributes = 0;
    for (int field = PLUS_FIRST_NUMBER; field <= PLUS_OP_SCHEMA; field++)
        attributes |= PLUS_BIT(field);
    return (uint64_t)__builtin_popcount(graph->plus->nodes.faults[row] & attributes);
}

static void count_gpu(struct sutra_convert_report *report, const struct node_graph *graph, row_t row) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    enum et_type type = graph_type(graph, row);
    report->n_gpu_nodes++;
    report->n_unknown += type == ET_COMP && nodes->flags[row] & PLUS_IS_COLLECTIVE;
    report->n_types += type == ET_COMM_COLL && kernel_collective(nodes->name[row], false) < 0;
    report->n_nested += type != ET_COMP && nodes->flags[row] & PLUS_IS_NESTED;
}

static void count_graph(struct sutra_convert_report *report, const struct node_graph *graph) {
    const struct graph_counts *counts = &graph->counts;
    report->n_plus_nodes = graph->plus->nodes.n;
    report->n_unmade = counts->n_unmade;
    report->n_dangling = counts->n_dangling;
    report->n_metadata = counts->n_metadata;
    report->n_absent = counts->n_absent;
    report->n_rings = counts->n_cycles;
    report->n_rootless = counts->n_rootless;
    for (uint64_t i = 0; i < graph->n_deps; i++)
        report->n_inter += graph->deps[i].inter;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t row = graph->message[graph->made[i]];
        report->n_attributes += graph->kept[graph->made[i]] ? attributes_lost(graph, row) : 0;
        if (graph->kept[graph->made[i]] && graph_is_gpu(graph, row))
            count_gpu(report, graph, row);
    }
}

static void count_nodes(struct sutra_convert_report *report, const struct et_maker *maker) {
    const struct node_graph *graph = maker->graph;
    report->n_nodes = maker->n;
    for (row_t node = 0; node < maker->n; node++) {
        row_t slot = maker->slot[node], row = graph->message[slot];
        enum et_type type = graph_type(graph, row);
        report->n_collectives += type == ET_COMM_COLL;
        report->n_sends += type == ET_COMM_SEND;
        report->n_receives += type == ET_COMM_RECV;
        report->n_starts += maker->rules.start_times && graph->plus->nodes.start_us[row] > 0;
        report->n_ctrl_deps += graph->under[slot] != ROW_NONE;
        for (row_t dep = graph->first_dep[slot]; dep != ROW_NONE; dep = graph->deps[dep].next)
            report->n_data_deps++;
    }
}

/* Which nodes there are, and what they depend on. */
static enum sutra_status order_nodes(struct sutra_converted *converted, struct sutra_context *context,
                                     const struct sutra_convert_options *options, struct sutra_error *error) {
    struct node_graph *graph = &converted->graph;
    const struct graph_rules rules = graph_rules_of(options);
    enum sutra_status status = node_graph_build(graph, context, &converted->plus, &rules, error);
    if (!status)
        status = open_rings(graph, options->compat || context->options.strict, error);
    if (!status)
        status = comm_groups_find(&converted->groups, graph, error);
    if (!status && !options->compat && !options->no_peers)
        status = comm_ends_find(&converted->ends, &graph->arena, graph, &converted->groups, error);
    if (!status && !options->compat && !options->no_work)
        status = kernel_work_find(&converted->work, &graph->arena, graph, error);
    return status;
}

/* Prepares making nodes of converted->plus. */
static enum sutra_status converted_make(struct sutra_converted *converted, struct sutra_context *context,
                                        const struct sutra_convert_options *options, struct sutra_error *error) {
    struct node_graph *graph = &converted->graph;
    bool names = options->compat || options->keep_group_names, peers = !options->compat && !options->no_peers;
    bool works = !options->compat && !options->no_work;
    const struct et_rules written = {.start_times = !options->compat && !options->no_start_times,
                                     .groups = names ? NULL : &converted->groups,
                                     .ends = peers ? &converted->ends : NULL,
                                     .work = works ? &converted->work : NULL};
    stage_begin(context, "order nodes", converted->plus.nodes.n);
    enum sutra_status status = order_nodes(converted, context, options, error);
    if (!status)
        status = et_nodes_begin(&converted->nodes, error);
    if (!status)
        status = et_metadata_make(&converted->nodes, graph->plus->document, options->compat, error);
    if (!status)
        status = et_maker_begin(&converted->maker, &graph->arena, graph, &written, error);
    if (!status && options->keep_times && !options->compat && !converted->has_times) {
        status = plus_timeline_read(graph, &converted->times_arena, &converted->times, error);
        converted->has_times = true;
    }
    if (!status) {
        count_graph(&converted->report, graph);
        count_nodes(&converted->report, &converted->maker);
        converted->report.n_peers = converted->ends.n;
        converted->report.n_works = converted->work.n_known;
        warn_of_lacks(context, &converted->report, written.ends);
        converted->report.n_groups = names ? 0 : converted->groups.n_numbered;
    }
    stage_end(context);
    return status;
}

static void free_made_of(struct sutra_converted *converted) {
    node_graph_free(&converted->graph);
    plus_nodes_free(&converted->plus.nodes);
}

enum sutra_status converted_complete(struct sutra_converted *converted, struct sutra_context *context,
                                     struct sutra_error *error) {
    if (converted->complete)
        return SUTRA_OK;
    stage_begin(context, "make nodes", converted->maker.n);
    enum sutra_status status =
        et_maker_fill(&converted->maker, 0, converted->maker.n, &converted->nodes, context->pool, error);
    stage_end(context);
    if (status)
        return status;
    converted->complete = true;
    free_made_of(converted);
    return SUTRA_OK;
}

/* Where nodes are converted from: a file, or else what was linked. */
struct convert_input {
    const struct document_input *file;
    const struct sutra_linked *linked;
    const struct linked_traces *spent; /* what nothing else needs that was linked, or NULL */
};

/* All that is needed of what was linked is read first: graph and nodes are made when it is gone. */
static enum sutra_status read_linked(struct sutra_converted *made, struct sutra_context *context,
                                     const struct convert_input *input, bool times, struct sutra_error *error) {
    const struct json_place *groups = NULL;
    enum sutra_status status = plus_linked_groups(context, input->linked, &groups, error);
    if (!status && input->spent && !times)
        linked_traces_spend_keys(input->spent);
    if (!status)
        status = plus_linked(&made->plus, context, input->linked, groups, error);
    if (!status && times)
        status = linked_timeline_read(context, input->linked, &made->times_arena, &made->times, error);
    made->has_times = !status && times;
    if (!status && input->spent)
        linked_traces_spend(input->spent);
    return status;
}

static enum sutra_status read_input(struct sutra_converted *made, struct sutra_context *context,
                                    const struct convert_input *input, const struct sutra_convert_options *options,
                                    struct sutra_error *error) {
    bool times = options->keep_times && !options->compat;
    if (!input->file)
        return read_linked(made, context, input, times, error);
    enum sutra_status status = plus_read(&made->plus, context, &made->document, input->file, times, error);
    return status ? status : old_parents_replace(&made->plus.nodes, context, error);
}

static enum sutra_status convert_input(struct sutra_context *context, const struct convert_input *input,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error) {
    struct sutra_convert_options taken;
    enum sutra_status status = convert_options_take(options, &taken, error);
    if (status)
        return status;
    struct sutra_converted *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    status = read_input(made, context, input, &taken, error);
    if (!status)
        status = converted_make(made, context, &taken, error);
    if (!status && input->file && made->plus.nodes.n > 0 && !document_is_linked(&made->document))
        context_warn(context,
                     "%s: an unlinked host trace, so the nodes have no durations and none is on a GPU; link it with "
                     "'sutra link HOST DEVICE'",
                     made->document.source.name);
    if (status)
        sutra_converted_free(made);
    else
        *converted = made;
    return status;
}

enum sutra_status sutra_convert(struct sutra_context *context, const char *path,
                                const struct sutra_convert_options *options, struct sutra_converted **converted,
                                struct sutra_error *error) {
    const struct document_input file = {.name = path};
    return convert_input(context, &(struct convert_input){.file = &file}, options, converted, error);
}

enum sutra_status sutra_convert_parse(struct sutra_context *context, const char *name, const void *bytes,
                                      size_t n_bytes, const struct sutra_convert_options *options,
                                      struct sutra_converted **converted, struct sutra_error *error) {
    const struct document_input file = {name, true, bytes, n_bytes};
    return convert_input(context, &(struct convert_input){.file = &file}, options, converted, error);
}

enum sutra_status sutra_linked_convert(struct sutra_context *context, const struct sutra_linked *linked,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error) {
    return convert_input(context, &(struct convert_input){.linked = linked}, options, converted, error);
}

enum sutra_status linked_convert_spend(struct sutra_context *context, const struct linked_traces *spent,
                                       const struct sutra_convert_options *options, struct sutra_converted **converted,
                                       struct sutra_error *error) {
    const struct convert_input input = {.linked = spent->linked, .spent = spent};
    return convert_input(context, &input, options, converted, error);
}

void sutra_converted_report(const struct sutra_converted *converted, struct sutra_convert_report *report) {
    report_give(report, &converted->report, sizeof converted->report);
}

enum sutra_status sutra_converted_write(struct sutra_context *context, const struct sutra_converted *converted,
                                        const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    return et_write(&converted->nodes, converted->complete ? NULL : &converted->maker, context, path, n_bytes, error);
}

void sutra_converted_free(struct sutra_converted *converted) {
    if (!converted)
        return;
    free_made_of(converted);
    et_nodes_free(&converted->nodes);
    comm_groups_free(&converted->groups);
    plus_trace_free(&converted->plus);
    document_free(&converted->document);
    arena_free(&converted->times_arena);
    free(converted);
}
