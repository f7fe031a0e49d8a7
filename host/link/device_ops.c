/*
 * device_ops.c - makes the tables of a device trace's operators (link.h).
 *
 *     events by start --classify--> CPU operators --engine--> exclusive durations, dependencies between threads
 *                                   launches
 *                                   GPU operators --correlation--> launch --thread, start, external id--> CPU operator
 *                                                                                                         or marker
 *     group      0         1      2        GPU operators by the external id of their CPU operator
 *     events     g3 g7     g1     g2 g5 g9
 *
 * Markers are operators without a duration: one for the process and one for each tid, at their first events. Operators
 * of tid 0 without an external id may match them.
 *
 *     CPU operators      a     b  c           d          by start
 *     markers         P        t1       t2
 *
 * Cost: sorts of events, and of GPU operators by external id; a binary search for each marker; otherwise O(n).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "context/context.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/times.h"
#include "link/link.h"
#include "match/key_index.h"
#include "match/rules.h"
#include "match/steps.h"
#include "read/device_trace.h"

/* Operators inspected for exclusive durations before sutra warns: about a tenth of a second. */
#define SLOW_INSPECTIONS 20000000

enum event_class event_classify(const struct device_events *events, const struct string_roles *roles, row_t event) {
    uint32_t category = category_roles(events, roles, event), name = name_roles(events, roles, event);
    if (category & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        return name & NAME_STEP ? EVENT_OTHER : EVENT_CPU_OP;
    if (category & CATEGORY_CALL)
        return name & NAME_LAUNCH ? EVENT_LAUNCH : EVENT_OTHER;
    if (category & CATEGORY_LINKED_WORK)
        return EVENT_GPU_OP;
    if (category & CATEGORY_SET)
        return EVENT_MEMORY_SET;
    return category & CATEGORY_LAUNCH_FLOW ? EVENT_LAUNCH_FLOW : EVENT_OTHER;
}

/* The inputs of device_ops_build(), and tables that are needed only while it runs. */
struct op_build {
    struct device_ops *ops;
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    bool any_call;       /* calls of any name are launches */
    struct arena *arena; /* of the results */
    struct arena scratch;
    struct sutra_error *error;

    row_t *launch, *gpu; /* events by class, in sorted order */
    row_t n_launches, n_gpu;
    struct key_index threads; /* tid -> first CPU operator of it */

    struct op_markers markers;

    struct launch_index launches; /* by correlation */
};

/* Whether all allocations so far succeeded. */
static enum sutra_status check_arenas(const struct op_build *build) {
    TRY(arena_status(build->arena, build->error));
    return arena_status(&build->scratch, build->error);
}

/* A field of the wrong type is an error; lenient: it is counted and ignored. */
static enum sutra_status wrong_type(struct op_build *build, row_t event, const char *field, const char *expected) {
    if (!build->context->options.lenient)
        return event_error(build->trace, event, field, expected, build->error);
    build->ops->n_fields_dropped++;
    return SUTRA_OK;
}

/* Sorts all events by time and lists the operators among them. */
static enum sutra_status list_operators(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    ops->roles = names_find(&build->trace->strings, READER_LINKER, build->arena);
    ops->order = arena_alloc(build->arena, events->n, sizeof *ops->order);
    ops->cpu_event = arena_alloc(build->arena, events->n, sizeof *ops->cpu_event);
    build->launch = arena_alloc(&build->scratch, events->n, sizeof *build->launch);
    build->gpu = arena_alloc(&build->scratch, events->n, sizeof *build->gpu);
    const struct engine *engine = &build->context->engine;
    TRY(check_arenas(build));
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){events->ts, events->n, ops->order},
                             build->error));
    for (row_t i = 0; i < events->n; i++) {
        row_t event = ops->order[i];
        enum event_class class = event_classify(events, ops->roles, event);
        if (class == EVENT_OTHER)
            continue;
        if (class == EVENT_CPU_OP && events->flags[event] & EVENT_NAME_NO_STRING)
            TRY(wrong_type(build, event, "name", "a string"));
        if (class == EVENT_CPU_OP && events->rf[event] == KEY_UNHASHABLE)
            TRY(wrong_type(build, event, "args[\"Record function id\"]", "a number or a string"));
        if ((class == EVENT_LAUNCH || class == EVENT_GPU_OP) && events->correlation[event] == KEY_UNHASHABLE)
            TRY(wrong_type(build, event, "args[\"correlation\"]", "a number or a string"));
        if (class == EVENT_LAUNCH_FLOW && events->phase[event] != 's' && events->phase[event] != 'f')
            TRY(wrong_type(build, event, "ph", "\"s\" or \"f\" on a flow event (ac2g)"));
        if (class == EVENT_LAUNCH_FLOW && !(events->flags[event] & EVENT_HAS_ID))
            TRY(wrong_type(build, event, "id", "an id on a flow event (ac2g)"));
        if (class == EVENT_CPU_OP)
            ops->cpu_event[ops->cpu.n++] = event;
        else if (class == EVENT_LAUNCH)
            build->launch[build->n_launches++] = event;
        else if (class == EVENT_GPU_OP)
            build->gpu[build->n_gpu++] = event;
        ops->n_memory_sets += class == EVENT_MEMORY_SET;
        bool timed = events->flags[event] & EVENT_HAS_TS && events->flags[event] & EVENT_HAS_DUR;
        ops->n_untimed += (class == EVENT_CPU_OP || class == EVENT_GPU_OP) && !timed;
    }
    ops->n_launches = build->n_launches;
    ops->n_gpu = build->n_gpu;
    return SUTRA_OK;
}

