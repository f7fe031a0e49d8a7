/*
 * sync_deps.c - from the synchronisation on the critical path, given in external ids, to lists of new ids.
 *
 *     critical path      external id of an end -> external ids of starts
 *     waits              GPU operator (the last event of a start's id) -> the first CPU operator behind each end's event
 *     sync lists         host operator of that CPU operator -> the GPU operator's nodes
 *
 * A host operator is named by its new id where that is given by the time the GPU node is, else by its id in the host
 * trace; the names are then looked up once more, as ids of the host trace, wherever they happen to be one. Of lists
 * that come out at the same node the one that was begun last stays. This is the reference's way, and its output.
 *
 * Cost: O(events + nodes), and a binary search for each wait.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "critical_path/path.h"
#include "link/link.h"
#include "link/sync_deps.h"
#include "match/rules.h"

/* Pairs sorted by their first part, which is found through an index; the order within one is kept. */
struct sync_pairs {
    value_key *key;
    row_t *value;
    row_t n, capacity;
    struct key_index index; /* key -> first pair */
};

struct sync {
    struct sutra_linked *linked;
    struct sutra_context *context;
    struct sutra_error *error;
    struct arena scratch;
    struct sync_map map;
    row_t *start_event;         /* per pair of the map: the event of its start, or ROW_NONE */
    struct sync_pairs ends;     /* external id -> pairs of the map */
    struct sync_pairs waits;    /* GPU event -> CPU operator */
    struct sync_pairs lists;    /* name of a host operator -> new id of a GPU node */
    row_t *op_unit;             /* per CPU operator: its host operator */
    struct key_index ctrl_deps; /* id in ctrl_deps -> first sorted node that has it */
};

static void pairs_free(struct sync_pairs *pairs) {
    free(pairs->key);
    free(pairs->value);
    key_index_free(&pairs->index);
}

static bool pairs_add(struct sync_pairs *pairs, value_key key, row_t value) {
    if (pairs->n == pairs->capacity) {
        size_t capacity = (size_t)pairs->capacity * 2 + 64;
        if (capacity > ROW_LIMIT || !column_resize(&pairs->key, capacity, sizeof *pairs->key) ||
            !column_resize(&pairs->value, capacity, sizeof *pairs->value))
            return false;
        pairs->capacity = (row_t)capacity;
    }
    pairs->key[pairs->n] = key;
    pairs->value[pairs->n++] = value;
    return true;
}

/* Puts equal keys side by side, in the order in which the keys first occur, and indexes them. */
static enum sutra_status pairs_index(struct sync_pairs *pairs, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    if (pairs->n == 0)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(arena);
    uint64_t *first = arena_take(arena, pairs->n, sizeof *first);
    row_t *order = arena_take(arena, pairs->n, sizeof *order);
    value_key *key = arena_take(arena, pairs->n, sizeof *key);
    row_t *value = arena_take(arena, pairs->n, sizeof *value);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = key_index_build(&pairs->index, engine, pairs->key, pairs->n, KEY_FIRST, NULL, error);
    for (row_t i = 0; i < pairs->n && !status; i++) {
        first[i] = key_index_find(&pairs->index, pairs->key[i]);
        order[i] = i;
    }
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){first, order, pairs->n}, error);
    for (row_t i = 0; i < pairs->n && !status; i++) {
        key[i] = pairs->key[order[i]];
        value[i] = pairs->value[order[i]];
    }
    key_index_free(&pairs->index);
    if (!status) {
        memcpy(pairs->key, key, pairs->n * sizeof *key);
        memcpy(pairs->value, value, pairs->n * sizeof *value);
        status = key_index_build(&pairs->index, engine, pairs->key, pairs->n, KEY_FIRST, NULL, error);
    }
    arena_release(arena, mark);
    return status;
}

