/*
 * et_plus_nodes.c - implements et_plus_nodes.h.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/key_index.h"
#include "simulate/communication.h"
#include "simulate/et_plus_nodes.h"
#include "text/strings.h"

static const struct column_form et_plus_columns[ET_PLUS_N_COLUMNS] = {
#define X(type, name) {offsetof(struct et_plus_nodes, name), sizeof(type)},
    ET_PLUS_COLUMNS(X)
#undef X
#define X(i)                                                                                                           \
    {offsetof(struct et_plus_nodes, number[i]), sizeof(int64_t)},                                                      \
        {offsetof(struct et_plus_nodes, io[i]), sizeof(uint64_t)},
        X(0) X(1) X(2) X(3) X(4) X(5)
#undef X
#define X(type, name) {offsetof(struct et_plus_nodes, name), sizeof(type)},
            ET_PLUS_TIME_COLUMNS(X)
#undef X
};
_Static_assert(ET_PLUS_N_NUMBERS == 6 && ET_PLUS_N_IO == 6, "each has its columns above");

/* Allocates `capacity` rows, keeping the existing ones; false: out of memory. */
static bool et_plus_nodes_reserve(struct et_plus_nodes *nodes, row_t capacity) {
    if (capacity <= nodes->capacity)
        return true;
    if (!columns_resize(nodes, et_plus_columns, et_plus_n_columns(nodes->times), capacity))
        return false;
    nodes->capacity = capacity;
    return true;
}

void et_plus_nodes_set(struct et_plus_nodes *nodes, row_t row, const struct et_plus_node *node) {
#define X(type, name) nodes->name[row] = node->name;
    ET_PLUS_COLUMNS(X)
    if (nodes->times) {
        ET_PLUS_TIME_COLUMNS(X)
    }
#undef X
    for (int i = 0; i < ET_PLUS_N_NUMBERS; i++)
        nodes->number[i][row] = node->number[i];
    for (int i = 0; i < ET_PLUS_N_IO; i++)
        nodes->io[i][row] = node->io[i];
}

void et_plus_trace_free(struct et_plus_trace *trace) {
    columns_free(&trace->nodes, et_plus_columns, ET_PLUS_N_COLUMNS);
    trace->nodes = (struct et_plus_nodes){0};
    for (size_t i = 0; i < trace->n_stores; i++)
        arena_free(&trace->stores[i].arena);
    free(trace->stores);
    free(trace->peers);
    *trace = (struct et_plus_trace){0};
}

/* ---- ET+ from its text: "nodes" in parallel parts, which are joined ---- */

struct et_plus_part {
    struct document_part part;
    struct et_plus_reader reader;
    struct et_plus_nodes nodes;
    struct text_store store;
    size_t no_id_at; /* offset of a node without an id, or SIZE_MAX */
};

static struct et_plus_part *et_plus_part(struct document_part *part) {
    return (struct et_plus_part *)part;
}

static void part_free(struct document_part *of) {
    struct et_plus_part *part = et_plus_part(of);
    et_plus_reader_end(&part->reader);
    arena_free(&part->store.arena);
}

static bool part_begin(struct document_part *of) {
    struct et_plus_part *part = et_plus_part(of);
    struct et_plus_trace *trace = of->trace;
    part->no_id_at = SIZE_MAX;
    part->nodes.times = trace->nodes.times;
    part->reader =
        (struct et_plus_reader){.source = &trace->document->source, .store = &part->store, .fields = &of->fields};
    return true;
}