/* Copies the columns of the CPU operators. */
static enum sutra_status gather_cpu_ops(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    row_t n = ops->cpu.n;
    uint32_t *thread = arena_alloc(build->arena, n, sizeof *thread);
    value_key *external = arena_alloc(build->arena, n, sizeof *external);
    uint8_t *coalesced = arena_alloc(build->arena, n, sizeof *coalesced);
    ops->cpu.ts = numbers_alloc(build->arena, n);
    ops->cpu.dur = numbers_alloc(build->arena, n);
    ops->cpu.thread = thread;
    ops->cpu.external = external;
    ops->cpu.coalesced = coalesced;
    TRY(check_arenas(build));
    for (row_t i = 0; i < n; i++) {
        row_t event = ops->cpu_event[i];
        number_set(ops->cpu.ts, i, number_at(events->ts, event));
        number_set(ops->cpu.dur, i, number_at(events->dur, event));
        external[i] = events->external[event];
        coalesced[i] = (name_roles(events, ops->roles, event) & NAME_COALESCED) != 0;
    }
    return threads_number(events, ops->cpu_event, n, &build->context->engine, &build->scratch, &build->threads, thread,
                          &ops->cpu.n_threads, build->error);
}

/* The operator's rf_id, or KEY_NULL. */
static value_key rf_of(const struct device_ops *ops, const struct device_events *events, row_t op) {
    value_key rf = events->rf[ops->cpu_event[op]];
    return rf == KEY_UNHASHABLE ? KEY_NULL : rf;
}

/* Indexes rf_ids and finds the dependencies between threads. */
static enum sutra_status order_threads(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct engine *engine = &build->context->engine;
    struct arena_mark mark = arena_mark(&build->scratch);
    value_key *keys = arena_alloc(&build->scratch, ops->cpu.n, sizeof *keys);
    ops->rf_op = arena_alloc(build->arena, ops->cpu.n, sizeof *ops->rf_op);
    TRY(check_arenas(build));
    for (row_t i = 0; i < ops->cpu.n; i++)
        if (key_is_value(rf_of(ops, build->events, i))) {
            keys[ops->n_rf] = rf_of(ops, build->events, i);
            ops->rf_op[ops->n_rf++] = i;
        }
    TRY(key_index_build(&ops->rf, engine, keys, ops->n_rf, KEY_LAST, NULL, build->error));
    arena_release(&build->scratch, mark);
    struct thread_order_step step = {&ops->cpu, LINK_GROUP_GAP_US, ops->waits_for};
    return engine->thread_order(engine->state, &step, build->error);
}

