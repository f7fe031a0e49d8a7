/*
 * gpu_groups.c - finding launches by external id and the CPU operators that run when they end. O(n log n).
 *
 *     GPU operator  --"External id"--> launch, or else a flow --> the moment when the launch ended
 *     moment        --runs then-->     CPU operator of the segment --"Ev Idx"--> its group
 *
 * What lacks a link of this chain is an error (lenient: counted), or, without a CPU operator, told and left out.
 */
#include "legacy/gpu_groups.h"

#include "base/error.h"
#include "columns/column.h"
#include "read/event_columns.h"
#include "text/number_text.h"
#include "text/string_text.h"

/* The fields that tell who belongs to whom. */
static const struct asked_field external_id = {"External id", ASK_KEY, false}, event_index = {"Ev Idx", ASK_KEY, false},
                                flow_id = {"id", ASK_KEY, true};

/* GPU operators with the moment of their launch; then with the CPU operator that they found. */
struct launched {
    row_t *event;
    struct number_column at;
    row_t *found;     /* operator of the segment */
    row_t *parent;    /* the CPU operator's event */
    value_key *index; /* its "Ev Idx" */
    row_t n;
};

/* A map from ids to the last event that has each, as the older program fills its dictionaries. */
struct event_map {
    const row_t *event;
    struct key_index index;
    bool made;
};

struct grouping {
    struct sutra_context *context;
    const struct device_side *side;
    struct legacy_log *log;
    struct sutra_legacy_report *report;
    struct arena *scratch;
    struct sutra_error *error;
    struct launched gpu;
    struct event_map launches, starts, finishes;
};

/* (*ids)[event] = the field of each of the events, as Python has it (5 and "5" are different there). */
static enum sutra_status ask_ids(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 struct asked_field field, const row_t *event, row_t n, const value_key **ids,
                                 struct sutra_error *error) {
    struct asked_column column;
    enum sutra_status status = event_columns_ask(context, trace, &field, 1, event, n, &column, error);
    if (!status)
        *ids = column.key;
    return status;
}