static void read_element(struct document_part *of, struct json_walker *walker) {
    struct et_plus_part *part = et_plus_part(of);
    struct et_plus_spans spans;
    struct et_plus_node node;
    if (walk_char(walker) != '{') {
        walk_fail(walker, "a node object");
        return;
    }
    if (!document_row(of, walker->at)) {
        walk_value(walker);
        return;
    }
    et_plus_spans_walk(&part->reader, walker, &spans);
    if (walker->expected)
        return;
    et_plus_node_fields(&part->reader, &spans, &node);
    et_plus_node_attributes(&part->reader, &spans, &node);
    if ((node.key == KEY_ABSENT || node.key == KEY_UNHASHABLE) && part->no_id_at == SIZE_MAX)
        part->no_id_at = spans.text;
    et_plus_nodes_set(&part->nodes, of->n++, &node);
    of->fields.failed |= et_plus_reader_failed(&part->reader);
}

static const struct document_reader et_plus_reader = {
    .array = "nodes",
    .kind = "linked trace (ET+)",
    .other_array = "traceEvents",
    .other_kind = "device trace",
    .too_many = "nodes",
    .empty_counts = true,
    .read_stage = "read",
    .join_stage = "join",
    .part_size = sizeof(struct et_plus_part),
    .columns = et_plus_columns,
    .columns_at = offsetof(struct et_plus_part, nodes),
    .begin = part_begin,
    .element = read_element,
    .free = part_free,
};

/* Move the texts to the trace. */
static enum sutra_status join_parts(struct document_parts *parts, struct sutra_error *error) {
    struct et_plus_trace *trace = parts->trace;
    trace->stores = calloc(parts->n + 1, sizeof *trace->stores);
    for (size_t i = 0; i < parts->n && trace->stores; i++) {
        struct et_plus_part *part = document_part_at(parts, i);
        if (part->part.n > 0 && part->no_id_at != SIZE_MAX)
            return source_error(&parts->document->source, error, part->no_id_at, "a node without an id");
        trace->stores[trace->n_stores++] = part->store;
        part->store = (struct text_store){0};
    }
    return trace->stores ? SUTRA_OK : error_memory(error);
}

static enum sutra_status read_nodes(struct et_plus_trace *trace, struct document_parts *parts,
                                    struct sutra_error *error) {
    struct document_part *all;
    const bool times = trace->nodes.times;
    TRY(document_walk(parts, error)); /* read_element() for each node */
    TRY(join_parts(parts, error));
    TRY(document_join(parts, &all, error));
    trace->nodes = et_plus_part(all)->nodes;
    trace->nodes.times = times;
    trace->nodes.n = all->n;
    trace->nodes.capacity = all->capacity;
    return SUTRA_OK;
}

enum sutra_status et_plus_read(struct et_plus_trace *trace, struct sutra_context *context, struct document *document,
                               const struct source_input *input, bool times, struct sutra_error *error) {
    *trace = (struct et_plus_trace){.document = document, .nodes.times = times, .own_rank = -1};
    struct document_reader reader = et_plus_reader;
    reader.n_columns = et_plus_n_columns(times);
    struct document_parts parts = {.document = document, .context = context, .reader = &reader, .trace = trace};
    enum sutra_status status = source_read(&document->source, context, "open", input, error);
    if (!status)
        status = read_nodes(trace, &parts, error);
    document_end(&parts);
    if (status)
        et_plus_trace_free(trace);
    return status;
}

/*
 * ---- ET+ from linked traces: units in tasks, each with its own reader and store ----
 *
 * The text of a node is walked once for the node and its GPU nodes, which are copies of it except for the fields that
 * linking sets.
 */

/* Tasks per thread, so that no thread waits long for the last. */
#define TASKS_PER_THREAD 8

struct linked_reading {
    struct et_plus_trace *trace;
    const struct sutra_linked *linked;
    struct sutra_context *context;
    const struct et_plus_arguments *arguments;
    size_t n_tasks;
    atomic_bool failed; /* out of memory */
};

/* The text of a node, and its reader. */
struct linked_reader {
    struct et_plus_reader reader;
    struct field_reader fields;
    struct et_plus_spans spans;
    const struct sutra_linked *linked;
    const struct et_plus_arguments *arguments;
    struct et_plus_nodes *nodes;
};

