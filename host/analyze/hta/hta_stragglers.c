/*
 * hta_stragglers.c - the ranks that the reference takes for stragglers.
 *
 * Of each stream, step and name of a long collective (1 % of a mean step or more) the last of a rank counts. The stream
 * and name whose durations differ most between ranks is the metric: who starts it late is suspected. In the reference's
 * way a collective is what is called ncclKernel, as until NCCL 2.17, the last one is the last of the file, and with one
 * step candidates are listed by rank; in ours it is any communication kernel, the last in time, and the latest is
 * first. Starts of ranks are compared, so their clocks must agree. O(k log k) for collectives.
 */
#include "analyze/hta/hta_stragglers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* A collective counts from this part of a mean step on. */
#define LEAST_PART 0.01

/* ---- What all ranks have ---- */

static bool take_collectives(struct hta_stragglers *stragglers, const struct sutra_hta *hta) {
    const struct sutra_table *table = &hta->collectives;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        size_t n_name, n_group;
        const char *name = table_get_text(table, COLLECTIVE_NAME, row, &n_name);
        const char *group = table_get_text(table, COLLECTIVE_GROUP, row, &n_group);
        struct rank_collective *collective = &stragglers->list[stragglers->n];
        *collective = (struct rank_collective){.rank = hta->options.rank,
                                               .stream = table_get_integer(table, COLLECTIVE_STREAM, row),
                                               .step = table_get_integer(table, COLLECTIVE_STEP, row),
                                               .index = table_get_integer(table, COLLECTIVE_INDEX, row),
                                               .start_ns = table_get_integer(table, COLLECTIVE_START, row),
                                               .dur_ns = table_get_integer(table, COLLECTIVE_DUR, row),
                                               .name = strings_intern(&stragglers->strings, name, n_name),
                                               .group = strings_intern(&stragglers->strings, group, n_group),
                                               .place = stragglers->n};
        stragglers->n++;
        if (collective->name == STRING_NONE || collective->group == STRING_NONE)
            return false;
    }
    return true;
}

static uint64_t sort_distinct(int64_t *numbers, uint64_t n) {
    uint64_t n_distinct = 0;
    qsort(numbers, n, sizeof *numbers, compare_int64s);
    for (uint64_t i = 0; i < n; i++)
        if (n_distinct == 0 || numbers[i] != numbers[n_distinct - 1])
            numbers[n_distinct++] = numbers[i];
    return n_distinct;
}

static bool has_step(const struct hta_stragglers *stragglers, int64_t step) {
    return bsearch(&step, stragglers->steps, stragglers->n_steps, sizeof step, compare_int64s) != NULL;
}

static bool is_requested(const int64_t *only, size_t n_only, int64_t step) {
    bool requested = !only;
    for (size_t i = 0; i < n_only && !requested; i++)
        requested = only[i] == step;
    return requested;
}

/* The steps that rows are named after, and from when until when rows are in them. */
static bool take_spans(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                       uint64_t n_spans, const int64_t *only, size_t n_only, struct arena *arena) {
    int64_t *seen = arena_take(arena, n_spans, sizeof *seen);
    uint64_t n = 0;
    stragglers->steps = arena_take(arena, n_spans, sizeof *stragglers->steps);
    if (arena->failed)
        return false;
    for (size_t i = 0; i < n_ranks; i++)
        for (uint64_t row = 0; row < ranks[i]->spans.n_rows; row++)
            if (table_get_integer(&ranks[i]->spans, SPAN_NAMED, row))
                stragglers->steps[stragglers->n_steps++] = table_get_integer(&ranks[i]->spans, SPAN_STEP, row);
    uint64_t n_distinct = sort_distinct(stragglers->steps, stragglers->n_steps);
    stragglers->n_steps = 0;
    for (uint64_t i = 0; i < n_distinct; i++)
        if (is_requested(only, n_only, stragglers->steps[i]))
            stragglers->steps[stragglers->n_steps++] = stragglers->steps[i];
    stragglers->first_ns = INT64_MAX;
    stragglers->last_ns = INT64_MIN;
    for (size_t i = 0; i < n_ranks; i++)
        for (uint64_t row = 0; row < ranks[i]->spans.n_rows; row++) {
            int64_t step = table_get_integer(&ranks[i]->spans, SPAN_STEP, row);
            int64_t first = table_get_integer(&ranks[i]->spans, SPAN_FIRST, row);
            int64_t last = table_get_integer(&ranks[i]->spans, SPAN_LAST, row);
            if (first == INT64_MAX || !has_step(stragglers, step))
                continue;
            seen[n++] = step;
            stragglers->first_ns = first < stragglers->first_ns ? first : stragglers->first_ns;
            stragglers->last_ns = last > stragglers->last_ns ? last : stragglers->last_ns;
        }
    stragglers->n_steps_seen = sort_distinct(seen, n);
    return true;
}