/* The run of pairs with this key: its first one, or n; *end is one behind the last. */
static row_t pairs_find(const struct sync_pairs *pairs, value_key key, row_t *end) {
    row_t first = pairs->n ? key_index_find(&pairs->index, key) : ROW_NONE;
    if (first == ROW_NONE)
        return *end = pairs->n;
    for (*end = first; *end < pairs->n && pairs->key[*end] == key; ++*end)
        ;
    return first;
}

/* ---- Waits ---- */

/* The last event of each start's external id, in the order of the sorted trace. */
static enum sutra_status find_starts(struct sync *sync) {
    const struct device_ops *ops = &sync->linked->ops;
    const struct device_events *events = &sync->linked->device->events;
    struct key_index starts;
    enum sutra_status status =
        key_index_build(&starts, &sync->context->engine, sync->map.start, sync->map.n, KEY_FIRST, NULL, sync->error);
    if (status)
        return status;
    sync->start_event = rows_none(&sync->scratch, sync->map.n);
    if (sync->start_event) {
        for (row_t i = 0; i < events->n; i++) {
            row_t start = key_index_find(&starts, events->external[ops->order[i]]);
            if (start != ROW_NONE)
                sync->start_event[start] = ops->order[i];
        }
        for (row_t i = 0; i < sync->map.n; i++)
            sync->start_event[i] = sync->start_event[key_index_find(&starts, sync->map.start[i])];
    }
    key_index_free(&starts);
    return sync->start_event ? SUTRA_OK : error_memory(sync->error);
}

static enum sutra_status index_ends(struct sync *sync) {
    for (row_t i = 0; i < sync->map.n; i++)
        if (!pairs_add(&sync->ends, sync->map.end[i], i))
            return error_memory(sync->error);
    return pairs_index(&sync->ends, &sync->context->engine, &sync->scratch, sync->error);
}

/* The first CPU operator that begins after the event, or ROW_NONE. */
static row_t operator_after(const struct sutra_linked *linked, row_t event) {
    const struct cpu_ops *cpu = &linked->ops.cpu;
    row_t n_begun = count_begun_by(cpu->ts, cpu->n, number_at(linked->device->events.ts, event));
    return n_begun < cpu->n ? n_begun : ROW_NONE;
}

/* Adds what the starts of one end's event wait for. Lists of CPU operators go nowhere, so they are not made. */
static enum sutra_status add_waits(struct sync *sync, row_t event) {
    const struct sutra_linked *linked = sync->linked;
    row_t end, first = pairs_find(&sync->ends, linked->device->events.external[event], &end);
    row_t operator= first<end ? operator_after(linked, event) : ROW_NONE;
    for (row_t i = first; i < end && operator!= ROW_NONE; i++) {
        row_t start = sync->start_event[sync->ends.value[i]];
        if (start == ROW_NONE || event_classify(&linked->device->events, linked->ops.roles, start) != EVENT_GPU_OP)
            continue;
        if (!pairs_add(&sync->waits, start, operator))
            return error_memory(sync->error);
    }
    return SUTRA_OK;
}

/* Thread by thread, as they first occur in the sorted trace. */
static enum sutra_status find_waits(struct sync *sync) {
    const struct device_events *events = &sync->linked->device->events;
    struct sync_pairs by_thread = {0};
    enum sutra_status status = SUTRA_OK;
    for (row_t i = 0; i < events->n && !status; i++) {
        row_t event = sync->linked->ops.order[i];
        if (key_index_find(&sync->ends.index, events->external[event]) == ROW_NONE)
            continue;
        if (!pairs_add(&by_thread, events->tid[event], event))
            status = error_memory(sync->error);
    }
    if (!status)
        status = pairs_index(&by_thread, &sync->context->engine, &sync->scratch, sync->error);
    for (row_t i = 0; i < by_thread.n && !status; i++)
        status = add_waits(sync, by_thread.value[i]);
    pairs_free(&by_thread);
    return status ? status : pairs_index(&sync->waits, &sync->context->engine, &sync->scratch, sync->error);
}

