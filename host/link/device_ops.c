/*
 * device_ops.c - from the columns of a device trace to operators, and through the engine.
 *
 *     events by start --classify.c--> CPU operators --engine--> exclusive durations, and what waits for which thread
 *                                     launches, GPU operators --parent_search.c--> the external id of its CPU operator
 *                                                                  |
 *     group      0         1      2                                +--> GPU operators by that id
 *     events     g3 g7     g1     g2 g5 g9
 *
 * Cost: sorts of events, and of GPU operators by external id; O(n) else.
 */
#include "link/device_ops.h"

#include "base/error.h"
#include "columns/column.h"
#include "facts/threads.h"
#include "link/classify.h"
#include "link/parent_search.h"

/* Microseconds between operators of a thread that begin a new group. */
#define GROUP_GAP 1000

/* What building needs besides the result. */
struct op_build {
    struct device_ops *ops;
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct operator_lists lists;
    struct arena *arena; /* of the results */
    struct arena scratch;
    struct sutra_error *error;
};

/* Whether there was memory for all that was taken. */
static enum sutra_status taken(const struct op_build *build) {
    enum sutra_status status = arena_status(build->arena, build->error);
    return status ? status : arena_status(&build->scratch, build->error);
}

/* A field of a wrong type: an error, or counted where such fields are taken as absent. */
static enum sutra_status wrong_type(struct op_build *build, row_t event, const char *field, const char *expected) {
    if (!build->context->options.lenient)
        return event_error(build->trace, event, field, expected, build->error);
    build->ops->n_fields_dropped++;
    return SUTRA_OK;
}

static enum sutra_status check_op(struct op_build *build, row_t event, enum event_class class) {
    const struct device_events *events = build->events;
    enum sutra_status status = SUTRA_OK;
    if (class == EVENT_CPU_OP && events->flags[event] & EVENT_NAME_NO_STRING)
        status = wrong_type(build, event, "name", "a string");
    if (!status && class == EVENT_CPU_OP && events->rf[event] == KEY_UNHASHABLE)
        status = wrong_type(build, event, "args[\"Record function id\"]", "a number or a string");
    if (!status && (class == EVENT_LAUNCH || class == EVENT_GPU_OP) && events->correlation[event] == KEY_UNHASHABLE)
        status = wrong_type(build, event, "args[\"correlation\"]", "a number or a string");
    if (!status && class == EVENT_LAUNCH_FLOW && events->phase[event] != 's' && events->phase[event] != 'f')
        status = wrong_type(build, event, "ph", "\"s\" or \"f\" on a flow event (ac2g)");
    if (!status && class == EVENT_LAUNCH_FLOW && !(events->flags[event] & EVENT_HAS_ID))
        status = wrong_type(build, event, "id", "an id on a flow event (ac2g)");
    return status;
}

static bool has_times(uint8_t flags) {
    return flags & EVENT_HAS_TS && flags & EVENT_HAS_DUR;
}

/* Sorts all events by time and sorts out the operators among them. */
static enum sutra_status list_operators(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    struct operator_lists *lists = &build->lists;
    ops->roles = names_find(&build->trace->strings, READER_LINKER, build->arena);
    ops->order = arena_take(build->arena, events->n, sizeof *ops->order);
    ops->cpu_event = arena_take(build->arena, events->n, sizeof *ops->cpu_event);
    lists->launch = arena_take(&build->scratch, events->n, sizeof *lists->launch);
    lists->gpu = arena_take(&build->scratch, events->n, sizeof *lists->gpu);
    const struct engine *engine = &build->context->engine;
    enum sutra_status status = taken(build);
    if (!status)
        status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){events->ts, events->n, ops->order},
                                      build->error);
    for (row_t i = 0; i < events->n && !status; i++) {
        row_t event = ops->order[i];
        enum event_class class = event_classify(events, ops->roles, event);
        if (class == EVENT_OTHER)
            continue;
        status = check_op(build, event, class);
        if (class == EVENT_CPU_OP)
            ops->cpu_event[ops->cpu.n++] = event;
        else if (class == EVENT_LAUNCH)
            lists->launch[lists->n_launches++] = event;
        else if (class == EVENT_GPU_OP)
            lists->gpu[lists->n_gpu++] = event;
        ops->n_memory_sets += class == EVENT_MEMORY_SET;
        ops->n_untimed += (class == EVENT_CPU_OP || class == EVENT_GPU_OP) && !has_times(events->flags[event]);
    }
    ops->n_launches = lists->n_launches;
    ops->n_gpu = lists->n_gpu;
    return status;
}