bool stragglers_take(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                     const int64_t *only, size_t n_only, struct arena *arena) {
    uint64_t n = 0, n_spans = 0;
    *stragglers = (struct hta_stragglers){.compat = n_ranks && ranks[0]->options.compat, .base_ns = INT64_MAX};
    for (size_t i = 0; i < n_ranks; i++) {
        n += ranks[i]->collectives.n_rows;
        n_spans += ranks[i]->spans.n_rows;
        stragglers->base_ns = ranks[i]->base < stragglers->base_ns ? ranks[i]->base : stragglers->base_ns;
    }
    stragglers->list = arena_take(arena, n, sizeof *stragglers->list);
    bool ok = stragglers->list && strings_init(&stragglers->strings);
    for (size_t i = 0; i < n_ranks && ok; i++)
        ok = take_collectives(stragglers, ranks[i]);
    return ok && take_spans(stragglers, ranks, n_ranks, n_spans, only, n_only, arena);
}

/* ---- The metric ---- */

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_names(const struct strings *strings, uint32_t a, uint32_t b) {
    return a == b ? 0 : strcmp(strings_text(strings, a), strings_text(strings, b));
}

/* What the order of collectives looks at. */
struct straggler_order {
    const struct hta_stragglers *of;
};

/* By stream, name and step, then by rank; the last of a rank last. */
static int compare_collectives(const void *left, const void *right, void *arg) {
    const struct hta_stragglers *stragglers = ((const struct straggler_order *)arg)->of;
    const struct rank_collective *a = left, *b = right;
    int order = compare_integers(a->stream, b->stream);
    if (!order)
        order = compare_names(&stragglers->strings, a->name, b->name);
    if (!order)
        order = compare_integers(a->step, b->step);
    if (!order)
        order = compare_integers(a->rank, b->rank);
    if (!order && !stragglers->compat)
        order = compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers((int64_t)a->place, (int64_t)b->place);
}

static bool is_of_line(const struct rank_collective *a, const struct rank_collective *b) {
    return a->stream == b->stream && a->name == b->name;
}

/* The long ones in the steps; of a rank's in each stream, step and name the last. */
static uint64_t keep_last(const struct hta_stragglers *stragglers, struct rank_collective *kept) {
    double least_us = stragglers->step_us * LEAST_PART;
    uint64_t n = 0, n_kept = 0;
    for (uint64_t i = 0; i < stragglers->n; i++) {
        const struct rank_collective *one = &stragglers->list[i];
        bool counts = stragglers->compat ? one->stream > 0 && one->step > 0 : one->step >= 0;
        if (counts && has_step(stragglers, one->step) && us_of(one->dur_ns) >= least_us)
            kept[n++] = *one;
    }
    struct straggler_order order = {stragglers};
    qsort_r(kept, n, sizeof *kept, compare_collectives, &order);
    for (uint64_t i = 0; i < n; i++)
        if (i + 1 == n || !is_of_line(&kept[i], &kept[i + 1]) || kept[i].step != kept[i + 1].step ||
            kept[i].rank != kept[i + 1].rank)
            kept[n_kept++] = kept[i];
    return n_kept;
}

/* The standard deviation of durations, in steps; NaN for one. */
static double deviation(const struct hta_stragglers *stragglers, const struct rank_collective *list, uint64_t n) {
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += us_of(list[i].dur_ns) / stragglers->step_us;
    for (uint64_t i = 0; i < n; i++) {
        double off = us_of(list[i].dur_ns) / stragglers->step_us - sum / (double)n;
        squares += off * off;
    }
    return n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

/* The mean deviation of the steps of a line, list[0..n). */
static double spread(const struct hta_stragglers *stragglers, const struct rank_collective *list, uint64_t n) {
    double sum = 0;
    uint64_t n_steps = 0;
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && list[end].step == list[first].step;)
            end++;
        double of_step = deviation(stragglers, list + first, end - first);
        if (isnan(of_step))
            continue;
        sum += of_step;
        n_steps++;
    }
    return n_steps ? sum / (double)n_steps : NAN;
}

static int compare_by_rank(const void *left, const void *right) {
    const struct rank_collective *a = left, *b = right;
    int order = compare_integers(a->rank, b->rank);
    return order ? order : compare_integers(a->step, b->step);
}

