/*
 * trace_links.c - what Kineto's events of a trace stand below: where their flow starts, the call of their correlation,
 * the operator of their external id.
 *
 * A flow's halves are bound to events by thread and time; of several there, the one with the flow's id as correlation
 * is meant. Where a trace lacks a flow for work on the device, the call of the same correlation starts one; of several
 * starts with one id, as where traces were joined, the last one before the end is meant. An external
 * id is a link only if ids differ from correlations somewhere: older traces just repeat the correlation there. O(n) but
 * for sorts.
 */
#include "base/bisect.h"
#include "columns/number.h"
#include "match/engine.h"
#include "text/counted.h"
#include "tree/take_trace.h"

/* The trace's column of correlations; ids that are none are below 0. */
static value_key correlation_of(const struct sutra_profile *profile, row_t row) {
    return profile->trace->events.correlation[profile->event[row]];
}

static bool is_bound(const struct sutra_profile *profile, row_t row) {
    return profile->flow_role[row] != SUTRA_FLOW_NONE;
}

/* Kineto's events by thread and time, to find what a flow is bound to. */
struct event_moments {
    struct pair_table first; /* of (start, thread): the first row there */
    struct pair_table exact; /* of (correlation, the first row there): the first row with that correlation */
    row_t *next;             /* the next row there, or ROW_NONE */
    row_t *unbound;          /* of a first row: where those begin that may be unbound */
};

static bool event_moments_fill(struct event_moments *moments, const struct sutra_profile *profile) {
    row_t *last = moments->unbound; /* of a first row, until all are there */
    for (row_t row = 0; row < profile->n; row++) {
        if (profile->kind[row] != SUTRA_EVENT_KINETO)
            continue;
        struct pair_entry *first =
            pair_table_take(&moments->first, (uint64_t)profile->start[row], profile->thread[row]);
        if (!first)
            return false;
        moments->next[row] = ROW_NONE;
        if (first->number == PAIR_NONE)
            first->number = row;
        else
            moments->next[last[first->number]] = row;
        last[first->number] = row;
        if (!pair_table_note(&moments->exact, (uint64_t)correlation_of(profile, row), first->number, row))
            return false;
    }
    for (row_t row = 0; row < profile->n; row++)
        moments->unbound[row] = row;
    return true;
}

/* The event of a flow's id at its moment, or else any that is there; ROW_NONE if all are bound. */
static row_t event_moments_find(struct event_moments *moments, const struct sutra_profile *profile,
                                const struct trace_rows *rows, row_t event, bool exact) {
    row_t first = pair_table_find(&moments->first, (uint64_t)rows->start[event], rows->thread[event]);
    if (first == PAIR_NONE)
        return ROW_NONE;
    if (exact) {
        row_t row = pair_table_find(&moments->exact, (uint64_t)rows->flow[event], first);
        return row != PAIR_NONE && !is_bound(profile, row) ? row : ROW_NONE;
    }
    row_t row = moments->unbound[first];
    while (row != ROW_NONE && is_bound(profile, row))
        row = moments->next[row];
    return moments->unbound[first] = row;
}

/* Binds halves of flows that are not done, by id or by moment alone; returns how many find no event. */
static uint64_t bind_halves(struct sutra_profile *profile, const struct trace_rows *rows, struct event_moments *moments,
                            bool exact, uint8_t *done) {
    const struct device_events *events = &profile->trace->events;
    uint64_t n_unbound = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (rows->role[event] != ROLE_LAUNCH_FLOW || done[event])
            continue;
        row_t row = event_moments_find(moments, profile, rows, event, exact);
        done[event] = row != ROW_NONE;
        n_unbound += row == ROW_NONE;
        if (row == ROW_NONE)
            continue;
        profile->flow_role[row] = events->phase[event] == 's' ? SUTRA_FLOW_START : SUTRA_FLOW_END;
        profile->flow[row] = rows->flow[event];
    }
    return n_unbound;
}

/* Binds the halves of the trace's flows, first those whose event has their id. Those of which nothing stands at their
 * moment are counted. */
