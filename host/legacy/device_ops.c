/*
 * device_ops.c - the device side of legacy.h: sorts and filters the events, selects a segment, adds the markers, and
 * groups GPU operators by CPU operator.
 *
 *     CPU operators by start   a b [DataLoader] c d e [DataLoader] f g h
 * segments                 |      0       |        1         |  2  |    a segment ends before the first operator that
 *                                                                           starts after the end of an annotated one
 * the selected one, listed process thread c d e ...                     a marker before each thread's first operator
 *
 *     GPU operator  --"External id"--> launch, or else a flow --> end of the launch
 *     that time     --runs then-->     CPU operator of the segment --"Ev Idx"--> its group
 *
 * A GPU operator without a launch, or whose CPU operator has no "Ev Idx", is an error (lenient: skipped and counted). A
 * GPU operator without a CPU operator is skipped and reported. Cost: O(n log n) to sort, else O(n).
 */
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/times.h"
#include "legacy/legacy.h"
#include "match/key_index.h"
#include "read/event_columns.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Groups of GPU operators ---- */

/* Ids that connect events. */
static const struct requested_field external_id = {"External id", ASK_KEY, false},
                                    event_index = {"Ev Idx", ASK_KEY, false}, flow_id = {"id", ASK_KEY, true};

/* GPU operators with the end of their launch, then with the CPU operator that ran at that time. */
struct launched {
    row_t *event;
    struct number_column at; /* end of the launch */
    row_t *found;            /* operator of the segment */
    value_key *index;        /* the CPU operator's "Ev Idx" */
    row_t n;
};

