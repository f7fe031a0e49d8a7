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

#include "base/error.h"
#include "base/options.h"
#include "text/counted.h"

static bool is_of_profiler(uint8_t role) {
    return role >= ROLE_OPERATOR && role <= ROLE_INSTANT;
}

static bool is_of_kineto(uint8_t role) {
    return role >= ROLE_CALL && role <= ROLE_ON_DEVICE;
}

static enum sutra_event_kind kind_of(const struct sutra_device_trace *trace, enum event_role role, row_t event) {
    switch (role) {
    case ROLE_OPERATOR:
    case ROLE_ANNOTATION:
        return SUTRA_EVENT_OPERATOR;
    case ROLE_PYTHON:
        return SUTRA_EVENT_PYTHON_CALL;
    case ROLE_INSTANT:
        return trace->events.name[event] == strings_find(&trace->strings, "[OutOfMemory]", 13)
                   ? SUTRA_EVENT_OUT_OF_MEMORY
                   : SUTRA_EVENT_ALLOCATION;
    default:
        return SUTRA_EVENT_KINETO;
    }
}

static void append_event(struct sutra_profile *profile, const struct trace_rows *rows, row_t event) {
    enum event_role role = (enum event_role)rows->role[event];
    row_t row = profile_append(profile, kind_of(profile->trace, role, event), event);
    profile->scope[row] = role == ROLE_ANNOTATION ? SUTRA_SCOPE_USER : SUTRA_SCOPE_FUNCTION;
    profile->gpu[row] = role == ROLE_GPU_OPERATOR ? EVENT_GPU_OPERATOR
                        : role == ROLE_ON_DEVICE  ? EVENT_ON_DEVICE
                                                  : EVENT_ON_HOST;
    if (rows->index[event] >= 0)
        profile->index[row] = rows->index[event];
    profile->name[row] = profile->trace->events.name[event];
    profile->start[row] = rows->start[event];
    profile->end[row] = event_is_memory(profile->kind[row]) ? rows->start[event] : rows->end[event];
    profile->thread[row] = rows->thread[event];
    profile->memory[row] = rows->memory[event];
    profile->bytes[row] = rows->bytes[event];
    if (role == ROLE_OPERATOR || role == ROLE_ANNOTATION) {
        profile->sequence[row] = rows->sequence[event];
        profile->forward_tid[row] = rows->forward_tid[event];
    }
}

/* Sorts events of the profiler by their index, if each has one; else they stay as they stand in the file. */
static enum sutra_status sort_by_index(struct sutra_context *context, const struct trace_rows *rows, row_t *order,
                                       row_t n, struct arena *arena, struct sutra_error *error) {
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    row_t n_indexed = 0, n_repeated = 0;
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        n_indexed += rows->index[order[i]] >= 0;
        keys[i] = (uint64_t)rows->index[order[i]];
    }
    if (n_indexed < n) {
        if (n_indexed)
            context_warn(context, "%u of %u events of the profiler have no \"Ev Idx\": using the order of the file",
                         n - n_indexed, n);
        return SUTRA_OK;
    }
    enum sutra_status status =
        context->engine.sort_keys(context->engine.state, &(struct sort_keys_step){keys, order, n}, error);
    for (row_t i = 1; i < n && !status; i++)
        n_repeated += keys[i] == keys[i - 1];
    if (n_repeated)
        context_warn(context, "%s the \"Ev Idx\" of another event",
                     counted_text(n_repeated, "event has", "events have").text);
    return status;
}

/* Events of the profiler, by index where each has one. */
static enum sutra_status append_profiler(struct sutra_profile *profile, struct sutra_context *context,
                                         const struct trace_rows *rows, struct sutra_error *error) {
    struct arena scratch = {0};
    row_t n_events = profile->trace->events.n, n = 0;
    row_t *order = arena_take(&scratch, n_events, sizeof *order);
    for (row_t event = 0; event < n_events && order; event++)
        if (is_of_profiler(rows->role[event]))
            order[n++] = event;
    enum sutra_status status = sort_by_index(context, rows, order, n, &scratch, error);
    for (row_t i = 0; i < n && !status; i++)
        append_event(profile, rows, order[i]);
    arena_free(&scratch);
    return status;
}

