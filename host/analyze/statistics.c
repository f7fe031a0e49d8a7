/* statistics.c - implements statistics.h. Quantiles and medians are exact: values are sorted. */
#include <math.h>
#include <stdlib.h>

#include "analyze/statistics.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "match/intervals.h"

/* ---- Distributions of values in groups ----
 *
 * Values are sorted, then distributed to their groups, in which the quartiles are at known indices.
 */

double quantile_of(const double *sorted, uint64_t n, double at) {
    double index = at * (double)(n - 1), below = floor(index), fraction = index - below;
    uint64_t low = (uint64_t)below, high = low + 1 < n ? low + 1 : low;
    double step = sorted[high] - sorted[low];
    return fraction < 0.5 ? sorted[low] + step * fraction : sorted[high] - step * (1 - fraction);
}

/* Sets all but mean and deviation; keys[] order as the values do. */
static enum sutra_status describe_order(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                        uint64_t *keys, const double *values, row_t n, uint32_t n_groups,
                                        struct description *descriptions, struct sutra_error *error) {
    row_t *first = arena_zeros(arena, (size_t)n_groups + 2, sizeof *first), *next = first + 1;
    double *by_group = arena_alloc(arena, n, sizeof *by_group); /* values of group g, ascending, from first[g] on */
    row_t *order = arena_alloc(arena, n, sizeof *order);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        order[i] = i;
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error));
    for (row_t i = 0; i < n; i++)
        next[groups[i] + 1]++;
    for (uint32_t g = 0; g < n_groups; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < n; i++)
        by_group[next[groups[order[i]]]++] = values[order[i]];
    for (uint32_t g = 0; g < n_groups; g++) {
        struct description *d = &descriptions[g];
        const double *sorted = by_group + first[g];
        row_t count = first[g + 1] - first[g];
        *d = (struct description){.count = count, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (count == 0)
            continue;
        d->min = sorted[0];
        d->max = sorted[count - 1];
        d->q25 = quantile_of(sorted, count, 0.25);
        d->q50 = quantile_of(sorted, count, 0.5);
        d->q75 = quantile_of(sorted, count, 0.75);
    }
    return SUTRA_OK;
}

enum sutra_status describe_integers(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                    const int64_t *values, row_t n, uint32_t n_groups, double scale,
                                    struct description *descriptions, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    double *scaled = arena_alloc(arena, n, sizeof *scaled);
    struct moments *moments = arena_zeros(arena, n_groups, sizeof *moments);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = integer_sort_key(values[i]);
        scaled[i] = (double)values[i] / scale;
    }
    if (!status)
        status = describe_order(engine, arena, groups, keys, scaled, n, n_groups, descriptions, error);
    if (!status)
        status =
            engine->sums_by_key(engine->state, &(struct sums_by_key_step){groups, values, n, n_groups, moments}, error);
    for (uint32_t g = 0; g < n_groups && !status; g++) {
        if (moments[g].n == 0)
            continue;
        descriptions[g].mean = (double)moments[g].sum / scale / (double)moments[g].n;
        descriptions[g].std = moments_deviation(&moments[g], scale);
    }
    arena_release(arena, mark);
    return status;
}

