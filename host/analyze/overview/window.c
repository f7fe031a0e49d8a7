/*
 * window.c - from when to when an overview looks: from the start of the first step of the profiler to the end of the
 * last one, or to that of the last work that was launched in them. Without steps, all of the trace. O(n).
 */
#include <stdlib.h>

#include "analyze/operators/tables.h"
#include "analyze/overview/overview.h"
#include "base/error.h"

static bool is_step(const struct overview *overview, row_t host) {
    return overview->reading->hosts.kind[host] != HOST_CALL && overview_name(overview, host) & NAME_STEP;
}

static void widen(struct overview_window *window, bool first, int64_t start, int64_t stop) {
    window->from = first || start < window->from ? start : window->from;
    window->to = first || stop > window->to ? stop : window->to;
}

static void take_all(const struct op_reading *reading, struct overview_window *window) {
    const struct host_rows *hosts = &reading->hosts;
    const struct device_rows *devices = &reading->devices;
    for (row_t row = 0; row < hosts->n; row++)
        widen(window, row == 0, hosts->start[row], hosts->stop[row]);
    for (row_t i = 0; i < devices->n; i++)
        widen(window, hosts->n + i == 0, devices->start[i], devices->stop[i]);
}

static void take_steps(const struct op_reading *reading, struct overview_window *window) {
    const struct host_rows *hosts = &reading->hosts;
    const struct device_rows *devices = &reading->devices;
    for (row_t i = 0; i < window->n_steps; i++)
        widen(window, i == 0, hosts->start[window->steps[i]], hosts->stop[window->steps[i]]);
    int64_t last = window->to;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && hosts->start[call] >= window->from && hosts->start[call] < last)
            window->to = devices->stop[i] > window->to ? devices->stop[i] : window->to;
    }
}

static int compare_starts(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* By start; a step that is told twice, as an annotation and as an operator, counts once. */
static void order_steps(const struct overview *overview, struct overview_window *window) {
    const struct op_reading *reading = overview->reading;
    const struct host_rows *hosts = &reading->hosts;
    row_t n = 0;
    if (window->n_steps > 1)
        qsort_r(window->steps, window->n_steps, sizeof *window->steps, compare_starts, (void *)hosts);
    for (row_t i = 0; i < window->n_steps; i++) {
        row_t step = window->steps[i], before = n ? window->steps[n - 1] : ROW_NONE;
        if (n && hosts->start[step] < hosts->stop[before] && host_name(reading, step) == host_name(reading, before))
            continue;
        window->steps[n++] = step;
    }
    window->n_steps = n;
}

enum sutra_status overview_window_find(struct overview *overview, struct arena *arena, struct sutra_error *error) {
    struct overview_window *window = &overview->window;
    uint64_t capacity = 0;
    for (row_t row = 0; row < overview->reading->hosts.n; row++)
        if (is_step(overview, row) &&
            arena_grow(arena, &window->steps, window->n_steps, &capacity, sizeof *window->steps))
            window->steps[window->n_steps++] = row;
    if (arena->failed)
        return error_memory(error);
    order_steps(overview, window);
    if (window->n_steps)
        take_steps(overview->reading, window);
    else
        take_all(overview->reading, window);
    return SUTRA_OK;
}