/* int() of a time or duration; false: negative or too large. */
static bool truncate_number(struct number number, uint64_t *whole) {
    if (number_is_double(number))
        return truncate_double(number_as_double(number), whole);
    *whole = number.bits;
    return (int64_t)number.bits >= 0;
}

static void set_id(struct et_plus_node *node, uint64_t id) {
    node->id = id;
    node->key = (value_key)id;
    et_plus_set_fault(node, ET_PLUS_ID, false);
}

static void set_parent(struct et_plus_node *node, uint64_t id) {
    node->parent = (value_key)id;
    et_plus_set_fault(node, ET_PLUS_CTRL_DEPS, false);
}

static void set_times(struct et_plus_node *node, struct number start, struct number duration) {
    if (!truncate_number(start, &node->start_us))
        node->start_us = 0;
    et_plus_set_fault(node, ET_PLUS_EXCLUSIVE_DUR, !truncate_number(duration, &node->duration_us));
}

/* Sets the fields that linking determines for all nodes of a unit. */
static void set_unit(const struct sutra_linked *linked, row_t unit, struct et_plus_node *node) {
    row_t op = linked->unit_op[unit], after = linked->unit_after[unit];
    set_id(node, linked->unit_id[unit]);
    if (op == ROW_NONE)
        return;
    set_times(node, number_at(linked->ops.cpu.ts, op), number_at(linked->ops.exclusive, op));
    node->inter = after == ROW_NONE || linked->unit_id[after] == 0 ? KEY_NULL : (value_key)linked->unit_id[after];
    et_plus_set_fault(node, ET_PLUS_INTER_THREAD_DEP, false);
}

static bool is_nccl(const struct sutra_linked *linked, row_t gpu) {
    return name_roles(&linked->device->events, linked->ops.roles, gpu) & NAME_NCCL_KERNEL;
}

/* Whether an argument is this string. */
static bool argument_is(const struct sutra_device_trace *device, struct json_span place, const char *text) {
    const char *bytes = device->document.source.bytes + place.at;
    const size_t length = strlen(text);
    return place.at && *bytes == '"' && memcmp(bytes + 1, text, length) == 0 && bytes[length + 1] == '"';
}

static void set_gpu_fields(struct linked_reader *reading, row_t unit, row_t i, row_t gpu, struct et_plus_node *node) {
    const struct sutra_linked *linked = reading->linked;
    const struct sutra_device_trace *device = linked->device;
    et_plus_node_fields(&reading->reader, &reading->spans, node);
    set_unit(linked, unit, node);
    set_parent(node, node->id);
    set_id(node, node->id + 1 + i);
    if (reading->arguments->measured && device->events.flags[gpu] & EVENT_UNUSABLE)
        set_times(node, number_integer(0), number_integer(0));
    else
        set_times(node, number_at(device->events.ts, gpu), number_at(device->events.dur, gpu));
    node->flags |= ET_PLUS_IS_GPU;
    value_key stream = device->events.stream[gpu];
    bool integer = device->events.flags[gpu] & EVENT_STREAM_INTEGER, none = stream == KEY_ABSENT || stream == KEY_NULL;
    node->flags = none && !integer ? node->flags | ET_PLUS_NO_STREAM : node->flags & ~(uint32_t)ET_PLUS_NO_STREAM;
    node->stream = stream;
    et_plus_set_fault(node, ET_PLUS_STREAM, !integer && !none);
    uint32_t name = device->events.name[gpu];
    node->name =
        (struct et_text){strings_text(&device->strings, name), (uint32_t)strings_length(&device->strings, name)};
    et_plus_set_fault(node, ET_PLUS_NAME, utf8_check(node->name.bytes, node->name.length) != node->name.length);
    const bool nccl = is_nccl(linked, gpu);
    struct json_span group = nccl ? reading->arguments->group[gpu] : (struct json_span){0};
    if (group.at && device->document.source.bytes[group.at] != 'n')
        et_plus_node_set_pg_name(&reading->reader, &device->document.source, group, node);
    et_plus_node_attributes(&reading->reader, &reading->spans, node);
    const struct json_span *collective = nccl ? reading->arguments->collective : NULL;
    if (collective && argument_is(device, collective[gpu], "send"))
        node->flags |= ET_PLUS_SENDS;
    else if (collective && argument_is(device, collective[gpu], "recv"))
        node->flags |= ET_PLUS_RECEIVES;
}

