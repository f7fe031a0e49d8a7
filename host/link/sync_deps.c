/*
 * sync_deps.c - translates the synchronization dependencies on the critical path, given in external ids, to lists of
 * new ids (link.h).
 *
 *     critical path      external id of an end -> external ids of starts
 *     waits              GPU operator (last event of a start's id) -> first CPU operator after each end's event
 *     sync lists         host operator of that CPU operator -> the GPU operator's nodes
 *
 * The output is the same as chakra_trace_link's: a list is keyed by the host operator's new id if that is assigned
 * before the GPU node's, else by its id in the host trace. The keys are then looked up as ids of the host trace, even
 * if they are new ids. If several lists result in the same node, the one that was begun last remains.
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
#include "match/rules.h"

/* Pairs sorted by key, in order of insertion within a key. */
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
    struct sync_pairs ends;     /* external id -> pairs of the map */
    struct sync_pairs threads;  /* tid -> events of ends */
    struct sync_pairs waits;    /* GPU event -> CPU operator */
    struct sync_pairs lists;    /* key of a host operator -> new id of a GPU node */
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

/* Groups equal keys, in the order in which the keys first occur, and indexes them. */
static enum sutra_status pairs_index(struct sync_pairs *pairs, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    if (pairs->n == 0)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(arena);
    uint64_t *first = arena_alloc(arena, pairs->n, sizeof *first);
    row_t *order = arena_alloc(arena, pairs->n, sizeof *order);
    value_key *key = arena_alloc(arena, pairs->n, sizeof *key);
    row_t *value = arena_alloc(arena, pairs->n, sizeof *value);
    TRY(arena_status(arena, error));
    TRY(key_index_build(&pairs->index, engine, pairs->key, pairs->n, KEY_FIRST, NULL, error));
    for (row_t i = 0; i < pairs->n; i++) {
        first[i] = key_index_find(&pairs->index, pairs->key[i]);
        order[i] = i;
    }
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){first, order, pairs->n}, error));
    for (row_t i = 0; i < pairs->n; i++) {
        key[i] = pairs->key[order[i]];
        value[i] = pairs->value[order[i]];
    }
    key_index_free(&pairs->index);
    memcpy(pairs->key, key, pairs->n * sizeof *key);
    memcpy(pairs->value, value, pairs->n * sizeof *value);
    TRY(key_index_build(&pairs->index, engine, pairs->key, pairs->n, KEY_FIRST, NULL, error));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* The run of pairs with this key: the position of the first, or n; *end is one after the last. */
static row_t pairs_find(const struct sync_pairs *pairs, value_key key, row_t *end) {
    row_t first = pairs->n ? key_index_find(&pairs->index, key) : ROW_NONE;
    if (first == ROW_NONE)
        return *end = pairs->n;
    for (*end = first; *end < pairs->n && pairs->key[*end] == key; ++*end)
        ;
    return first;
}

/* ---- Waits ---- */

/* Adds the GPU operators that the CPU operators after the ends wait for. Lists of CPU operators do not reach the
 * output, so they are not made. */
static enum sutra_status find_waits(struct sync *sync) {
    const struct sutra_linked *linked = sync->linked;
    const struct device_events *events = &linked->device->events;
    const struct cpu_ops *cpu = &linked->ops.cpu;
    const struct engine *engine = &sync->context->engine;

    /* The last event of each start's external id, in the order of the sorted trace. */
    row_t *start_event = rows_none(&sync->scratch, sync->map.n);
    struct key_index starts;
    TRY(arena_status(&sync->scratch, sync->error));
    TRY(key_index_build(&starts, engine, sync->map.start, sync->map.n, KEY_FIRST, NULL, sync->error));
    for (row_t i = 0; i < events->n; i++) {
        row_t start = key_index_find(&starts, events->external[linked->ops.order[i]]);
        if (start != ROW_NONE)
            start_event[start] = linked->ops.order[i];
    }
    for (row_t i = 0; i < sync->map.n; i++)
        start_event[i] = start_event[key_index_find(&starts, sync->map.start[i])];
    key_index_free(&starts);

