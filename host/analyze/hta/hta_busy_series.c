/*
 * hta_busy_series.c - which share of its time each device works, over the time of the trace: a number for each of so
 * many equal stretches.
 *
 *     kernels     [a ][ b ]        [c]  [ d  ]        of all streams of the device, merged
 *     stretches  |------|------|------|------|
 *     busy          90 %   30 %   40 %   80 %         from the beginning of each stretch
 *
 * O(n), the engine's merging of intervals, and the stretches.
 */
#include "analyze/hta/hta.h"
#include "base/error.h"
#include "columns/tuples.h"

#define N_STRETCHES 500

struct busy_series {
    const struct hta_input *input;
    struct tuples devices;      /* by pid, as they first occur in time */
    row_t *first;               /* a kernel of each, whose pid it is */
    int64_t begin, end, length; /* of all kernels, and of a stretch */
};

/* The kernels, copies and sets, with their devices, in the order of their starts. */
struct device_work {
    int64_t *start, *end;
    uint32_t *device;
    row_t n;
};

static enum sutra_status gather(struct busy_series *series, struct device_work *work, struct arena *arena,
                                struct sutra_error *error) {
    const struct hta_kernels *kernels = &series->input->kernels;
    const struct hta_rows *rows = &series->input->rows;
    work->start = arena_take(arena, kernels->n, sizeof *work->start);
    work->end = arena_take(arena, kernels->n, sizeof *work->end);
    work->device = arena_take(arena, kernels->n, sizeof *work->device);
    series->first = arena_take(arena, kernels->n, sizeof *series->first);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i], n_devices = series->devices.n;
        if (!(rows->state[event] & HTA_WORK) || kernels->end[i] < kernels->start[i])
            continue;
        uint32_t device = tuples_number(&series->devices, (struct tuple){{rows->events->pid[event]}});
        if (device == TUPLE_NONE)
            return error_memory(error);
        if (device == n_devices)
            series->first[device] = event;
        series->end = work->n == 0 || kernels->end[i] > series->end ? kernels->end[i] : series->end;
        work->start[work->n] = kernels->start[i];
        work->end[work->n] = kernels->end[i];
        work->device[work->n++] = device;
    }
    series->begin = work->n ? work->start[0] : 0;
    return SUTRA_OK;
}

/* What of the device's merged intervals lies in each stretch. */
static void measure(const struct busy_series *series, const struct merged *merged, uint32_t device, int64_t *busy) {
    for (row_t i = merged->first[device]; i < merged->first[device + 1]; i++) {
        int64_t at = merged->start[i] - series->begin, end = merged->end[i] - series->begin;
        while (at < end) {
            int64_t stretch = at / series->length, next = (stretch + 1) * series->length;
            busy[stretch] += (end < next ? end : next) - at;
            at = next;
        }
    }
}

static void add_rows(const struct busy_series *series, const struct merged *merged, int64_t *busy,
                     struct sutra_hta *hta) {
    enum { PID = 1 };
    const value_key *pids = series->input->rows.events->pid;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BUSY_SERIES);
    table_retype(table, PID, kind_of_ids(pids, series->first, series->devices.n));
    for (uint32_t device = 0; device < series->devices.n; device++) {
        for (int i = 0; i < N_STRETCHES; i++)
            busy[i] = 0;
        measure(series, merged, device, busy);
        for (int i = 0; i < N_STRETCHES && series->begin + i * series->length < series->end; i++) {
            table_real(table, us_of(series->begin + i * series->length));
            table_id(table, &series->input->context->values, pids[series->first[device]]);
            table_real(table, 100 * (double)busy[i] / (double)series->length);
        }
    }
}

static enum sutra_status make_series(struct busy_series *series, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error) {
    const struct engine *engine = series->input->engine;
    struct device_work work = {0};
    struct merged merged = {0};
    enum sutra_status status = gather(series, &work, arena, error);
    int64_t *busy = arena_take(arena, N_STRETCHES, sizeof *busy);
    if (!status && !busy)
        status = error_memory(error);
    series->length = (series->end - series->begin + N_STRETCHES - 1) / N_STRETCHES;
    if (status || series->length == 0) {
        hta->reasons[SUTRA_HTA_BUSY_SERIES] = "all kernels have a duration of 0";
        return status;
    }
    struct merge_intervals_step step = {work.start, work.end, work.device, work.n, series->devices.n, &merged};
    status = engine->merge_intervals(engine->state, &step, error);
    if (!status)
        add_rows(series, &merged, busy, hta);
    merged_free(&merged);
    return status;
}

enum sutra_status hta_busy_series(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    struct busy_series series = {.input = input};
    enum sutra_status status = make_series(&series, arena, hta, error);
    tuples_free(&series.devices);
    return status;
}
