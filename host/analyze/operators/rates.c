/*
 * rates.c - how near operators come to what the device can do.
 *
 *     every charge --> the operator that stands for it: the innermost one, from the launcher outwards, of known work
 *     operators of one name with equal arguments --> a row: their FLOPs and bytes, the time of what they launched
 *
 * Each piece of work stands in one row. What nothing is known of has rows, too, by the launcher's name, which say why.
 * A row's rates are those of all its operators together: sums of FLOPs and bytes over the sum of times.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/rates.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"

/*
 * What the device can do at most, and a table of it.
 */

/* rate_peaks.c: what the device can do at most: of the file that is asked for, or of the device that the trace names;
 * then a table of it. SUTRA_NO_INPUT, SUTRA_DATA: the file. */
static enum sutra_status rate_peaks_find(struct rates_work *work, struct sutra_error *error) {
    const struct document *document = &work->reading->trace->document;
    const char *path = work->input->options.peaks;
    if (path) {
        work->has_peaks = true;
        return device_peaks_read(work->input->context, path, &work->peaks, &work->peaks_name, error);
    }
    work->has_peaks = device_peaks_of(document, &work->peaks);
    return SUTRA_OK;
}

static void put_peak(const struct rates_work *work, const char *unit, double tera_flops_per_s, double tera_bytes_per_s,
                     struct sutra_table *table) {
    table_integer(table, work->input->options.rank);
    table_words(table, work->peaks.name);
    table_words(table, unit);
    table_real(table, tera_flops_per_s);
    table_real(table, tera_bytes_per_s);
}

static void rate_peaks_write(const struct rates_work *work, struct sutra_table *table) {
    static const char *const units[] = {[UNIT_VECTOR] = "vector", [UNIT_MATRIX] = "matrix"};
    char unit[32];
    if (!work->has_peaks)
        return;
    put_peak(work, "memory", NAN, work->peaks.bytes_per_s / 1e12, table);
    for (int i = 0; i < 2; i++)
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            double peak = work->peaks.flops_per_s[i][precision];
            snprintf(unit, sizeof unit, "%s %s", units[i], precision_names[precision]);
            if (peak > 0)
                put_peak(work, unit, peak / 1e12, NAN, table);
        }
}

static enum sutra_status rate_steps_write(const struct rates_work *work, struct arena *arena, struct sutra_table *table,
                                          struct sutra_error *error);

/* ---- Who stands for whom ---- */

static enum sutra_status list_hosts(struct rates_work *work, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = work->reading;
    const struct op_ways *ways = &work->input->ways;
    uint8_t *known = arena_zeros(arena, reading->strings->n, sizeof *known);
    work->hosts = arena_take(arena, ways->n, sizeof *work->hosts);
    work->place = arena_take(arena, ways->n, sizeof *work->place);
    enum sutra_status status = arena_status(arena, error);
    for (row_t way = 0; way < ways->n && !status; way++) {
        bool asked = op_work_is_known(reading, ways->host[way], FLOPS_OURS, known);
        work->place[way] = asked ? work->n_hosts : ROW_NONE;
        if (asked)
            work->hosts[work->n_hosts++] = ways->host[way];
    }
    return status;
}

enum sutra_status rates_begin(const struct op_input *input, struct arena *arena, struct rates_work *work,
                              struct sutra_error *error) {
    *work = (struct rates_work){.input = input, .reading = input->reading};
    enum sutra_status status = rate_peaks_find(work, error);
    return status ? status : list_hosts(work, arena, error);
}

void rates_end(struct rates_work *work) {
    free(work->peaks_name);
}

static const struct op_flops *flops_at(const struct rates_work *work, row_t place) {
    return &work->works.flops[work->works.groups.of[place]];
}

/* What is above a way stands before it. */
static enum sutra_status find_stands(struct rates_work *work, struct arena *arena, struct sutra_error *error) {
    const struct op_ways *ways = &work->input->ways;
    work->stands = arena_take(arena, ways->n, sizeof *work->stands);
    enum sutra_status status = arena_status(arena, error);
    for (row_t way = 0; way < ways->n && !status; way++) {
        row_t above = ways->above[way], place = work->place[way];
        work->stands[way] = above == ROW_NONE ? ROW_NONE : work->stands[above];
        if (place != ROW_NONE && !flops_at(work, place)->missing)
            work->stands[way] = way;
    }
    return status;
}

/* ---- Rows ---- */

/* Whether a charge is of communication, which has no FLOPs. */
static bool rates_is_communication(const struct rates_work *work, row_t charge) {
    const struct op_charges *charges = &work->reading->charges;
    return work->reading->devices.class[charges->device[charges->first[charge]]] == DEVICE_COMMUNICATION;
}

