/*
 * trace_links.c - what Kineto's events of a trace stand below: where their flow starts, the call of their correlation,
 * the operator of their external id.
 *
 * A flow's halves are bound to events by thread and time; of several there, the one with the flow's id as correlation
 * is meant. Where a trace lacks a flow for work on the device, the call of the same correlation starts one. An external
 * id is a link only if ids differ from correlations somewhere: older traces just repeat the correlation there. O(n).
 */
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "match/key_index.h"
#include "tree/take_trace.h"

/* The trace's column of correlations; ids that are none are below 0. */
static value_key correlation_of(const struct taking *taking, row_t row) {
    return taking->trace->events.correlation[taking->profile->event[row]];
}

static bool is_bound(const struct sutra_profile *profile, row_t row) {
    return profile->flow_role[row] != SUTRA_FLOW_NONE;
}

/* Kineto's events by place and time, to find what a flow is bound to. */
struct link_places {
    struct pair_table first; /* of (start, thread): the first row there */
    struct pair_table exact; /* of (correlation, the first row there): the first row with that correlation */
    row_t *next;             /* the next row there, or ROW_NONE */
    row_t *unbound;          /* of a first row: where those begin that may be unbound */
};

static void places_free(struct link_places *places) {
    pair_table_free(&places->first);
    pair_table_free(&places->exact);
    free(places->next);
    free(places->unbound);
}

static bool places_make(struct link_places *places, const struct taking *taking) {
    const struct sutra_profile *profile = taking->profile;
    *places = (struct link_places){.next = column_new(profile->n, sizeof *places->next),
                                   .unbound = column_new(profile->n, sizeof *places->unbound)};
    bool ok = places->next && places->unbound && pair_table_init(&places->first) && pair_table_init(&places->exact);
    row_t *last = places->unbound; /* of a first row, until all are there */
    for (row_t row = 0; row < profile->n && ok; row++) {
        if (profile->kind[row] != SUTRA_EVENT_KINETO)
            continue;
        struct pair_entry *first = pair_table_take(&places->first, (uint64_t)profile->start[row], profile->thread[row]);
        if (!first)
            return false;
        places->next[row] = ROW_NONE;
        if (first->number == PAIR_NONE)
            first->number = row;
        else
            places->next[last[first->number]] = row;
        last[first->number] = row;
        struct pair_entry *exact =
            pair_table_take(&places->exact, (uint64_t)correlation_of(taking, row), first->number);
        ok = exact != NULL;
        if (ok && exact->number == PAIR_NONE)
            exact->number = row;
    }
    for (row_t row = 0; row < profile->n && ok; row++)
        places->unbound[row] = row;
    return ok;
}

/* The event of a flow's id at its place, or else any that is there; ROW_NONE if all are bound. */
static row_t place_find(struct link_places *places, const struct taking *taking, row_t event, bool exact) {
    const struct trace_rows *rows = &taking->rows;
    row_t first = pair_table_find(&places->first, (uint64_t)rows->start[event], rows->thread[event]);
    if (first == PAIR_NONE)
        return ROW_NONE;
    if (exact) {
        row_t row = pair_table_find(&places->exact, (uint64_t)rows->flow[event], first);
        return row != PAIR_NONE && !is_bound(taking->profile, row) ? row : ROW_NONE;
    }
    row_t row = places->unbound[first];
    while (row != ROW_NONE && is_bound(taking->profile, row))
        row = places->next[row];
    return places->unbound[first] = row;
}

/* Binds the halves of the trace's flows, first those whose event has their id. Those of which nothing stands at their
 * place are counted. */
static enum sutra_status bind_flows(struct taking *taking, uint64_t *n_unbound) {
    struct sutra_profile *profile = taking->profile;
    struct link_places places;
    row_t n = taking->trace->events.n;
    uint8_t *done = column_new(n, sizeof *done);
    bool ok = places_make(&places, taking) && done;
    for (int pass = 0; pass < 2 && ok; pass++)
        for (row_t event = 0; event < n; event++) {
            if (taking->rows.role[event] != ROLE_LAUNCH_FLOW || done[event])
                continue;
            row_t row = place_find(&places, taking, event, pass == 0);
            done[event] = row != ROW_NONE;
            *n_unbound += pass == 1 && row == ROW_NONE;
            if (row == ROW_NONE)
                continue;
            profile->flow_role[row] = taking->trace->events.phase[event] == 's' ? SUTRA_FLOW_START : SUTRA_FLOW_END;
            profile->flow[row] = taking->rows.flow[event];
        }
    places_free(&places);
    free(done);
    return ok ? SUTRA_OK : error_memory(taking->error);
}

static bool runs_on_device(const struct sutra_profile *profile, row_t row) {
    return profile->gpu[row] != EVENT_ON_HOST;
}