/* A dependency on an operator counts only if its rf_id is true in Python: present, and neither 0 nor "". */
void device_ops_resolve_waits(struct device_ops *ops, const struct sutra_device_trace *trace, struct values *values) {
    const value_key empty = values_string(values, "", 0);
    for (row_t i = 0; i < ops->cpu.n; i++) {
        if (ops->waits_for[i] == ROW_NONE)
            continue;
        value_key rf = rf_of(ops, &trace->events, ops->waits_for[i]);
        bool is_false = key_is_integer(rf) ? rf == 0 : !key_is_value(rf) || rf == empty;
        ops->waits_for[i] = is_false ? ROW_NONE : ops->rf_op[key_index_find(&ops->rf, rf)];
    }
}

/* Makes the markers. The sorted trace has the first event of a tid at its earliest time, so markers are sorted too. */
static enum sutra_status make_markers(struct op_build *build) {
    const struct device_events *events = build->events;
    const struct cpu_ops *cpu = &build->ops->cpu;
    struct arena *arena = &build->scratch;
    struct key_index first_event = {0};
    value_key *tids = arena_alloc(arena, events->n, sizeof *tids);
    row_t *begins = arena_alloc(arena, events->n, sizeof *begins), n_begins = 0;
    TRY(arena_status(arena, build->error));
    for (row_t i = 0; i < events->n; i++)
        tids[i] = events->tid[build->ops->order[i]];
    TRY(key_index_build(&first_event, &build->context->engine, tids, events->n, KEY_FIRST, NULL, build->error));
    for (row_t i = 0; i < events->n; i++)
        if (tids[i] != KEY_NULL && key_index_find(&first_event, tids[i]) == i)
            begins[n_begins++] = i;
    key_index_free(&first_event);
    const uint64_t n = (uint64_t)n_begins + 1;
    if (n + cpu->n > ROW_LIMIT)
        return error_set(build->error, SUTRA_DATA, "more than %u CPU operators", ROW_LIMIT);
    struct number_column ts = numbers_alloc(arena, n);
    row_t *before = arena_alloc(arena, n, sizeof *before), n_markers = 0;
    TRY(arena_status(arena, build->error));
    for (row_t k = 0; k < n_begins; k++) {
        const row_t i = begins[k];
        struct number start = number_at(events->ts, build->ops->order[i]);
        if (n_markers == 0) { /* of the process */
            number_set(ts, n_markers, start);
            before[n_markers++] = count_begun(cpu->ts, cpu->n, start);
        }
        /* chakra_trace_link inserts a tid's marker before the tid's first CPU operator, or at the end, and sorts by
         * start: the marker precedes that operator if both begin together, else it follows all that begin with it. */
        row_t first = key_index_find(&build->threads, tids[i]), position;
        if (first != ROW_NONE && number_compare(number_at(cpu->ts, first), start) == 0)
            position = first;
        else
            position = count_begun_by(cpu->ts, cpu->n, start);
        number_set(ts, n_markers, start);
        before[n_markers] = MAX(before[n_markers - 1], position);
        n_markers++;
    }
    /* Markers are on tid 0, which gets a new number if no CPU operator has it. */
    row_t first = key_index_find(&build->threads, 0);
    build->markers = (struct op_markers){
        .n = n_markers, .ts = ts, .before = before, .thread = first == ROW_NONE ? cpu->n_threads : cpu->thread[first]};
    return SUTRA_OK;
}

/* Correlation ids; lists count as absent (check_op() has decided whether they are errors). */
static value_key correlation_of(const struct device_events *events, row_t event) {
    value_key key = events->correlation[event];
    return key == KEY_UNHASHABLE ? -1 : key;
}

