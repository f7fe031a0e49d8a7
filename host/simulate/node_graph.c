/*
 * node_graph.c - from rows to slots and their dependencies.
 */
#include "simulate/node_graph.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "simulate/kernel_names.h"

/* Visits of nested thread roots, in times the nodes, and how many there may be in any file. */
#define VISITS_EACH  64
#define VISITS_LEAST ((uint64_t)1 << 24)

enum sutra_status graph_error(const struct node_graph *graph, row_t row, struct sutra_error *error, const char *format,
                              ...) {
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const struct plus_nodes *nodes = &graph->plus->nodes;
    return source_error(&graph->plus->document->source, error, nodes->text[row], "node %" PRIu64 ": %s", nodes->id[row],
                        message);
}

/* ---- rows that stand for their ids ---- */

/* Of rows with one id the last, at the place of the first. */
static enum sutra_status order_repeated(struct node_graph *graph, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    struct key_index first = {0};
    enum sutra_status status =
        key_index_build(&first, &graph->context->engine, nodes->key, nodes->n, KEY_FIRST, NULL, error);
    for (row_t row = 0; row < nodes->n && !status; row++)
        if (key_index_find(&first, nodes->key[row]) == row)
            graph->order[graph->n_order++] = key_index_find(&graph->rows, nodes->key[row]);
    key_index_free(&first);
    return status;
}

static enum sutra_status order_rows(struct node_graph *graph, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    row_t second = ROW_NONE;
    enum sutra_status status =
        key_index_build(&graph->rows, &graph->context->engine, nodes->key, nodes->n, KEY_LAST, &second, error);
    if (status)
        return status;
    if (second != ROW_NONE)
        return order_repeated(graph, error);
    for (row_t row = 0; row < nodes->n; row++)
        graph->order[row] = row;
    graph->n_order = nodes->n;
    return SUTRA_OK;
}

/* The key of a row's own id. */
static value_key id_key(const struct node_graph *graph, row_t row) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    if (nodes->faults[row] & PLUS_BIT(PLUS_ID))
        return KEY_ABSENT;
    if (nodes->id[row] <= INT64_MAX)
        return (value_key)nodes->id[row];
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, nodes->id[row]);
    return values_integer(&graph->context->values, digits, (size_t)n);
}

/* Where attributes change ids, rows of one id share a slot. */
static enum sutra_status number_slots(struct node_graph *graph, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    for (row_t row = 0; row < nodes->n; row++)
        graph->changed_ids |= nodes->flags[row] & PLUS_ID_CHANGED;
    if (!graph->changed_ids)
        return SUTRA_OK;
    value_key *keys = arena_take(&graph->arena, nodes->n, sizeof *keys);
    graph->slot_of = arena_take(&graph->arena, nodes->n, sizeof *graph->slot_of);
    if (graph->arena.failed)
        return error_memory(error);
    for (row_t row = 0; row < nodes->n; row++)
        keys[row] = id_key(graph, row);
    enum sutra_status status =
        key_index_build(&graph->ids, &graph->context->engine, keys, nodes->n, KEY_FIRST, NULL, error);
    for (row_t row = 0; row < nodes->n && !status; row++)
        graph->slot_of[row] = key_index_find(&graph->ids, keys[row]);
    return status;
}

static inline row_t slot_of(const struct node_graph *graph, row_t row) {
    return graph->changed_ids ? graph->slot_of[row] : row;
}

/* The slot of a key, made or not, or ROW_NONE. */
static inline row_t slot_of_key(const struct node_graph *graph, value_key key) {
    return key_index_find(graph->changed_ids ? &graph->ids : &graph->rows, key);
}

/* The node that is looked up by a slot's id, or ROW_NONE. */
static inline row_t node_of_slot(const struct node_graph *graph, row_t slot) {
    return graph->changed_ids ? key_index_find(&graph->rows, id_key(graph, slot)) : slot;
}

/* ---- children ---- */

static inline row_t find_row(const struct node_graph *graph, value_key key) {
    return key == KEY_ABSENT ? ROW_NONE : key_index_find(&graph->rows, key);
}

