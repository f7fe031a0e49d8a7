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
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "columns/column.h"
#include "context/context.h"
#include "facts/names.h"
#include "facts/times.h"
#include "link/device_ops.h"
#include "link/link.h"
#include "match/key_index.h"
#include "match/rules.h"
#include "match/steps.h"
#include "read/device_trace.h"

/*
 * From GPU operators through launches to the external ids of the CPU operators that launched them.
 *
 * The CPU operators get markers first: one for the process and one for each tid, at their first events, which operators
 * of tid 0 without an external id may match.
 */

/* Events by class, in sorted order, and the numbers of the CPU operators' tids. */
struct operator_lists {
    row_t *launch, *gpu;
    row_t n_launches, n_gpu;
    struct key_index threads; /* tid -> first CPU operator of it */
};

struct parent_search {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct string_roles *roles;
    const row_t *order;
    const struct cpu_ops *cpu;
    const struct operator_lists *lists;
    struct arena *arena; /* of the results, and of what is needed on the way */

    /* Results: the GPU operators that found one, in sorted order, and the external id of what they found. */
    row_t *gpu;
    value_key *external;
    row_t n_found, n_without_launch, n_without_parent;
};

/*
 * Markers, launches by correlation, and the queries to the engine.
 *
 *     GPU operator --correlation--> launch --thread, start, external id--> CPU operator or marker that began before it
 *
 *     CPU operators      a     b  c           d          by start
 *     markers         P        t1       t2               of the process and of each tid, at its first event
 *
 * Cost: O(n) for the markers and the queries, a bisection for each marker; and what the engine takes.
 */

/* The columns of the markers, which the engine reads. */
struct markers {
    struct op_markers table;
    struct number_column ts;
    row_t *before;
};

/* A tid's marker stands before the tid's first CPU operator, or at the end, and is then sorted by its start. What is
 * left of that: before that operator if both begin together, else behind all operators that begin with the marker. */
static row_t marker_place(const struct parent_search *search, value_key tid, struct number ts) {
    const struct cpu_ops *cpu = search->cpu;
    row_t first = key_index_find(&search->lists->threads, tid);
    if (first != ROW_NONE && number_compare(number_at(cpu->ts, first), ts) == 0)
        return first;
    return count_begun_by(cpu->ts, cpu->n, ts);
}

static void put_marker(struct markers *markers, struct number ts, row_t before) {
    row_t k = markers->table.n++;
    number_put(markers->ts, k, ts);
    markers->before[k] = k && markers->before[k - 1] > before ? markers->before[k - 1] : before;
}

/* A marker for the process at the first event that has a tid, and one for each tid at its first event. In the sorted
 * trace first means earliest, so markers come out sorted too. */
static void put_markers(const struct parent_search *search, struct markers *markers, const value_key *tids,
                        const struct key_index *seen) {
    const struct device_events *events = &search->trace->events;
    for (row_t i = 0; i < events->n; i++) {
        if (tids[i] == KEY_NULL || key_index_find(seen, tids[i]) != i)
            continue;
        struct number ts = number_at(events->ts, search->order[i]);
        if (markers->table.n == 0)
            put_marker(markers, ts, count_begun(search->cpu->ts, search->cpu->n, ts));
        put_marker(markers, ts, marker_place(search, tids[i], ts));
    }
}

/* The number of tid 0, under which markers stand; a new one if no CPU operator has that tid. */
static uint32_t marker_thread(const struct parent_search *search) {
    row_t first = key_index_find(&search->lists->threads, 0);
    return first == ROW_NONE ? search->cpu->n_threads : search->cpu->thread[first];
}