/* Why nothing is known of a launcher: what its own formula says, or that there is none. */
static const char *missing_of(const struct rates_work *work, row_t charge) {
    row_t host = work->reading->charges.host[charge];
    if (rates_is_communication(work, charge))
        return "communication";
    row_t place = work->place[work->input->ways.of_charge[charge]];
    if (place != ROW_NONE)
        return flops_at(work, place)->missing;
    return work->reading->hosts.kind[host] == HOST_OPERATOR ? "no formula for this operator"
                                                            : "launched outside operators";
}

static bool name_has_tf32(const struct strings *strings, uint32_t name) {
    return text_compare(strings, name, TEXT_HAS_IN_ANY_CASE, "tf32") || text_compare(strings, name, TEXT_HAS, "s1688");
}

static bool charge_is_tf32(struct rates_work *work, row_t charge) {
    const struct op_reading *reading = work->reading;
    const struct op_charges *charges = &reading->charges;
    for (row_t k = charges->first[charge]; k < charges->first[charge + 1]; k++) {
        uint32_t name = reading->events->name[reading->devices.event[charges->device[k]]];
        if (!work->is_tf32[name])
            work->is_tf32[name] = name_has_tf32(reading->strings, name) ? 2 : 1;
        if (work->is_tf32[name] == 2)
            return true;
    }
    return false;
}

static enum sutra_status number_rows(struct rates_work *work, struct arena *arena, struct sutra_error *error) {
    const struct op_charges *charges = &work->reading->charges;
    work->row_of = arena_take(arena, charges->n, sizeof *work->row_of);
    work->is_tf32 = arena_zeros(arena, work->reading->strings->n, sizeof *work->is_tf32);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t known = work->stands[work->input->ways.of_charge[i]];
        struct tuple key = {{host_name(work->reading, charges->host[i]), 1, 0, 0}};
        if (known != ROW_NONE)
            key = (struct tuple){{work->works.groups.of[work->place[known]], 0, 0, 0}};
        work->row_of[i] = tuples_number(&work->keys, key);
        status = work->row_of[i] == TUPLE_NONE ? error_memory(error) : SUTRA_OK;
    }
    return status;
}

static void add_charge(struct rates_work *work, row_t charge) {
    const struct op_charges *charges = &work->reading->charges;
    struct rate_row *row = &work->rows[work->row_of[charge]];
    if (row->charges++ == 0) {
        const struct op_ways *ways = &work->input->ways;
        row_t way = ways->of_charge[charge], known = work->stands[way];
        row->first_charge = charge;
        row->name = host_name(work->reading, ways->host[known == ROW_NONE ? way : known]);
        row->missing = known == ROW_NONE ? missing_of(work, charge) : NULL;
        row->group = known == ROW_NONE ? UINT32_MAX : work->works.groups.of[work->place[known]];
    }
    row->kernels += charges->first[charge + 1] - charges->first[charge];
    row->direct += charges->direct[charge];
    row->device += charges->work[charge];
    row->tf32 = row->tf32 || charge_is_tf32(work, charge);
}

/* An operator counts once, however many launchers it stands for. */
static enum sutra_status add_charges(struct rates_work *work, struct arena *arena, struct sutra_error *error) {
    const struct op_charges *charges = &work->reading->charges;
    bool *counted = arena_zeros(arena, work->input->ways.n, sizeof *counted);
    work->rows = arena_zeros(arena, work->keys.n, sizeof *work->rows);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t way = work->input->ways.of_charge[i], known = work->stands[way];
        bool *once = &counted[known == ROW_NONE ? way : known];
        work->rows[work->row_of[i]].calls += !*once;
        *once = true;
        add_charge(work, i);
    }
    return status;
}

/* ---- Writing ---- */

static const char *unit_name(enum flops_unit unit) {
    return unit == UNIT_MATRIX ? "matrix" : "vector";
}

/* "matrix bf16" */
static void put_unit(struct sutra_table *table, const struct op_flops *flops, bool tf32) {
    char text[32];
    tf32 = tf32 && flops->unit == UNIT_MATRIX && flops->precision == PRECISION_FP32;
    const char *precision = tf32                                 ? precision_names[PRECISION_TF32]
                            : flops->precision == PRECISION_NONE ? ""
                                                                 : precision_names[flops->precision];
    int n = snprintf(text, sizeof text, "%s%s%s", unit_name(flops->unit), *precision ? " " : "", precision);
    table_text(table, text, (size_t)n);
}