    for (row_t i = 0; i < sync->map.n; i++)
        if (!pairs_add(&sync->ends, sync->map.end[i], i))
            return error_memory(sync->error);
    TRY(pairs_index(&sync->ends, engine, &sync->scratch, sync->error));

    /* The events of ends thread by thread, in the order in which the threads first occur in the sorted trace. */
    for (row_t i = 0; i < events->n; i++) {
        row_t event = linked->ops.order[i];
        if (key_index_find(&sync->ends.index, events->external[event]) != ROW_NONE &&
            !pairs_add(&sync->threads, events->tid[event], event))
            return error_memory(sync->error);
    }
    TRY(pairs_index(&sync->threads, engine, &sync->scratch, sync->error));
    for (row_t k = 0; k < sync->threads.n; k++) {
        row_t event = sync->threads.value[k], end, first = pairs_find(&sync->ends, events->external[event], &end);
        row_t waiting = first < end ? count_begun_by(cpu->ts, cpu->n, number_at(events->ts, event)) : cpu->n;
        for (row_t i = first; i < end && waiting < cpu->n; i++) {
            row_t start = start_event[sync->ends.value[i]];
            if (start != ROW_NONE && event_classify(events, linked->ops.roles, start) == EVENT_GPU_OP &&
                !pairs_add(&sync->waits, start, waiting))
                return error_memory(sync->error);
        }
    }
    return pairs_index(&sync->waits, engine, &sync->scratch, sync->error);
}

/* ---- Lists ---- */

/* Adds each GPU node to the lists of the host operators that wait for it. */
static enum sutra_status make_lists(struct sync *sync) {
    const struct sutra_linked *linked = sync->linked;
    const struct host_ops *units = &linked->units;
    row_t *op_unit = rows_none(&sync->scratch, linked->ops.cpu.n);
    TRY(arena_status(&sync->scratch, sync->error));
    for (row_t unit = 0; unit < units->n_units; unit++)
        if (linked->unit_op[unit] != ROW_NONE)
            op_unit[linked->unit_op[unit]] = unit;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        row_t n, end;
        const row_t *gpu = linked_gpu_ops(linked, unit, &n);
        for (row_t i = 0; i < n; i++)
            for (row_t k = pairs_find(&sync->waits, gpu[i], &end); k < end; k++) {
                row_t waiting = op_unit[sync->waits.value[k]];
                if (waiting == ROW_NONE)
                    continue;
                value_key key = waiting <= unit ? (value_key)linked->unit_id[waiting]
                                                : linked->host->nodes.id[unit_node(units, waiting)];
                if (!pairs_add(&sync->lists, key, linked->unit_id[unit] + 1 + i))
                    return error_memory(sync->error);
            }
    }
    struct sync_pairs *lists = &sync->lists;
    TRY(pairs_index(lists, &sync->context->engine, &sync->scratch, sync->error));

    /* Drop duplicates: two host operators may have the same key. */
    row_t n = 0;
    for (row_t i = 0; i < lists->n; i++) {
        if (n > 0 && lists->key[i] == lists->key[n - 1] && lists->value[i] == lists->value[n - 1])
            continue;
        lists->key[n] = lists->key[i];
        lists->value[n++] = lists->value[i];
    }
    lists->n = n;
    return SUTRA_OK;
}

/* ---- Nodes ---- */

/* Index of the last of `n` ascending numbers that is at most `number`, as the first is. */
static row_t last_below(const row_t *numbers, row_t n, row_t number) {
    struct bisection at = {1, n};
    while (at.low < at.high)
        bisect(&at, numbers[bisect_middle(at)] <= number);
    return at.low - 1;
}