static void walk_node(struct linked_reader *reading, row_t row) {
    const struct et_plus_reader *reader = &reading->reader;
    struct json_walker walker = walk_from(reader->source, reading->linked->host->nodes.text[row]);
    et_plus_spans_walk(&reading->reader, &walker, &reading->spans);
}

/* Reads the rows of a unit: its nodes, then the GPU nodes, which are copies of the first. */
static void read_unit(struct linked_reader *reading, row_t unit) {
    const struct sutra_linked *linked = reading->linked;
    const struct host_ops *units = &linked->units;
    struct et_plus_node node;
    row_t n_gpu, row = linked->unit_entry[unit];
    const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
    for (row_t sorted = units->unit_start[unit]; sorted < units->unit_start[unit + 1]; sorted++) {
        walk_node(reading, units->node[sorted]);
        et_plus_node_fields(&reading->reader, &reading->spans, &node);
        set_unit(linked, unit, &node);
        if (linked->ctrl_deps[sorted] != CTRL_DEPS_NONE) {
            set_parent(&node, (uint64_t)linked->ctrl_deps[sorted]);
        } else if (reading->spans.flat) {
            /* The parent of a node of schema 1.0.1, by its new id; KEY_ABSENT if it is absent: another node may have
             * its id now. */
            value_key parent = linked->host->nodes.parent[linked->units.node[sorted]];
            row_t parent_unit = parent == KEY_ABSENT ? ROW_NONE : key_index_find(&linked->units.ids, parent);
            set_parent(&node, parent_unit == ROW_NONE ? 0 : linked->unit_id[parent_unit]);
            if (parent_unit == ROW_NONE)
                node.parent = KEY_ABSENT;
        }
        et_plus_node_attributes(&reading->reader, &reading->spans, &node);
        et_plus_nodes_set(reading->nodes, row++, &node);
    }
    if (n_gpu > 0 && units->unit_start[unit + 1] - units->unit_start[unit] > 1)
        walk_node(reading, units->node[units->unit_start[unit]]);
    for (row_t i = 0; i < n_gpu; i++) {
        set_gpu_fields(reading, unit, i, gpu[i], &node);
        et_plus_nodes_set(reading->nodes, row++, &node);
    }
}

static void read_units(void *arg, size_t task) {
    struct linked_reading *all = arg;
    const struct sutra_linked *linked = all->linked;
    size_t n = linked->units.n_units;
    struct linked_reader reading = {.linked = linked, .arguments = all->arguments, .nodes = &all->trace->nodes};
    reading.fields = (struct field_reader){.source = &linked->host->document.source, .values = &all->context->values};
    reading.reader = (struct et_plus_reader){
        .source = &linked->host->document.source, .store = &all->trace->stores[task], .fields = &reading.fields};
    for (size_t unit = part_offset(n, all->n_tasks, task); unit < part_offset(n, all->n_tasks, task + 1); unit++)
        read_unit(&reading, (row_t)unit);
    if (et_plus_reader_failed(&reading.reader))
        atomic_store(&all->failed, true);
    et_plus_reader_end(&reading.reader);
    buffer_free(&reading.fields.scratch);
}