static enum sutra_status make_markers(const struct parent_search *search, struct markers *markers,
                                      struct sutra_error *error) {
    const struct device_events *events = &search->trace->events;
    struct key_index seen = {0};
    value_key *tids = arena_take(search->arena, events->n, sizeof *tids);
    enum sutra_status status = arena_status(search->arena, error);
    for (row_t i = 0; i < events->n && !status; i++)
        tids[i] = events->tid[search->order[i]];
    if (!status)
        status = key_index_build(&seen, &search->context->engine, tids, events->n, KEY_FIRST, NULL, error);
    uint64_t n = 1;
    for (row_t i = 0; i < events->n && !status; i++)
        n += tids[i] != KEY_NULL && key_index_find(&seen, tids[i]) == i;
    if (!status && n + search->cpu->n > ROW_LIMIT)
        status = error_set(error, SUTRA_DATA, "more than %u CPU operators", ROW_LIMIT);
    markers->ts = numbers_take(search->arena, n);
    markers->before = arena_take(search->arena, n, sizeof *markers->before);
    if (!status)
        status = arena_status(search->arena, error);
    if (!status)
        put_markers(search, markers, tids, &seen);
    markers->table.ts = markers->ts;
    markers->table.before = markers->before;
    markers->table.thread = marker_thread(search);
    key_index_free(&seen);
    return status;
}

/* Correlation ids; lists count as absent here (whether they are errors was decided before). */
static value_key correlation_of(const struct device_events *events, row_t event) {
    value_key key = events->correlation[event];
    return key == KEY_UNHASHABLE ? -1 : key;
}

/* Launches by correlation, sorted by start within one. */
struct launch_chains {
    struct key_index index; /* correlation -> first launch */
    row_t *at;              /* of a first launch: the last one so far that began before a GPU operator */
    row_t *next;            /* launch of the same correlation, or ROW_NONE; NULL: none repeats */
};

/* Which correlation several launches have: an error in strict mode, else told. */
static enum sutra_status judge_repetition(const struct parent_search *search, value_key key, row_t launch,
                                          struct sutra_error *error) {
    row_t event = search->lists->launch[launch];
    char text[48] = "that is not an integer";
    if (key_is_integer(key))
        snprintf(text, sizeof text, "%" PRId64, key);
    if (!search->context->options.strict) {
        context_warn(
            search->context,
            "event %u: duplicate launch with correlation %s, and possibly others: a GPU activity uses the last such "
            "launch that starts before it",
            event, text);
        return SUTRA_OK;
    }
    source_error(&search->trace->document.source, error, search->trace->events.text[event],
                 "event %u: duplicate launch with correlation %s", event, text);
    if (error)
        error->status = SUTRA_STRICT;
    return SUTRA_STRICT;
}

/* Ties launches of one correlation to each other, from the last to the first. */
static enum sutra_status chain_launches(const struct parent_search *search, struct launch_chains *chains,
                                        const value_key *keys, row_t n, struct sutra_error *error) {
    chains->at = arena_take(search->arena, n, sizeof *chains->at);
    chains->next = arena_take(search->arena, n, sizeof *chains->next);
    if (!chains->at || !chains->next)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        chains->at[i] = ROW_NONE;
    for (row_t i = n; i-- > 0;) {
        row_t first = key_index_find(&chains->index, keys[i]);
        chains->next[i] = chains->at[first];
        chains->at[first] = i;
    }
    return SUTRA_OK;
}

static enum sutra_status index_launches(const struct parent_search *search, struct launch_chains *chains,
                                        struct sutra_error *error) {
    const struct operator_lists *lists = search->lists;
    value_key *keys = arena_take(search->arena, lists->n_launches, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < lists->n_launches; i++)
        keys[i] = correlation_of(&search->trace->events, lists->launch[i]);
    row_t second;
    enum sutra_status status =
        key_index_build(&chains->index, &search->context->engine, keys, lists->n_launches, KEY_FIRST, &second, error);
    if (status || second == ROW_NONE)
        return status;
    status = judge_repetition(search, keys[second], second, error);
    return status ? status : chain_launches(search, chains, keys, lists->n_launches, error);
}

/* The launch of a GPU operator, whose starts rise from call to call; ROW_NONE: there is none. */
static row_t launch_of(const struct parent_search *search, struct launch_chains *chains, row_t gpu) {
    const struct device_events *events = &search->trace->events;
    row_t first = key_index_find(&chains->index, correlation_of(events, gpu));
    if (first == ROW_NONE || !chains->next)
        return first;
    row_t *at = &chains->at[first];
    while (chains->next[*at] != ROW_NONE &&
           number_compare(number_at(events->ts, search->lists->launch[chains->next[*at]]),
                          number_at(events->ts, gpu)) <= 0)
        *at = chains->next[*at];
    return *at;
}