/* ---- Lists ---- */

static enum sutra_status index_units(struct sync *sync) {
    const struct sutra_linked *linked = sync->linked;
    sync->op_unit = rows_none(&sync->scratch, linked->ops.cpu.n);
    if (!sync->op_unit)
        return error_memory(sync->error);
    for (row_t unit = 0; unit < linked->units.n_units; unit++)
        if (linked->unit_op[unit] != ROW_NONE)
            sync->op_unit[linked->unit_op[unit]] = unit;
    return SUTRA_OK;
}

static value_key original_id(const struct sutra_linked *linked, row_t unit) {
    return linked->host->nodes.id[unit_node(&linked->units, unit)];
}

/* Puts GPU node `id`, below `unit`, on the lists of the host operators that wait for it. */
static enum sutra_status add_to_lists(struct sync *sync, row_t unit, row_t gpu, row_t id) {
    const struct sutra_linked *linked = sync->linked;
    row_t end;
    for (row_t i = pairs_find(&sync->waits, gpu, &end); i < end; i++) {
        row_t waiting = sync->op_unit[sync->waits.value[i]];
        if (waiting == ROW_NONE)
            continue;
        value_key name = waiting <= unit ? (value_key)linked->unit_id[waiting] : original_id(linked, waiting);
        if (!pairs_add(&sync->lists, name, id))
            return error_memory(sync->error);
    }
    return SUTRA_OK;
}

/* Two host operators may go by one name; a GPU node stands on its list once. */
static void drop_repetitions(struct sync_pairs *lists) {
    row_t n = 0;
    for (row_t i = 0; i < lists->n; i++) {
        if (n > 0 && lists->key[i] == lists->key[n - 1] && lists->value[i] == lists->value[n - 1])
            continue;
        lists->key[n] = lists->key[i];
        lists->value[n++] = lists->value[i];
    }
    lists->n = n;
}

static enum sutra_status make_lists(struct sync *sync) {
    const struct sutra_linked *linked = sync->linked;
    enum sutra_status status = index_units(sync);
    for (row_t unit = 0; unit < linked->units.n_units && !status; unit++) {
        row_t n;
        const row_t *gpu = linked_gpu_ops(linked, unit, &n);
        for (row_t i = 0; i < n && !status; i++)
            status = add_to_lists(sync, unit, gpu[i], linked->unit_id[unit] + 1 + i);
    }
    if (!status)
        status = pairs_index(&sync->lists, &sync->context->engine, &sync->scratch, sync->error);
    if (!status)
        drop_repetitions(&sync->lists);
    return status;
}

/* ---- Nodes ---- */

static enum sutra_status index_ctrl_deps(struct sync *sync) {
    const struct host_ops *units = &sync->linked->units;
    struct arena_mark mark = arena_mark(&sync->scratch);
    value_key *keys = arena_take(&sync->scratch, units->n_nodes, sizeof *keys);
    if (!keys)
        return error_memory(sync->error);
    for (row_t i = 0; i < units->n_nodes; i++)
        keys[i] = sync->linked->host->nodes.ctrl_deps[units->node[i]];
    enum sutra_status status =
        key_index_build(&sync->ctrl_deps, &sync->context->engine, keys, units->n_nodes, KEY_FIRST, NULL, sync->error);
    arena_release(&sync->scratch, mark);
    return status;
}

/* The last of `n` rising numbers that is not above `number`; the first is not. */
static row_t last_below(const row_t *numbers, row_t n, row_t number) {
    struct bisection at = {1, n};
    while (at.low < at.high)
        bisect(&at, numbers[bisect_middle(at)] <= number);
    return at.low - 1;
}

/* New id of the node at which an id in ctrl_deps that no node has is first seen, or ROW_NONE: it then gets a number
 * that no node has, so that a list of that name is lost behind there. */