/* Shares rows out to their parents: list[first[p]] .. list[first[p + 1] - 1], in the order in which they come. */
static void share_out(const struct node_graph *graph, const row_t *rows, bool gpu_only, row_t *first, row_t *list) {
    row_t n = graph->plus->nodes.n;
    memset(first, 0, ((size_t)n + 2) * sizeof *first);
    for (row_t i = 0; i < graph->n_order; i++)
        if (graph->parent[rows[i]] != ROW_NONE && (!gpu_only || graph->plus->nodes.flags[rows[i]] & PLUS_IS_GPU))
            first[graph->parent[rows[i]] + 2]++;
    for (row_t row = 0; row < n; row++)
        first[row + 2] += first[row + 1];
    for (row_t i = 0; i < graph->n_order; i++)
        if (graph->parent[rows[i]] != ROW_NONE && (!gpu_only || graph->plus->nodes.flags[rows[i]] & PLUS_IS_GPU))
            list[first[graph->parent[rows[i]] + 1]++] = rows[i];
}

static enum sutra_status find_children(struct node_graph *graph, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    struct arena_mark mark = arena_mark(&graph->arena);
    uint64_t *ids = arena_take(&graph->arena, graph->n_order, sizeof *ids);
    row_t *by_id = arena_take(&graph->arena, graph->n_order, sizeof *by_id);
    if (graph->arena.failed)
        return error_memory(error);
    for (row_t i = 0; i < graph->n_order; i++) {
        by_id[i] = graph->order[i];
        ids[i] = nodes->id[by_id[i]];
        graph->parent[by_id[i]] = find_row(graph, nodes->parent[by_id[i]]);
    }
    const struct engine *engine = &graph->context->engine;
    enum sutra_status status =
        engine->sort_keys(engine->state, &(struct sort_keys_step){ids, by_id, graph->n_order}, error);
    if (!status) {
        share_out(graph, by_id, false, graph->child_first, graph->child);
        share_out(graph, graph->order, true, graph->gpu_first, graph->gpu);
    }
    arena_release(&graph->arena, mark);
    return status;
}

/* ---- what nodes are and become ---- */

static bool is_thread(struct et_text name) {
    return et_text_is(name, "[pytorch|profiler|execution_graph|thread]") ||
           et_text_is(name, "[pytorch|profiler|execution_trace|thread]");
}

/* Threads and the process, which only hold others. */
static bool is_frame(struct et_text name) {
    return is_thread(name) || et_text_is(name, "[pytorch|profiler|execution_graph|process]") ||
           et_text_is(name, "[pytorch|profiler|execution_trace|process]");
}

/* The kind of communication that the operator above a kernel names, or ET_COMP. */
static enum et_type type_by_operator(struct et_text name) {
    if (kernel_name_has(name, "send"))
        return ET_COMM_SEND;
    if (kernel_name_has(name, "recv"))
        return ET_COMM_RECV;
    return kernel_name_has(name, "nccl:all_to_all") ? ET_COMM_COLL : ET_COMP;
}

bool graph_is_parameters(const struct plus_nodes *nodes, row_t row) {
    return et_text_is(nodes->name[row], "record_param_comms");
}

enum et_type graph_type(const struct node_graph *graph, row_t row) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    if (nodes->flags[row] & PLUS_IS_META)
        return ET_METADATA;
    if (!(nodes->flags[row] & PLUS_IS_COLLECTIVE))
        return ET_COMP;
    row_t above = graph->parent[row];
    if (kernel_is_send_receive(nodes->name[row]) && above != ROW_NONE) {
        if (graph_is_parameters(nodes, above))
            above = graph->parent[above];
        enum et_type type = above == ROW_NONE ? ET_COMP : type_by_operator(nodes->name[above]);
        if (type != ET_COMP)
            return type;
    }
    return kernel_collective(nodes->name[row], true) < 0 ? ET_COMP : ET_COMM_COLL;
}

row_t graph_group_row(const struct node_graph *graph, row_t row) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    row_t above = graph->parent[row];
    if (!(nodes->flags[row] & PLUS_IS_COLLECTIVE) || !kernel_is_send_receive(nodes->name[row]) || above == ROW_NONE ||
        !graph_is_parameters(nodes, above))
        return row;
    bool empty = nodes->pg_name[above].length == 0 && !(nodes->flags[above] & PLUS_PG_NULL);
    return empty && !(nodes->faults[above] & PLUS_BIT(PLUS_PG_NAME)) ? row : above;
}

/* ---- making ---- */

