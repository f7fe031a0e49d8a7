/*
 * rates.c - FLOP/s and bytes/s of operators and of steps, compared with the peaks of the device.
 *
 *     every launcher --> its representative: the innermost enclosing operator (or itself) with known FLOPs
 *     representatives of one name with equal arguments --> a row: their FLOPs, bytes, and device time
 *
 * Each GPU activity counts in one row. Launchers without known FLOPs have rows by the launcher's name, with the reason.
 * A row's rates cover all its operators: total FLOPs and bytes over total time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "match/key_index.h"

/* ---- Peaks of the device ---- */

static void add_peak(const struct rates_run *run, const char *unit, double tera_flops_per_s, double tera_bytes_per_s,
                     struct sutra_table *table) {
    table_integer(table, run->input->options.rank);
    table_words(table, run->peaks.name);
    table_words(table, unit);
    table_real(table, tera_flops_per_s);
    table_real(table, tera_bytes_per_s);
}

static void add_peaks(const struct rates_run *run, struct sutra_table *table) {
    static const char *const units[] = {[UNIT_VECTOR] = "vector", [UNIT_MATRIX] = "matrix"};
    char unit[32];
    if (!run->has_peaks)
        return;
    add_peak(run, "memory", NAN, run->peaks.bytes_per_s / 1e12, table);
    for (int i = 0; i < 2; i++)
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            double peak = run->peaks.flops_per_s[i][precision];
            snprintf(unit, sizeof unit, "%s %s", units[i], precision_names[precision]);
            if (peak > 0)
                add_peak(run, unit, peak / 1e12, NAN, table);
        }
}

/* ---- Representatives ---- */

enum sutra_status rates_begin(const struct op_input *input, struct arena *arena, struct rates_run *run,
                              struct sutra_error *error) {
    const struct launch_model *model = input->model;
    const struct call_paths *paths = &input->paths;
    *run = (struct rates_run){.input = input, .model = model};
    if (input->options.peaks)
        TRY(device_peaks_read(input->context, input->options.peaks, &run->peaks, &run->peaks_name, error));
    run->has_peaks = input->options.peaks || device_peaks_of(&model->trace->document, &run->peaks);
    uint8_t *known = arena_zeros(arena, model->strings->n, sizeof *known);
    run->hosts = arena_alloc(arena, paths->n, sizeof *run->hosts);
    run->index = arena_alloc(arena, paths->n, sizeof *run->index);
    TRY(arena_status(arena, error));
    for (row_t path = 0; path < paths->n; path++) {
        bool has_formula = op_cost_is_known(model, paths->host[path], FLOPS_OURS, known);
        run->index[path] = has_formula ? run->n_hosts : ROW_NONE;
        if (has_formula)
            run->hosts[run->n_hosts++] = paths->host[path];
    }
    return SUTRA_OK;
}

void rates_end(struct rates_run *run) {
    free(run->peaks_name);
}

static const struct op_flops *flops_at(const struct rates_run *run, row_t index) {
    return &run->costs.flops[run->costs.groups.of[index]];
}

/* ---- Rows ---- */

static bool is_communication(const struct rates_run *run, row_t attribution) {
    const struct attribution_table *attributions = &run->model->attributions;
    return run->model->devices.class[attributions->device[attributions->first[attribution]]] == DEVICE_COMMUNICATION;
}

/* Why the FLOPs of a launcher are unknown. */
static const char *missing_of(const struct rates_run *run, row_t attribution) {
    row_t index = run->index[run->input->paths.of_launcher[attribution]];
    if (is_communication(run, attribution)) /* has no FLOPs */
        return "communication";
    if (index != ROW_NONE)
        return flops_at(run, index)->missing;
    return run->model->hosts.kind[run->model->attributions.host[attribution]] == HOST_OPERATOR
               ? "no formula for this operator"
               : "launched outside operators";
}