/* A map from ids to the last event with each id, as a Python dictionary. */
struct event_map {
    const row_t *event;
    struct launch_index index;
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

/* (*ids)[event] = the field of each event. As in Python, 5 and "5" differ. */
static enum sutra_status ask_ids(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 struct requested_field field, const row_t *event, row_t n, const value_key **ids,
                                 struct sutra_error *error) {
    struct requested_column column;
    TRY(event_columns_request(context, trace, &field, 1, event, n, &column, error));
    *ids = column.key;
    return SUTRA_OK;
}

static enum sutra_status map_events(struct grouping *grouping, struct event_map *map, struct requested_field field,
                                    const row_t *event, row_t n) {
    struct arena_mark mark = arena_mark(grouping->scratch);
    value_key *keys = arena_alloc(grouping->scratch, n, sizeof *keys);
    const value_key *ids = NULL;
    TRY(arena_status(grouping->scratch, grouping->error));
    TRY(ask_ids(grouping->context, grouping->side->trace, field, event, n, &ids, grouping->error));
    for (row_t i = 0; i < n; i++)
        keys[i] = ids[event[i]];
    TRY(launch_index_build(&map->index, &grouping->context->engine, keys, (struct number_column){0}, n, LAUNCH_LAST,
                           grouping->scratch, grouping->error));
    map->event = event;
    map->made = true;
    arena_release(grouping->scratch, mark);
    return SUTRA_OK;
}

static row_t map_find(const struct event_map *map, value_key key) {
    row_t found = map->made && key != KEY_ABSENT ? launch_index_find(&map->index, key) : ROW_NONE;
    return found == ROW_NONE ? ROW_NONE : map->event[found];
}

/* Skips and counts an event that cannot be linked (lenient), or fails. */
static enum sutra_status refuse(struct grouping *grouping, row_t event, const char *why) {
    if (grouping->context->options.lenient) {
        grouping->report->n_gpu_without_launch++;
        return SUTRA_OK;
    }
    return source_error(&grouping->side->trace->document.source, grouping->error,
                        grouping->side->trace->events.text[event], "event %u: %s (--lenient skips such events)", event,
                        why);
}

/* Finds the launch of each GPU operator by external id, or else its flow. Flows are mapped on first use. */
static enum sutra_status find_launches(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    const struct device_side *side = grouping->side;
    const struct device_events *events = &side->trace->events;
    const value_key *ids = NULL;
    TRY(ask_ids(grouping->context, side->trace, external_id, side->gpu, side->n_gpu, &ids, grouping->error));
    for (row_t i = 0; i < side->n_gpu; i++) {
        value_key external = ids[side->gpu[i]];
        if (external == KEY_ABSENT || external == KEY_UNHASHABLE) {
            TRY(refuse(grouping, side->gpu[i], "this GPU activity has no args[\"External id\"]"));
            continue;
        }
        row_t launch = map_find(&grouping->launches, external), flow = ROW_NONE;
        if (launch == ROW_NONE && !grouping->starts.made) {
            TRY(map_events(grouping, &grouping->starts, flow_id, side->flow_start, side->n_flow_start));
            TRY(map_events(grouping, &grouping->finishes, flow_id, side->flow_finish, side->n_flow_finish));
        }
        if (launch == ROW_NONE)
            flow = map_find(&grouping->starts, external);
        if (launch == ROW_NONE && flow == ROW_NONE)
            flow = map_find(&grouping->finishes, external);
        if (launch == ROW_NONE && flow == ROW_NONE) {
            TRY(refuse(grouping, side->gpu[i], "no launch and no flow event has the external id of this GPU activity"));
            continue;
        }
        struct number at = launch == ROW_NONE
                               ? number_at(events->ts, flow)
                               : number_add(number_at(events->ts, launch), number_at(events->dur, launch));
        gpu->event[gpu->n] = side->gpu[i];
        number_set(gpu->at, gpu->n++, at);
    }
    return SUTRA_OK;
}

/* Finds the CPU operator of the segment that ran at the end of each launch. */
static enum sutra_status find_parents(struct grouping *grouping) {
    const struct device_side *side = grouping->side;
    const struct device_events *events = &side->trace->events;
    struct arena_mark mark = arena_mark(grouping->scratch);
    struct number_column ts = numbers_alloc(grouping->scratch, side->n_segment);
    struct number_column dur = numbers_alloc(grouping->scratch, side->n_segment);
    TRY(arena_status(grouping->scratch, grouping->error));
    for (row_t i = 0; i < side->n_segment; i++) {
        row_t event = side->cpu[side->segment + i];
        number_set(ts, i, number_at(events->ts, event));
        number_set(dur, i, number_at(events->dur, event));
    }
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    struct covering_ops_step step = {ts, dur, side->n_segment, gpu->at, gpu->n, gpu->found};
    TRY(engine->covering_ops(engine->state, &step, grouping->error));
    arena_release(grouping->scratch, mark);
    return SUTRA_OK;
}

/* Logs an id as Python's str() does. */
static void log_id(const struct grouping *grouping, struct json_span place) {
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

/* Counts and logs the operators without a CPU operator. */
static enum sutra_status report_unmatched(struct grouping *grouping) {
    const struct requested_field field = {external_id.name, ASK_PLACE, external_id.outside};
    const struct sutra_device_trace *trace = grouping->side->trace;
    const struct launched *gpu = &grouping->gpu;
    struct legacy_log *log = grouping->log;
    struct requested_column column;
    row_t n = 0, *unmatched = arena_alloc(grouping->scratch, gpu->n, sizeof *unmatched);
    for (row_t i = 0; i < gpu->n && unmatched; i++)
        if (gpu->found[i] == ROW_NONE)
            unmatched[n++] = gpu->event[i];
    grouping->report->n_gpu_without_parent += n;
    TRY(arena_status(grouping->scratch, grouping->error));
    if (n == 0 || !log->line)
        return SUTRA_OK;
    TRY(event_columns_request(grouping->context, trace, &field, 1, unmatched, n, &column, grouping->error));
    for (row_t i = 0; i < gpu->n; i++) {
        if (gpu->found[i] != ROW_NONE)
            continue;
        uint32_t name = trace->events.name[gpu->event[i]];
        log_text(log,
                 "Warning! the parent cpu_op for the following gpu_op is not foundand hence it is discarded. gpu_op "
                 "name: ");
        log_bytes(log, strings_text(&trace->strings, name), strings_length(&trace->strings, name));
        log_text(log, ", ts: ");
        log_number(log, number_at(gpu->at, i));
        log_text(log, ", external_id: ");
        log_id(grouping, column.place[gpu->event[i]]);
        log_end(log, SUTRA_LEGACY_DISCARDED);
    }
    return SUTRA_OK;
}

/* Keeps the operators with a CPU operator, and reads the "Ev Idx" of the CPU operators. */
static enum sutra_status read_indexes(struct grouping *grouping) {
    struct launched *gpu = &grouping->gpu;
    const row_t *segment = grouping->side->cpu + grouping->side->segment;
    row_t n_found = 0, n = 0, *parent = arena_alloc(grouping->scratch, gpu->n, sizeof *parent);
    const value_key *ids = NULL;
    TRY(arena_status(grouping->scratch, grouping->error));
    for (row_t i = 0; i < gpu->n; i++) {
        if (gpu->found[i] == ROW_NONE)
            continue;
        parent[n_found] = segment[gpu->found[i]];
        gpu->event[n_found] = gpu->event[i];
        number_set(gpu->at, n_found++, number_at(gpu->at, i));
    }
    TRY(ask_ids(grouping->context, grouping->side->trace, event_index, parent, n_found, &ids, grouping->error));
    for (row_t i = 0; i < n_found; i++) {
        value_key index = ids[parent[i]];
        if (index == KEY_ABSENT || index == KEY_UNHASHABLE) {
            TRY(refuse(grouping, parent[i], "this CPU operator launches GPU activities but has no args[\"Ev Idx\"]"));
            continue;
        }
        gpu->event[n] = gpu->event[i];
        gpu->index[n] = index;
        number_set(gpu->at, n++, number_at(gpu->at, i));
    }
    gpu->n = n;
    return SUTRA_OK;
}

/* Sorts the operators by launch, then by group. */
static enum sutra_status fill_groups(struct grouping *grouping, struct gpu_groups *groups) {
    struct launched *gpu = &grouping->gpu;
    const struct engine *engine = &grouping->context->engine;
    row_t *order = arena_alloc(grouping->scratch, gpu->n, sizeof *order);
    TRY(arena_status(grouping->scratch, grouping->error));
    TRY(key_index_build(&groups->index, engine, gpu->index, gpu->n, KEY_FIRST, NULL, grouping->error));
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){gpu->at, gpu->n, order}, grouping->error));
    row_t n_groups = key_index_number(&groups->index, gpu->index, gpu->n, groups->group_of);
    for (row_t i = 0; i < gpu->n; i++)
        groups->start[groups->group_of[i] + 2]++;
    for (row_t i = 0; i < n_groups; i++)
        groups->start[i + 2] += groups->start[i + 1];
    for (row_t i = 0; i < gpu->n; i++) {
        row_t member = groups->start[groups->group_of[order[i]] + 1]++;
        groups->event[member] = gpu->event[order[i]];
        number_set(groups->ts, member, number_at(gpu->at, order[i]));
    }
    groups->n = gpu->n;
    groups->n_groups = n_groups;
    return SUTRA_OK;
}