/* The first fault of a row in a field that its node needs, or PLUS_N_FIELDS. */
static enum plus_field fault_of(const struct node_graph *graph, row_t row) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    uint32_t attributes = 0, faults = nodes->faults[row];
    if (!faults)
        return PLUS_N_FIELDS;
    for (int field = PLUS_FIRST_NUMBER; field <= PLUS_OP_SCHEMA; field++)
        attributes |= PLUS_BIT(field);
    if (graph->rules.lax_attributes)
        faults &= ~attributes;
    enum et_type type = graph_type(graph, row);
    if (type == ET_COMP || type == ET_METADATA)
        faults &= ~(PLUS_BIT(PLUS_COMM_BYTES) | PLUS_BIT(PLUS_PG_NAME));
    else if (nodes->faults[graph_group_row(graph, row)] & PLUS_BIT(PLUS_PG_NAME))
        faults |= PLUS_BIT(PLUS_PG_NAME);
    faults &= ~PLUS_BIT(PLUS_INTER); /* which counts where the node is visited */
    return faults ? (enum plus_field)__builtin_ctz(faults) : PLUS_N_FIELDS;
}

static enum sutra_status refuse_field(const struct node_graph *graph, row_t row, enum plus_field field,
                                      struct sutra_error *error) {
    return graph_error(graph, row, error, "field '%s': expected %s", plus_field_key(field), plus_field_expected(field));
}

/* What chakra_converter does not know of a communication, where that is to be refused. */
static enum sutra_status check_communication(const struct node_graph *graph, row_t row, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    if (!graph_is_gpu(graph, row) || !(nodes->flags[row] & PLUS_IS_COLLECTIVE))
        return SUTRA_OK;
    enum et_type type = graph_type(graph, row);
    bool message = type == ET_COMM_SEND || type == ET_COMM_RECV;
    if (graph->rules.refuse_types && !message && kernel_collective(nodes->name[row], false) < 0)
        return graph_error(graph, row, error, "'%.*s': collective unknown to chakra_converter",
                           (int)nodes->name[row].length, nodes->name[row].bytes);
    if (graph->rules.refuse_nested && type != ET_COMP && nodes->flags[row] & PLUS_IS_NESTED)
        return graph_error(graph, row, error, "the inputs contain a list of lists of tensors");
    return SUTRA_OK;
}

static enum sutra_status make(struct node_graph *graph, row_t row, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    enum plus_field fault = fault_of(graph, row);
    if (fault != PLUS_N_FIELDS)
        return refuse_field(graph, row, fault, error);
    enum sutra_status status = check_communication(graph, row, error);
    if (status)
        return status;
    row_t slot = slot_of(graph, row);
    row_t under = nodes->parent[row] == KEY_ABSENT ? ROW_NONE : slot_of_key(graph, nodes->parent[row]);
    if (under != ROW_NONE && graph->message[under] == ROW_NONE)
        under = ROW_NONE; /* it comes later */
    if (graph->message[slot] == ROW_NONE)
        graph->made[graph->n_made++] = slot;
    graph->message[slot] = row;
    graph->under[slot] = under;
    return SUTRA_OK;
}

static enum sutra_status make_all(struct node_graph *graph, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (row_t i = 0; i < graph->n_order && !status; i++) {
        row_t row = graph->order[i];
        if (graph_is_gpu(graph, row))
            continue;
        status = make(graph, row, error);
        for (row_t k = graph->gpu_first[row]; k < graph->gpu_first[row + 1] && !status; k++)
            status = make(graph, graph->gpu[k], error);
    }
    return status;
}

/* ---- data dependencies ---- */

static bool add_dep(struct node_graph *graph, row_t slot, row_t on, bool inter) {
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        if (graph->deps[i].slot == on)
            return true;
    if (graph->n_deps >= ROW_LIMIT ||
        !column_grow(&graph->deps, graph->n_deps, &graph->deps_capacity, sizeof *graph->deps))
        return false;
    row_t entry = (row_t)graph->n_deps++;
    graph->deps[entry] = (struct graph_dep){on, ROW_NONE, inter};
    *(graph->first_dep[slot] == ROW_NONE ? &graph->first_dep[slot] : &graph->deps[graph->last_dep[slot]].next) = entry;
    graph->last_dep[slot] = entry;
    return true;
}

/* A walk from a root. */
struct walk {
    struct node_graph *graph;
    row_t *stack;
    row_t *seen; /* per slot: the number of the last walk that visited it */
    row_t number;
    bool rest; /* only what no walk has visited */
    uint64_t n_visits, most_visits;
};

static bool was_seen(const struct walk *walk, row_t slot) {
    return walk->rest ? walk->seen[slot] != 0 : walk->seen[slot] == walk->number;
}