static row_t first_unknown(const struct sync *sync, value_key name) {
    const struct host_ops *units = &sync->linked->units;
    row_t sorted = key_index_find(&sync->ctrl_deps, name);
    return sorted == ROW_NONE ? ROW_NONE : sync->linked->unit_id[last_below(units->unit_start, units->n_units, sorted)];
}

/* The new id at which a list of this name comes out, or ROW_NONE. */
static row_t target_of(const struct sync *sync, value_key name) {
    const struct sutra_linked *linked = sync->linked;
    row_t unit = key_index_find(&linked->units.ids, name);
    if (unit != ROW_NONE)
        return linked->unit_id[unit];
    if (name < 0 || name >= linked->unit_id[linked->units.n_units])
        return ROW_NONE;
    return first_unknown(sync, name) < (row_t)name ? ROW_NONE : (row_t)name;
}

/* How many nodes have the new id. */
static row_t nodes_of(const struct sutra_linked *linked, row_t id) {
    row_t unit = last_below(linked->unit_id, linked->units.n_units, id);
    return linked->unit_id[unit] == id ? linked->units.unit_start[unit + 1] - linked->units.unit_start[unit] : 1;
}

/* Hands the lists over to the nodes where they come out. */
static enum sutra_status place_lists(struct sync *sync) {
    struct linked_sync *placed = &sync->linked->sync;
    struct arena *arena = &sync->linked->arena;
    const struct sync_pairs *lists = &sync->lists;
    placed->start = arena_take(arena, (size_t)lists->n + 1, sizeof *placed->start);
    placed->nodes = arena_take(arena, lists->n, sizeof *placed->nodes);
    value_key *target = arena_take(&sync->scratch, lists->n, sizeof *target);
    if (!placed->start || !placed->nodes || !target)
        return error_memory(sync->error);
    for (row_t i = 0; i < lists->n; i++) {
        if (i > 0 && lists->key[i] == lists->key[i - 1])
            continue;
        row_t id = target_of(sync, lists->key[i]);
        target[placed->n_lists] = id == ROW_NONE ? KEY_NULL : (value_key)id;
        placed->start[placed->n_lists++] = i;
    }
    placed->start[placed->n_lists] = lists->n;
    if (lists->n)
        memcpy(placed->nodes, lists->value, lists->n * sizeof *placed->nodes);
    enum sutra_status status =
        key_index_build(&placed->targets, &sync->context->engine, target, placed->n_lists, KEY_LAST, NULL, sync->error);
    for (row_t i = 0; i < placed->n_lists && !status; i++)
        if (target[i] != KEY_NULL && key_index_find(&placed->targets, target[i]) == i)
            sync->linked->report.n_sync += nodes_of(sync->linked, (row_t)target[i]);
    return status;
}

static enum sutra_status build_lists(struct sync *sync) {
    enum sutra_status status = find_starts(sync);
    if (!status)
        status = index_ends(sync);
    if (!status)
        status = find_waits(sync);
    if (!status)
        status = make_lists(sync);
    if (!status)
        status = index_ctrl_deps(sync);
    if (!status)
        status = place_lists(sync);
    return status;
}

enum sutra_status sync_build(struct sutra_linked *linked, struct sutra_context *context, bool pandas3,
                             struct sutra_error *error) {
    struct sync sync = {.linked = linked, .context = context, .error = error};
    struct path_verdict verdict = {0};
    stage_begin(context, "synchronization", linked->device->events.n);
    enum sutra_status status = sync_map_find(&sync.map, context, linked->device, pandas3, &verdict, error);
    if (!status && verdict.outcome != OUTCOME_PATH)
        context_warn(context, "no synchronization dependencies: %s", verdict.reason);
    if (!status && sync.map.n > 0)
        status = build_lists(&sync);
    stage_end(context);
    sync_map_free(&sync.map);
    pairs_free(&sync.ends);
    pairs_free(&sync.waits);
    pairs_free(&sync.lists);
    arena_free(&sync.scratch);
    key_index_free(&sync.ctrl_deps);
    return status;
}