static bool is_tf32(struct rates_run *run, row_t attribution) {
    const struct strings *strings = run->model->strings;
    const struct launch_model *model = run->model;
    const struct attribution_table *attributions = &model->attributions;
    for (row_t k = attributions->first[attribution]; k < attributions->first[attribution + 1]; k++) {
        uint32_t name = model->events->name[model->devices.event[attributions->device[k]]];
        if (!run->is_tf32[name])
            run->is_tf32[name] = text_compare(strings, name, TEXT_HAS_IN_ANY_CASE, "tf32") ||
                                         text_compare(strings, name, TEXT_HAS, "s1688")
                                     ? 2
                                     : 1;
        if (run->is_tf32[name] == 2)
            return true;
    }
    return false;
}

/* Finds the representatives, numbers the rows and adds up their launchers. */
static enum sutra_status make_rows(struct rates_run *run, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = run->model;
    const struct attribution_table *attributions = &model->attributions;
    const struct call_paths *paths = &run->input->paths;
    bool *counted = arena_zeros(arena, paths->n, sizeof *counted);
    run->representative = arena_alloc(arena, paths->n, sizeof *run->representative);
    run->row_of = arena_alloc(arena, attributions->n, sizeof *run->row_of);
    run->is_tf32 = arena_zeros(arena, model->strings->n, sizeof *run->is_tf32);
    TRY(arena_status(arena, error));
    for (row_t path = 0; path < paths->n; path++) { /* enclosing operators precede the operators inside */
        row_t above = paths->above[path], index = run->index[path];
        run->representative[path] = above == ROW_NONE ? ROW_NONE : run->representative[above];
        if (index != ROW_NONE && !flops_at(run, index)->missing)
            run->representative[path] = path;
    }
    for (row_t i = 0; i < attributions->n; i++) {
        row_t known = run->representative[paths->of_launcher[i]];
        struct tuple key = {{host_name(model, attributions->host[i]), 1, 0, 0}};
        if (known != ROW_NONE)
            key = (struct tuple){{run->costs.groups.of[run->index[known]], 0, 0, 0}};
        run->row_of[i] = tuples_number(&run->keys, key);
        TRY_ALLOC(run->row_of[i] != TUPLE_NONE, error);
    }
    run->rows = arena_zeros(arena, run->keys.n, sizeof *run->rows);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < attributions->n; i++) {
        row_t path = paths->of_launcher[i], known = run->representative[path];
        struct rate_row *row = &run->rows[run->row_of[i]];
        bool *once = &counted[known == ROW_NONE ? path : known]; /* an operator counts once, with all its launchers */
        row->calls += !*once;
        *once = true;
        if (row->attributions++ == 0) {
            row->first_launcher = i;
            row->name = host_name(model, paths->host[known == ROW_NONE ? path : known]);
            row->missing = known == ROW_NONE ? missing_of(run, i) : NULL;
            row->group = known == ROW_NONE ? UINT32_MAX : run->costs.groups.of[run->index[known]];
        }
        row->kernels += attributions->first[i + 1] - attributions->first[i];
        row->direct += attributions->direct[i];
        row->device += attributions->work[i];
        row->tf32 = row->tf32 || is_tf32(run, i);
    }
    return SUTRA_OK;
}

/* ---- The table of rates ---- */
/* FLOPs and bytes of one operator, rates of all operators of the row. */
static void add_known(const struct rates_run *run, const struct rate_row *row, struct sutra_table *table) {
    const struct op_flops *flops = &run->costs.flops[row->group];
    double self_device_us = (double)row->direct / run->model->ticks_per_us, calls = row->calls, none = NAN;
    bool tf32 = row->tf32 && flops->unit == UNIT_MATRIX && flops->precision == PRECISION_FP32;
    const char *precision = tf32                                 ? precision_names[PRECISION_TF32]
                            : flops->precision == PRECISION_NONE ? ""
                                                                 : precision_names[flops->precision];
    char unit[32]; /* "matrix bf16" */
    int n_unit = snprintf(unit, sizeof unit, "%s%s%s", flops->unit == UNIT_MATRIX ? "matrix" : "vector",
                          *precision ? " " : "", precision);
    struct roofline at = {.min_s = NAN};
    if (run->has_peaks)
        at = roofline_of(&run->peaks, flops, row->tf32);
    TABLE_REALS(table, flops->flops / 1e9, flops->bytes / 1e6, flops->bytes > 0 ? flops->flops / flops->bytes : none,
                self_device_us > 0 ? flops->flops * calls / self_device_us / 1e6 : none,
                self_device_us > 0 ? flops->bytes * calls / self_device_us / 1e6 : none);
    table_text(table, unit, (size_t)n_unit);
    table_words(table, isnan(at.min_s) ? "" : at.by_compute ? "compute" : "memory");
    table_real(table, self_device_us > 0 ? at.min_s * 1e6 * calls / self_device_us * 100 : none);
    table_words(table, flops->remark ? flops->remark : "");
}