static enum sutra_status bind_flows(struct sutra_profile *profile, const struct trace_rows *rows, struct arena *arena,
                                    uint64_t *n_unbound, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint8_t *done = arena_zeros(arena, profile->trace->events.n, sizeof *done);
    struct event_moments moments = {.next = arena_take(arena, profile->n, sizeof *moments.next),
                                    .unbound = arena_take(arena, profile->n, sizeof *moments.unbound)};
    bool ok = !arena->failed && pair_table_init(&moments.first) && pair_table_init(&moments.exact) &&
              event_moments_fill(&moments, profile);
    if (ok) {
        bind_halves(profile, rows, &moments, true, done);
        *n_unbound = bind_halves(profile, rows, &moments, false, done);
    }
    pair_table_free(&moments.first);
    pair_table_free(&moments.exact);
    arena_release(arena, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

static bool runs_on_device(const struct sutra_profile *profile, row_t row) {
    return profile->gpu[row] != EVENT_ON_HOST;
}

/* What may start flows, by rising (id, start). */
struct start_list {
    const struct sutra_profile *profile;
    uint64_t *id;
    row_t *row;
    row_t n;
    bool first_counts; /* of several with an id, whatever their times */
};

/* Calls of the host: those that start a flow of the trace, with its id, or those that start none, with their
 * correlation. */
static void list_starts(struct start_list *list, bool by_flow) {
    const struct sutra_profile *profile = list->profile;
    for (row_t row = 0; row < profile->n; row++) {
        bool starts_flow = profile->flow_role[row] == SUTRA_FLOW_START;
        bool call = profile->kind[row] == SUTRA_EVENT_KINETO && !runs_on_device(profile, row);
        if (call && starts_flow == by_flow && (by_flow || correlation_of(profile, row) >= 0))
            list->row[list->n++] = row;
    }
}

static value_key start_id(const struct start_list *list, row_t row, bool by_flow) {
    return by_flow ? list->profile->flow[row] : correlation_of(list->profile, row);
}

/* Sorts by start and then, which leaves equal ones as they are, by id. */
static enum sutra_status sort_starts(struct start_list *list, const struct engine *engine, bool by_flow,
                                     struct sutra_error *error) {
    struct sort_keys_step sort = {list->id, list->row, list->n};
    enum sutra_status status = SUTRA_OK;
    for (row_t i = 0; i < list->n; i++)
        list->id[i] = integer_sort_key(list->profile->start[list->row[i]]);
    if (!list->first_counts)
        status = engine->sort_keys(engine->state, &sort, error);
    for (row_t i = 0; i < list->n; i++)
        list->id[i] = integer_sort_key(start_id(list, list->row[i], by_flow));
    return status ? status : engine->sort_keys(engine->state, &sort, error);
}

static enum sutra_status start_list_make(struct start_list *list, const struct engine *engine, bool by_flow,
                                         struct arena *arena, struct sutra_error *error) {
    list->id = arena_take(arena, list->profile->n, sizeof *list->id);
    list->row = arena_take(arena, list->profile->n, sizeof *list->row);
    if (arena->failed)
        return error_memory(error);
    list_starts(list, by_flow);
    return sort_starts(list, engine, by_flow, error);
}

/* What starts the flow that a row ends: of those with the id the last one before the row, or else the first. */
static row_t start_of(const struct start_list *list, value_key id, row_t end) {
    uint64_t key = integer_sort_key(id);
    struct bisection first = {0, list->n};
    while (first.low < first.high)
        bisect(&first, list->id[bisect_middle(first)] < key);
    if (first.low == list->n || list->id[first.low] != key)
        return ROW_NONE;
    struct bisection after = {first.low + 1, list->first_counts ? first.low + 1 : list->n};
    while (after.low < after.high) {
        row_t middle = bisect_middle(after);
        bisect(&after, list->id[middle] == key && list->profile->start[list->row[middle]] <= list->profile->start[end]);
    }
    return list->row[after.low - 1];
}

static uint64_t count_repeated(const struct start_list *list) {
    uint64_t n = 0;
    for (row_t i = 1; i < list->n; i++)
        n += list->id[i] == list->id[i - 1];
    return n;
}

/* Ties work on the device to what started it, by the flow's id or the correlation. From here on the id of a flow is the
 * row that starts it, so that none starts twice. */
static void tie_flows(struct sutra_profile *profile, const struct start_list *flows, const struct start_list *calls) {
    for (row_t row = 0; row < profile->n; row++)
        if (profile->flow_role[row] == SUTRA_FLOW_START)
            profile->flow[row] = row;
    for (row_t row = 0; row < profile->n; row++) {
        bool ends = profile->flow_role[row] == SUTRA_FLOW_END;
        if (!ends && !runs_on_device(profile, row))
            continue;
        value_key id = ends ? profile->flow[row] : correlation_of(profile, row);
        row_t start = ends || id >= 0 ? start_of(flows, id, row) : ROW_NONE;
        if (start == ROW_NONE && id >= 0 && runs_on_device(profile, row))
            start = start_of(calls, id, row);
        if (ends)
            profile->flow[row] = row;
        if (start == ROW_NONE)
            continue;
        profile->flow_role[row] = SUTRA_FLOW_END;
        profile->flow_role[start] = SUTRA_FLOW_START;
        profile->flow[row] = profile->flow[start] = (value_key)start;
    }
}

/* Lets calls start flows that the trace lacks, for work on the device whose correlation they have. */
static enum sutra_status bind_correlations(struct sutra_profile *profile, const struct engine *engine, bool rocm,
                                           struct arena *arena, uint64_t *n_repeated, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    struct start_list flows = {.profile = profile, .first_counts = rocm}, calls = flows;
    enum sutra_status status = start_list_make(&flows, engine, true, arena, error);
    if (!status)
        status = start_list_make(&calls, engine, false, arena, error);
    if (!status) {
        *n_repeated = count_repeated(&flows);
        tie_flows(profile, &flows, &calls);
    }
    arena_release(arena, mark);
    return status;
}

/* Whether external ids of Kineto's events are more than their correlations once more. */
static bool links_count(const struct sutra_profile *profile) {
    const struct device_events *events = &profile->trace->events;
    for (row_t row = 0; row < profile->n; row++) {
        row_t event = profile->event[row];
        if (profile->kind[row] == SUTRA_EVENT_KINETO && events->external[event] >= 0 &&
            events->correlation[event] >= 0 && events->external[event] != events->correlation[event])
            return true;
    }
    return false;
}

/* linked[row] = the operator with the row's external id. */
static enum sutra_status find_links(const struct sutra_profile *profile, uint32_t *linked, struct sutra_error *error) {
    const value_key *external = profile->trace->events.external;
    bool all = links_count(profile);
    struct pair_table operators;
    bool ok = pair_table_init(&operators);
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && id > 0)
            ok = pair_table_note(&operators, (uint64_t)id, 0, row);
    }
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        bool is_link = profile->kind[row] == SUTRA_EVENT_KINETO && id > 0 && (all || correlation_of(profile, row) < 0);
        linked[row] = is_link ? pair_table_find(&operators, (uint64_t)id, 0) : ROW_NONE;
    }
    pair_table_free(&operators);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Threads take the place of tids: they are numbers of those. */