/* FLOPs and bytes of one operator, rates of all of the row. */
static void put_known(const struct rates_work *work, const struct rate_row *row, struct sutra_table *table) {
    const struct op_flops *flops = &work->works.flops[row->group];
    double self_device_us = (double)row->direct / work->reading->ticks_per_us, calls = row->calls, none = NAN;
    struct roofline at = {.least_s = NAN};
    if (work->has_peaks)
        at = roofline_of(&work->peaks, flops, row->tf32);
    table_real(table, flops->flops / 1e9);
    table_real(table, flops->bytes / 1e6);
    table_real(table, flops->bytes > 0 ? flops->flops / flops->bytes : none);
    table_real(table, self_device_us > 0 ? flops->flops * calls / self_device_us / 1e6 : none);
    table_real(table, self_device_us > 0 ? flops->bytes * calls / self_device_us / 1e6 : none);
    put_unit(table, flops, row->tf32);
    table_words(table, isnan(at.least_s) ? "" : at.by_compute ? "compute" : "memory");
    table_real(table, self_device_us > 0 ? at.least_s * 1e6 * calls / self_device_us * 100 : none);
    table_words(table, "");
}

static void put_missing(const struct rate_row *row, struct sutra_table *table) {
    for (int i = 0; i < 5; i++)
        table_real(table, NAN);
    table_words(table, "");
    table_words(table, "");
    table_real(table, NAN);
    table_words(table, row->missing);
}

static void put_row(const struct rates_work *work, const struct rate_row *row, struct sutra_table *table) {
    const struct op_input *input = work->input;
    const char *category = op_category_names[input->categories[row->first_charge]];
    table_integer(table, input->options.rank);
    table_string(table, work->reading->strings, row->name);
    table_words(table, category);
    for (int k = 0; k < N_ARGUMENTS; k++) {
        row_t member = row->missing ? 0 : work->works.groups.member[work->works.groups.first[row->group]];
        table_string(table, &work->works.arguments.texts,
                     row->missing ? 0 : op_argument_text(&work->works.arguments, (enum op_argument)k, member));
    }
    table_integer(table, row->calls);
    table_integer(table, (int64_t)row->kernels);
    table_real(table, (double)row->device / work->reading->ticks_per_us);
    table_real(table, (double)row->direct / work->reading->ticks_per_us);
    table_real(table, input->device_ticks ? (double)row->device / (double)input->device_ticks * 100 : (double)NAN);
    if (row->missing)
        put_missing(row, table);
    else
        put_known(work, row, table);
}

static enum sutra_status write_rows(const struct rates_work *work, struct arena *arena, struct sutra_table *table,
                                    struct sutra_error *error) {
    uint32_t n = work->keys.n, *order = arena_take(arena, n, sizeof *order);
    double *device = arena_take(arena, n, sizeof *device);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++)
        device[i] = (double)work->rows[i].device;
    if (!status)
        status = op_groups_order(device, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        put_row(work, &work->rows[order[i]], table);
    return status;
}

/* ---- All of it ---- */

enum sutra_status operators_rates(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                  struct sutra_error *error) {
    struct rates_work work = *input->rates;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status =
        op_works_read(input->context, input->reading, work.hosts, work.n_hosts, FLOPS_OURS, arena, &work.works, error);
    if (!status)
        status = find_stands(&work, arena, error);
    if (!status)
        status = number_rows(&work, arena, error);
    if (!status)
        status = add_charges(&work, arena, error);
    if (!status)
        status = write_rows(&work, arena, op_table_begin(operators, SUTRA_OPERATORS_RATES), error);
    if (!status)
        status = rate_steps_write(&work, arena, op_table_begin(operators, SUTRA_OPERATORS_RATE_STEPS), error);
    if (!status)
        rate_peaks_write(&work, op_table_begin(operators, SUTRA_OPERATORS_PEAKS));
    tuples_free(&work.keys);
    op_works_free(&work.works);
    arena_release(arena, mark);
    return status;
}

/*
 * FLOPs of the operators that were called in a step of the profiler, on any thread, against the device's
 * peak for the whole time of the step: model FLOPs utilisation. A trace without steps is one. Beside a sort of the
 * steps O(charges + steps).
 */

/* A step of the profiler, or all of the trace. */
struct rate_step {
    uint32_t name; /* STRING_NONE: all */
    int64_t start, stop;
    double flops;
    double by_precision[N_PRECISIONS]; /* of products */
    wide_t device, unknown;            /* ticks of work beside communication, and of that of which nothing is known */
};

ORDER_BY(compare_steps, struct rate_step, ASCENDING(start))

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

/* rate_steps.c: FLOPs of steps. */
static enum sutra_status rate_steps_write(const struct rates_work *work, struct arena *arena, struct sutra_table *table,
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