static enum sutra_status map_events(struct grouping *grouping, struct event_map *map, struct asked_field field,
                                    const row_t *event, row_t n) {
    struct arena_mark mark = arena_mark(grouping->scratch);
    value_key *keys = arena_take(grouping->scratch, n, sizeof *keys);
    const value_key *ids = NULL;
    enum sutra_status status = arena_status(grouping->scratch, grouping->error);
    if (!status)
        status = ask_ids(grouping->context, grouping->side->trace, field, event, n, &ids, grouping->error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = ids[event[i]];
    if (!status)
        status = key_index_build(&map->index, &grouping->context->engine, keys, n, KEY_LAST, NULL, grouping->error);
    map->event = event;
    map->made = !status;
    arena_release(grouping->scratch, mark);
    return status;
}

static row_t map_find(const struct event_map *map, value_key key) {
    row_t found = map->made && key != KEY_ABSENT ? key_index_find(&map->index, key) : ROW_NONE;
    return found == ROW_NONE ? ROW_NONE : map->event[found];
}

/* Flows are only looked at when an operator has no launch. */
static enum sutra_status map_flows(struct grouping *grouping) {
    const struct device_side *side = grouping->side;
    if (grouping->starts.made)
        return SUTRA_OK;
    enum sutra_status status = map_events(grouping, &grouping->starts, flow_id, side->flow_start, side->n_flow_start);
    return status ? status : map_events(grouping, &grouping->finishes, flow_id, side->flow_finish, side->n_flow_finish);
}

/* An operator that cannot be placed: an error, or left out and counted. */
static enum sutra_status refuse(struct grouping *grouping, row_t event, const char *why) {
    if (grouping->context->options.lenient) {
        grouping->report->n_gpu_without_launch++;
        return SUTRA_OK;
    }
    return source_error(&grouping->side->trace->document.source, grouping->error,
                        grouping->side->trace->events.text[event], "event %u: %s (--lenient skips such events)", event,
                        why);
}

/* When the launch of a GPU operator ended; false if none is known. */
static bool launch_moment(const struct grouping *grouping, value_key external, struct number *at) {
    const struct device_events *events = &grouping->side->trace->events;
    row_t event = map_find(&grouping->launches, external);
    if (event != ROW_NONE) {
        *at = number_add(number_at(events->ts, event), number_at(events->dur, event));
        return true;
    }
    event = map_find(&grouping->starts, external);
    if (event == ROW_NONE)
        event = map_find(&grouping->finishes, external);
    if (event == ROW_NONE)
        return false;
    *at = number_at(events->ts, event);
    return true;
}

static enum sutra_status find_moments(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    const struct device_side *side = grouping->side;
    const value_key *ids = NULL;
    enum sutra_status status =
        ask_ids(grouping->context, side->trace, external_id, side->gpu, side->n_gpu, &ids, grouping->error);
    for (row_t i = 0; i < side->n_gpu && !status; i++) {
        struct number at;
        value_key external = ids[side->gpu[i]];
        if (external == KEY_ABSENT || external == KEY_UNHASHABLE) {
            status = refuse(grouping, side->gpu[i], "this GPU activity has no args[\"External id\"]");
            continue;
        }
        if (map_find(&grouping->launches, external) == ROW_NONE && (status = map_flows(grouping)))
            break;
        if (!launch_moment(grouping, external, &at)) {
            status =
                refuse(grouping, side->gpu[i], "no launch and no flow event has the external id of this GPU activity");
            continue;
        }
        gpu->event[gpu->n] = side->gpu[i];
        number_put(gpu->at, gpu->n++, at);
    }
    return status;
}

static enum sutra_status find_parents(struct grouping *grouping) {
    const struct device_side *side = grouping->side;
    const struct device_events *events = &side->trace->events;
    struct arena_mark mark = arena_mark(grouping->scratch);
    struct number_column ts = numbers_take(grouping->scratch, side->n_segment);
    struct number_column dur = numbers_take(grouping->scratch, side->n_segment);
    enum sutra_status status = arena_status(grouping->scratch, grouping->error);
    for (row_t i = 0; i < side->n_segment && !status; i++) {
        row_t event = side->cpu[side->segment + i];
        number_put(ts, i, number_at(events->ts, event));
        number_put(dur, i, number_at(events->dur, event));
    }
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    struct covering_ops_step step = {ts, dur, side->n_segment, gpu->at, gpu->n, gpu->found};
    if (!status)
        status = engine->covering_ops(engine->state, &step, grouping->error);
    arena_release(grouping->scratch, mark);
    return status;
}

/* An id as Python's str() has it. */
static void log_id(const struct grouping *grouping, struct json_place place) {
    const char *text = grouping->side->trace->document.source.bytes + place.at;
    struct buffer value = {0};
    size_t length = 0;
    if (*text == '"') {
        char *to = buffer_reserve(&value, place.end - place.at);
        length = to ? string_decode(text + 1, place.end - place.at - 1, to) : 0;
    } else if (*text != 'n' && *text != 't' && *text != 'f') {
        size_t n = 0;
        enum number_form form = number_scan(text, &n);
        char *to = buffer_reserve(&value, n + 2 * NUMBER_TEXT_MAX);
        length = to && form != NUMBER_FORM_BAD ? number_rewrite(text, n, form, to) : 0;
    }
    if (length || *text == '"')
        log_bytes(grouping->log, value.bytes, length);
    else
        log_text(grouping->log, "%s", *text == 't' ? "True" : *text == 'f' ? "False" : "None");
    buffer_free(&value);
}

static void log_discarded(const struct grouping *grouping, row_t i, struct json_place external) {
    struct legacy_log *log = grouping->log;
    const struct sutra_device_trace *trace = grouping->side->trace;
    uint32_t name = trace->events.name[grouping->gpu.event[i]];
    log_text(log, "Warning! the parent cpu_op for the following gpu_op is not foundand hence it is discarded. gpu_op "
                  "name: ");
    log_bytes(log, strings_text(&trace->strings, name), strings_length(&trace->strings, name));
    log_text(log, ", ts: ");
    log_number(log, number_at(grouping->gpu.at, i));
    log_text(log, ", external_id: ");
    log_id(grouping, external);
    log_end(log, SUTRA_LEGACY_DISCARDED);
}

/* Counts the operators that found no CPU operator, and names them. */
static enum sutra_status tell_lost(struct grouping *grouping) {
    const struct asked_field field = {external_id.name, ASK_PLACE, external_id.outside};
    const struct launched *gpu = &grouping->gpu;
    struct asked_column column;
    row_t n = 0, *lost = arena_take(grouping->scratch, gpu->n, sizeof *lost);
    for (row_t i = 0; i < gpu->n && lost; i++)
        if (gpu->found[i] == ROW_NONE)
            lost[n++] = gpu->event[i];
    grouping->report->n_gpu_without_parent += n;
    enum sutra_status status = arena_status(grouping->scratch, grouping->error);
    if (status || n == 0 || !grouping->log->line)
        return status;
    status = event_columns_ask(grouping->context, grouping->side->trace, &field, 1, lost, n, &column, grouping->error);
    for (row_t i = 0; i < gpu->n && !status; i++)
        if (gpu->found[i] == ROW_NONE)
            log_discarded(grouping, i, column.place[gpu->event[i]]);
    return status;
}

/* Keeps the operators that found a CPU operator. */
static void keep_found(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    row_t n = 0;
    for (row_t i = 0; i < gpu->n; i++) {
        if (gpu->found[i] == ROW_NONE)
            continue;
        gpu->parent[n] = grouping->side->cpu[grouping->side->segment + gpu->found[i]];
        gpu->event[n] = gpu->event[i];
        number_put(gpu->at, n++, number_at(gpu->at, i));
    }
    gpu->n = n;
}

/* Reads the "Ev Idx" of the CPU operators; those without one are refused. */
static enum sutra_status read_indexes(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    const value_key *ids = NULL;
    enum sutra_status status =
        ask_ids(grouping->context, grouping->side->trace, event_index, gpu->parent, gpu->n, &ids, grouping->error);
    row_t n = 0;
    for (row_t i = 0; i < gpu->n && !status; i++) {
        value_key index = ids[gpu->parent[i]];
        if (index == KEY_ABSENT || index == KEY_UNHASHABLE) {
            status = refuse(grouping, gpu->parent[i],
                            "this CPU operator launches GPU activities but has no args[\"Ev Idx\"]");
            continue;
        }
        gpu->event[n] = gpu->event[i];
        gpu->index[n] = index;
        number_put(gpu->at, n++, number_at(gpu->at, i));
    }
    gpu->n = n;
    return status;
}

/* Sorts by launch, then into groups. */
static enum sutra_status fill_groups(struct grouping *grouping, struct gpu_groups *groups) {
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    row_t *order = arena_take(grouping->scratch, gpu->n, sizeof *order);
    enum sutra_status status = arena_status(grouping->scratch, grouping->error);
    if (!status)
        status = key_index_build(&groups->index, engine, gpu->index, gpu->n, KEY_FIRST, NULL, grouping->error);
    if (!status)
        status =
            engine->sort_numbers(engine->state, &(struct sort_numbers_step){gpu->at, gpu->n, order}, grouping->error);
    if (status)
        return status;
    row_t n_groups = key_index_number(&groups->index, gpu->index, gpu->n, groups->group_of);
    for (row_t i = 0; i < gpu->n; i++)
        groups->start[groups->group_of[i] + 2]++;
    for (row_t i = 0; i < n_groups; i++)
        groups->start[i + 2] += groups->start[i + 1];
    for (row_t i = 0; i < gpu->n; i++) {
        row_t member = groups->start[groups->group_of[order[i]] + 1]++;
        groups->event[member] = gpu->event[order[i]];
        number_put(groups->ts, member, number_at(gpu->at, order[i]));
    }
    groups->n = gpu->n;
    groups->n_groups = n_groups;
    return SUTRA_OK;
}

static struct launched launched_take(row_t n, struct arena *arena) {
    return (struct launched){.event = arena_take(arena, n, sizeof(row_t)),
                             .at = numbers_take(arena, n),
                             .found = arena_take(arena, n, sizeof(row_t)),
                             .parent = arena_take(arena, n, sizeof(row_t)),
                             .index = arena_take(arena, n, sizeof(value_key))};
}

static enum sutra_status build(struct grouping *grouping, struct gpu_groups *groups) {
    const struct device_side *side = grouping->side;
    enum sutra_status status = map_events(grouping, &grouping->launches, external_id, side->launch, side->n_launches);
    if (!status)
        status = find_moments(grouping);
    if (!status)
        status = find_parents(grouping);
    if (!status)
        status = tell_lost(grouping);
    if (!status) {
        keep_found(grouping);
        status = read_indexes(grouping);
    }
    return status ? status : fill_groups(grouping, groups);
}

enum sutra_status gpu_groups_build(struct gpu_groups *groups, struct sutra_context *context,
                                   const struct device_side *side, struct legacy_log *log,
                                   struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error) {
    row_t n = side->n_gpu;
    struct arena scratch = {0};
    struct grouping grouping = {.context = context,
                                .side = side,
                                .log = log,
                                .report = report,
                                .scratch = &scratch,
                                .error = error,
                                .gpu = launched_take(n, &scratch)};
    *groups = (struct gpu_groups){.event = arena_take(arena, n, sizeof *groups->event),
                                  .ts = numbers_take(arena, n),
                                  .start = arena_zeros(arena, (size_t)n + 3, sizeof *groups->start),
                                  .group_of = arena_take(arena, n, sizeof *groups->group_of)};
    enum sutra_status status = scratch.failed || arena->failed ? error_memory(error) : build(&grouping, groups);
    key_index_free(&grouping.launches.index);
    key_index_free(&grouping.starts.index);
    key_index_free(&grouping.finishes.index);
    arena_free(&scratch);
    return status;
}

enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error) {
    const value_key *ids = NULL;
    enum sutra_status status = ask_ids(context, trace, event_index, event, n, &ids, error);
    for (row_t i = 0; i < n && !status; i++) {
        value_key index = event[i] == ROW_NONE ? KEY_ABSENT : ids[event[i]];
        bool known = index != KEY_ABSENT && index != KEY_UNHASHABLE;
        row_t found = known ? key_index_find(&groups->index, index) : ROW_NONE;
        group[i] = found == ROW_NONE ? ROW_NONE : groups->group_of[found];
    }
    return status;
}
