/*
 * rate_steps.c - FLOPs of the operators that were called in a step of the profiler, on any thread, against the device's
 * peak for the whole time of the step: model FLOPs utilisation. A trace without steps is one. Beside a sort of the
 * steps O(charges + steps).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/operators/rates.h"
#include "base/error.h"

/* A step of the profiler, or all of the trace. */
struct rate_step {
    uint32_t name; /* STRING_NONE: all */
    int64_t start, stop;
    double flops;
    double by_precision[N_PRECISIONS]; /* of products */
    wide_t device, unknown;            /* ticks of work beside communication, and of that of which nothing is known */
};

static int compare_steps(const void *a, const void *b) {
    const struct rate_step *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static bool is_step(const struct op_reading *reading, row_t host) {
    return reading->hosts.kind[host] == HOST_ANNOTATION &&
           text_compare(reading->strings, host_name(reading, host), TEXT_BEGINS, STEP_NAME);
}

/* The whole time of the device. */
static struct rate_step whole_trace(const struct op_reading *reading) {
    struct rate_step step = {.name = STRING_NONE};
    for (row_t i = 0; i < reading->devices.n; i++) {
        int64_t start = reading->devices.start[i], stop = reading->devices.stop[i];
        step.start = i == 0 || start < step.start ? start : step.start;
        step.stop = i == 0 || stop > step.stop ? stop : step.stop;
    }
    return step;
}

static enum sutra_status list_steps(const struct op_reading *reading, struct arena *arena, struct rate_step **steps,
                                    uint32_t *n, struct sutra_error *error) {
    uint32_t count = 0;
    for (row_t row = 0; row < reading->hosts.n; row++)
        count += is_step(reading, row);
    *steps = arena_zeros(arena, (size_t)count + 1, sizeof **steps);
    *n = 0;
    if (!*steps)
        return error_memory(error);
    for (row_t row = 0; row < reading->hosts.n && count; row++)
        if (is_step(reading, row))
            (*steps)[(*n)++] = (struct rate_step){
                .name = host_name(reading, row), .start = reading->hosts.start[row], .stop = reading->hosts.stop[row]};
    if (*n == 0 && reading->devices.n)
        (*steps)[(*n)++] = whole_trace(reading);
    qsort(*steps, *n, sizeof **steps, compare_steps);
    return SUTRA_OK;
}

/* The last step that has begun at a time, if it has not ended; what was called before the device began counts to a step
 * that is all of the trace. Times rise from call to call: *n_begun steps have begun. */
static struct rate_step *step_at(struct rate_step *steps, uint32_t n, int64_t time, uint32_t *n_begun) {
    if (n == 1 && steps->name == STRING_NONE)
        return steps;
    while (*n_begun < n && steps[*n_begun].start <= time)
        ++*n_begun;
    return *n_begun && time < steps[*n_begun - 1].stop ? &steps[*n_begun - 1] : NULL;
}

static void add_to_step(const struct rates_work *work, row_t charge, bool first, struct rate_step *step) {
    const struct rate_row *row = &work->rows[work->row_of[charge]];
    wide_t device = work->reading->charges.work[charge];
    if (rates_is_communication(work, charge))
        return;
    step->device += device;
    step->unknown += row->missing ? device : 0;
    if (row->missing || !first)
        return;
    const struct op_flops *flops = &work->works.flops[row->group];
    enum precision precision = row->tf32 && flops->precision == PRECISION_FP32 ? PRECISION_TF32 : flops->precision;
    step->flops += flops->flops;
    if (flops->unit == UNIT_MATRIX && precision != PRECISION_NONE)
        step->by_precision[precision] += flops->flops;
}

/* The precision in which most products are. */
static enum precision main_precision(const struct rate_step *step) {
    enum precision most = PRECISION_NONE;
    for (int precision = 0; precision < N_PRECISIONS; precision++)
        if (step->by_precision[precision] > (most == PRECISION_NONE ? 0 : step->by_precision[most]))
            most = (enum precision)precision;
    return most;
}

static void put_step(const struct rates_work *work, const struct rate_step *step, struct sutra_table *table) {
    enum precision precision = main_precision(step);
    double step_s = op_us(work->reading, step->stop - step->start) / 1e6, rate = step->flops / step_s / 1e12;
    double peak =
        work->has_peaks && precision != PRECISION_NONE ? work->peaks.flops_per_s[UNIT_MATRIX][precision] / 1e12 : 0;
    table_integer(table, work->input->options.rank);
    if (step->name == STRING_NONE)
        table_words(table, "all");
    else
        table_string(table, work->reading->strings, step->name);
    table_real(table, step_s * 1e6);
    table_real(table, step->flops / 1e12);
    table_real(table, step_s > 0 ? rate : (double)NAN);
    table_words(table, work->has_peaks ? work->peaks.name : "");
    table_words(table, precision == PRECISION_NONE ? "" : precision_names[precision]);
    table_real(table, peak > 0 ? peak : (double)NAN);
    table_real(table, peak > 0 && step_s > 0 ? rate / peak * 100 : (double)NAN);
    table_real(table, step->device ? (double)step->unknown / (double)step->device * 100 : (double)NAN);
}

enum sutra_status rate_steps_write(const struct rates_work *work, struct arena *arena, struct sutra_table *table,
                                   struct sutra_error *error) {
    const struct op_charges *charges = &work->reading->charges;
    struct rate_step *steps = NULL;
    uint32_t n = 0, n_begun = 0;
    bool *counted = arena_zeros(arena, work->input->ways.n, sizeof *counted);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = list_steps(work->reading, arena, &steps, &n, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t known = work->stands[work->input->ways.of_charge[i]];
        struct rate_step *step = step_at(steps, n, work->reading->hosts.start[charges->host[i]], &n_begun);
        bool first = known != ROW_NONE && !counted[known];
        if (step)
            add_to_step(work, i, first, step);
        if (known != ROW_NONE)
            counted[known] = true;
    }
    for (uint32_t i = 0; i < n && !status; i++)
        put_step(work, &steps[i], table);
    return status;
}
