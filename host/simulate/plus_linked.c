/*
 * plus_linked.c - units in tasks, each with a reader and a store of its own. A node's text is walked once for itself
 * and the GPU nodes below it, which are copies of it but for what linking sets.
 */
#include "simulate/plus_linked.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/plus_node_read.h"
#include "text/string_text.h"

/* Tasks for each thread, so that none waits long for the last. */
#define TASKS_EACH 8

struct linked_reading {
    struct plus_trace *trace;
    const struct sutra_linked *linked;
    struct sutra_context *context;
    const struct json_place *groups;
    size_t n_tasks;
    atomic_bool failed; /* out of memory */
};

/* A node's text, and what reads it. */
struct linked_reader {
    struct plus_reader reader;
    struct field_reader fields;
    struct plus_places places;
    const struct sutra_linked *linked;
    const struct json_place *groups; /* by event */
    struct plus_nodes *nodes;
};

static void fault(struct plus_node *node, enum plus_field field, bool on) {
    node->faults = on ? node->faults | PLUS_BIT(field) : node->faults & ~PLUS_BIT(field);
}

/* int() of a time or duration; false: it is below 0 or too large. */
static bool truncate_number(struct number number, uint64_t *whole) {
    if (!number_is_double(number)) {
        *whole = number.bits;
        return (int64_t)number.bits >= 0;
    }
    double real = trunc(number_as_double(number));
    if (!(real >= 0) || real >= 18446744073709551616.0)
        return false;
    *whole = (uint64_t)real;
    return true;
}

static void set_id(struct plus_node *node, uint64_t id) {
    node->id = id;
    node->key = (value_key)id;
    fault(node, PLUS_ID, false);
}

static void set_parent(struct plus_node *node, uint64_t id) {
    node->parent = (value_key)id;
    fault(node, PLUS_PARENT, false);
}

static void set_times(struct plus_node *node, struct number start, struct number duration) {
    if (!truncate_number(start, &node->start_us))
        node->start_us = 0;
    fault(node, PLUS_DURATION, !truncate_number(duration, &node->duration_us));
}

/* What linking sets in a unit's nodes, of whichever kind. */
static void set_unit(const struct sutra_linked *linked, row_t unit, struct plus_node *node) {
    row_t op = linked->unit_op[unit], after = linked->unit_after[unit];
    set_id(node, linked->unit_id[unit]);
    if (op == ROW_NONE)
        return;
    set_times(node, number_at(linked->ops.cpu.ts, op), number_at(linked->ops.exclusive, op));
    node->inter = after == ROW_NONE || linked->unit_id[after] == 0 ? KEY_NULL : (value_key)linked->unit_id[after];
    fault(node, PLUS_INTER, false);
}

/* The parent of a node of schema 1.0.1, by its new id; none, if it is not there: another node may have its id now. */
static void set_flat_parent(const struct sutra_linked *linked, row_t row, struct plus_node *node) {
    value_key parent = linked->host->nodes.parent[row];
    row_t unit = parent == KEY_ABSENT ? ROW_NONE : key_index_find(&linked->units.ids, parent);
    set_parent(node, unit == ROW_NONE ? 0 : linked->unit_id[unit]);
    if (unit == ROW_NONE)
        node->parent = KEY_ABSENT;
}

static void read_cpu(struct linked_reader *reading, row_t unit, row_t sorted, struct plus_node *node) {
    const struct sutra_linked *linked = reading->linked;
    plus_node_fields(&reading->reader, &reading->places, node);
    set_unit(linked, unit, node);
    if (linked->ctrl_deps[sorted] != CTRL_DEPS_NONE)
        set_parent(node, (uint64_t)linked->ctrl_deps[sorted]);
    else if (reading->places.flat)
        set_flat_parent(linked, linked->units.node[sorted], node);
    plus_node_attributes(&reading->reader, &reading->places, node);
}

static void set_stream(const struct sutra_device_trace *device, row_t gpu, struct plus_node *node) {
    value_key stream = device->events.stream[gpu];
    bool integer = device->events.flags[gpu] & EVENT_STREAM_INTEGER, none = stream == KEY_ABSENT || stream == KEY_NULL;
    node->flags = none && !integer ? node->flags | PLUS_NO_STREAM : node->flags & ~(uint32_t)PLUS_NO_STREAM;
    node->stream = stream;
    fault(node, PLUS_STREAM, !integer && !none);
}

static void set_name(const struct sutra_device_trace *device, row_t gpu, struct plus_node *node) {
    uint32_t name = device->events.name[gpu];
    node->name =
        (struct et_text){strings_text(&device->strings, name), (uint32_t)strings_length(&device->strings, name)};
    fault(node, PLUS_NAME, utf8_check(node->name.bytes, node->name.length) != node->name.length);
}

static bool is_nccl(const struct sutra_linked *linked, row_t gpu) {
    return name_roles(&linked->device->events, linked->ops.roles, gpu) & NAME_NCCL_KERNEL;
}

