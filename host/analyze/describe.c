/*
 * describe.c - distributions of values in groups: sorted by value, then dealt out to their groups, where the quartiles
 * are then at known places.
 */
#include "analyze/describe.h"

#include <math.h>

#include "base/error.h"
#include "match/intervals.h"

double quantile_of(const double *sorted, uint64_t n, double at) {
    double place = at * (double)(n - 1), below = floor(place), part = place - below;
    uint64_t low = (uint64_t)below, high = low + 1 < n ? low + 1 : low;
    double step = sorted[high] - sorted[low];
    return part < 0.5 ? sorted[low] + step * part : sorted[high] - step * (1 - part);
}

/* Values of each group in rising order: those of group g are value[i] for i from first[g] to first[g + 1]. */
struct dealt {
    row_t *first;
    double *value;
};

/* order[] has the rows by rising value. */
static void deal(struct dealt *dealt, const uint32_t *groups, const row_t *order, const double *values, row_t n,
                 uint32_t n_groups) {
    row_t *next = dealt->first + 1; /* the place of the next value of each group, until all are dealt out */
    for (row_t i = 0; i < n; i++)
        next[groups[i] + 1]++;
    for (uint32_t g = 0; g < n_groups; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < n; i++)
        dealt->value[next[groups[order[i]]]++] = values[order[i]];
}

static void put_quartiles(const struct dealt *dealt, uint32_t n_groups, struct description *descriptions) {
    for (uint32_t g = 0; g < n_groups; g++) {
        struct description *d = &descriptions[g];
        const double *sorted = dealt->value + dealt->first[g];
        row_t n = dealt->first[g + 1] - dealt->first[g];
        *d = (struct description){.count = n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (n == 0)
            continue;
        d->min = sorted[0];
        d->max = sorted[n - 1];
        d->q25 = quantile_of(sorted, n, 0.25);
        d->q50 = quantile_of(sorted, n, 0.5);
        d->q75 = quantile_of(sorted, n, 0.75);
    }
}

/* All but mean and deviation; keys[] orders as the values do. */
static enum sutra_status describe_sorted(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                         uint64_t *keys, const double *values, row_t n, uint32_t n_groups,
                                         struct description *descriptions, struct sutra_error *error) {
    struct dealt dealt = {.first = arena_zeros(arena, (size_t)n_groups + 2, sizeof *dealt.first),
                          .value = arena_take(arena, n, sizeof *dealt.value)};
    row_t *order = arena_take(arena, n, sizeof *order);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        order[i] = i;
    enum sutra_status status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
    if (status)
        return status;
    deal(&dealt, groups, order, values, n, n_groups);
    put_quartiles(&dealt, n_groups, descriptions);
    return SUTRA_OK;
}

/* Mean and deviation of integers, whose sums are exact. */
static void put_exact_moments(const struct moments *moments, uint32_t n_groups, double scale,
                              struct description *descriptions) {
    for (uint32_t g = 0; g < n_groups; g++) {
        if (moments[g].n == 0)
            continue;
        descriptions[g].mean = (double)moments[g].sum / scale / (double)moments[g].n;
        descriptions[g].std = moments_deviation(&moments[g], scale);
    }
}

enum sutra_status describe_integers(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                    const int64_t *values, row_t n, uint32_t n_groups, double scale,
                                    struct description *descriptions, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    double *scaled = arena_take(arena, n, sizeof *scaled);
    struct moments *moments = arena_zeros(arena, n_groups, sizeof *moments);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = integer_sort_key(values[i]);
        scaled[i] = (double)values[i] / scale;
    }
    if (!status)
        status = describe_sorted(engine, arena, groups, keys, scaled, n, n_groups, descriptions, error);
    if (!status)
        status =
            engine->sums_by_key(engine->state, &(struct sums_by_key_step){groups, values, n, n_groups, moments}, error);
    if (!status)
        put_exact_moments(moments, n_groups, scale, descriptions);
    arena_release(arena, mark);
    return status;
}

/* Mean and deviation of real numbers: two walks over the rows. */
static void put_moments(const uint32_t *groups, const double *values, row_t n, uint32_t n_groups, double *sums,
                        struct description *descriptions) {
    for (row_t i = 0; i < n; i++)
        sums[groups[i]] += values[i];
    for (uint32_t g = 0; g < n_groups; g++) {
        if (descriptions[g].count > 0)
            descriptions[g].mean = sums[g] / descriptions[g].count;
        sums[g] = 0;
    }
    for (row_t i = 0; i < n; i++) {
        double off = values[i] - descriptions[groups[i]].mean;
        sums[groups[i]] += off * off;
    }
    for (uint32_t g = 0; g < n_groups; g++)
        if (descriptions[g].count > 1)
            descriptions[g].std = sqrt(sums[g] / (descriptions[g].count - 1));
}

enum sutra_status describe_reals(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                 const double *values, row_t n, uint32_t n_groups, struct description *descriptions,
                                 struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    double *sums = arena_zeros(arena, n_groups, sizeof *sums);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = double_sort_key(values[i]);
    if (!status)
        status = describe_sorted(engine, arena, groups, keys, values, n, n_groups, descriptions, error);
    if (!status)
        put_moments(groups, values, n, n_groups, sums, descriptions);
    arena_release(arena, mark);
    return status;
}