enum sutra_status et_plus_linked_arguments(struct sutra_context *context, const struct sutra_linked *linked,
                                           bool measured, struct et_plus_arguments *arguments,
                                           struct sutra_error *error) {
    static const struct requested_field fields[] = {{"Process Group Name", ASK_PLACE, false},
                                                    {"Collective name", ASK_PLACE, false},
                                                    {"Process Group Ranks", ASK_PLACE, false},
                                                    {"Src Rank", ASK_PLACE, false},
                                                    {"Dst Rank", ASK_PLACE, false}};
    const struct device_ops *ops = &linked->ops;
    const struct document *document = &linked->device->document;
    struct requested_column columns[5] = {{0}};
    row_t *kernels = malloc(((size_t)ops->n_grouped + 1) * sizeof *kernels), n = 0;
    TRY_ALLOC(kernels, error);
    for (row_t i = 0; i < ops->n_grouped; i++)
        if (is_nccl(linked, ops->grouped_event[i]))
            kernels[n++] = ops->grouped_event[i];
    enum sutra_status status =
        event_columns_request(context, linked->device, fields, measured ? 5 : 1, kernels, n, columns, error);
    free(kernels);
    *arguments = (struct et_plus_arguments){columns[0].place, columns[1].place, columns[2].place,    columns[3].place,
                                            columns[4].place, .own_rank = -1,   .measured = measured};
    struct json_span rank = document_rank(document);
    if (!measured || !rank.at || !field_integer(document->source.bytes + rank.at, &arguments->own_rank))
        arguments->own_rank = -1;
    return status;
}

/* The rank at the other end of a message: the other member of a group of two; else the recorded rank, which may be a
 * position in the group. -1: unknown. `members` is "[0, 4]", as a list or a string. */
static int64_t find_peer(const struct source *source, struct json_span members, int64_t own, int64_t recorded) {
    const char *at = source->bytes + members.at, *end = source->bytes + members.end;
    int64_t n = 0, other = -1, at_position = -1;
    bool has_own = false, has_recorded = false;
    if (!members.at || memmem(at, (size_t)(end - at), "...", 3))
        return recorded;
    while (at < end) {
        int64_t rank;
        if (!is_digit(*at)) {
            at++;
            continue;
        }
        if (!field_integer(at, &rank))
            return recorded;
        at_position = n++ == recorded ? rank : at_position;
        has_own |= rank == own;
        has_recorded |= rank == recorded;
        other = rank == own ? other : rank;
        while (at < end && is_digit(*at))
            at++;
    }
    if (n == 2 && has_own)
        return other;
    return has_recorded || at_position < 0 ? recorded : at_position;
}

/* Lists the peers of the messages whose kernels record them. False: out of memory. */
static bool list_peers(struct et_plus_trace *trace, const struct sutra_linked *linked,
                       const struct et_plus_arguments *arguments) {
    const struct source *source = &linked->device->document.source;
    const struct host_ops *units = &linked->units;
    const uint32_t is_message = ET_PLUS_SENDS | ET_PLUS_RECEIVES;
    row_t n = 0;
    for (row_t row = 0; row < trace->nodes.n; row++)
        n += (trace->nodes.flags[row] & is_message) != 0;
    trace->peers = malloc(((size_t)n + 1) * sizeof *trace->peers);
    if (!trace->peers)
        return false;
    for (row_t unit = 0; unit < units->n_units && n > 0; unit++) {
        row_t n_gpu, row = linked->unit_entry[unit] + units->unit_start[unit + 1] - units->unit_start[unit];
        const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
        for (row_t i = 0; i < n_gpu; i++, row++) {
            const uint32_t flags = trace->nodes.flags[row] & is_message;
            if (!flags)
                continue;
            const struct json_span place = (flags & ET_PLUS_SENDS ? arguments->to : arguments->from)[gpu[i]];
            int64_t recorded = -1;
            if (!place.at || !field_integer(source->bytes + place.at, &recorded))
                recorded = -1;
            const int64_t peer = find_peer(source, arguments->members[gpu[i]], arguments->own_rank, recorded);
            if (peer >= 0 && peer <= INT32_MAX)
                trace->peers[trace->n_peers++] = (struct et_plus_peer){row, peer};
        }
    }
    return true;
}