/* Gathers the CPU operators' columns. */
static enum sutra_status gather_cpu_ops(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct device_events *events = build->events;
    row_t n = ops->cpu.n;
    uint32_t *thread = arena_take(build->arena, n, sizeof *thread);
    value_key *external = arena_take(build->arena, n, sizeof *external);
    uint8_t *coalesced = arena_take(build->arena, n, sizeof *coalesced);
    ops->cpu.ts = numbers_take(build->arena, n);
    ops->cpu.dur = numbers_take(build->arena, n);
    ops->cpu.thread = thread;
    ops->cpu.external = external;
    ops->cpu.coalesced = coalesced;
    enum sutra_status status = taken(build);
    for (row_t i = 0; i < n && !status; i++) {
        row_t event = ops->cpu_event[i];
        number_put(ops->cpu.ts, i, number_at(events->ts, event));
        number_put(ops->cpu.dur, i, number_at(events->dur, event));
        external[i] = events->external[event];
        coalesced[i] = (name_roles(events, ops->roles, event) & NAME_COALESCED) != 0;
    }
    if (!status)
        status = threads_number(events, ops->cpu_event, n, &build->context->engine, &build->scratch,
                                &build->lists.threads, thread, &ops->cpu.n_threads, build->error);
    return status;
}

/* The operator's rf_id, KEY_NULL where it has none. */
static value_key rf_of(const struct op_build *build, row_t op) {
    value_key rf = build->events->rf[build->ops->cpu_event[op]];
    return rf == KEY_UNHASHABLE ? KEY_NULL : rf;
}

static enum sutra_status index_rf_ids(struct op_build *build) {
    struct device_ops *ops = build->ops;
    struct arena_mark mark = arena_mark(&build->scratch);
    value_key *keys = arena_take(&build->scratch, ops->cpu.n, sizeof *keys);
    ops->rf_op = arena_take(build->arena, ops->cpu.n, sizeof *ops->rf_op);
    enum sutra_status status = taken(build);
    for (row_t i = 0; i < ops->cpu.n && !status; i++)
        if (key_is_value(rf_of(build, i))) {
            keys[ops->n_rf] = rf_of(build, i);
            ops->rf_op[ops->n_rf++] = i;
        }
    if (!status)
        status = key_index_build(&ops->rf, &build->context->engine, keys, ops->n_rf, KEY_LAST, NULL, build->error);
    arena_release(&build->scratch, mark);
    return status;
}

/* What Python takes as false: none, 0, "". */
static bool is_false(struct op_build *build, value_key rf) {
    return !key_is_value(rf) || rf == 0 || rf == values_string(&build->context->values, "", 0);
}

/* The operator that another thread's operator waits for counts only if it has an rf_id. */
static enum sutra_status order_threads(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct engine *engine = &build->context->engine;
    struct thread_order_step step = {&ops->cpu, GROUP_GAP, ops->waits_for};
    enum sutra_status status = engine->thread_order(engine->state, &step, build->error);
    for (row_t i = 0; i < ops->cpu.n && !status; i++) {
        row_t before = ops->waits_for[i];
        if (before == ROW_NONE)
            continue;
        value_key rf = rf_of(build, before);
        bool none = key_is_integer(rf) ? rf == 0 : is_false(build, rf);
        ops->waits_for[i] = none ? ROW_NONE : ops->rf_op[key_index_find(&ops->rf, rf)];
    }
    return status;
}

/* Looks that take a tenth of a second or so. */
#define SLOW_LOOKS 20000000

/* The one case that grows with the square is told. */
static void tell_looks(struct sutra_context *context, uint64_t n_looks) {
    if (n_looks > SLOW_LOOKS)
        context_warn(
            context,
            "exclusive durations took %llu million steps: many operators of one thread overlap without nesting, some "
            "with more digits than doubles subtract exactly",
            (unsigned long long)(n_looks / 1000000));
}