static void add_row(const struct rates_run *run, const struct rate_row *row, struct sutra_table *table) {
    const struct op_input *input = run->input;
    const char *category = op_category_names[input->categories[row->first_launcher]];
    table_integer(table, input->options.rank);
    table_string(table, run->model->strings, row->name);
    table_words(table, category);
    for (int k = 0; k < N_ARGUMENTS; k++) {
        row_t member = row->missing ? 0 : run->costs.groups.member[run->costs.groups.first[row->group]];
        table_string(table, &run->costs.arguments.texts,
                     row->missing ? 0 : op_argument_text(&run->costs.arguments, (enum op_argument)k, member));
    }
    table_integer(table, row->calls);
    table_integer(table, (int64_t)row->kernels);
    table_real(table, (double)row->device / run->model->ticks_per_us);
    table_real(table, (double)row->direct / run->model->ticks_per_us);
    table_real(table, input->device_ticks ? (double)row->device / (double)input->device_ticks * 100 : (double)NAN);
    if (!row->missing) {
        add_known(run, row, table);
        return;
    }
    for (int i = 0; i < 5; i++)
        table_real(table, NAN);
    table_words(table, "");
    table_words(table, "");
    table_real(table, NAN);
    table_words(table, row->missing);
}

/*
 * ---- FLOPs of steps ----
 *
 * FLOPs of the operators that are called in a step of the profiler, on any thread, compared with the device's peak for
 * the whole duration of the step: model FLOPs utilisation. A trace without steps is one step. O(launchers + steps),
 * except for a sort of the steps.
 */

/* A step of the profiler, or the whole trace. */
struct rate_step {
    uint32_t name; /* STRING_NONE: the whole trace */
    int64_t start, stop;
    double flops;
    double by_precision[N_PRECISIONS]; /* of matrix products */
    wide_t device, unknown;            /* ticks of GPU activity except communication; ticks with unknown work */
};

static enum sutra_status list_steps(const struct launch_model *model, struct arena *arena, struct rate_step **steps,
                                    uint32_t *n, struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    const struct step_rows rows = host_step_rows(model, 1u << HOST_ANNOTATION);
    struct profiler_steps found;
    TRY_ALLOC(profiler_steps_find(&rows, STEPS_RATES, arena, &found) &&
                  (*steps = arena_zeros(arena, (size_t)found.n + 1, sizeof **steps)),
              error);
    *n = found.n;
    for (row_t i = 0; i < found.n; i++) {
        row_t row = found.row[i];
        (*steps)[i] =
            (struct rate_step){.name = host_name(model, row), .start = hosts->start[row], .stop = hosts->stop[row]};
    }
    if (*n == 0 && model->devices.n) { /* the whole trace: the time range of the device */
        struct rate_step all = {.name = STRING_NONE};
        for (row_t i = 0; i < model->devices.n; i++) {
            int64_t start = model->devices.start[i], stop = model->devices.stop[i];
            all.start = i == 0 || start < all.start ? start : all.start;
            all.stop = i == 0 || stop > all.stop ? stop : all.stop;
        }
        (*steps)[(*n)++] = all;
    }
    return SUTRA_OK;
}

/* Adds a launcher to a step; FLOPs only for the first launcher of an operator. */
static void add_to_step(const struct rates_run *run, row_t attribution, bool first, struct rate_step *step) {
    const struct rate_row *row = &run->rows[run->row_of[attribution]];
    wide_t device = run->model->attributions.work[attribution];
    if (is_communication(run, attribution))
        return;
    step->device += device;
    step->unknown += row->missing ? device : 0;
    if (row->missing || !first)
        return;
    const struct op_flops *flops = &run->costs.flops[row->group];
    enum precision precision = row->tf32 && flops->precision == PRECISION_FP32 ? PRECISION_TF32 : flops->precision;
    step->flops += flops->flops;
    if (flops->unit == UNIT_MATRIX && precision != PRECISION_NONE)
        step->by_precision[precision] += flops->flops;
}