static enum sutra_status group_events(struct grouping *grouping, struct gpu_groups *groups) {
    const struct device_side *side = grouping->side;
    TRY(map_events(grouping, &grouping->launches, external_id, side->launch, side->n_launches));
    TRY(find_launches(grouping));
    TRY(find_parents(grouping));
    TRY(report_unmatched(grouping));
    TRY(read_indexes(grouping));
    return fill_groups(grouping, groups);
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
                                .gpu = {.event = arena_alloc(&scratch, n, sizeof(row_t)),
                                        .at = numbers_alloc(&scratch, n),
                                        .found = arena_alloc(&scratch, n, sizeof(row_t)),
                                        .index = arena_alloc(&scratch, n, sizeof(value_key))}};
    *groups = (struct gpu_groups){.event = arena_alloc(arena, n, sizeof *groups->event),
                                  .ts = numbers_alloc(arena, n),
                                  .start = arena_zeros(arena, (size_t)n + 3, sizeof *groups->start),
                                  .group_of = arena_alloc(arena, n, sizeof *groups->group_of)};
    enum sutra_status status = scratch.failed || arena->failed ? error_memory(error) : group_events(&grouping, groups);
    launch_index_free(&grouping.launches.index);
    launch_index_free(&grouping.starts.index);
    launch_index_free(&grouping.finishes.index);
    arena_free(&scratch);
    return status;
}

enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error) {
    const value_key *ids = NULL;
    TRY(ask_ids(context, trace, event_index, event, n, &ids, error));
    for (row_t i = 0; i < n; i++) {
        value_key index = event[i] == ROW_NONE ? KEY_ABSENT : ids[event[i]];
        bool known = index != KEY_ABSENT && index != KEY_UNHASHABLE;
        row_t found = known ? key_index_find(&groups->index, index) : ROW_NONE;
        group[i] = found == ROW_NONE ? ROW_NONE : groups->group_of[found];
    }
    return SUTRA_OK;
}

/* ---- Segments and markers ---- */

/* Host operators without an event, as the older program assumes: a process and two threads. */
#define MARKERS_EXPECTED 3

enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    row_t n = events->n;
    *side = (struct device_side){.trace = trace,
                                 .cpu = arena_alloc(arena, n, sizeof(row_t)),
                                 .launch = arena_alloc(arena, n, sizeof(row_t)),
                                 .gpu = arena_alloc(arena, n, sizeof(row_t)),
                                 .step = arena_alloc(arena, n, sizeof(row_t)),
                                 .flow_start = arena_alloc(arena, n, sizeof(row_t)),
                                 .flow_finish = arena_alloc(arena, n, sizeof(row_t))};
    struct arena_mark mark = arena_mark(arena);
    row_t *order = arena_alloc(arena, n, sizeof *order);
    enum reader reader = all_launches ? READER_LINKER : READER_OLDER_LINKER;
    struct string_roles *roles = names_find(&trace->strings, reader, arena);
    struct sort_numbers_step by_start = {events->ts, n, order};
    TRY(arena_status(arena, error));
    TRY(context->engine.sort_numbers(context->engine.state, &by_start, error));
    for (row_t i = 0; i < n; i++) {
        row_t event = order[i];
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
        else if (category & CATEGORY_CALL && name & NAME_LAUNCH)
            side->launch[side->n_launches++] = event;
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* Ends the segment that starts at `begin`; *off_by is the difference of the best segment's length to `n_wanted`. */
static void close_segment(struct device_side *side, row_t begin, row_t end, uint64_t n_wanted, uint64_t *off_by) {
    uint64_t length = (uint64_t)(end - begin) + MARKERS_EXPECTED;
    uint64_t difference = length > n_wanted ? length - n_wanted : n_wanted - length;
    if (side->n_segments == 0 || difference < *off_by) {
        *off_by = difference;
        side->segment = begin;
        side->n_segment = end - begin;
    }
    side->n_segments++;
}

void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log) {
    const struct device_events *events = &side->trace->events;
    const struct number zero = number_integer(0);
    struct number end = number_integer(-1); /* of the last annotated operator; negative after a segment ended */
    bool any_annotated = false;
    row_t begin = 0;
    uint64_t off_by = 0;
    for (row_t i = 0; i < side->n_cpu; i++) {
        row_t event = side->cpu[i];
        struct number ts = number_at(events->ts, event);
        if (number_compare(end, zero) > 0 && number_compare(ts, end) >= 0) {
            close_segment(side, begin, i, n_host_ops, &off_by);
            begin = i;
            end = number_integer(-1);
        }
        if (names->annotated[events->name[event]]) {
            end = number_add(ts, number_at(events->dur, event));
            any_annotated = true;
        }
    }
    if (any_annotated) /* the rest is a segment too */
        close_segment(side, begin, side->n_cpu, n_host_ops, &off_by);
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

    /* The mean duration of all profiler steps. The sum is computed as in Python, in the order of the sorted trace:
     * exactly while all durations are integers. */
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
    if (side->n_steps > 0) {
        log_text(log, "Average iteration latency: ");
        log_number(log, number_double((is_real ? real : (double)whole) / side->n_steps));
        log_end(log, SUTRA_LEGACY_INFO);
    }
}

