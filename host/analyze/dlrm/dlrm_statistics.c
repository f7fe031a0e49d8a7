/*
 * dlrm_statistics.c - mean and standard deviation of the overheads, by kind and name, and by shape.
 *
 * In come samples; out comes a row for each kind and name (and shape) that has any, in the order of first sight. By
 * shape, values below 0 count as 0, and of all kinds but T4 those are left out that lie more than one and a half times
 * the distance of the quartiles below the first or above the third one. Two passes for each
 * deviation, sums rounded as numpy does. O(n log n) for the quartiles, else O(n).
 */
#include "analyze/dlrm/dlrm_overheads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct statistics {
    struct sutra_dlrm *dlrm;
    const struct dlrm_samples *samples;
    bool by_shape;
    struct tuples groups; /* (kind, name, shapes) */
    uint64_t *group;      /* per sample */
    struct number_column us;
    row_t *order;    /* samples by group */
    row_t *by_value; /* by group and value; by shape only */
    double *taken;   /* the values of one group that count */
    double *kept;    /* those of all groups, in the order of the rows; by shape only */
    uint64_t n_kept;
    bool has_fractions; /* a kept value was read as a real number */
    struct sutra_dlrm_overhead *list;
    uint64_t n_rows;
};

/* Rows of operators stand in the order in which those are first called, also where another's sample comes first. */
static bool number_operators(struct statistics *statistics) {
    static const enum sutra_dlrm_overhead_kind kinds[] = {SUTRA_T2, SUTRA_T3, SUTRA_T5};
    const struct sutra_dlrm *dlrm = statistics->dlrm;
    for (row_t op = 0; op < dlrm->n_ops; op++) {
        uint32_t name = dlrm->name_text[dlrm->events->name[dlrm->forest.event[dlrm->ops[op]]]];
        uint32_t shapes = statistics->by_shape ? dlrm->op_shapes[op] : SUTRA_DLRM_NONE;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (tuples_number(&statistics->groups, (struct tuple){{kinds[i], name, shapes}}) == TUPLE_NONE)
                return false;
    }
    return true;
}

static bool number_groups(struct statistics *statistics) {
    const struct dlrm_samples *samples = statistics->samples;
    struct tuple none = {{SUTRA_T1, SUTRA_DLRM_NONE, SUTRA_DLRM_NONE}};
    bool ok = tuples_number(&statistics->groups, none) != TUPLE_NONE; /* it has a row without a sample, too */
    ok = ok && number_operators(statistics);
    for (uint64_t i = 0; i < samples->n && ok; i++) {
        const struct dlrm_sample *sample = &samples->list[i];
        struct number us = sample->us;
        statistics->group[i] =
            tuples_number(&statistics->groups, (struct tuple){{sample->kind, sample->name, sample->shapes}});
        if (statistics->by_shape && number_compare(us, number_integer(0)) < 0)
            us = number_integer(0);
        number_put(statistics->us, (row_t)i, number_double(number_as_double(us)));
        ok = statistics->group[i] != TUPLE_NONE;
    }
    return ok;
}

static double value(const struct statistics *statistics, row_t sample) {
    return number_as_double(number_at(statistics->us, sample));
}

/* The sum as numpy rounds it: blocks of up to 128 in eight lanes, halves added up. Depth: log2(n / 128). */
static double sum_in_pairs(const double *list, size_t n) {
    double lane[8], sum = 0;
    if (n > 128) {
        size_t half = n / 2 - n / 2 % 8;
        return sum_in_pairs(list, half) + sum_in_pairs(list + half, n - half);
    }
    size_t i = 0;
    if (n >= 8) {
        memcpy(lane, list, sizeof lane);
        for (i = 8; i + 8 <= n; i += 8)
            for (size_t j = 0; j < 8; j++)
                lane[j] += list[i + j];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < n; i++)
        sum += list[i];
    return sum;
}

/* The quantile q of the values at [first, end) of `by_value`, linear between two of them. */
static double quantile(const struct statistics *statistics, row_t first, row_t end, double q) {
    double at = q * (end - first - 1), below = floor(at), part = at - below;
    row_t place = first + (row_t)below;
    double low = value(statistics, statistics->by_value[place]);
    double high = value(statistics, statistics->by_value[place + (place + 1 < end)]);
    return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation) {
    *mean = n ? sum_in_pairs(list, n) / (double)n : NAN;
    for (uint64_t i = 0; i < n; i++)
        list[i] = (list[i] - *mean) * (list[i] - *mean);
    *deviation = n ? sqrt(sum_in_pairs(list, n) / (double)n) : NAN;
}

static void keep(struct statistics *statistics, row_t sample, double us) {
    statistics->kept[statistics->n_kept++] = us;
    statistics->has_fractions |= us > 0 && number_is_double(statistics->samples->list[sample].us);
}