static void add_step(const struct rates_run *run, const struct rate_step *step, struct sutra_table *table) {
    enum precision precision = PRECISION_NONE; /* of most matrix products */
    for (int p = 0; p < N_PRECISIONS; p++)
        if (step->by_precision[p] > (precision == PRECISION_NONE ? 0 : step->by_precision[precision]))
            precision = (enum precision)p;
    double step_s = launch_model_us(run->model, step->stop - step->start) / 1e6, rate = step->flops / step_s / 1e12;
    double peak =
        run->has_peaks && precision != PRECISION_NONE ? run->peaks.flops_per_s[UNIT_MATRIX][precision] / 1e12 : 0;
    table_integer(table, run->input->options.rank);
    if (step->name == STRING_NONE)
        table_words(table, "all");
    else
        table_string(table, run->model->strings, step->name);
    TABLE_REALS(table, step_s * 1e6, step->flops / 1e12, step_s > 0 ? rate : (double)NAN);
    table_words(table, run->has_peaks ? run->peaks.name : "");
    table_words(table, precision == PRECISION_NONE ? "" : precision_names[precision]);
    table_real(table, peak > 0 ? peak : (double)NAN);
    table_real(table, peak > 0 && step_s > 0 ? rate / peak * 100 : (double)NAN);
    table_real(table, step->device ? (double)step->unknown / (double)step->device * 100 : (double)NAN);
}

static enum sutra_status add_steps(const struct rates_run *run, struct arena *arena, struct sutra_table *table,
                                   struct sutra_error *error) {
    const struct attribution_table *attributions = &run->model->attributions;
    struct rate_step *steps = NULL;
    uint32_t n = 0, n_begun = 0;
    bool *counted = arena_zeros(arena, run->input->paths.n, sizeof *counted);
    TRY(arena_status(arena, error));
    TRY(list_steps(run->model, arena, &steps, &n, error));
    bool whole_trace = n == 1 && steps->name == STRING_NONE; /* counts calls before the device starts, too */
    for (row_t i = 0; i < attributions->n; i++) {            /* by ascending start */
        int64_t time = run->model->hosts.start[attributions->host[i]];
        row_t known = run->representative[run->input->paths.of_launcher[i]];
        bool first = known != ROW_NONE && !counted[known];
        while (n_begun < n && steps[n_begun].start <= time)
            n_begun++;
        if (whole_trace)
            add_to_step(run, i, first, steps);
        else if (n_begun && time < steps[n_begun - 1].stop) /* the last step that has started, if it has not ended */
            add_to_step(run, i, first, &steps[n_begun - 1]);
        if (known != ROW_NONE)
            counted[known] = true;
    }
    for (uint32_t i = 0; i < n; i++)
        add_step(run, &steps[i], table);
    return SUTRA_OK;
}

enum sutra_status operators_rates(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                  struct sutra_error *error) {
    struct rates_run run = *input->rates;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status =
        op_costs_read(input->context, input->model, run.hosts, run.n_hosts, FLOPS_OURS, arena, &run.costs, error);
    if (!status)
        status = make_rows(&run, arena, error);
    uint32_t n = run.keys.n, *order = arena_alloc(arena, n, sizeof *order);
    double *device = arena_alloc(arena, n, sizeof *device);
    if (!status)
        status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++)
        device[i] = (double)run.rows[i].device;
    if (!status)
        status = row_groups_order(device, n, arena, order, error);
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_RATES);
    for (uint32_t i = 0; i < n && !status; i++)
        add_row(&run, &run.rows[order[i]], table);
    if (!status)
        status = add_steps(&run, arena, result_table_begin(&operators->result, SUTRA_OPERATORS_RATE_STEPS), error);
    if (!status)
        add_peaks(&run, result_table_begin(&operators->result, SUTRA_OPERATORS_PEAKS));
    tuples_free(&run.keys);
    op_costs_free(&run.costs);
    arena_release(arena, mark);
    return status;
}