enum sutra_status describe_reals(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                 const double *values, row_t n, uint32_t n_groups, struct description *descriptions,
                                 struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    double *sums = arena_zeros(arena, n_groups, sizeof *sums);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = double_sort_key(values[i]);
    TRY(describe_order(engine, arena, groups, keys, values, n, n_groups, descriptions, error));

    /* Mean and deviation, in two passes over the rows. */
    for (row_t i = 0; i < n; i++)
        sums[groups[i]] += values[i];
    for (uint32_t g = 0; g < n_groups; g++) {
        if (descriptions[g].count > 0)
            descriptions[g].mean = sums[g] / descriptions[g].count;
        sums[g] = 0;
    }
    for (row_t i = 0; i < n; i++) {
        double deviation = values[i] - descriptions[groups[i]].mean;
        sums[groups[i]] += deviation * deviation;
    }
    for (uint32_t g = 0; g < n_groups; g++)
        if (descriptions[g].count > 1)
            descriptions[g].std = sqrt(sums[g] / (descriptions[g].count - 1));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Sums of leaves in the order of their trees ---- */

bool ordered_sum_add(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth, double us) {
    if (sum->begun) {
        while (sum->top && sums->list[sum->top - 1].depth > depth) {
            const struct waiting_sum *top = &sums->list[sum->top - 1];
            sum->last = top->us + sum->last;
            sum->top = top->below;
        }
        if (sum->top && sums->list[sum->top - 1].depth == depth)
            sums->list[sum->top - 1].us += sum->last;
        else {
            if (sums->n == UINT32_MAX - 1 || !column_grow(&sums->list, sums->n, &sums->capacity, sizeof *sums->list))
                return false;
            sums->list[sums->n] = (struct waiting_sum){sum->last, depth, sum->top};
            sum->top = ++sums->n;
        }
    }
    sum->begun = true;
    sum->last = us;
    return true;
}

double ordered_sum_total(const struct ordered_sums *sums, const struct ordered_sum *sum) {
    double total = sum->last;
    for (uint32_t top = sum->top; top; top = sums->list[top - 1].below)
        total = sums->list[top - 1].us + total;
    return total;
}

/* ---- Sums and deviations as numpy and pandas round them ---- */

/* Values that numpy adds with eight partial sums. */
#define PAIRWISE_BLOCK 128

double numpy_sum(const double *values, uint64_t n) {
    if (n < 8) {
        double sum = 0;
        for (uint64_t i = 0; i < n; i++)
            sum += values[i];
        return sum;
    }
    if (n > PAIRWISE_BLOCK) {
        uint64_t half = n / 2 - n / 2 % 8;
        return numpy_sum(values, half) + numpy_sum(values + half, n - half);
    }
    double part[8];
    uint64_t i = 8;
    for (int k = 0; k < 8; k++)
        part[k] = values[k];
    for (; i < n - n % 8; i += 8)
        for (int k = 0; k < 8; k++)
            part[k] += values[i + (uint64_t)k];
    double sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; i++)
        sum += values[i];
    return sum;
}

/* Adds the statistics of sorted values; sorts the n values. */
static void add_order_statistics(struct value_stats *stats, double *sorted) {
    uint64_t n = stats->n;
    stats->median = stats->min = stats->max = NAN;
    if (n == 0)
        return;
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    stats->median = mean_median(sorted, n);
    stats->min = sorted[0];
    stats->max = sorted[n - 1];
}

struct value_stats numpy_stats(const double *values, uint64_t n, double *scratch) {
    struct value_stats stats = {.n = n, .sum = numpy_sum(values, n)};
    stats.mean = stats.sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        scratch[i] = (values[i] - stats.mean) * (values[i] - stats.mean);
    stats.std = sqrt(numpy_sum(scratch, n) / (double)n);
    for (uint64_t i = 0; i < n; i++)
        scratch[i] = values[i];
    add_order_statistics(&stats, scratch);
    return stats;
}

enum group_order pandas_group_order(const uint32_t *groups, uint64_t n, const uint32_t *rank) {
    for (uint64_t i = 1; i < n; i++)
        if (rank ? rank[groups[i]] < rank[groups[i - 1]] : groups[i] < groups[i - 1])
            return GROUPS_MIXED;
    return GROUPS_SORTED;
}

double pandas_sum(const double *values, uint64_t n, enum group_order order) {
    double sum = 0, lost = 0;
    if (n && order == GROUPS_SORTED)
        return values[0] + numpy_sum(values + 1, n - 1);
    for (uint64_t i = 0; i < n; i++) { /* Kahan's sum; `lost` is its rounding error */
        double added = values[i] - lost, next = sum + added;
        lost = next - sum - added;
        lost = isnan(lost) ? 0 : lost;
        sum = next;
    }
    return sum;
}

struct value_stats pandas_stats(const double *values, uint64_t n, enum group_order order, double *scratch) {
    struct value_stats stats = {0};
    double mean = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            continue;
        double before = mean;
        scratch[stats.n++] = values[i];
        mean += (values[i] - before) / (double)stats.n;
        squares += (values[i] - mean) * (values[i] - before);
    }
    stats.sum = pandas_sum(scratch, stats.n, order);
    stats.mean = stats.n ? stats.sum / (double)stats.n : (double)NAN;
    stats.std = stats.n > 1 ? sqrt(squares / (double)(stats.n - 1)) : (double)NAN;
    add_order_statistics(&stats, scratch);
    return stats;
}