static enum sutra_status run_engine(struct op_build *build) {
    struct device_ops *ops = build->ops;
    const struct engine *engine = &build->context->engine;
    ops->waits_for = arena_take(build->arena, ops->cpu.n, sizeof *ops->waits_for);
    ops->exclusive = numbers_take(build->arena, ops->cpu.n);
    enum sutra_status status = taken(build);
    stage_begin(build->context, "exclusive durations", ops->cpu.n);
    engine->load(engine->state, &ops->cpu);
    struct exclusive_durations_step step = {&ops->cpu, ops->exclusive, &ops->anomalies};
    if (!status)
        status = engine->exclusive_durations(engine->state, &step, build->error);
    if (!status)
        tell_looks(build->context, ops->anomalies.n_looks);
    stage_begin(build->context, "order between threads", ops->cpu.n);
    if (!status)
        status = index_rf_ids(build);
    if (!status)
        status = order_threads(build);
    return status;
}

/* Sorts the GPU operators by the external id of their CPU operator and notes where each id's group begins. */
static enum sutra_status group_by_external(struct op_build *build, const value_key *external, const row_t *gpu,
                                           row_t n) {
    struct device_ops *ops = build->ops;
    const struct engine *engine = &build->context->engine;
    uint64_t *keys = arena_take(&build->scratch, n, sizeof *keys);
    value_key *heads = arena_take(&build->scratch, n, sizeof *heads);
    ops->grouped_event = arena_take(build->arena, n, sizeof *ops->grouped_event);
    ops->group_start = arena_take(build->arena, (size_t)n + 1, sizeof *ops->group_start);
    enum sutra_status status = taken(build);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = integer_sort_key(external[i]);
        ops->grouped_event[i] = gpu[i];
    }
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, ops->grouped_event, n}, build->error);
    for (row_t i = 0; i < n && !status; i++)
        if (i == 0 || keys[i] != keys[i - 1]) {
            heads[ops->n_groups] = (value_key)(keys[i] ^ (uint64_t)1 << 63);
            ops->group_start[ops->n_groups++] = i;
        }
    if (!status) {
        ops->n_grouped = n;
        ops->group_start[ops->n_groups] = n;
        status = key_index_build(&ops->groups, engine, heads, ops->n_groups, KEY_FIRST, NULL, build->error);
    }
    return status;
}

static enum sutra_status find_groups(struct op_build *build) {
    struct device_ops *ops = build->ops;
    struct parent_search search = {.context = build->context,
                                   .trace = build->trace,
                                   .roles = ops->roles,
                                   .order = ops->order,
                                   .cpu = &ops->cpu,
                                   .lists = &build->lists,
                                   .arena = &build->scratch};
    enum sutra_status status = parent_search_run(&search, build->error);
    if (!status)
        status = group_by_external(build, search.external, search.gpu, search.n_found);
    ops->n_without_launch = search.n_without_launch;
    ops->n_without_parent = search.n_without_parent;
    return status;
}

enum sutra_status device_ops_build(struct device_ops *ops, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, struct arena *arena,
                                   struct sutra_error *error) {
    struct op_build build = {
        .ops = ops, .context = context, .trace = trace, .events = &trace->events, .arena = arena, .error = error};
    *ops = (struct device_ops){0};
    stage_begin(context, "sort events", trace->events.n);
    enum sutra_status status = list_operators(&build);
    if (!status)
        status = gather_cpu_ops(&build);
    if (!status)
        status = run_engine(&build);
    stage_begin(context, "find parents", ops->n_gpu);
    if (!status)
        status = find_groups(&build);
    context->engine.load(context->engine.state, NULL);
    stage_end(context);
    key_index_free(&build.lists.threads);
    arena_free(&build.scratch);
    if (status)
        device_ops_free(ops);
    return status;
}

void device_ops_free(struct device_ops *ops) {
    key_index_free(&ops->rf);
    key_index_free(&ops->groups);
    *ops = (struct device_ops){0};
}