enum sutra_status et_plus_linked(struct et_plus_trace *trace, struct sutra_context *context,
                                 const struct sutra_linked *linked, const struct et_plus_arguments *arguments,
                                 struct sutra_error *error) {
    struct linked_reading all = {.trace = trace, .linked = linked, .context = context, .arguments = arguments};
    row_t n = linked->unit_entry[linked->units.n_units];
    all.n_tasks = linked->units.n_units ? (size_t)pool_threads(context->pool) * TASKS_PER_THREAD : 0;
    *trace = (struct et_plus_trace){.document = &linked->host->document, .own_rank = arguments->own_rank};
    trace->stores = calloc(all.n_tasks + 1, sizeof *trace->stores);
    bool made = trace->stores && et_plus_nodes_reserve(&trace->nodes, n + 1);
    if (made) {
        trace->n_stores = all.n_tasks;
        trace->nodes.n = n;
        stage_begin(context, "read nodes", n);
        pool_run(context->pool, all.n_tasks, read_units, &all);
        stage_end(context);
    }
    if (made && !atomic_load(&all.failed) && list_peers(trace, linked, arguments))
        return SUTRA_OK;
    et_plus_trace_free(trace);
    return error_memory(error);
}

/* ---- Spans: one sweep over operators by start, with a stack of running operators, the last to start on top ---- */

struct started_op {
    double start, end;
    row_t op;
};

/* By start, the longer first, then by row. */
ORDER_BY(compare_started, struct started_op, ASCENDING(start) DESCENDING(end) ASCENDING(op))

struct op_sweep {
    struct op_spans *spans;
    struct started_op *stack;
    row_t n_stack;
    double now; /* the end of the last span */
};

/* Adds a span from now until the time. */
static void add_span(struct op_sweep *sweep, row_t op, double until) {
    struct op_spans *spans = sweep->spans;
    if (spans->n == 0 || spans->op[spans->n - 1] != op) {
        spans->start[spans->n] = sweep->now;
        spans->op[spans->n++] = op;
    }
    sweep->now = until;
}

/* Adds spans until all operators end or the time is reached. */
static void run_until(struct op_sweep *sweep, double time) {
    while (sweep->n_stack && sweep->now < time) {
        const struct started_op *top = &sweep->stack[sweep->n_stack - 1];
        if (top->end <= sweep->now)
            sweep->n_stack--;
        else
            add_span(sweep, top->op, fmin(top->end, time));
    }
}

bool op_spans_make(const struct timeline_ops *ops, struct arena *arena, struct op_spans *spans) {
    const size_t most = 3 * (size_t)ops->n + 1; /* an operator starts, resumes once, and leaves a gap */
    struct started_op *order = arena_alloc(arena, ops->n, sizeof *order);
    struct op_sweep sweep = {
        .spans = spans, .stack = arena_alloc(arena, ops->n, sizeof *sweep.stack), .now = -INFINITY};
    *spans = (struct op_spans){0, arena_alloc(arena, most, sizeof *spans->start),
                               arena_alloc(arena, most, sizeof *spans->op)};
    if (arena->failed)
        return false;
    for (row_t i = 0; i < ops->n; i++)
        order[i] = (struct started_op){ops->start[i], ops->end[i], i};
    qsort(order, ops->n, sizeof *order, compare_started);
    for (row_t i = 0; i < ops->n; i++) {
        run_until(&sweep, order[i].start);
        if (sweep.now < order[i].start)
            add_span(&sweep, ROW_NONE, order[i].start);
        sweep.stack[sweep.n_stack++] = order[i];
    }
    run_until(&sweep, INFINITY);
    add_span(&sweep, ROW_NONE, INFINITY);
    return true;
}

/* ---- Old parents: the first row that names each parent, and the preceding row of its thread ---- */

/* The id of the process in the host trace. */
#define PROCESS_OLD_ID 1