bool stragglers_choose(struct hta_stragglers *stragglers, struct arena *arena) {
    struct rank_collective *kept = arena_take(arena, stragglers->n, sizeof *kept);
    double most = NAN;
    if (!kept)
        return false;
    if (stragglers->n_steps_seen == 0)
        return true;
    stragglers->step_us = us_of(stragglers->last_ns - stragglers->first_ns) / (double)stragglers->n_steps_seen;
    uint64_t n = keep_last(stragglers, kept);
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && is_of_line(&kept[first], &kept[end]);)
            end++;
        double spread_of = spread(stragglers, kept + first, end - first);
        if (isnan(spread_of) || spread_of <= most)
            continue;
        most = spread_of;
        stragglers->metric = kept + first;
        stragglers->n_metric = end - first;
    }
    if (stragglers->n_metric > 0)
        qsort(stragglers->metric, stragglers->n_metric, sizeof *stragglers->metric, compare_by_rank);
    return true;
}

/* ---- Who is suspected ---- */

static int compare_by_step(const void *left, const void *right) {
    const struct rank_collective *a = left, *b = right;
    int order = compare_integers(a->step, b->step);
    return order ? order : -compare_integers(a->start_ns, b->start_ns);
}

uint64_t stragglers_mark(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks, int64_t *marks,
                         struct arena *arena) {
    uint64_t n = stragglers->n_metric, n_ranks = 0;
    struct rank_collective *by_step = n ? arena_take(arena, n, sizeof *by_step) : NULL;
    if (!by_step)
        return 0;
    for (uint64_t i = 0; i < n; i++) {
        if (n_ranks == 0 || ranks[n_ranks - 1] != stragglers->metric[i].rank)
            ranks[n_ranks++] = stragglers->metric[i].rank;
        by_step[i] = stragglers->metric[i];
    }
    memset(marks, 0, n_ranks * sizeof *marks);
    qsort(by_step, n, sizeof *by_step, compare_by_step);
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && by_step[end].step == by_step[first].step;)
            end++;
        if (end - first < n_candidates && stragglers->compat)
            return 0;
        uint64_t last = end - first < n_candidates ? end - 1 : first + n_candidates - 1;
        for (uint64_t i = first; i < end && by_step[i].start_ns >= by_step[last].start_ns; i++) {
            const int64_t *rank = bsearch(&by_step[i].rank, ranks, n_ranks, sizeof *ranks, compare_int64s);
            marks[rank - ranks]++;
        }
    }
    return n_ranks;
}

struct suspect {
    int64_t rank, marks, start_ns;
};

static int compare_suspects(const void *left, const void *right) {
    const struct suspect *a = left, *b = right;
    int order = -compare_integers(a->marks, b->marks);
    if (!order)
        order = -compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers(a->rank, b->rank);
}

uint64_t stragglers_list(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks,
                         struct arena *arena) {
    uint64_t n = stragglers->n_metric;
    int64_t *all = arena_take(arena, n, sizeof *all), *marks = arena_take(arena, n, sizeof *marks);
    struct suspect *suspects = arena_take(arena, n, sizeof *suspects);
    if (arena->failed)
        return 0;
    uint64_t n_ranks = stragglers_mark(stragglers, n_candidates, all, marks, arena);
    for (uint64_t i = 0; i < n_ranks; i++) /* with one step for each rank, metric[i] is the rank's */
        suspects[i] = (struct suspect){all[i], marks[i],
                                       n_ranks == n && !stragglers->compat ? stragglers->metric[i].start_ns : 0};
    qsort(suspects, n_ranks, sizeof *suspects, compare_suspects);
    uint64_t n_listed = n_ranks < n_candidates ? n_ranks : n_candidates;
    for (uint64_t i = 0; i < n_listed; i++)
        ranks[i] = suspects[i].rank;
    return n_listed;
}

void stragglers_add_metric(const struct hta_stragglers *stragglers, struct sutra_table *table) {
    for (uint64_t i = 0; i < stragglers->n_metric; i++) {
        const struct rank_collective *one = &stragglers->metric[i];
        table_integer(table, one->rank);
        table_integer(table, one->stream);
        table_integer(table, one->step);
        table_string(table, &stragglers->strings, one->name);
        table_integer(table, one->index);
        table_real(table, us_of(one->start_ns - stragglers->base_ns));
        table_real(table, us_of(one->dur_ns));
        table_real(table, us_of(one->start_ns - stragglers->first_ns) / stragglers->step_us);
        table_real(table, us_of(one->dur_ns) / stragglers->step_us);
    }
}
