/*
 * device_ops.c - sorting and filtering events, choosing a segment, putting in the markers. O(n log n) to sort, else
 * O(n).
 *
 *     CPU operators by start   a b [DataLoader] c d e [DataLoader] f g h
 *     segments                 |      0       |        1         |  2  |    a segment ends with the first operator that
 *                                                                           begins when an annotated one has ended
 *     the chosen one, listed   process thread c d e ...                     a marker before each thread's first operator
 */
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"
#include "facts/times.h"
#include "legacy/device_ops.h"
#include "match/key_index.h"
#include "read/event_columns.h"
#include "text/numbers.h"
#include "text/strings.h"

/*
 * Finding launches by external id and the CPU operators that run when they end. O(n log n).
 *
 *     GPU operator  --"External id"--> launch, or else a flow --> the moment when the launch ended
 *     moment        --runs then-->     CPU operator of the segment --"Ev Idx"--> its group
 *
 * What lacks a link of this chain is an error (lenient: counted), or, without a CPU operator, told and left out.
 */

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

/* Host operators that the device trace lacks, as the older program takes it: a process and two threads. */
#define MARKERS_EXPECTED 3

static bool is_launch(uint32_t category, uint32_t name) {
    return category & CATEGORY_CALL && name & NAME_LAUNCH;
}

static void take_event(struct device_side *side, const struct string_roles *roles, row_t event) {
    const struct device_events *events = &side->trace->events;
    uint32_t category = category_roles(events, roles, event), name = name_roles(events, roles, event);
    if (name & NAME_STEP)
        side->step[side->n_steps++] = event;
    else if (category & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        side->cpu[side->n_cpu++] = event;
    else if (category & CATEGORY_LINKED_WORK)
        side->gpu[side->n_gpu++] = event;
    else if (category & CATEGORY_SET)
        side->n_memory_sets++;
    else if (category & CATEGORY_LAUNCH_FLOW && events->phase[event] == 's')
        side->flow_start[side->n_flow_start++] = event;
    else if (category & CATEGORY_LAUNCH_FLOW && events->phase[event] == 'f')
        side->flow_finish[side->n_flow_finish++] = event;
    else if (is_launch(category, name))
        side->launch[side->n_launches++] = event;
}

static struct device_side side_take(const struct sutra_device_trace *trace, struct arena *arena) {
    row_t n = trace->events.n;
    return (struct device_side){.trace = trace,
                                .cpu = arena_take(arena, n, sizeof(row_t)),
                                .launch = arena_take(arena, n, sizeof(row_t)),
                                .gpu = arena_take(arena, n, sizeof(row_t)),
                                .step = arena_take(arena, n, sizeof(row_t)),
                                .flow_start = arena_take(arena, n, sizeof(row_t)),
                                .flow_finish = arena_take(arena, n, sizeof(row_t))};
}

enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error) {
    row_t n = trace->events.n;
    *side = side_take(trace, arena);
    struct arena_mark mark = arena_mark(arena);
    row_t *order = arena_take(arena, n, sizeof *order);
    enum reader reader = all_launches ? READER_LINKER : READER_OLDER_LINKER;
    struct string_roles *roles = names_find(&trace->strings, reader, arena);
    struct sort_numbers_step by_start = {trace->events.ts, n, order};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = context->engine.sort_numbers(context->engine.state, &by_start, error);
    for (row_t i = 0; i < n && !status; i++)
        take_event(side, roles, order[i]);
    arena_release(arena, mark);
    return status;
}

/* The segments while they are cut, and the best so far. */
struct cutting {
    struct device_side *side;
    row_t begin;     /* of the open segment */
    uint64_t wanted; /* operators, MARKERS_EXPECTED more than the best would have */
    uint64_t off_by; /* of the best */
};

static void close_segment(struct cutting *cutting, row_t end) {
    struct device_side *side = cutting->side;
    uint64_t length = (uint64_t)(end - cutting->begin) + MARKERS_EXPECTED;
    uint64_t off_by = length > cutting->wanted ? length - cutting->wanted : cutting->wanted - length;
    if (side->n_segments == 0 || off_by < cutting->off_by) {
        cutting->off_by = off_by;
        side->segment = cutting->begin;
        side->n_segment = end - cutting->begin;
    }
    side->n_segments++;
    cutting->begin = end;
}

/* A segment ends with the first operator that begins when an annotated one has ended; the rest is one more. */
static void cut_segments(struct cutting *cutting, const uint8_t *annotated) {
    struct device_side *side = cutting->side;
    const struct device_events *events = &side->trace->events;
    const struct number zero = number_integer(0);
    struct number end = number_integer(-1);
    bool seen = false;
    for (row_t i = 0; i < side->n_cpu; i++) {
        row_t event = side->cpu[i];
        struct number ts = number_at(events->ts, event);
        if (number_compare(end, zero) > 0 && number_compare(ts, end) >= 0) {
            close_segment(cutting, i);
            end = number_integer(-1);
        }
        if (annotated[events->name[event]]) {
            end = number_add(ts, number_at(events->dur, event));
            seen = true;
        }
    }
    if (seen)
        close_segment(cutting, side->n_cpu);
}

/* The mean of the durations of all profiler steps, summed as Python does: exactly while there are integers only. The
 * order of the sum is that of the sorted trace. */
