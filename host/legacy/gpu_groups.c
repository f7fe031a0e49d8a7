/*
 * gpu_groups.c - finding launches by external id and the CPU operators that run when they end. O(n log n).
 */
#include "legacy/gpu_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "legacy/event_keys.h"
#include "text/number_text.h"
#include "text/string_text.h"

/* GPU operators with the moment of their launch; then with the CPU operator that they found. */
struct launched {
    row_t *event;
    value_key *external;
    struct json_place *place; /* of the external id */
    struct number_column at;
    row_t *found;     /* place in the segment */
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
    struct sutra_error *error;
    struct launched gpu;
    struct event_map launches, starts, finishes;
};

static enum sutra_status map_events(struct grouping *grouping, struct event_map *map, enum event_field field,
                                    const row_t *event, row_t n) {
    value_key *keys = column_new(n, sizeof *keys);
    enum sutra_status status = keys ? SUTRA_OK : error_memory(grouping->error);
    if (!status)
        status =
            event_keys_read(grouping->context, grouping->side->trace, field, event, n, keys, NULL, grouping->error);
    if (!status)
        status = key_index_build(&map->index, &grouping->context->engine, keys, n, KEY_LAST, NULL, grouping->error);
    map->event = event;
    map->made = !status;
    free(keys);
    return status;
}

static row_t map_find(const struct event_map *map, value_key key) {
    row_t place = map->made && key != KEY_ABSENT ? key_index_find(&map->index, key) : ROW_NONE;
    return place == ROW_NONE ? ROW_NONE : map->event[place];
}

/* Arrows are only looked at when an operator has no launch. */
static enum sutra_status map_arrows(struct grouping *grouping) {
    const struct device_side *side = grouping->side;
    if (grouping->starts.made)
        return SUTRA_OK;
    enum sutra_status status =
        map_events(grouping, &grouping->starts, FIELD_ID, side->arrow_start, side->n_arrow_start);
    return status ? status
                  : map_events(grouping, &grouping->finishes, FIELD_ID, side->arrow_finish, side->n_arrow_finish);
}

/* An operator that cannot be placed: an error, or left out and counted. */
static enum sutra_status refuse(struct grouping *grouping, row_t event, const char *why) {
    if (grouping->context->options.lenient) {
        grouping->report->n_gpu_without_launch++;
        return SUTRA_OK;
    }
    return source_error(&grouping->side->trace->document.source, grouping->error,
                        grouping->side->trace->events.text[event], "event %u: %s (--lenient leaves such events out)",
                        event, why);
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
    enum sutra_status status = event_keys_read(grouping->context, side->trace, FIELD_EXTERNAL, side->gpu, side->n_gpu,
                                               gpu->external, gpu->place, grouping->error);
    for (row_t i = 0; i < side->n_gpu && !status; i++) {
        struct number at;
        value_key external = gpu->external[i];
        if (external == KEY_ABSENT || external == KEY_UNHASHABLE) {
            status = refuse(grouping, side->gpu[i], "this GPU operator has no args[\"External id\"]");
            continue;
        }
        if (map_find(&grouping->launches, external) == ROW_NONE && (status = map_arrows(grouping)))
            break;
        if (!launch_moment(grouping, external, &at)) {
            status = refuse(grouping, side->gpu[i], "no launch and no arrow has the external id of this GPU operator");
            continue;
        }
        gpu->event[gpu->n] = side->gpu[i];
        gpu->place[gpu->n] = gpu->place[i];
        gpu->at.bits[gpu->n] = at.bits;
        gpu->at.kind[gpu->n++] = at.kind;
    }
    return status;
}