static enum sutra_status index_launches(struct op_build *build) {
    row_t n = build->n_launches;
    value_key *keys = arena_alloc(&build->scratch, n, sizeof *keys);
    struct number_column start = numbers_alloc(&build->scratch, n);
    TRY(arena_status(&build->scratch, build->error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = correlation_of(build->events, build->launch[i]);
        number_set(start, i, number_at(build->events->ts, build->launch[i]));
    }
    TRY(launch_index_build(&build->launches, &build->context->engine, keys, start, n, LAUNCH_LAST_BEFORE,
                           &build->scratch, build->error));
    row_t second = build->launches.repeated;
    if (second == ROW_NONE)
        return SUTRA_OK;

    /* Report a correlation that several launches have; strict: fail. */
    row_t event = build->launch[second];
    char text[48] = "that is not an integer";
    if (key_is_integer(keys[second]))
        snprintf(text, sizeof text, "%" PRId64, keys[second]);
    if (build->context->options.strict) {
        source_error(&build->trace->document.source, build->error, build->events->text[event],
                     "event %u: duplicate launch with correlation %s", event, text);
        if (build->error)
            build->error->status = SUTRA_STRICT;
        return SUTRA_STRICT;
    }
    context_warn(
        build->context,
        "event %u: duplicate launch with correlation %s, and possibly others: a GPU activity uses the last such "
        "launch that starts before it",
        event, text);
    return SUTRA_OK;
}

/* Finds the launch of each GPU operator, an event. Calls of other names are launches, too, or are counted. */
static enum sutra_status find_launches(struct op_build *build, row_t *launch) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    TRY(index_launches(build));
    for (row_t i = 0; i < build->n_gpu; i++) {
        row_t event = build->gpu[i];
        launch[i] =
            launch_index_find_before(&build->launches, correlation_of(events, event), number_at(events->ts, event));
        ops->n_without_launch += launch[i] == ROW_NONE;
        launch[i] = launch[i] == ROW_NONE ? ROW_NONE : build->launch[launch[i]];
    }
    if (!ops->n_without_launch)
        return SUTRA_OK;

    row_t *gpu = arena_alloc(&build->scratch, ops->n_without_launch, sizeof *gpu), n = 0;
    row_t *call = arena_alloc(&build->scratch, ops->n_without_launch, sizeof *call);
    TRY(arena_status(&build->scratch, build->error));
    for (row_t i = 0; i < build->n_gpu; i++)
        if (launch[i] == ROW_NONE)
            gpu[n++] = build->gpu[i];
    TRY(find_unknown_calls(build->context, build->trace, gpu, n, &build->scratch, call, build->error));
    if (build->any_call) {
        TRY(find_arrow_calls(build->context, build->trace, gpu, n, call, build->error));
        n = 0;
        for (row_t i = 0; i < build->n_gpu; i++)
            if (launch[i] == ROW_NONE) {
                launch[i] = call[n++];
                ops->n_without_launch -= launch[i] != ROW_NONE;
            }
        return SUTRA_OK;
    }
    for (row_t i = 0; i < n; i++) {
        if (call[i] == ROW_NONE)
            continue;
        double us = time_is_usable(events, gpu[i]) ? number_as_double(number_at(events->dur, gpu[i])) : 0;
        defect_note(&ops->unknown_launch, build->trace, gpu[i], NAN, us);
    }
    return ops->unknown_launch.count
               ? count_call_names(build->trace, call, n, &ops->unknown_calls, &ops->n_unknown_calls, build->error)
               : SUTRA_OK;
}

/* Finds the CPU operator of each GPU operator through its launch. Groups the GPU operators that have one by its
 * external id, and indexes the groups. */