/* Indexes the ids in ctrl_deps and assigns the lists to nodes. */
static enum sutra_status assign_lists(struct sync *sync) {
    struct sutra_linked *linked = sync->linked;
    const struct host_ops *units = &linked->units;
    const struct engine *engine = &sync->context->engine;
    struct arena_mark mark = arena_mark(&sync->scratch);
    value_key *keys = arena_alloc(&sync->scratch, units->n_nodes, sizeof *keys);
    TRY(arena_status(&sync->scratch, sync->error));
    for (row_t i = 0; i < units->n_nodes; i++)
        keys[i] = linked->host->nodes.ctrl_deps[units->node[i]];
    TRY(key_index_build(&sync->ctrl_deps, engine, keys, units->n_nodes, KEY_FIRST, NULL, sync->error));
    arena_release(&sync->scratch, mark);

    struct linked_sync *assigned = &linked->sync;
    const struct sync_pairs *lists = &sync->lists;
    assigned->start = arena_alloc(&linked->arena, (size_t)lists->n + 1, sizeof *assigned->start);
    assigned->nodes = arena_alloc(&linked->arena, lists->n, sizeof *assigned->nodes);
    value_key *target = arena_alloc(&sync->scratch, lists->n, sizeof *target);
    if (!assigned->start || !assigned->nodes || !target)
        return error_memory(sync->error);
    for (row_t i = 0; i < lists->n; i++) {
        if (i > 0 && lists->key[i] == lists->key[i - 1])
            continue;

        /* The new id of the node that gets the list. An id in ctrl_deps that no node has gets a number after all others
         * from its first use on, so that a list with such a key is lost after that node. */
        value_key key = lists->key[i], id = KEY_NULL;
        row_t unit = key_index_find(&units->ids, key);
        if (unit != ROW_NONE) {
            id = linked->unit_id[unit];
        } else if (key >= 0 && key < linked->unit_id[units->n_units]) {
            row_t sorted = key_index_find(&sync->ctrl_deps, key);
            row_t user = sorted == ROW_NONE ? ROW_NONE : last_below(units->unit_start, units->n_units, sorted);
            id = user != ROW_NONE && linked->unit_id[user] < (row_t)key ? KEY_NULL : key;
        }
        target[assigned->n_lists] = id;
        assigned->start[assigned->n_lists++] = i;
    }
    assigned->start[assigned->n_lists] = lists->n;
    if (lists->n)
        memcpy(assigned->nodes, lists->value, lists->n * sizeof *assigned->nodes);
    TRY(key_index_build(&assigned->targets, engine, target, assigned->n_lists, KEY_LAST, NULL, sync->error));

    /* Count the nodes that have the new id of a list: several nodes of a unit may share it. */
    for (row_t i = 0; i < assigned->n_lists; i++) {
        if (target[i] == KEY_NULL || key_index_find(&assigned->targets, target[i]) != i)
            continue;
        row_t id = (row_t)target[i], unit = last_below(linked->unit_id, units->n_units, id);
        linked->report.n_sync +=
            linked->unit_id[unit] == id ? units->unit_start[unit + 1] - units->unit_start[unit] : 1;
    }
    return SUTRA_OK;
}

static enum sutra_status add_sync(struct sync *sync) {
    struct path_verdict verdict = {0};
    TRY(sync_map_find(&sync->map, sync->context, sync->linked->device, &verdict, sync->error));
    if (verdict.outcome != OUTCOME_PATH)
        context_warn(sync->context, "no synchronization dependencies: %s", verdict.reason);
    if (sync->map.n == 0)
        return SUTRA_OK;
    TRY(find_waits(sync));
    TRY(make_lists(sync));
    return assign_lists(sync);
}

enum sutra_status sync_build(struct sutra_linked *linked, struct sutra_context *context, struct sutra_error *error) {
    struct sync sync = {.linked = linked, .context = context, .error = error};
    stage_begin(context, "synchronization", linked->device->events.n);
    const enum sutra_status status = add_sync(&sync);
    stage_end(context);
    sync_map_free(&sync.map);
    pairs_free(&sync.ends);
    pairs_free(&sync.threads);
    pairs_free(&sync.waits);
    pairs_free(&sync.lists);
    arena_free(&sync.scratch);
    key_index_free(&sync.ctrl_deps);
    return status;
}