static enum sutra_status find_parents(struct grouping *grouping) {
    const struct device_side *side = grouping->side;
    const struct device_events *events = &side->trace->events;
    struct number_column ts = {column_new(side->n_segment, sizeof *ts.bits), column_new(side->n_segment, 1)};
    struct number_column dur = {column_new(side->n_segment, sizeof *dur.bits), column_new(side->n_segment, 1)};
    bool ok = ts.bits && ts.kind && dur.bits && dur.kind;
    for (row_t i = 0; ok && i < side->n_segment; i++) {
        row_t event = side->cpu[side->segment + i];
        ts.bits[i] = events->ts.bits[event];
        ts.kind[i] = events->ts.kind[event];
        dur.bits[i] = events->dur.bits[event];
        dur.kind[i] = events->dur.kind[event];
    }
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    enum sutra_status status =
        ok ? engine->covering_ops(engine->state, ts, dur, side->n_segment, gpu->at, gpu->n, gpu->found, grouping->error)
           : error_memory(grouping->error);
    free(ts.bits);
    free(ts.kind);
    free(dur.bits);
    free(dur.kind);
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

static void log_discarded(const struct grouping *grouping, row_t i) {
    struct legacy_log *log = grouping->log;
    const struct sutra_device_trace *trace = grouping->side->trace;
    uint32_t name = trace->events.name[grouping->gpu.event[i]];
    if (!log->line)
        return;
    log_text(log, "Warning! the parent cpu_op for the following gpu_op is not foundand hence it is discarded. gpu_op "
                  "name: ");
    log_bytes(log, strings_text(&trace->strings, name), strings_length(&trace->strings, name));
    log_text(log, ", ts: ");
    log_number(log, number_at(grouping->gpu.at, i));
    log_text(log, ", external_id: ");
    log_id(grouping, grouping->gpu.place[i]);
    log_end(log, SUTRA_LEGACY_DISCARDED);
}

/* Keeps the operators that found a CPU operator. */
static void keep_found(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    row_t n = 0;
    for (row_t i = 0; i < gpu->n; i++) {
        if (gpu->found[i] == ROW_NONE) {
            log_discarded(grouping, i);
            grouping->report->n_gpu_without_parent++;
            continue;
        }
        gpu->parent[n] = grouping->side->cpu[grouping->side->segment + gpu->found[i]];
        gpu->event[n] = gpu->event[i];
        gpu->at.bits[n] = gpu->at.bits[i];
        gpu->at.kind[n++] = gpu->at.kind[i];
    }
    gpu->n = n;
}

/* Reads the "Ev Idx" of the CPU operators; those without one are refused. */
static enum sutra_status read_indexes(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    enum sutra_status status = event_keys_read(grouping->context, grouping->side->trace, FIELD_EVENT_INDEX, gpu->parent,
                                               gpu->n, gpu->index, NULL, grouping->error);
    row_t n = 0;
    for (row_t i = 0; i < gpu->n && !status; i++) {
        if (gpu->index[i] == KEY_ABSENT || gpu->index[i] == KEY_UNHASHABLE) {
            status = refuse(grouping, gpu->parent[i],
                            "this CPU operator launches GPU operators and has no args[\"Ev Idx\"] to tell it by");
            continue;
        }
        gpu->event[n] = gpu->event[i];
        gpu->index[n] = gpu->index[i];
        gpu->at.bits[n] = gpu->at.bits[i];
        gpu->at.kind[n++] = gpu->at.kind[i];
    }
    gpu->n = n;
    return status;
}

/* Sorts by launch, then into groups. */
static enum sutra_status fill_groups(struct grouping *grouping, struct gpu_groups *groups) {
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    row_t *order = column_new(gpu->n, sizeof *order), *group = column_new(gpu->n, sizeof *group), n_groups = 0;
    enum sutra_status status = order && group ? SUTRA_OK : error_memory(grouping->error);
    if (!status)
        status = key_index_build(&groups->index, engine, gpu->index, gpu->n, KEY_FIRST, NULL, grouping->error);
    if (!status)
        status = engine->sort_numbers(engine->state, gpu->at, gpu->n, order, grouping->error);
    for (row_t i = 0; i < gpu->n && !status; i++) {
        row_t first = key_index_find(&groups->index, gpu->index[i]);
        group[i] = first == i ? n_groups++ : group[first];
        groups->start[group[i] + 2]++;
    }
    for (row_t i = 0; i < n_groups; i++)
        groups->start[i + 2] += groups->start[i + 1];
    for (row_t i = 0; i < gpu->n && !status; i++) {
        row_t place = groups->start[group[order[i]] + 1]++;
        groups->event[place] = gpu->event[order[i]];
        groups->ts.bits[place] = gpu->at.bits[order[i]];
        groups->ts.kind[place] = gpu->at.kind[order[i]];
        groups->group_of[order[i]] = group[order[i]];
    }
    groups->n = gpu->n;
    groups->n_groups = n_groups;
    free(order);
    free(group);
    return status;
}

static bool allocate(struct grouping *grouping, struct gpu_groups *groups) {
    struct launched *gpu = &grouping->gpu;
    row_t n = grouping->side->n_gpu;
    gpu->event = column_new(n, sizeof *gpu->event);
    gpu->external = column_new(n, sizeof *gpu->external);
    gpu->place = column_new(n, sizeof *gpu->place);
    gpu->at = (struct number_column){column_new(n, sizeof *gpu->at.bits), column_new(n, sizeof *gpu->at.kind)};
    gpu->found = column_new(n, sizeof *gpu->found);
    gpu->parent = column_new(n, sizeof *gpu->parent);
    gpu->index = column_new(n, sizeof *gpu->index);
    groups->event = column_new(n, sizeof *groups->event);
    groups->group_of = column_new(n, sizeof *groups->group_of);
    groups->ts = (struct number_column){column_new(n, sizeof *groups->ts.bits), column_new(n, sizeof *groups->ts.kind)};
    groups->start = calloc((size_t)n + 3, sizeof *groups->start);
    return gpu->event && gpu->external && gpu->place && gpu->at.bits && gpu->at.kind && gpu->found && gpu->parent &&
           gpu->index && groups->event && groups->group_of && groups->ts.bits && groups->ts.kind && groups->start;
}

static void grouping_free(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    free(gpu->event);
    free(gpu->external);
    free(gpu->place);
    free(gpu->at.bits);
    free(gpu->at.kind);
    free(gpu->found);
    free(gpu->parent);
    free(gpu->index);
    key_index_free(&grouping->launches.index);
    key_index_free(&grouping->starts.index);
    key_index_free(&grouping->finishes.index);
}

enum sutra_status gpu_groups_build(struct gpu_groups *groups, struct sutra_context *context,
                                   const struct device_side *side, struct legacy_log *log,
                                   struct sutra_legacy_report *report, struct sutra_error *error) {
    struct grouping grouping = {.context = context, .side = side, .log = log, .report = report, .error = error};
    *groups = (struct gpu_groups){0};
    enum sutra_status status = allocate(&grouping, groups) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = map_events(&grouping, &grouping.launches, FIELD_EXTERNAL, side->launch, side->n_launches);
    if (!status)
        status = find_moments(&grouping);
    if (!status)
        status = find_parents(&grouping);
    if (!status) {
        keep_found(&grouping);
        status = read_indexes(&grouping);
    }
    if (!status)
        status = fill_groups(&grouping, groups);
    grouping_free(&grouping);
    return status;
}

void gpu_groups_free(struct gpu_groups *groups) {
    free(groups->event);
    free(groups->group_of);
    free(groups->ts.bits);
    free(groups->ts.kind);
    free(groups->start);
    key_index_free(&groups->index);
    *groups = (struct gpu_groups){0};
}

enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error) {
    value_key *keys = column_new(n, sizeof *keys);
    enum sutra_status status = keys ? SUTRA_OK : error_memory(error);
    if (!status)
        status = event_keys_read(context, trace, FIELD_EVENT_INDEX, event, n, keys, NULL, error);
    for (row_t i = 0; i < n && !status; i++) {
        row_t place =
            keys[i] == KEY_ABSENT || keys[i] == KEY_UNHASHABLE ? ROW_NONE : key_index_find(&groups->index, keys[i]);
        group[i] = place == ROW_NONE ? ROW_NONE : groups->group_of[place];
    }
    free(keys);
    return status;
}