/* The operators of a thread in the segment. */
struct thread_span {
    row_t first; /* operator of the segment */
    struct number end;
};

/* Appends to the list. */
static void append_op(struct device_side *side, uint32_t name, row_t event, row_t thread, struct number ts,
                      struct number dur) {
    row_t i = side->n++;
    side->name[i] = name;
    side->event[i] = event;
    side->thread[i] = thread;
    number_set(side->ts, i, ts);
    number_set(side->dur, i, dur);
}

static enum sutra_status list_ops(struct device_side *side, struct sutra_context *context,
                                  const struct legacy_names *names, struct arena *scratch, struct arena *arena,
                                  struct sutra_error *error) {
    const struct device_events *events = &side->trace->events;
    const row_t *ops = side->cpu + side->segment;
    row_t *thread = arena_alloc(scratch, side->n_segment, sizeof *thread);
    struct thread_span *spans = arena_alloc(scratch, side->n_segment, sizeof *spans);
    TRY(arena_status(scratch, error));

    /* Number the threads in order of first use, and find the first operator and the end of each. */
    struct key_index index = {0};
    TRY(threads_number(events, ops, side->n_segment, &context->engine, scratch, &index, thread, &side->n_threads,
                       error));
    key_index_free(&index);
    for (row_t i = 0, n_threads = 0; i < side->n_segment; i++) {
        struct number end = number_add(number_at(events->ts, ops[i]), number_at(events->dur, ops[i]));
        struct thread_span *span = &spans[thread[i]];
        if (thread[i] == n_threads)
            spans[n_threads++] = (struct thread_span){i, end};
        else if (number_compare(end, span->end) > 0)
            span->end = end;
    }
    if ((uint64_t)side->n_segment + side->n_threads + 1 > ROW_LIMIT)
        return error_file(error, SUTRA_DATA, side->trace->document.source.name, "too many operators: cut the trace");
    row_t n = side->n_segment + side->n_threads + 1;
    side->name = arena_alloc(arena, n, sizeof *side->name);
    side->event = arena_alloc(arena, n, sizeof *side->event);
    side->thread = arena_alloc(arena, n, sizeof *side->thread);
    side->ts = numbers_alloc(arena, n);
    side->dur = numbers_alloc(arena, n);
    TRY(arena_status(arena, error));

    side->n = 0;
    struct number begin = number_at(events->ts, ops[0]), end = number_integer(-1);
    for (row_t i = 0; i < side->n_threads; i++)
        if (number_compare(spans[i].end, end) > 0)
            end = spans[i].end;
    append_op(side, names->process, ROW_NONE, ROW_NONE, begin, number_subtract(end, begin));
    for (row_t i = 0; i < side->n_segment; i++) {
        struct number ts = number_at(events->ts, ops[i]);
        const struct thread_span *span = &spans[thread[i]];
        if (span->first == i)
            append_op(side, names->thread, ROW_NONE, thread[i], ts, number_subtract(span->end, ts));
        append_op(side, events->name[ops[i]], ops[i], thread[i], ts, number_at(events->dur, ops[i]));
    }
    return SUTRA_OK;
}

enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error) {
    struct arena scratch = {0};
    if (side->n_segment == 0 && device_trace_check_events(side->trace, error))
        return SUTRA_DATA;
    if (side->n_segment == 0)
        return error_file(error, SUTRA_DATA, side->trace->document.source.name,
                          "there are no CPU operators (category cpu_op or user_annotation): record with CPU activity");
    enum sutra_status status = list_ops(side, context, names, &scratch, arena, error);
    arena_free(&scratch);
    return status;
}