/* Mean and deviation of the samples at [first, end) of `order`, which are those of one row. */
static void measure(struct statistics *statistics, struct sutra_dlrm_overhead *row, row_t first, row_t end) {
    double *taken = statistics->taken, least = -INFINITY, most = INFINITY;
    if (statistics->by_shape && row->kind != SUTRA_T4 && first < end) {
        double low = quantile(statistics, first, end, 0.25), high = quantile(statistics, first, end, 0.75);
        least = low - 1.5 * (high - low);
        most = high + 1.5 * (high - low);
    }
    for (row_t i = first; i < end; i++) {
        double us = value(statistics, statistics->order[i]);
        if (!(us >= least && us <= most))
            continue;
        taken[row->n++] = us;
        if (statistics->by_shape)
            keep(statistics, statistics->order[i], us);
    }
    dlrm_mean_of(taken, row->n, &row->mean_us, &row->std_us);
}

/* Stably by group. */
static enum sutra_status sort_by_group(const struct statistics *statistics, uint64_t *keys, row_t *order,
                                       struct sutra_error *error) {
    const struct engine *engine = &statistics->dlrm->context->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        keys[i] = statistics->group[order[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
}

static enum sutra_status sort_samples(struct statistics *statistics, struct sutra_error *error) {
    const struct engine *engine = &statistics->dlrm->context->engine;
    row_t n = (row_t)statistics->samples->n;
    uint64_t *keys = column_new(n, sizeof *keys);
    enum sutra_status status = keys ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status; i++)
        statistics->order[i] = i;
    if (!status)
        status = sort_by_group(statistics, keys, statistics->order, error);
    if (!status && statistics->by_shape)
        status = engine->sort_numbers(engine->state,
                                      &(struct sort_numbers_step){statistics->us, n, statistics->by_value}, error);
    if (!status && statistics->by_shape)
        status = sort_by_group(statistics, keys, statistics->by_value, error);
    free(keys);
    return status;
}

static void fill_rows(struct statistics *statistics) {
    row_t n = (row_t)statistics->samples->n, first = 0, end = 0;
    for (uint32_t group = 0; group < statistics->groups.n; group++, first = end) {
        const value_key *key = statistics->groups.list[group].part;
        struct sutra_dlrm_overhead *row = &statistics->list[statistics->n_rows];
        *row = (struct sutra_dlrm_overhead){
            .kind = (enum sutra_dlrm_overhead_kind)key[0], .name = (uint32_t)key[1], .shapes = (uint32_t)key[2]};
        while (end < n && statistics->group[statistics->order[end]] == group)
            end++;
        measure(statistics, row, first, end);
        statistics->n_rows += row->n > 0 || row->kind == SUTRA_T1;
    }
}

static enum sutra_status statistics_make(struct statistics *statistics, struct sutra_error *error) {
    uint64_t n = statistics->samples->n;
    if (n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u samples of overheads: cut the trace", ROW_LIMIT);
    statistics->group = column_new(n, sizeof *statistics->group);
    statistics->order = column_new(n, sizeof *statistics->order);
    statistics->by_value = column_new(statistics->by_shape ? n : 0, sizeof *statistics->by_value);
    statistics->taken = column_new(n, sizeof *statistics->taken);
    statistics->kept = column_new(statistics->by_shape ? n : 0, sizeof *statistics->kept);
    if (!numbers_new(&statistics->us, n) || !statistics->group || !statistics->order || !statistics->by_value ||
        !statistics->taken || !statistics->kept || !number_groups(statistics))
        return error_memory(error);
    statistics->list = column_new(statistics->groups.n, sizeof *statistics->list);
    if (!statistics->list)
        return error_memory(error);
    enum sutra_status status = sort_samples(statistics, error);
    if (!status)
        fill_rows(statistics);
    return status;
}

static enum sutra_status run(struct sutra_dlrm *dlrm, bool by_shape, struct dlrm_samples *samples,
                             struct dlrm_launches *launches, struct sutra_dlrm_overhead **list, uint64_t *n,
                             struct sutra_error *error) {
    struct statistics statistics = {.dlrm = dlrm, .samples = samples, .by_shape = by_shape};
    enum sutra_status status = dlrm_samples_take(dlrm, by_shape, samples, launches, error);
    if (!status)
        status = statistics_make(&statistics, error);
    *list = statistics.list;
    *n = statistics.n_rows;
    free(statistics.group);
    numbers_free(&statistics.us);
    free(statistics.order);
    free(statistics.by_value);
    free(statistics.taken);
    if (by_shape) {
        dlrm->kept = statistics.kept;
        dlrm->kept_fractions = statistics.has_fractions;
    } else {
        free(statistics.kept);
    }
    tuples_free(&statistics.groups);
    return status;
}

enum sutra_status dlrm_overheads_measure(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    enum sutra_status status =
        run(dlrm, false, &dlrm->samples, &dlrm->launches, &dlrm->overheads, &dlrm->report.n_overheads, error);
    if (!status)
        status = run(dlrm, true, &dlrm->samples_by_shape, &dlrm->launches_by_shape, &dlrm->overheads_by_shape,
                     &dlrm->report.n_overheads_by_shape, error);
    return status;
}
