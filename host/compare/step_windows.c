/*
 * step_windows.c - the steps of the profiler as stretches of time: which of them host events and work belong to, and
 * what each consists of.
 *
 *     host     | step 4        | step 5                     launched in 4, done in 5: of 4
 *     launches       |    |        |
 *     kernels          [......] [....] [..]
 *
 * Work belongs to the step in which its call begins; a step goes on to the start of the next. What passes on the device
 * in a step, and how long it takes, is told by the steps of the overview (analyze/overview/steps.h), whose bounds
 * follow the device where the host runs ahead. A trace without steps is one, from its first event to its last. O(n log
 * s).
 */
#include "analyze/overview/steps.h"
#include "base/bisect.h"
#include "base/error.h"
#include "compare/part.h"

/* From each step of the window that counts to the next. */
static void list_windows(struct part_work *work, const struct overview_window *window) {
    const struct host_rows *hosts = &work->reading.hosts;
    for (row_t i = 0; i < window->n_steps; i++) {
        int64_t from = hosts->start[window->steps[i]];
        int64_t to = i + 1 < window->n_steps ? hosts->start[window->steps[i + 1]] : INT64_MAX;
        if (from < to && op_is_inside(&work->reading, from))
            work->windows[work->n_windows++] = (struct step_window){from, to, window->steps[i]};
    }
}

/* The window that a moment lies in. */
static row_t window_at(const struct part_work *work, int64_t moment) {
    struct bisection at = {0, work->n_windows};
    while (at.low < at.high)
        bisect(&at, work->windows[bisect_middle(at)].from <= moment);
    return at.low && moment < work->windows[at.low - 1].to ? (row_t)(at.low - 1) : ROW_NONE;
}

static void add_time(struct part_side *side, enum diff_part part, int64_t ns) {
    side->parts_ns[part] += ns;
    spread_add(&side->parts[part], (double)ns);
}

/* A trace without steps. */
static void measure_all(struct part_side *side, const struct overview *overview) {
    int64_t ns[N_DIFF_PARTS] = {[DIFF_PART_STEP] = overview_length(overview)};
    for (int kind = 0; kind < OVERVIEW_N_KINDS; kind++)
        ns[DIFF_PART_FIRST + (int)step_part_of((enum overview_kind)kind)] += overview->ticks[kind];
    for (int part = 0; part < N_DIFF_PARTS; part++)
        add_time(side, (enum diff_part)part, ns[part]);
}

/* Steps whose name is that of a window; those that no time passed in are none to the overview. */
static enum sutra_status measure_steps(struct part_work *work, const struct overview *overview,
                                       struct sutra_error *error) {
    struct overview_steps steps;
    uint8_t *wanted = arena_zeros(&work->scratch, work->reading.strings->n, 1);
    enum sutra_status status = arena_status(&work->scratch, error);
    if (!status)
        status = overview_steps_make(overview, NULL, &work->arena, &work->scratch, &steps, error);
    for (row_t i = 0; i < work->n_windows && !status; i++)
        wanted[host_name(&work->reading, work->windows[i].host)] = true;
    for (row_t i = 0; !status && i < steps.n; i++) {
        const struct overview_step *step = &steps.list[i];
        if (!wanted[step->name])
            continue;
        add_time(work->side, DIFF_PART_STEP, step->end - step->begin);
        for (int part = 0; part < N_STEP_PARTS; part++)
            add_time(work->side, (enum diff_part)(DIFF_PART_FIRST + part), step->ticks[part]);
    }
    return status;
}

static enum sutra_status find(struct part_work *work, struct sutra_error *error) {
    struct overview overview;
    enum sutra_status status =
        overview_make(work->context, &work->reading, &work->arena, &work->scratch, &overview, error);
    if (status)
        return status;
    work->windows = arena_take(&work->arena, (size_t)overview.window.n_steps + 1, sizeof *work->windows);
    if (!work->windows)
        return error_memory(error);
    list_windows(work, &overview.window);
    work->side->has_steps = work->n_windows > 0;
    if (work->n_windows)
        return measure_steps(work, &overview, error);
    work->windows[work->n_windows++] = (struct step_window){work->reading.from, work->reading.to, ROW_NONE};
    measure_all(work->side, &overview);
    return SUTRA_OK;
}

enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading.hosts;
    const struct device_rows *devices = &work->reading.devices;
    struct arena_mark mark = arena_mark(&work->scratch);
    enum sutra_status status = find(work, error);
    arena_release(&work->scratch, mark);
    work->host_sample = arena_take(&work->arena, hosts->n, sizeof *work->host_sample);
    work->device_sample = arena_take(&work->arena, devices->n, sizeof *work->device_sample);
    if (!status)
        status = arena_status(&work->arena, error);
    if (status)
        return status;
    for (row_t row = 0; row < hosts->n; row++)
        work->host_sample[row] = window_at(work, hosts->start[row]);
    for (row_t i = 0; i < devices->n; i++)
        work->device_sample[i] =
            devices->call[i] == ROW_NONE ? window_at(work, devices->start[i]) : work->host_sample[devices->call[i]];
    work->side->n_samples = work->n_windows;
    return SUTRA_OK;
}