/* The group of a kernel of NCCL, where its event tells one. */
static void set_group(struct linked_reader *reading, row_t gpu, struct plus_node *node) {
    const struct sutra_device_trace *device = reading->linked->device;
    if (!is_nccl(reading->linked, gpu))
        return;
    struct json_place place = reading->groups[gpu];
    if (place.at && device->document.source.bytes[place.at] != 'n')
        plus_node_set_pg_name(&reading->reader, &device->document.source, place, node);
}

static void read_gpu(struct linked_reader *reading, row_t unit, row_t i, row_t gpu, struct plus_node *node) {
    const struct sutra_linked *linked = reading->linked;
    const struct sutra_device_trace *device = linked->device;
    plus_node_fields(&reading->reader, &reading->places, node);
    set_unit(linked, unit, node);
    set_parent(node, node->id);
    set_id(node, node->id + 1 + i);
    set_times(node, number_at(device->events.ts, gpu), number_at(device->events.dur, gpu));
    node->flags |= PLUS_IS_GPU;
    set_stream(device, gpu, node);
    set_name(device, gpu, node);
    set_group(reading, gpu, node);
    plus_node_attributes(&reading->reader, &reading->places, node);
}

static void walk_node(struct linked_reader *reading, row_t row) {
    const struct plus_reader *reader = &reading->reader;
    struct json_walker walker = walk_from(reader->source, reading->linked->host->nodes.text[row]);
    plus_places_walk(&reading->reader, &walker, &reading->places);
}

/* The rows of a unit: its nodes, then the GPU nodes, which are copies of the first. */
static void read_unit(struct linked_reader *reading, row_t unit) {
    const struct sutra_linked *linked = reading->linked;
    const struct host_ops *units = &linked->units;
    struct plus_node node;
    row_t n_gpu, row = linked->unit_entry[unit];
    const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
    for (row_t sorted = units->unit_start[unit]; sorted < units->unit_start[unit + 1]; sorted++) {
        walk_node(reading, units->node[sorted]);
        read_cpu(reading, unit, sorted, &node);
        plus_nodes_put(reading->nodes, row++, &node);
    }
    if (n_gpu > 0 && units->unit_start[unit + 1] - units->unit_start[unit] > 1)
        walk_node(reading, units->node[units->unit_start[unit]]);
    for (row_t i = 0; i < n_gpu; i++) {
        read_gpu(reading, unit, i, gpu[i], &node);
        plus_nodes_put(reading->nodes, row++, &node);
    }
}

static void read_units(void *arg, size_t task) {
    struct linked_reading *all = arg;
    const struct sutra_linked *linked = all->linked;
    size_t n = linked->units.n_units;
    struct linked_reader reading = {.linked = linked, .groups = all->groups, .nodes = &all->trace->nodes};
    reading.fields = (struct field_reader){.source = &linked->host->document.source, .values = &all->context->values};
    reading.reader = (struct plus_reader){
        .source = &linked->host->document.source, .store = &all->trace->stores[task], .fields = &reading.fields};
    bool begun = plus_reader_begin(&reading.reader);
    for (size_t unit = part_start(n, all->n_tasks, task); begun && unit < part_start(n, all->n_tasks, task + 1); unit++)
        read_unit(&reading, (row_t)unit);
    if (!begun || plus_reader_failed(&reading.reader))
        atomic_store(&all->failed, true);
    plus_reader_end(&reading.reader);
    buffer_free(&reading.fields.scratch);
}

enum sutra_status plus_linked_groups(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct json_place **groups, struct sutra_error *error) {
    static const struct asked_field field = {"Process Group Name", ASK_PLACE, false};
    const struct device_ops *ops = &linked->ops;
    struct asked_column column = {0};
    row_t *kernels = malloc(((size_t)ops->n_grouped + 1) * sizeof *kernels), n = 0;
    if (!kernels)
        return error_memory(error);
    for (row_t i = 0; i < ops->n_grouped; i++)
        if (is_nccl(linked, ops->grouped_event[i]))
            kernels[n++] = ops->grouped_event[i];
    enum sutra_status status = event_columns_ask(context, linked->device, &field, 1, kernels, n, &column, error);
    free(kernels);
    *groups = column.place;
    return status;
}

enum sutra_status plus_linked(struct plus_trace *trace, struct sutra_context *context,
                              const struct sutra_linked *linked, const struct json_place *groups,
                              struct sutra_error *error) {
    struct linked_reading all = {.trace = trace, .linked = linked, .context = context, .groups = groups};
    row_t n = linked->unit_entry[linked->units.n_units];
    all.n_tasks = linked->units.n_units ? (size_t)pool_threads(context->pool) * TASKS_EACH : 0;
    *trace = (struct plus_trace){.document = &linked->host->document};
    trace->stores = calloc(all.n_tasks + 1, sizeof *trace->stores);
    bool made = trace->stores && plus_nodes_reserve(&trace->nodes, n + 1);
    if (made) {
        trace->n_stores = all.n_tasks;
        trace->nodes.n = n;
        stage_begin(context, "read nodes", n);
        pool_run(context->pool, all.n_tasks, read_units, &all);
        stage_end(context);
    }
    if (made && !atomic_load(&all.failed))
        return SUTRA_OK;
    plus_trace_free(trace);
    return error_memory(error);
}
