/*
 * step_windows.c - the steps of the profiler as stretches of time, and which of them host events and work belong to.
 *
 *     ProfilerStep#4 [------------)[----------) #5          launched in #4, done in #5: of #4
 *     launches            |    |     |
 *     kernels                [....] [..]  [....]
 *
 * Where steps overlap, the later one begins where the earlier one ends. O(n log s).
 */
#include <stdlib.h>

#include "base/bisect.h"
#include "base/error.h"
#include "compare/part.h"

static bool is_step(const struct op_reading *reading, row_t host) {
    return reading->hosts.kind[host] == HOST_ANNOTATION &&
           text_compare(reading->strings, host_name(reading, host), TEXT_BEGINS, STEP_NAME);
}

static int compare_windows(const void *left, const void *right) {
    const struct step_window *a = left, *b = right;
    int order = (a->from > b->from) - (a->from < b->from);
    return order ? order : (a->to > b->to) - (a->to < b->to);
}

/* Those that begin where it counts. */
static void list_windows(struct part_work *work) {
    const struct op_reading *reading = &work->reading;
    for (row_t row = 0; row < reading->hosts.n; row++)
        if (is_step(reading, row) && op_is_inside(reading, reading->hosts.start[row]))
            work->windows[work->n_windows++] =
                (struct step_window){reading->hosts.start[row], reading->hosts.stop[row]};
    qsort(work->windows, work->n_windows, sizeof *work->windows, compare_windows);
    row_t n = 0;
    for (row_t i = 0; i < work->n_windows; i++) {
        struct step_window window = work->windows[i];
        if (n && window.from < work->windows[n - 1].to)
            window.from = work->windows[n - 1].to;
        if (window.from < window.to)
            work->windows[n++] = window;
    }
    work->n_windows = n;
}

/* The window that a moment lies in. */
static row_t window_at(const struct part_work *work, int64_t moment) {
    struct bisection at = {0, work->n_windows};
    while (at.low < at.high)
        bisect(&at, work->windows[bisect_middle(at)].from <= moment);
    return at.low && moment < work->windows[at.low - 1].to ? (row_t)(at.low - 1) : ROW_NONE;
}

/* From the first work to the last. */
static struct step_window span_of_work(const struct op_reading *reading) {
    struct step_window span = {0};
    for (row_t i = 0; i < reading->devices.n; i++) {
        int64_t start = reading->devices.start[i], stop = reading->devices.stop[i];
        span.from = i == 0 || start < span.from ? start : span.from;
        span.to = i == 0 || stop > span.to ? stop : span.to;
    }
    return span;
}

static void measure(struct part_work *work) {
    struct part_side *side = work->side;
    struct step_window span = span_of_work(&work->reading);
    const struct step_window *windows = side->has_steps ? work->windows : &span;
    for (row_t i = 0; i < work->n_windows; i++) {
        int64_t ns = windows[i].to - windows[i].from;
        side->step_ns += ns;
        spread_add(&side->step, (double)ns);
    }
}

enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error) {
    const struct op_reading *reading = &work->reading;
    const struct host_rows *hosts = &reading->hosts;
    const struct device_rows *devices = &reading->devices;
    row_t n = 1;
    for (row_t row = 0; row < hosts->n; row++)
        n += is_step(reading, row);
    work->windows = arena_take(&work->arena, n, sizeof *work->windows);
    work->host_sample = arena_take(&work->arena, hosts->n, sizeof *work->host_sample);
    work->device_sample = arena_take(&work->arena, devices->n, sizeof *work->device_sample);
    enum sutra_status status = arena_status(&work->arena, error);
    if (status)
        return status;
    list_windows(work);
    work->side->has_steps = work->n_windows > 0;
    if (!work->n_windows)
        work->windows[work->n_windows++] = (struct step_window){reading->from, reading->to};
    for (row_t row = 0; row < hosts->n; row++)
        work->host_sample[row] = window_at(work, hosts->start[row]);
    for (row_t i = 0; i < devices->n; i++)
        work->device_sample[i] =
            devices->call[i] == ROW_NONE ? window_at(work, devices->start[i]) : work->host_sample[devices->call[i]];
    work->side->n_samples = work->n_windows;
    measure(work);
    return SUTRA_OK;
}