/* The columns of the queries, which the engine reads. */
struct queries {
    struct parent_queries table;
    struct number_column launch_ts;
    uint32_t *thread;
    value_key *external;
    uint8_t *nccl;
    row_t *parent;
};

static struct queries queries_take(struct arena *arena, row_t n) {
    return (struct queries){.launch_ts = numbers_take(arena, n),
                            .thread = arena_take(arena, n, sizeof(uint32_t)),
                            .external = arena_take(arena, n, sizeof(value_key)),
                            .nccl = arena_take(arena, n, sizeof(uint8_t)),
                            .parent = arena_take(arena, n, sizeof(row_t))};
}

/* Fills query i for a GPU operator from its launch. */
static void put_query(const struct parent_search *search, struct queries *queries, row_t i, row_t gpu, row_t launch) {
    const struct device_events *events = &search->trace->events;
    value_key tid = events->tid[launch];
    row_t first = key_index_find(&search->lists->threads, tid);
    number_put(queries->launch_ts, i, number_at(events->ts, launch));
    queries->thread[i] = tid == 0 ? marker_thread(search) : first == ROW_NONE ? UINT32_MAX : search->cpu->thread[first];
    queries->external[i] = events->external[gpu];
    queries->nccl[i] = (name_roles(events, search->roles, gpu) & NAME_NCCL) != 0;
}

/* A query for each GPU operator that has a launch; those operators go to search->gpu. */
static enum sutra_status make_queries(struct parent_search *search, struct launch_chains *launches,
                                      struct queries *queries, struct sutra_error *error) {
    const struct operator_lists *lists = search->lists;
    const struct device_events *events = &search->trace->events;
    row_t n = 0;
    for (row_t i = 0; i < lists->n_gpu; i++) {
        row_t gpu = lists->gpu[i], launch = launch_of(search, launches, gpu);
        if (launch == ROW_NONE) {
            search->n_without_launch++;
            continue;
        }
        if (events->flags[gpu] & EVENT_NAME_NO_STRING && !search->context->options.lenient)
            return event_error(search->trace, gpu, "name", "a string", error);
        put_query(search, queries, n, gpu, lists->launch[launch]);
        search->gpu[n++] = gpu;
    }
    queries->table = (struct parent_queries){.n = n,
                                             .launch_ts = queries->launch_ts,
                                             .thread = queries->thread,
                                             .external = queries->external,
                                             .nccl = queries->nccl};
    return SUTRA_OK;
}

/* Keeps the operators that found a parent. */
static void keep_found(struct parent_search *search, const struct queries *queries) {
    for (row_t i = 0; i < queries->table.n; i++) {
        row_t parent = queries->parent[i];
        if (parent == ROW_NONE) {
            search->n_without_parent++;
            continue;
        }
        search->gpu[search->n_found] = search->gpu[i];
        search->external[search->n_found++] = parent < search->cpu->n ? search->cpu->external[parent] : MARKER_EXTERNAL;
    }
}

static enum sutra_status search_parents(struct parent_search *search, const struct op_markers *markers,
                                        struct sutra_error *error) {
    const struct engine *engine = &search->context->engine;
    struct launch_chains launches = {0};
    row_t n = search->lists->n_gpu;
    struct queries queries = queries_take(search->arena, n);
    search->gpu = arena_take(search->arena, n, sizeof *search->gpu);
    search->external = arena_take(search->arena, n, sizeof *search->external);
    struct parents_step step = {search->cpu, markers, &queries.table, queries.parent};
    enum sutra_status status = arena_status(search->arena, error);
    if (!status)
        status = index_launches(search, &launches, error);
    if (!status)
        status = make_queries(search, &launches, &queries, error);
    if (!status)
        status = engine->parents(engine->state, &step, error);
    if (!status)
        keep_found(search, &queries);
    key_index_free(&launches.index);
    return status;
}

/* SUTRA_STRICT: two launches with one correlation; SUTRA_DATA: a GPU operator without a proper name. */
static enum sutra_status parent_search_run(struct parent_search *search, struct sutra_error *error) {
    struct markers markers = {0};
    enum sutra_status status = make_markers(search, &markers, error);
    if (!status)
        status = search_parents(search, &markers.table, error);
    return status;
}

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
