/*
 * device_timeline.c - operators and kernels by their categories; calls and synchronisation events beside them are
 * timeline_sources.c's.
 */
#include "simulate/device_timeline.h"

#include "base/error.h"
#include "facts/threads.h"
#include "simulate/timeline_sources.h"

static bool begins_inside(struct timeline_window window, double time) {
    return time >= window.begin && time < window.end;
}

static bool is_op(const struct timeline_sources *sources, struct timeline_window window, row_t event) {
    return category_roles(sources->events, sources->roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION) &&
           !(name_roles(sources->events, sources->roles, event) & NAME_STEP) && timeline_event_lasts(sources, event) &&
           begins_inside(window, timeline_event_start(sources, event));
}

static enum sutra_status read_ops(struct timeline_sources *sources, struct timeline_window window,
                                  struct timeline_ops *made, struct sutra_error *error) {
    const struct device_events *events = sources->events;
    row_t *rows = arena_take(sources->arena, events->n, sizeof *rows), n = 0;
    if (!rows)
        return error_memory(error);
    for (row_t event = 0; event < events->n; event++)
        if (is_op(sources, window, event))
            rows[n++] = event;
    uint64_t *id = arena_take(sources->arena, n, sizeof *id);
    double *start = arena_take(sources->arena, n, sizeof *start);
    double *end = arena_take(sources->arena, n, sizeof *end);
    uint32_t *thread = arena_take(sources->arena, n, sizeof *thread), n_threads;
    if (sources->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        id[i] = rows[i];
        start[i] = timeline_event_start(sources, rows[i]);
        end[i] = timeline_event_end(sources, rows[i]);
    }
    enum sutra_status status = threads_number(events, rows, n, &sources->context->engine, sources->arena,
                                              &sources->thread_of, thread, &n_threads, error);
    if (status)
        return status;
    sources->op_thread = thread;
    *made = (struct timeline_ops){n, n_threads, id, start, end, thread};
    return SUTRA_OK;
}

static bool is_kernel(const struct timeline_sources *sources, struct timeline_window window, row_t event) {
    if (!(category_roles(sources->events, sources->roles, event) & CATEGORY_WORK) ||
        !timeline_event_lasts(sources, event))
        return false;
    row_t call = timeline_call_of(sources, event);
    return begins_inside(window, timeline_event_start(sources, call == ROW_NONE ? event : call));
}

static bool add_kernels(struct timeline_sources *sources, struct timeline_window window,
                        struct kernel_columns *columns) {
    for (row_t event = 0; event < sources->events->n; event++) {
        if (!is_kernel(sources, window, event))
            continue;
        if (!timeline_kernels_add(sources, columns, event, event))
            return false;
        if (name_roles(sources->events, sources->roles, event) & NAME_NCCL)
            columns->traits[columns->n - 1] |= KERNEL_COMMUNICATES;
    }
    return true;
}

static enum sutra_status read_kernels(struct timeline_sources *sources, struct timeline_window window,
                                      struct timeline_kernels *made, struct sutra_error *error) {
    struct kernel_columns columns;
    row_t n = 0;
    for (row_t event = 0; event < sources->events->n; event++)
        n += is_kernel(sources, window, event);
    if (!timeline_kernels_begin(sources, n, &columns) || !add_kernels(sources, window, &columns))
        return error_memory(error);
    *made = timeline_kernels_finish(sources, &columns);
    return SUTRA_OK;
}

enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       struct timeline_window window, struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, trace, arena, error);
    if (!status)
        status = read_ops(&sources, window, &input->ops, error);
    if (!status)
        status = read_kernels(&sources, window, &input->kernels, error);
    if (!status)
        status = timeline_read_waits(&sources, input, error);
    input->first_new_id = trace->events.n;
    timeline_sources_free(&sources);
    return status;
}