static void log_latency(const struct device_side *side, struct legacy_log *log) {
    const struct number_column dur = side->trace->events.dur;
    __extension__ __int128 whole = 0;
    double real = 0;
    bool is_real = false;
    for (row_t i = 0; i < side->n_steps; i++) {
        struct number x = number_at(dur, side->step[i]);
        if (!is_real && number_is_double(x)) {
            is_real = true;
            real = (double)whole;
        }
        if (is_real)
            real += number_as_double(x);
        else
            whole += (int64_t)x.bits;
    }
    if (side->n_steps == 0)
        return;
    log_text(log, "Average iteration latency: ");
    log_number(log, number_double((is_real ? real : (double)whole) / side->n_steps));
    log_end(log, SUTRA_LEGACY_INFO);
}

void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log) {
    struct cutting cutting = {.side = side, .wanted = n_host_ops};
    cut_segments(&cutting, names->annotated);
    log_info(log, "Kineto trace has %u segments", side->n_segments);
    if (side->n_segments == 0) {
        side->n_segment = side->n_cpu;
        log_text(log, "Could not find annotation ");
        log_bytes(log, annotation, strlen(annotation));
        log_text(log, " in kineto file using the whole file, processing could be very slow!!");
        log_end(log, SUTRA_LEGACY_WARNING);
    }
    log_info(log, "Number of original cpu ops in kineto trace: %u", side->n_segment);
    log_info(log, "Number of original gpu ops in kineto trace: %u", side->n_gpu);
    log_latency(side, log);
}

/* A thread as its operators in the segment show it. */
struct thread_span {
    row_t first; /* operator of the segment */
    struct number end;
};

static struct number op_end(const struct device_side *side, row_t event) {
    const struct device_events *events = &side->trace->events;
    return number_add(number_at(events->ts, event), number_at(events->dur, event));
}

/* Numbers the threads of the segment as they are first seen and finds where each ends. */
static enum sutra_status find_threads(struct device_side *side, struct sutra_context *context, struct arena *scratch,
                                      row_t *thread, struct thread_span *spans, struct sutra_error *error) {
    const row_t *ops = side->cpu + side->segment;
    struct key_index index = {0};
    enum sutra_status status = threads_number(&side->trace->events, ops, side->n_segment, &context->engine, scratch,
                                              &index, thread, &side->n_threads, error);
    for (row_t i = 0, n_seen = 0; i < side->n_segment && !status; i++) {
        struct number end = op_end(side, ops[i]);
        struct thread_span *span = &spans[thread[i]];
        if (thread[i] == n_seen)
            spans[n_seen++] = (struct thread_span){i, end};
        else if (number_compare(end, span->end) > 0)
            span->end = end;
    }
    key_index_free(&index);
    return status;
}

/* Appends to the list. */
static void put(struct device_side *side, uint32_t name, row_t event, row_t thread, struct number ts,
                struct number dur) {
    row_t i = side->n++;
    side->name[i] = name;
    side->event[i] = event;
    side->thread[i] = thread;
    number_put(side->ts, i, ts);
    number_put(side->dur, i, dur);
}

static void fill_list(struct device_side *side, const struct legacy_names *names, const row_t *thread,
                      const struct thread_span *spans) {
    const struct device_events *events = &side->trace->events;
    const row_t *ops = side->cpu + side->segment;
    struct number begin = number_at(events->ts, ops[0]), end = number_integer(-1);
    for (row_t i = 0; i < side->n_threads; i++)
        if (number_compare(spans[i].end, end) > 0)
            end = spans[i].end;
    put(side, names->process, ROW_NONE, ROW_NONE, begin, number_subtract(end, begin));
    for (row_t i = 0; i < side->n_segment; i++) {
        struct number ts = number_at(events->ts, ops[i]);
        const struct thread_span *span = &spans[thread[i]];
        if (span->first == i)
            put(side, names->thread, ROW_NONE, thread[i], ts, number_subtract(span->end, ts));
        put(side, events->name[ops[i]], ops[i], thread[i], ts, number_at(events->dur, ops[i]));
    }
}

static void list_take(struct device_side *side, row_t n, struct arena *arena) {
    side->name = arena_take(arena, n, sizeof *side->name);
    side->event = arena_take(arena, n, sizeof *side->event);
    side->thread = arena_take(arena, n, sizeof *side->thread);
    side->ts = numbers_take(arena, n);
    side->dur = numbers_take(arena, n);
}

static enum sutra_status make_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *scratch, struct arena *arena,
                                   struct sutra_error *error) {
    row_t *thread = arena_take(scratch, side->n_segment, sizeof *thread);
    struct thread_span *spans = arena_take(scratch, side->n_segment, sizeof *spans);
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        status = find_threads(side, context, scratch, thread, spans, error);
    if (!status && (uint64_t)side->n_segment + side->n_threads + 1 > ROW_LIMIT)
        status = error_file(error, SUTRA_DATA, side->trace->document.source.name, "too many operators: cut the trace");
    if (status)
        return status;
    list_take(side, side->n_segment + side->n_threads + 1, arena);
    if (!arena->failed)
        fill_list(side, names, thread, spans);
    return arena_status(arena, error);
}

enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error) {
    struct arena scratch = {0};
    if (side->n_segment == 0)
        return error_file(error, SUTRA_DATA, side->trace->document.source.name,
                          "there are no CPU operators (category cpu_op or user_annotation): record with CPU activity");
    enum sutra_status status = make_list(side, context, names, &scratch, arena, error);
    arena_free(&scratch);
    return status;
}