static bool left_out(const struct node_graph *graph, row_t row) {
    return graph->rules.drop_metadata && graph->plus->nodes.flags[row] & PLUS_IS_META;
}

/* The dependency of a CPU node on another thread. */
static enum sutra_status add_inter(struct node_graph *graph, row_t row, row_t slot, struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    if (nodes->faults[row] & PLUS_BIT(PLUS_INTER) && !graph->rules.drop_absent)
        return refuse_field(graph, row, PLUS_INTER, error);
    if (nodes->inter[row] == KEY_NULL)
        return SUTRA_OK;
    row_t on = slot_of_key(graph, nodes->inter[row]);
    if (on != ROW_NONE && graph->message[on] != ROW_NONE && !left_out(graph, graph->message[on]))
        return add_dep(graph, slot, on, true) ? SUTRA_OK : error_memory(error);
    if (!graph->rules.drop_absent)
        return graph_error(graph, row, error, "inter_thread_dep is not a node of the file%s",
                           on == ROW_NONE ? "" : ": that node is not below a CPU operator");
    graph->counts.n_absent++;
    return SUTRA_OK;
}

/* Visits a node; *last is the CPU node that was visited before. */
static enum sutra_status visit(struct walk *walk, row_t row, row_t slot, row_t *last, struct sutra_error *error) {
    struct node_graph *graph = walk->graph;
    bool gpu = graph_is_gpu(graph, row);
    if (left_out(graph, row))
        return SUTRA_OK;
    enum sutra_status status = gpu ? SUTRA_OK : add_inter(graph, row, slot, error);
    if (!status && *last != ROW_NONE && !add_dep(graph, slot, *last, false))
        status = error_memory(error);
    if (!gpu)
        *last = slot;
    graph->counts.n_rootless += walk->rest && !is_frame(graph->plus->nodes.name[row]);
    return status;
}

/* Pushes the children of a node, the one with the largest id first. */
static void push_children(const struct walk *walk, row_t row, row_t *depth) {
    const struct node_graph *graph = walk->graph;
    for (row_t i = graph->child_first[row + 1]; i-- > graph->child_first[row];) {
        row_t slot = slot_of(graph, graph->child[i]);
        if (slot != ROW_NONE && graph->message[slot] != ROW_NONE && !was_seen(walk, slot))
            walk->stack[(*depth)++] = slot;
    }
}

static enum sutra_status walk_from_root(struct walk *walk, row_t root, struct sutra_error *error) {
    row_t depth = 0, last = ROW_NONE;
    enum sutra_status status = SUTRA_OK;
    walk->number++;
    walk->stack[depth++] = root;
    while (depth > 0 && !status) {
        row_t slot = walk->stack[--depth];
        if (was_seen(walk, slot))
            continue;
        walk->seen[slot] = walk->number;
        row_t row = node_of_slot(walk->graph, slot);
        if (row == ROW_NONE)
            continue;
        status = visit(walk, row, slot, &last, error);
        push_children(walk, row, &depth);
        if (walk->n_visits++ > walk->most_visits && !status)
            status = graph_error(walk->graph, row, error, "too many nested thread roots");
    }
    return status;
}

static struct et_text slot_name(const struct node_graph *graph, row_t slot) {
    return graph->plus->nodes.name[graph->message[slot]];
}

/* What is below no thread: from the uppermost nodes, then from what is left, which is in rings of parents. */
static enum sutra_status walk_rest(struct walk *walk, struct sutra_error *error) {
    const struct node_graph *graph = walk->graph;
    enum sutra_status status = SUTRA_OK;
    walk->rest = true;
    for (int rings = 0; rings < 2; rings++)
        for (row_t i = 0; i < graph->n_made && !status; i++)
            if (walk->seen[graph->made[i]] == 0 && (rings || graph->under[graph->made[i]] == ROW_NONE))
                status = walk_from_root(walk, graph->made[i], error);
    return status;
}

static enum sutra_status walk_roots(struct walk *walk, struct sutra_error *error) {
    const struct node_graph *graph = walk->graph;
    enum sutra_status status = SUTRA_OK;
    for (row_t i = 0; i < graph->n_made && !status; i++)
        if (is_thread(slot_name(graph, graph->made[i])))
            status = walk_from_root(walk, graph->made[i], error);
    return status || !graph->rules.keep_rootless ? status : walk_rest(walk, error);
}

