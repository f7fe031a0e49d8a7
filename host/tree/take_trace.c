/*
 * take_trace.c - an exported trace into a profile.
 *
 *     trace rows (trace_rows.c) --> rows of the profile, as recorded --> parents by flow, correlation and external id
 *     (trace_links.c) --> numbers of the host trace (host_numbers.c) --> autograd's threads (trace_threads.c)
 *
 * The profiler's own events come first, in the order of "Ev Idx" where all have one, then Kineto's in the order of the
 * file. O(n) but for sorting.
 */
#include "tree/take_trace.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"

static bool is_of_profiler(uint8_t role) {
    return role >= ROLE_OPERATOR && role <= ROLE_INSTANT;
}

static bool is_of_kineto(uint8_t role) {
    return role >= ROLE_CALL && role <= ROLE_ON_DEVICE;
}

static enum sutra_event_kind kind_of(const struct taking *taking, row_t event) {
    const struct strings *strings = &taking->trace->strings;
    uint32_t name = taking->trace->events.name[event];
    switch ((enum event_role)taking->rows.role[event]) {
    case ROLE_OPERATOR:
    case ROLE_ANNOTATION:
        return SUTRA_EVENT_OPERATOR;
    case ROLE_PYTHON:
        return SUTRA_EVENT_PYTHON_CALL;
    case ROLE_INSTANT:
        return name == strings_find(strings, "[OutOfMemory]", 13) ? SUTRA_EVENT_OUT_OF_MEMORY : SUTRA_EVENT_ALLOCATION;
    default:
        return SUTRA_EVENT_KINETO;
    }
}

static void append_event(struct taking *taking, row_t event) {
    const struct trace_rows *rows = &taking->rows;
    struct sutra_profile *profile = taking->profile;
    row_t row = profile_append(profile, kind_of(taking, event), event);
    enum event_role role = (enum event_role)rows->role[event];
    profile->scope[row] = role == ROLE_ANNOTATION ? SUTRA_SCOPE_USER : SUTRA_SCOPE_FUNCTION;
    profile->gpu[row] = role == ROLE_GPU_OPERATOR ? EVENT_GPU_OPERATOR
                        : role == ROLE_ON_DEVICE  ? EVENT_ON_DEVICE
                                                  : EVENT_ON_HOST;
    if (rows->index[event] >= 0)
        profile->index[row] = rows->index[event];
    profile->name[row] = taking->trace->events.name[event];
    profile->start[row] = rows->start[event];
    profile->end[row] = event_is_memory(profile->kind[row]) ? rows->start[event] : rows->end[event];
    profile->thread[row] = rows->thread[event];
    profile->memory[row] = rows->memory[event];
    profile->bytes[row] = rows->bytes[event];
    if (role == ROLE_OPERATOR || role == ROLE_ANNOTATION) {
        profile->sequence[row] = rows->sequence[event];
        profile->forward_tid[row] = rows->forward_tid[event];
    }
    taking->row_of[event] = row;
}

/* Events of the profiler by their index, if each has one; else as they stand in the file. */
static enum sutra_status order_profiler(struct taking *taking, row_t *order, row_t *n) {
    const struct trace_rows *rows = &taking->rows;
    struct engine *engine = &taking->context->engine;
    uint64_t *keys = column_new(taking->trace->events.n, sizeof *keys);
    row_t n_indexed = 0;
    if (!keys)
        return error_memory(taking->error);
    for (row_t event = 0; event < taking->trace->events.n; event++) {
        if (!is_of_profiler(rows->role[event]))
            continue;
        n_indexed += rows->index[event] >= 0;
        keys[*n] = (uint64_t)rows->index[event];
        order[(*n)++] = event;
    }
    enum sutra_status status = SUTRA_OK;
    if (n_indexed == *n)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, *n}, taking->error);
    else if (n_indexed)
        context_warn(taking->context, "%u of %u events of the profiler have no \"Ev Idx\": the file's order counts",
                     *n - n_indexed, *n);
    row_t n_repeated = 0;
    for (row_t i = 1; i < *n && n_indexed == *n; i++)
        n_repeated += keys[i] == keys[i - 1];
    if (n_repeated && !status)
        context_warn(taking->context, "%u events have an \"Ev Idx\" that another one has too", n_repeated);
    free(keys);
    return status;
}

static enum sutra_status append_events(struct taking *taking) {
    row_t n_events = taking->trace->events.n, n = 0;
    row_t *order = column_new(n_events, sizeof *order);
    taking->row_of = column_new(n_events, sizeof *taking->row_of);
    if (!order || !taking->row_of || !profile_reserve(taking->profile, n_events + 1)) {
        free(order);
        return error_memory(taking->error);
    }
    enum sutra_status status = order_profiler(taking, order, &n);
    for (row_t event = 0; event < n_events; event++)
        taking->row_of[event] = ROW_NONE;
    for (row_t i = 0; i < n && !status; i++)
        append_event(taking, order[i]);
    for (row_t event = 0; event < n_events && !status; event++) {
        if (is_of_kineto(taking->rows.role[event]))
            append_event(taking, event);
        uint8_t phase = taking->trace->events.phase[event];
        taking->profile->report.n_other += taking->rows.role[event] == ROLE_NONE && (phase == 'X' || phase == 'B');
    }
    free(order);
    return status;
}

/* Whether all times are whole microseconds, as older traces have them. */
static bool are_whole(const struct sutra_profile *profile) {
    for (row_t row = 0; row < profile->n; row++)
        if (profile->start[row] % 1000 || (profile->end[row] != EVENT_NO_END && profile->end[row] % 1000))
            return false;
    return true;
}

static void warn(const struct taking *taking) {
    struct sutra_context *context = taking->context;
    if (taking->n_dropped)
        context_warn(context, "%llu arguments of events are no integers: taken as absent",
                     (unsigned long long)taking->n_dropped);
    if (taking->n_untimed)
        context_warn(context, "%u events have no start, or times beyond 2^62 ns: left out", taking->n_untimed);
}

static enum sutra_status take(struct taking *taking) {
    enum sutra_status status = trace_rows_read(taking);
    if (!status)
        status = append_events(taking);
    if (!status)
        status = take_parents(taking);
    if (!status && taking->host)
        status = take_host(taking);
    if (!status && taking->options->inputs && !taking->profile->inputs)
        status = take_inputs(taking);
    if (!status)
        status = take_threads(taking);
    if (status)
        return status;
    taking->profile->whole_us = are_whole(taking->profile);
    profile_count(taking->profile);
    warn(taking);
    return SUTRA_OK;
}

enum sutra_status sutra_profile_take(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_host_trace *host, const struct sutra_profile_options *options,
                                     struct sutra_profile **profile, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_profile_options, inputs);
    struct sutra_profile_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct taking taking = {
        .context = context, .trace = trace, .host = host, .options = &taken, .profile = profile_new(), .error = error};
    if (!taking.profile)
        return error_memory(error);
    taking.profile->trace = trace;
    taking.profile->strings = &trace->strings;
    context_expect(context, trace->events.n);
    stage_begin(context, "take events", trace->events.n);
    status = take(&taking);
    stage_end(context);
    trace_rows_free(&taking.rows);
    free(taking.row_of);
    if (status)
        sutra_profile_free(taking.profile);
    else
        *profile = taking.profile;
    return status;
}