static enum sutra_status find_parents(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    struct arena *arena = &build->scratch;
    row_t n = 0;
    struct number_column launch_ts = numbers_alloc(arena, build->n_gpu);
    uint32_t *thread = arena_alloc(arena, build->n_gpu, sizeof *thread);
    value_key *gpu_external = arena_alloc(arena, build->n_gpu, sizeof *gpu_external);
    uint8_t *nccl = arena_alloc(arena, build->n_gpu, sizeof *nccl);
    row_t *parent = arena_alloc(arena, build->n_gpu, sizeof *parent);
    row_t *gpu = arena_alloc(arena, build->n_gpu, sizeof *gpu); /* GPU operators with a launch */
    row_t *launch_of = arena_alloc(arena, build->n_gpu, sizeof *launch_of);
    TRY(arena_status(arena, build->error));
    TRY(find_launches(build, launch_of));

    /* One query for each GPU operator that has a launch. */
    for (row_t i = 0; i < build->n_gpu; i++) {
        row_t event = build->gpu[i], launch = launch_of[i];
        if (launch == ROW_NONE)
            continue;
        if (events->flags[event] & EVENT_NAME_NO_STRING && !build->context->options.lenient)
            return event_error(build->trace, event, "name", "a string", build->error);
        value_key tid = events->tid[launch];
        row_t first = key_index_find(&build->threads, tid);
        number_set(launch_ts, n, number_at(events->ts, launch));
        thread[n] = tid == 0 ? build->markers.thread : first == ROW_NONE ? UINT32_MAX : ops->cpu.thread[first];
        gpu_external[n] = events->external[event];
        nccl[n] = (name_roles(events, ops->roles, event) & NAME_NCCL) != 0;
        gpu[n++] = event;
    }
    const struct parent_queries queries = {
        .n = n, .launch_ts = launch_ts, .thread = thread, .external = gpu_external, .nccl = nccl};
    struct parents_step step = {&ops->cpu, &build->markers, &queries, parent};
    const struct engine *engine = &build->context->engine;
    TRY(engine->parents(engine->state, &step, build->error));

    /* Sort by the external id of the CPU operator. */
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    value_key *heads = arena_alloc(arena, n, sizeof *heads);
    ops->grouped_event = arena_alloc(build->arena, n, sizeof *ops->grouped_event);
    ops->group_start = arena_alloc(build->arena, (size_t)n + 1, sizeof *ops->group_start);
    TRY(check_arenas(build));
    for (row_t i = 0; i < n; i++) {
        if (parent[i] == ROW_NONE) {
            ops->n_without_parent++;
            continue;
        }
        value_key external = parent[i] < ops->cpu.n ? ops->cpu.external[parent[i]] : MARKER_EXTERNAL;
        keys[ops->n_grouped] = integer_sort_key(external);
        ops->grouped_event[ops->n_grouped++] = gpu[i];
    }
    struct sort_keys_step sort = {keys, ops->grouped_event, ops->n_grouped};
    TRY(engine->sort_keys(engine->state, &sort, build->error));
    for (row_t i = 0; i < ops->n_grouped; i++)
        if (i == 0 || keys[i] != keys[i - 1]) {
            heads[ops->n_groups] = integer_of_sort_key(keys[i]);
            ops->group_start[ops->n_groups++] = i;
        }
    ops->group_start[ops->n_groups] = ops->n_grouped;
    return key_index_build(&ops->groups, engine, heads, ops->n_groups, KEY_FIRST, NULL, build->error);
}

static enum sutra_status build_tables(struct op_build *build) {
    struct device_ops *ops = build->ops;
    struct sutra_context *context = build->context;
    const struct engine *engine = &context->engine;
    stage_begin(context, "sort events", build->events->n);
    TRY(list_operators(build));
    TRY(gather_cpu_ops(build));

    stage_begin(context, "exclusive durations", ops->cpu.n);
    ops->waits_for = arena_alloc(build->arena, ops->cpu.n, sizeof *ops->waits_for);
    ops->exclusive = numbers_alloc(build->arena, ops->cpu.n);
    engine->load(engine->state, &ops->cpu);
    TRY(check_arenas(build));
    struct exclusive_durations_step step = {&ops->cpu, ops->exclusive, &ops->anomalies};
    TRY(engine->exclusive_durations(engine->state, &step, build->error));
    if (ops->anomalies.n_inspected > SLOW_INSPECTIONS)
        context_warn(
            context,
            "exclusive durations took %llu million steps: many operators of one thread overlap without nesting, some "
            "with more digits than doubles subtract exactly",
            (unsigned long long)(ops->anomalies.n_inspected / 1000000));

    stage_begin(context, "order between threads", ops->cpu.n);
    TRY(order_threads(build));

    stage_begin(context, "find parents", ops->n_gpu);
    TRY(make_markers(build));
    return find_parents(build);
}

enum sutra_status device_ops_build(struct device_ops *ops, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool any_call, struct arena *arena,
                                   struct sutra_error *error) {
    struct op_build build = {.ops = ops,
                             .context = context,
                             .trace = trace,
                             .events = &trace->events,
                             .any_call = any_call,
                             .arena = arena,
                             .error = error};
    *ops = (struct device_ops){0};
    const enum sutra_status status = build_tables(&build);
    context->engine.load(context->engine.state, NULL);
    stage_end(context);
    launch_index_free(&build.launches);
    key_index_free(&build.threads);
    arena_free(&build.scratch);
    if (status)
        device_ops_free(ops);
    return status;
}

void device_ops_free(struct device_ops *ops) {
    key_index_free(&ops->rf);
    key_index_free(&ops->groups);
    free(ops->unknown_calls);
    *ops = (struct device_ops){0};
}