struct old_parents {
    struct et_plus_nodes *nodes;
    const struct engine *engine;
    struct arena arena;
    value_key *keys;    /* per row: the old id of its parent, or KEY_ABSENT */
    row_t *before;      /* per row: the preceding row of its thread, or ROW_NONE */
    value_key *new_ids; /* per row that is the first to name its parent: the new id of the parent, or KEY_ABSENT */
};

/* Linking numbers nodes from 0 on; the host trace numbers from 1 on, and has no GPU nodes. */
static bool is_linked(const struct et_plus_nodes *nodes) {
    uint32_t flags = 0;
    for (row_t row = 0; row < nodes->n; row++)
        flags |= nodes->flags[row];
    return flags & ET_PLUS_HAS_OLD_PARENT && (flags & ET_PLUS_IS_GPU || nodes->key[0] == 0);
}

/* For each row, the preceding row of its thread, without GPU nodes. */
static enum sutra_status find_before(struct old_parents *old, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = old->nodes;
    const int64_t *threads = nodes->number[ET_PLUS_TID - ET_PLUS_FIRST_NUMBER];
    struct key_index first = {0};
    struct arena_mark mark = arena_mark(&old->arena);
    row_t *last = rows_none(&old->arena, nodes->n);
    TRY(arena_status(&old->arena, error));
    for (row_t row = 0; row < nodes->n; row++)
        old->keys[row] = key_is_integer(threads[row]) ? threads[row] : KEY_NULL;
    enum sutra_status status = key_index_build(&first, old->engine, old->keys, nodes->n, KEY_FIRST, NULL, error);
    for (row_t row = 0; row < nodes->n && !status; row++) {
        row_t *of_thread = &last[key_index_find(&first, old->keys[row])];
        old->before[row] = *of_thread;
        *of_thread = nodes->flags[row] & ET_PLUS_IS_GPU ? *of_thread : row;
    }
    key_index_free(&first);
    arena_release(&old->arena, mark);
    return status;
}

/* `first` is the index of the rows that are the first to name a parent, which the caller frees. */
static enum sutra_status replace_parents(struct old_parents *old, struct key_index *first, struct sutra_error *error) {
    struct et_plus_nodes *nodes = old->nodes;
    TRY(find_before(old, error));
    for (row_t row = 0; row < nodes->n; row++)
        old->keys[row] = nodes->flags[row] & ET_PLUS_HAS_OLD_PARENT ? nodes->parent[row] : KEY_ABSENT;
    TRY(key_index_build(first, old->engine, old->keys, nodes->n, KEY_FIRST, NULL, error));
    for (row_t row = 0; row < nodes->n; row++) {
        old->new_ids[row] = old->before[row] == ROW_NONE ? KEY_ABSENT : nodes->key[old->before[row]];
        /* The new id of the process, or KEY_ABSENT. */
        if (old->keys[row] == PROCESS_OLD_ID)
            old->new_ids[row] = kernel_name_has(nodes->name[0], "|process]") ? nodes->key[0] : KEY_ABSENT;
    }
    for (row_t row = 0; row < nodes->n; row++)
        if (key_is_integer(old->keys[row]))
            nodes->parent[row] = old->new_ids[key_index_find(first, old->keys[row])];
    return SUTRA_OK;
}

enum sutra_status old_parents_replace(struct et_plus_nodes *nodes, struct sutra_context *context,
                                      struct sutra_error *error) {
    struct old_parents old = {.nodes = nodes, .engine = &context->engine};
    struct key_index first = {0};
    if (nodes->n == 0 || !is_linked(nodes))
        return SUTRA_OK;
    old.keys = arena_alloc(&old.arena, nodes->n, sizeof *old.keys);
    old.before = arena_alloc(&old.arena, nodes->n, sizeof *old.before);
    old.new_ids = arena_alloc(&old.arena, nodes->n, sizeof *old.new_ids);
    enum sutra_status status = old.arena.failed ? error_memory(error) : replace_parents(&old, &first, error);
    key_index_free(&first);
    arena_free(&old.arena);
    return status;
}