/* Lets calls start flows that the trace lacks, for work on the device whose correlation they have. */
static enum sutra_status bind_correlations(struct taking *taking) {
    struct sutra_profile *profile = taking->profile;
    struct pair_table starts; /* of an id: the row that starts its flow */
    bool ok = pair_table_init(&starts);
    for (int pass = 0; pass < 2 && ok; pass++) /* flows of the trace first, then calls without one */
        for (row_t row = 0; row < profile->n && ok; row++) {
            bool starts_flow = profile->flow_role[row] == SUTRA_FLOW_START;
            bool call = profile->kind[row] == SUTRA_EVENT_KINETO && !runs_on_device(profile, row);
            value_key id = pass == 0 ? profile->flow[row] : correlation_of(taking, row);
            if ((pass == 0) != starts_flow || !call || id < 0)
                continue;
            struct pair_entry *entry = pair_table_take(&starts, (uint64_t)id, 0);
            ok = entry != NULL;
            if (ok && entry->number == PAIR_NONE)
                entry->number = row;
        }
    for (row_t row = 0; row < profile->n && ok; row++) {
        if (!runs_on_device(profile, row))
            continue;
        bool ends = profile->flow_role[row] == SUTRA_FLOW_END;
        value_key id = ends ? profile->flow[row] : correlation_of(taking, row);
        row_t call = id < 0 ? ROW_NONE : pair_table_find(&starts, (uint64_t)id, 0);
        if (call == ROW_NONE)
            continue;
        profile->flow_role[row] = SUTRA_FLOW_END;
        profile->flow_role[call] = SUTRA_FLOW_START;
        profile->flow[row] = profile->flow[call] = id;
    }
    pair_table_free(&starts);
    return ok ? SUTRA_OK : error_memory(taking->error);
}

/* Whether external ids of Kineto's events are more than their correlations once more. */
static bool links_count(const struct taking *taking) {
    const struct device_events *events = &taking->trace->events;
    for (row_t row = 0; row < taking->profile->n; row++) {
        row_t event = taking->profile->event[row];
        if (taking->profile->kind[row] == SUTRA_EVENT_KINETO && events->external[event] >= 0 &&
            events->correlation[event] >= 0 && events->external[event] != events->correlation[event])
            return true;
    }
    return false;
}

static bool has_own_link(const struct taking *taking, row_t row, bool all) {
    return all || correlation_of(taking, row) < 0;
}

/* linked[row] = the operator with the row's external id. */
static enum sutra_status find_links(struct taking *taking, uint32_t *linked) {
    const struct sutra_profile *profile = taking->profile;
    const value_key *external = taking->trace->events.external;
    bool all = links_count(taking);
    struct pair_table operators;
    bool ok = pair_table_init(&operators);
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR || id <= 0)
            continue;
        struct pair_entry *entry = pair_table_take(&operators, (uint64_t)id, 0);
        ok = entry != NULL;
        if (ok && entry->number == PAIR_NONE)
            entry->number = row;
    }
    for (row_t row = 0; row < profile->n && ok; row++) {
        value_key id = external[profile->event[row]];
        linked[row] = ROW_NONE;
        if (profile->kind[row] == SUTRA_EVENT_KINETO && id > 0 && has_own_link(taking, row, all))
            linked[row] = pair_table_find(&operators, (uint64_t)id, 0);
    }
    pair_table_free(&operators);
    return ok ? SUTRA_OK : error_memory(taking->error);
}

/* Threads take the place of tids: they are numbers of those. */
static enum sutra_status set_parents(struct taking *taking, const uint32_t *linked,
                                     struct sutra_kineto_report *report) {
    struct sutra_profile *profile = taking->profile;
    int64_t *tid = column_new(profile->n, sizeof *tid);
    uint8_t *is_kineto = column_new(profile->n, sizeof *is_kineto);
    enum sutra_status status = tid && is_kineto ? SUTRA_OK : error_memory(taking->error);
    for (row_t row = 0; row < profile->n && !status; row++) {
        tid[row] = profile->thread[row];
        is_kineto[row] = profile->kind[row] == SUTRA_EVENT_KINETO;
    }
    const struct sutra_kineto_columns events = {.n = profile->n,
                                                .is_kineto = is_kineto,
                                                .flow_role = profile->flow_role,
                                                .flow_id = profile->flow,
                                                .linked = linked,
                                                .rocm = taking->options->rocm};
    if (!status)
        status = sutra_kineto_parents(&events, profile->parent, tid, report, taking->error);
    for (row_t row = 0; row < profile->n && !status; row++)
        profile->thread[row] = (uint32_t)tid[row];
    free(tid);
    free(is_kineto);
    return status;
}

static void warn(const struct taking *taking, const struct sutra_kineto_report *report, uint64_t n_unbound) {
    const struct sutra_profile *profile = taking->profile;
    uint64_t n_alone = 0;
    for (row_t row = 0; row < profile->n; row++)
        n_alone += profile->gpu[row] == EVENT_GPU_OPERATOR && profile->parent[row] == ROW_NONE;
    if (n_unbound)
        context_warn(taking->context, "%llu halves of flows from launch to kernel have no event at their place",
                     (unsigned long long)n_unbound);
    if (n_alone)
        context_warn(taking->context, "%llu GPU operators have no launch: they stand at the top",
                     (unsigned long long)n_alone);
    if (report->n_repeated)
        context_warn(taking->context, "%llu flows start twice: the first start counts",
                     (unsigned long long)report->n_repeated);
    if (report->n_in_cycles)
        context_warn(taking->context, "%llu cycles of flows and links were cut",
                     (unsigned long long)report->n_in_cycles);
}

enum sutra_status take_parents(struct taking *taking) {
    struct sutra_profile *profile = taking->profile;
    struct sutra_kineto_report report = {.size = sizeof report};
    uint64_t n_unbound = 0;
    uint32_t *linked = column_new(profile->n, sizeof *linked);
    enum sutra_status status = linked ? bind_flows(taking, &n_unbound) : error_memory(taking->error);
    if (!status)
        status = bind_correlations(taking);
    if (!status)
        status = find_links(taking, linked);
    if (!status)
        status = set_parents(taking, linked, &report);
    free(linked);
    if (status)
        return error_name_file(taking->error, status, taking->trace->document.source.name);
    profile->report.n_launched = report.n_by_flow;
    profile->report.n_linked = report.n_by_link;
    warn(taking, &report, n_unbound);
    return SUTRA_OK;
}
