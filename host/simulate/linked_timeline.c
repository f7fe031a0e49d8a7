/*
 * linked_timeline.c - times of what was linked; calls and synchronisation events beside it are timeline_sources.c's.
 *
 *     unit of the host trace --linked to--> CPU operator     an operator of the timeline
 *             \--its GPU operators--> event                  a kernel
 */
#include "simulate/linked_timeline.h"

#include "base/error.h"
#include "simulate/timeline_sources.h"

static enum sutra_status read_ops(const struct timeline_sources *sources, const struct sutra_linked *linked,
                                  struct timeline_ops *made, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    const row_t n_units = linked->units.n_units;
    uint64_t *id = arena_take(sources->arena, n_units, sizeof *id);
    double *start = arena_take(sources->arena, n_units, sizeof *start);
    double *end = arena_take(sources->arena, n_units, sizeof *end);
    uint32_t *thread = arena_take(sources->arena, n_units, sizeof *thread);
    if (sources->arena->failed)
        return error_memory(error);
    row_t n = 0;
    for (row_t unit = 0; unit < n_units; unit++) {
        row_t op = linked->unit_op[unit];
        if (op == ROW_NONE || !timeline_event_lasts(sources, ops->cpu_event[op]))
            continue;
        id[n] = linked->unit_id[unit];
        start[n] = timeline_event_start(sources, ops->cpu_event[op]);
        end[n] = timeline_event_end(sources, ops->cpu_event[op]);
        thread[n++] = ops->cpu.thread[op];
    }
    *made = (struct timeline_ops){n, ops->cpu.n_threads, id, start, end, thread};
    return SUTRA_OK;
}

static bool add_kernels(struct timeline_sources *sources, const struct sutra_linked *linked,
                        struct kernel_columns *columns) {
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        row_t n;
        const row_t *events = linked_gpu_ops(linked, unit, &n);
        for (row_t i = 0; i < n; i++)
            if (timeline_event_lasts(sources, events[i]) &&
                !timeline_kernels_add(sources, columns, (uint64_t)linked->unit_id[unit] + 1 + i, events[i]))
                return false;
    }
    return true;
}

static enum sutra_status read_all(struct timeline_sources *sources, const struct sutra_linked *linked,
                                  struct timeline_input *input, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct kernel_columns columns;
    enum sutra_status status = timeline_sources_thread(sources, ops->cpu_event, ops->cpu.thread, ops->cpu.n, error);
    if (!status)
        status = read_ops(sources, linked, &input->ops, error);
    if (status)
        return status;
    if (!timeline_kernels_begin(sources, linked->report.n_gpu_nodes, &columns) ||
        !add_kernels(sources, linked, &columns))
        return error_memory(error);
    input->kernels = timeline_kernels_finish(sources, &columns);
    return timeline_read_waits(sources, input, error);
}

enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, linked->device, arena, error);
    if (!status)
        status = read_all(&sources, linked, input, error);
    timeline_sources_free(&sources);
    return status;
}
