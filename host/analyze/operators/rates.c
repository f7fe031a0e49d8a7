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
#include "columns/column.h"

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

bool rates_is_communication(const struct rates_work *work, row_t charge) {
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