/* Kineto's events, in the order of the file. */
static void append_kineto(struct sutra_profile *profile, const struct trace_rows *rows) {
    const struct device_events *events = &profile->trace->events;
    for (row_t event = 0; event < events->n; event++) {
        if (is_of_kineto(rows->role[event]))
            append_event(profile, rows, event);
        uint8_t phase = events->phase[event];
        profile->report.n_other += rows->role[event] == ROLE_NONE && (phase == 'X' || phase == 'B');
    }
}

static enum sutra_status append_events(struct sutra_profile *profile, struct sutra_context *context,
                                       const struct trace_rows *rows, struct sutra_error *error) {
    profile->n_threads = rows->n_threads;
    if (!profile_reserve(profile, profile->trace->events.n + 1))
        return error_memory(error);
    enum sutra_status status = append_profiler(profile, context, rows, error);
    if (!status)
        append_kineto(profile, rows);
    return status;
}

/* Whether all times are whole microseconds, as older traces have them. */
static bool are_whole(const struct sutra_profile *profile) {
    for (row_t row = 0; row < profile->n; row++)
        if (profile->start[row] % 1000 || (profile->end[row] != EVENT_NO_END && profile->end[row] % 1000))
            return false;
    return true;
}

static void warn(struct sutra_context *context, const struct trace_rows *rows, const struct sutra_profile *profile) {
    if (profile->n == 0)
        context_warn(context,
                     "%s: none of its %u events is an operator, a runtime call or GPU activity: the result is empty",
                     profile->trace->document.source.name, profile->trace->events.n);
    if (rows->n_dropped)
        context_warn(context, "%s: ignored",
                     counted_text(rows->n_dropped, "argument of an event is not an integer",
                                  "arguments of events are not integers")
                         .text);
    if (rows->n_untimed)
        context_warn(context, "%s no start, or times beyond 2^62 ns: skipped",
                     counted_text(rows->n_untimed, "event has", "events have").text);
}

/* All steps; the profile is empty. */
static enum sutra_status take(struct sutra_profile *profile, struct sutra_context *context,
                              const struct sutra_host_trace *host, const struct sutra_profile_options *options,
                              struct arena *arena, struct sutra_error *error) {
    struct trace_rows rows;
    enum sutra_status status = trace_rows_read(&rows, context, profile->trace, arena, error);
    if (!status)
        status = append_events(profile, context, &rows, error);
    if (!status)
        status = take_parents(profile, context, &rows, options->rocm, error);
    if (!status && host)
        status = take_host(profile, context, host, error);
    if (!status && options->inputs && !profile->inputs)
        status = take_inputs(profile, error);
    if (!status)
        status = take_threads(profile, &rows, host, error);
    if (status)
        return status;
    profile->whole_us = are_whole(profile);
    profile_count(profile);
    warn(context, &rows, profile);
    return SUTRA_OK;
}

enum sutra_status sutra_profile_from_trace(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_host_trace *host,
                                           const struct sutra_profile_options *options, struct sutra_profile **profile,
                                           struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_profile_options, inputs);
    struct sutra_profile_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct arena arena = {0};
    struct sutra_profile *made = profile_new();
    if (!made)
        return error_memory(error);
    made->trace = trace;
    made->strings = &trace->strings;
    context_expect(context, trace->events.n);
    stage_begin(context, "build profile", trace->events.n);
    status = take(made, context, host, &taken, &arena, error);
    stage_end(context);
    arena_free(&arena);
    if (status)
        sutra_profile_free(made);
    else
        *profile = made;
    return status;
}
