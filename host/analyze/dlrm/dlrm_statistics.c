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
#include <string.h>

#include "base/error.h"

struct statistics {
    const struct engine *engine;
    const struct dlrm_operators *ops;
    const struct dlrm_samples *samples;
    bool by_shape;
    struct dlrm_overheads *made;
    struct tuples groups; /* (kind, name, shapes) */
    uint32_t *group;      /* per sample */
    struct number_column us;
    row_t *order;    /* samples by group */
    row_t *by_value; /* by group and value; by shape only */
    uint64_t *keys;  /* of either */
    double *taken;   /* the values of one group that count */
    uint64_t n_kept;
};

/* Rows of operators stand in the order in which those are first called, also where another's sample comes first. */
static bool number_operators(struct statistics *statistics) {
    static const enum sutra_dlrm_overhead_kind kinds[] = {SUTRA_T2, SUTRA_T3, SUTRA_T5};
    const struct dlrm_operators *ops = statistics->ops;
    for (row_t op = 0; op < ops->n; op++) {
        uint32_t name = ops->name[op];
        uint32_t shapes = statistics->by_shape ? statistics->made->op_shapes[op] : SUTRA_DLRM_NONE;
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
    statistics->made->kept[statistics->n_kept++] = us;
    statistics->made->has_fractions |= us > 0 && number_is_double(statistics->samples->list[sample].us);
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
static enum sutra_status sort_by_group(const struct statistics *statistics, row_t *order, struct sutra_error *error) {
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->keys[i] = statistics->group[order[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){statistics->keys, order, n}, error);
}

static enum sutra_status sort_samples(const struct statistics *statistics, struct sutra_error *error) {
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->order[i] = i;
    enum sutra_status status = sort_by_group(statistics, statistics->order, error);
    if (status || !statistics->by_shape)
        return status;
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){statistics->us, n, statistics->by_value},
                                  error);
    return status ? status : sort_by_group(statistics, statistics->by_value, error);
}

static void fill_rows(struct statistics *statistics) {
    row_t n = (row_t)statistics->samples->n, first = 0, end = 0;
    for (uint32_t group = 0; group < statistics->groups.n; group++, first = end) {
        const value_key *key = statistics->groups.list[group].part;
        struct sutra_dlrm_overhead *row = &statistics->made->list[statistics->made->n];
        *row = (struct sutra_dlrm_overhead){
            .kind = (enum sutra_dlrm_overhead_kind)key[0], .name = (uint32_t)key[1], .shapes = (uint32_t)key[2]};
        while (end < n && statistics->group[statistics->order[end]] == group)
            end++;
        measure(statistics, row, first, end);
        statistics->made->n += row->n > 0 || row->kind == SUTRA_T1;
    }
}

static enum sutra_status statistics_make(struct statistics *statistics, struct arena *arena,
                                         struct sutra_error *error) {
    if (!number_groups(statistics))
        return error_memory(error);
    statistics->made->list = arena_take(arena, statistics->groups.n, sizeof *statistics->made->list);
    if (!statistics->made->list)
        return error_memory(error);
    enum sutra_status status = sort_samples(statistics, error);
    if (!status)
        fill_rows(statistics);
    return status;
}

/* From samples to rows. */
static enum sutra_status describe_samples(struct dlrm_work *work, const struct dlrm_operators *ops, bool by_shape,
                                          struct dlrm_overheads *overheads, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    uint64_t n = overheads->samples.n, n_by_shape = by_shape ? n : 0;
    if (n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u overhead samples: select fewer iterations (--iters, --time)",
                         ROW_LIMIT);
    struct statistics statistics = {.engine = work->engine,
                                    .ops = ops,
                                    .samples = &overheads->samples,
                                    .by_shape = by_shape,
                                    .made = overheads,
                                    .group = arena_take(scratch, n, sizeof *statistics.group),
                                    .us = numbers_take(scratch, n),
                                    .order = arena_take(scratch, n, sizeof *statistics.order),
                                    .by_value = arena_take(scratch, n_by_shape, sizeof *statistics.by_value),
                                    .keys = arena_take(scratch, n, sizeof *statistics.keys),
                                    .taken = arena_take(scratch, n, sizeof *statistics.taken)};
    overheads->kept = arena_take(work->arena, n_by_shape, sizeof *overheads->kept);
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status = ok ? statistics_make(&statistics, work->arena, error) : error_memory(error);
    tuples_free(&statistics.groups);
    arena_release(scratch, mark);
    return status;
}

enum sutra_status dlrm_overheads_measure(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                                         struct dlrm_overheads *overheads, struct sutra_error *error) {
    *overheads = (struct dlrm_overheads){0};
    if (!dlrm_samples_take(work, tree, by_shape, overheads))
        return error_memory(error);
    return describe_samples(work, &tree->ops, by_shape, overheads, error);
}