static enum sutra_status set_parents(struct sutra_profile *profile, const uint32_t *linked, bool rocm,
                                     struct arena *arena, struct sutra_kineto_report *report,
                                     struct sutra_error *error) {
    int64_t *tid = arena_take(arena, profile->n, sizeof *tid);
    uint8_t *is_kineto = arena_take(arena, profile->n, sizeof *is_kineto);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < profile->n && !status; row++) {
        tid[row] = profile->thread[row];
        is_kineto[row] = profile->kind[row] == SUTRA_EVENT_KINETO;
    }
    const struct sutra_kineto_columns events = {.n = profile->n,
                                                .is_kineto = is_kineto,
                                                .flow_role = profile->flow_role,
                                                .flow_id = profile->flow,
                                                .linked = linked,
                                                .rocm = rocm};
    if (!status)
        status = sutra_kineto_parents(&events, profile->parent, tid, report, error);
    for (row_t row = 0; row < profile->n && !status; row++)
        profile->thread[row] = (uint32_t)tid[row];
    return status;
}

static void warn(struct sutra_context *context, const struct sutra_profile *profile,
                 const struct sutra_kineto_report *report, uint64_t n_unbound, uint64_t n_repeated, bool rocm) {
    uint64_t n_alone = 0;
    for (row_t row = 0; row < profile->n; row++)
        n_alone += profile->gpu[row] == EVENT_GPU_OPERATOR && profile->parent[row] == ROW_NONE;
    const struct {
        uint64_t n;
        const char *one, *several;
    } lines[] = {
        {n_unbound, "end of a launch-to-kernel flow has no event at its position",
         "ends of launch-to-kernel flows have no event at their position"},
        {n_alone, "GPU activity has no launch: it becomes a root", "GPU activities have no launch: they become roots"},
        {n_repeated,
         rocm ? "flow starts twice: using the first start" : "flow starts twice: using the last start before its end",
         rocm ? "flows start twice: using the first start" : "flows start twice: using the last start before the end"},
        {report->n_in_cycles, "cycle of flows and links was removed", "cycles of flows and links were removed"}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i].n)
            context_warn(context, "%s", counted_text(lines[i].n, lines[i].one, lines[i].several).text);
}

enum sutra_status take_parents(struct sutra_profile *profile, struct sutra_context *context,
                               const struct trace_rows *rows, bool rocm, struct sutra_error *error) {
    struct sutra_kineto_report report = {.size = sizeof report};
    struct arena scratch = {0};
    uint64_t n_unbound = 0, n_repeated = 0;
    uint32_t *linked = arena_take(&scratch, profile->n, sizeof *linked);
    enum sutra_status status = bind_flows(profile, rows, &scratch, &n_unbound, error);
    if (!status)
        status = bind_correlations(profile, &context->engine, rocm, &scratch, &n_repeated, error);
    if (!status)
        status = find_links(profile, linked, error);
    if (!status)
        status = set_parents(profile, linked, rocm, &scratch, &report, error);
    arena_free(&scratch);
    if (status)
        return error_name_file(error, status, profile->trace->document.source.name);
    profile->report.n_launched = report.n_by_flow;
    profile->report.n_linked = report.n_by_link;
    warn(context, profile, &report, n_unbound, n_repeated, rocm);
    return SUTRA_OK;
}