static enum sutra_status walk_all(struct node_graph *graph, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&graph->arena);
    row_t n = graph->plus->nodes.n;
    struct walk walk = {.graph = graph, .most_visits = (uint64_t)n * VISITS_EACH + VISITS_LEAST};
    walk.stack = arena_take(&graph->arena, (size_t)n + 1, sizeof *walk.stack);
    walk.seen = arena_zeros(&graph->arena, n, sizeof *walk.seen);
    enum sutra_status status = graph->arena.failed ? error_memory(error) : walk_roots(&walk, error);
    arena_release(&graph->arena, mark);
    return status;
}

/* ---- what stays ---- */

/* Whether a node without dependencies that nothing depends on stays. */
static bool stays_alone(const struct node_graph *graph, row_t slot) {
    return graph->rules.keep_rootless && !is_frame(slot_name(graph, slot));
}

static void drop_dangling(struct node_graph *graph) {
    for (row_t i = 0; i < graph->n_made; i++) {
        graph->kept[graph->made[i]] |= graph->first_dep[graph->made[i]] != ROW_NONE;
        for (row_t dep = graph->first_dep[graph->made[i]]; dep != ROW_NONE; dep = graph->deps[dep].next)
            graph->kept[graph->deps[dep].slot] = 1;
    }
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t slot = graph->made[i];
        bool metadata = left_out(graph, graph->message[slot]);
        graph->counts.n_metadata += metadata;
        graph->kept[slot] = !metadata && (graph->kept[slot] || stays_alone(graph, slot));
        graph->counts.n_dangling += !metadata && !graph->kept[slot];
    }
}

/* Where absent nodes are not to be named, a node that comes later counts, and one that was dropped does not. */
static void mend_parents(struct node_graph *graph) {
    for (row_t i = 0; i < graph->n_made && graph->rules.drop_absent; i++) {
        row_t slot = graph->made[i], row = graph->message[slot];
        value_key parent = graph->plus->nodes.parent[row];
        row_t under = parent == KEY_ABSENT ? ROW_NONE : slot_of_key(graph, parent);
        bool there = under != ROW_NONE && under != slot && graph->message[under] != ROW_NONE && graph->kept[under];
        graph->counts.n_absent += graph->kept[slot] && !there && graph->under[slot] != ROW_NONE;
        graph->under[slot] = there ? under : ROW_NONE;
    }
}

static row_t *rows_of_none(struct arena *arena, row_t n) {
    row_t *rows = arena_take(arena, n, sizeof *rows);
    if (rows)
        memset(rows, 0xff, (size_t)n * sizeof *rows);
    return rows;
}

static enum sutra_status take_columns(struct node_graph *graph, struct sutra_error *error) {
    struct arena *arena = &graph->arena;
    row_t n = graph->plus->nodes.n;
    graph->order = arena_take(arena, n, sizeof *graph->order);
    graph->parent = rows_of_none(arena, n);
    graph->child_first = arena_take(arena, (size_t)n + 2, sizeof *graph->child_first);
    graph->child = arena_take(arena, n, sizeof *graph->child);
    graph->gpu_first = arena_take(arena, (size_t)n + 2, sizeof *graph->gpu_first);
    graph->gpu = arena_take(arena, n, sizeof *graph->gpu);
    graph->message = rows_of_none(arena, n);
    graph->under = rows_of_none(arena, n);
    graph->made = arena_take(arena, n, sizeof *graph->made);
    graph->first_dep = rows_of_none(arena, n);
    graph->last_dep = arena_take(arena, n, sizeof *graph->last_dep);
    graph->kept = arena_zeros(arena, n, 1);
    return arena->failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status node_graph_build(struct node_graph *graph, struct sutra_context *context,
                                   const struct plus_trace *plus, const struct graph_rules *rules,
                                   struct sutra_error *error) {
    *graph = (struct node_graph){.plus = plus, .context = context, .rules = *rules};
    enum sutra_status status = take_columns(graph, error);
    if (!status)
        status = order_rows(graph, error);
    if (!status)
        status = number_slots(graph, error);
    if (!status)
        status = find_children(graph, error);
    if (!status)
        status = make_all(graph, error);
    if (!status)
        status = walk_all(graph, error);
    if (!status) {
        graph->counts.n_unmade = graph->n_order - graph->n_made;
        drop_dangling(graph);
        mend_parents(graph);
    }
    return status;
}

void node_graph_free(struct node_graph *graph) {
    key_index_free(&graph->rows);
    key_index_free(&graph->ids);
    free(graph->deps);
    arena_free(&graph->arena);
    *graph = (struct node_graph){0};
}
