/*
 * stragglers.c - which ranks arrive late at collectives: HTA's metric and lists, our table of lateness, the slowest
 * rank and its cause.
 *
 * HTA's metric: of each stream, step and name of a long collective (1 % of a mean step or more) the last one of a rank
 * counts. The stream and name whose durations differ most between ranks is the metric: ranks that start it late are
 * candidates. In HTA a collective is a kernel named ncclKernel, as until NCCL 2.17, the last one is the last in the
 * file, and with one step candidates are listed by rank; in sutra it is any communication kernel, the last in time, and
 * the latest rank is first. Starts of ranks are compared, so clocks must agree. O(k log k) for k collectives.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta_ranks.h"
#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "sutra/analyze.h"

/* A collective counts from this share of a mean step on. */
#define MIN_STEP_SHARE 0.01

/* ---- Collectives and steps of all ranks ---- */

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

/* Finds the steps that rows are named after, and the time range of the rows in them. */
static bool collect_spans(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                          uint64_t n_spans, const int64_t *only, size_t n_only, struct arena *arena) {
    int64_t *in_range = arena_alloc(arena, n_spans, sizeof *in_range);
    uint64_t n = 0;
    stragglers->steps = arena_alloc(arena, n_spans, sizeof *stragglers->steps);
    if (arena->failed)
        return false;
    for (size_t i = 0; i < n_ranks; i++)
        for (uint64_t row = 0; row < ranks[i]->spans.n_rows; row++)
            if (table_get_integer(&ranks[i]->spans, SPAN_NAMED, row))
                stragglers->steps[stragglers->n_steps++] = table_get_integer(&ranks[i]->spans, SPAN_STEP, row);
    uint64_t n_distinct = sort_distinct(stragglers->steps, stragglers->n_steps);
    stragglers->n_steps = 0;
    for (uint64_t i = 0; i < n_distinct; i++) {
        bool is_requested = !only;
        for (size_t k = 0; k < n_only && !is_requested; k++)
            is_requested = only[k] == stragglers->steps[i];
        if (is_requested)
            stragglers->steps[stragglers->n_steps++] = stragglers->steps[i];
    }
    stragglers->first_ns = INT64_MAX;
    stragglers->last_ns = INT64_MIN;
    for (size_t i = 0; i < n_ranks; i++)
        for (uint64_t row = 0; row < ranks[i]->spans.n_rows; row++) {
            int64_t step = table_get_integer(&ranks[i]->spans, SPAN_STEP, row);
            int64_t first = table_get_integer(&ranks[i]->spans, SPAN_FIRST, row);
            int64_t last = table_get_integer(&ranks[i]->spans, SPAN_LAST, row);
            if (first == INT64_MAX || !has_step(stragglers, step))
                continue;
            in_range[n++] = step;
            stragglers->first_ns = MIN(first, stragglers->first_ns);
            stragglers->last_ns = MAX(last, stragglers->last_ns);
        }
    stragglers->n_steps_with_rows = sort_distinct(in_range, n);
    return true;
}

bool stragglers_collect(struct hta_stragglers *stragglers, const struct sutra_hta *const *ranks, size_t n_ranks,
                        const int64_t *only, size_t n_only, struct arena *arena) {
    uint64_t n = 0, n_spans = 0;
    *stragglers = (struct hta_stragglers){.compat = n_ranks && ranks[0]->options.compat, .base_ns = INT64_MAX};
    for (size_t i = 0; i < n_ranks; i++) {
        n += ranks[i]->collectives.n_rows;
        n_spans += ranks[i]->spans.n_rows;
        stragglers->base_ns = MIN(ranks[i]->base, stragglers->base_ns);
    }
    stragglers->list = arena_alloc(arena, n, sizeof *stragglers->list);
    if (!stragglers->list || !strings_init(&stragglers->strings))
        return false;
    for (size_t i = 0; i < n_ranks; i++)
        for (uint64_t row = 0; row < ranks[i]->collectives.n_rows; row++) {
            const struct sutra_table *table = &ranks[i]->collectives;
            size_t n_name, n_group;
            const char *name = table_get_text(table, COLLECTIVE_NAME, row, &n_name);
            const char *group = table_get_text(table, COLLECTIVE_GROUP, row, &n_group);
            struct rank_collective *collective = &stragglers->list[stragglers->n];
            *collective = (struct rank_collective){.rank = ranks[i]->options.rank,
                                                   .stream = table_get_integer(table, COLLECTIVE_STREAM, row),
                                                   .step = table_get_integer(table, COLLECTIVE_STEP, row),
                                                   .index = table_get_integer(table, COLLECTIVE_INDEX, row),
                                                   .start_ns = table_get_integer(table, COLLECTIVE_START, row),
                                                   .dur_ns = table_get_integer(table, COLLECTIVE_DUR, row),
                                                   .name = strings_intern(&stragglers->strings, name, n_name),
                                                   .group = strings_intern(&stragglers->strings, group, n_group),
                                                   .order = stragglers->n++};
            if (collective->name == STRING_NONE || collective->group == STRING_NONE)
                return false;
        }
    return collect_spans(stragglers, ranks, n_ranks, n_spans, only, n_only, arena);
}

/* ---- The metric ---- */

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* By stream, name and step, then by rank; the last one of a rank last. */
static int compare_collectives(const void *left, const void *right, void *arg) {
    const struct hta_stragglers *stragglers = arg;
    const struct rank_collective *a = left, *b = right;
    int order = compare_integers(a->stream, b->stream);
    if (!order && a->name != b->name)
        order = strcmp(strings_text(&stragglers->strings, a->name), strings_text(&stragglers->strings, b->name));
    if (!order)
        order = compare_integers(a->step, b->step);
    if (!order)
        order = compare_integers(a->rank, b->rank);
    if (!order && !stragglers->compat)
        order = compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers((int64_t)a->order, (int64_t)b->order);
}

static bool is_of_line(const struct rank_collective *a, const struct rank_collective *b) {
    return a->stream == b->stream && a->name == b->name;
}

/* The mean, over the steps of a line, list[0..n), of the standard deviation of durations, in steps; NaN: unknown. */
static double spread(const struct hta_stragglers *stragglers, const struct rank_collective *list, uint64_t n) {
    double total = 0, step_us = stragglers->step_us;
    uint64_t n_steps = 0;
    for (uint64_t first = 0, end; first < n; first = end) {
        double sum = 0, squares = 0;
        for (end = first; end < n && list[end].step == list[first].step; end++)
            sum += us_of(list[end].dur_ns) / step_us;
        for (uint64_t i = first; i < end; i++) {
            double off = us_of(list[i].dur_ns) / step_us - sum / (double)(end - first);
            squares += off * off;
        }
        double deviation = end - first > 1 ? sqrt(squares / (double)(end - first - 1)) : NAN;
        total += isnan(deviation) ? 0 : deviation;
        n_steps += isnan(deviation) ? 0 : 1;
    }
    return n_steps ? total / (double)n_steps : NAN;
}

ORDER_BY(compare_by_rank, struct rank_collective, ASCENDING(rank) ASCENDING(step))

bool stragglers_choose_metric(struct hta_stragglers *stragglers, struct arena *arena) {
    struct rank_collective *kept = arena_alloc(arena, stragglers->n, sizeof *kept);
    uint64_t n = 0, n_long = 0;
    double max_spread = NAN;
    if (!kept)
        return false;
    if (stragglers->n_steps_with_rows == 0)
        return true;
    stragglers->step_us = us_of(stragglers->last_ns - stragglers->first_ns) / (double)stragglers->n_steps_with_rows;

    /* keep long collectives in the steps; of each rank, stream, step and name the last */
    for (uint64_t i = 0; i < stragglers->n; i++) {
        const struct rank_collective *one = &stragglers->list[i];
        bool counts = stragglers->compat ? one->stream > 0 && one->step > 0 : one->step >= 0;
        if (counts && has_step(stragglers, one->step) && us_of(one->dur_ns) >= stragglers->step_us * MIN_STEP_SHARE)
            kept[n_long++] = *one;
    }
    qsort_r(kept, n_long, sizeof *kept, compare_collectives, stragglers);
    for (uint64_t i = 0; i < n_long; i++)
        if (i + 1 == n_long || !is_of_line(&kept[i], &kept[i + 1]) || kept[i].step != kept[i + 1].step ||
            kept[i].rank != kept[i + 1].rank)
            kept[n++] = kept[i];
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && is_of_line(&kept[first], &kept[end]);)
            end++;
        double spread_of = spread(stragglers, kept + first, end - first);
        if (isnan(spread_of) || spread_of <= max_spread)
            continue;
        max_spread = spread_of;
        stragglers->metric = kept + first;
        stragglers->n_metric = end - first;
    }
    if (stragglers->n_metric > 0)
        qsort(stragglers->metric, stragglers->n_metric, sizeof *stragglers->metric, compare_by_rank);
    return true;
}

/* ---- Candidates ---- */

ORDER_BY(compare_by_step, struct rank_collective, ASCENDING(step) DESCENDING(start_ns))

/* Counts marks by rank: in how many steps a rank is among the n_candidates that start last. Fills marks[0..n) for the
 * ranks of the metric, ranks[0..n), ascending, both of capacity n_metric. Returns n; 0: there is no metric, or, in HTA,
 * a step has fewer ranks. */
static uint64_t stragglers_mark(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks,
                                int64_t *marks, struct arena *arena) {
    uint64_t n = stragglers->n_metric, n_ranks = 0;
    struct rank_collective *by_step = n ? arena_alloc(arena, n, sizeof *by_step) : NULL;
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

ORDER_BY(compare_suspects, struct suspect, DESCENDING(marks) DESCENDING(start_ns) ASCENDING(rank))

uint64_t stragglers_list(const struct hta_stragglers *stragglers, uint64_t n_candidates, int64_t *ranks,
                         struct arena *arena) {
    uint64_t n = stragglers->n_metric;
    int64_t *all = arena_alloc(arena, n, sizeof *all), *marks = arena_alloc(arena, n, sizeof *marks);
    struct suspect *suspects = arena_alloc(arena, n, sizeof *suspects);
    if (arena->failed)
        return 0;
    uint64_t n_ranks = stragglers_mark(stragglers, n_candidates, all, marks, arena);
    for (uint64_t i = 0; i < n_ranks; i++) /* with one step per rank, metric[i] belongs to ranks[i] */
        suspects[i] = (struct suspect){all[i], marks[i],
                                       n_ranks == n && !stragglers->compat ? stragglers->metric[i].start_ns : 0};
    qsort(suspects, n_ranks, sizeof *suspects, compare_suspects);
    uint64_t n_listed = MIN(n_ranks, n_candidates);
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

/*
 * ---- Lateness: how late each rank arrives at collectives, and how long it waits in them, by durations alone ----
 *
 *     rank 0        [ all-reduce ...........]      waits until the last rank arrives
 *     rank 1              [ all-reduce .....]
 *     rank 2                      [ ........]      arrives last: late by the difference of the durations
 *
 * A collective ends on all of its ranks at about the same time, so late ranks have short kernels: clocks need not
 * agree. The k-th collective of a name on a stream in a step (and of one group, if the trace records groups) is the
 * same on all ranks. Sends and receives are skipped: they end on two ranks at a time. O(k log k) for k collectives.
 */

struct rank_lateness {
    int64_t rank;
    int64_t n, n_last, late_ns, max_late_ns, wait_ns;
};

/* Fields that are equal on all ranks of a collective. */
#define COLLECTIVE_KIND ASCENDING(step) ASCENDING(stream) ASCENDING(name) ASCENDING(group)

ORDER_BY(compare_kinds, struct rank_collective, COLLECTIVE_KIND)
ORDER_BY(compare_in_rank, struct rank_collective, COLLECTIVE_KIND ASCENDING(rank) ASCENDING(start_ns) ASCENDING(index))
ORDER_BY(compare_over_ranks, struct rank_collective, COLLECTIVE_KIND ASCENDING(order) ASCENDING(rank))
ORDER_BY(compare_lateness, struct rank_lateness, DESCENDING(late_ns) ASCENDING(rank))

static int compare_rank(const void *key, const void *lateness) {
    return compare_integers(*(const int64_t *)key, ((const struct rank_lateness *)lateness)->rank);
}

/* Adds one collective, list[0..n), to the lateness of its ranks. */
static void add_lateness(const struct rank_collective *list, uint64_t n, struct rank_lateness *ranks,
                         uint64_t n_ranks) {
    uint64_t shortest = 0, longest = 0;
    for (uint64_t i = 1; i < n; i++) {
        shortest = list[i].dur_ns < list[shortest].dur_ns ? i : shortest;
        longest = list[i].dur_ns > list[longest].dur_ns ? i : longest;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct rank_lateness *of_rank = bsearch(&list[i].rank, ranks, n_ranks, sizeof *ranks, compare_rank);
        int64_t late_ns = list[longest].dur_ns - list[i].dur_ns;
        of_rank->n++;
        of_rank->n_last += i == shortest && late_ns > 0;
        of_rank->late_ns += late_ns;
        of_rank->max_late_ns = MAX(late_ns, of_rank->max_late_ns);
        of_rank->wait_ns += list[i].dur_ns - list[shortest].dur_ns;
    }
}

bool lateness_add(struct hta_stragglers *stragglers, struct sutra_table *table, struct arena *arena) {
    enum { CANDIDATES = 2 };
    struct rank_lateness *ranks = arena_zeros(arena, stragglers->n, sizeof *ranks);
    int64_t *marked = arena_alloc(arena, stragglers->n_metric, sizeof *marked); /* ranks with marks */
    int64_t *marks = arena_alloc(arena, stragglers->n_metric, sizeof *marks);
    struct rank_collective *list = stragglers->list;
    uint64_t n_ranks = 0, n = 0;
    if (arena->failed)
        return false;
    for (uint64_t i = 0; i < stragglers->n; i++) { /* by ascending rank */
        if (n_ranks == 0 || ranks[n_ranks - 1].rank != list[i].rank)
            ranks[n_ranks++].rank = list[i].rank;
        if (!strstr(strings_text(&stragglers->strings, list[i].name), "SendRecv"))
            list[n++] = list[i];
    }
    /* number the collectives of each kind on each rank, then group them over ranks */
    qsort(list, n, sizeof *list, compare_in_rank);
    for (uint64_t i = 0; i < n; i++) {
        bool first = i == 0 || compare_kinds(&list[i - 1], &list[i]) != 0 || list[i - 1].rank != list[i].rank;
        list[i].order = first ? 0 : list[i - 1].order + 1;
    }
    qsort(list, n, sizeof *list, compare_over_ranks);
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1;
             end < n && compare_kinds(&list[first], &list[end]) == 0 && list[end].order == list[first].order;)
            end++;
        if (end - first > 1)
            add_lateness(list + first, end - first, ranks, n_ranks);
    }

    uint64_t n_marked = stragglers_mark(stragglers, CANDIDATES, marked, marks, arena);
    if (arena->failed)
        return false;
    qsort(ranks, n_ranks, sizeof *ranks, compare_lateness);
    for (uint64_t i = 0; i < n_ranks; i++) {
        const int64_t *found = bsearch(&ranks[i].rank, marked, n_marked, sizeof *marked, compare_int64s);
        if (ranks[i].n == 0)
            continue;
        table_integer(table, ranks[i].rank);
        table_integer(table, ranks[i].n);
        table_integer(table, ranks[i].n_last);
        table_real(table, us_of(ranks[i].late_ns));
        table_real(table, us_of(ranks[i].max_late_ns));
        table_real(table, us_of(ranks[i].wait_ns));
        table_integer(table, found ? marks[found - marked] : 0);
    }
    return true;
}

/*
 * ---- Input of one rank ----
 *
 * The communication kernels of a rank, and the time range of the rows of each profiler step, on the trace's own clock.
 * Empty if the rank is not compared with others. O(n).
 */

void hta_collectives_init(struct sutra_hta *hta) {
    static const struct column_spec collectives[] = {
        [COLLECTIVE_STREAM] = INTEGER("stream"), [COLLECTIVE_STEP] = INTEGER("step"),
        [COLLECTIVE_NAME] = TEXT("name"),        [COLLECTIVE_GROUP] = TEXT("group"),
        [COLLECTIVE_INDEX] = INTEGER("index"),   [COLLECTIVE_START] = INTEGER("start"),
        [COLLECTIVE_DUR] = INTEGER("dur")};
    static const struct column_spec spans[] = {[SPAN_STEP] = INTEGER("step"),
                                               [SPAN_NAMED] = INTEGER("named"),
                                               [SPAN_FIRST] = INTEGER("first"),
                                               [SPAN_LAST] = INTEGER("last")};
    table_init(&hta->collectives, "collectives", collectives, sizeof collectives / sizeof *collectives);
    table_init(&hta->spans, "spans", spans, sizeof spans / sizeof *spans);
}

struct step_spans {
    struct tuples numbers;
    struct step_span {
        bool named;    /* a row is named after the step */
        bool has_rows; /* rows are in the step, from first to last: */
        int64_t first, last;
    } * list;
    uint64_t capacity;
    struct arena *arena;
    uint32_t last; /* step that was found last, as consecutive rows mostly have one step; TUPLE_NONE at first */
};

/* NULL: out of memory. */
static struct step_span *span_of(struct step_spans *spans, int64_t number) {
    if (spans->last != TUPLE_NONE && spans->numbers.list[spans->last].part[0] == number)
        return &spans->list[spans->last];
    uint32_t n = spans->numbers.n, span = tuples_number(&spans->numbers, (struct tuple){{number}});
    if (span == TUPLE_NONE || !arena_grow(spans->arena, &spans->list, span, &spans->capacity, sizeof *spans->list))
        return NULL;
    if (span == n)
        spans->list[span] = (struct step_span){.first = INT64_MAX, .last = INT64_MIN};
    spans->last = span;
    return &spans->list[span];
}

enum sutra_status hta_spans(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct step_spans spans = {.arena = arena, .last = TUPLE_NONE};
    bool ok = true;
    if (input->alone)
        return SUTRA_OK;
    for (row_t i = 0; i < rows->n_steps && ok; i++) {
        row_t event = rows->steps[i];
        int64_t number = input->iterations.of_name[rows->events->name[event]];
        bool counts = input->options.compat || category_roles(rows->events, rows->roles, event) & CATEGORY_ANNOTATION;
        if (number == ITERATION_NONE || !(rows->state[event] & HTA_KEPT) || !counts)
            continue;
        struct step_span *span = span_of(&spans, number);
        if ((ok = span != NULL))
            span->named = true;
    }
    for (row_t i = 0; i < rows->n && ok && input->iterations.of_event; i++) {
        row_t event = rows->list[i];
        int64_t number = input->iterations.of_event[event], end = rows->start[event] + rows->dur[event];
        struct step_span *span = number < 0 ? NULL : span_of(&spans, number);
        ok = number < 0 || span;
        if (!span)
            continue;
        span->has_rows = true;
        span->first = MIN(rows->start[event], span->first);
        span->last = MAX(end, span->last);
    }
    for (uint32_t i = 0; i < spans.numbers.n && ok; i++) {
        table_integer(&hta->spans, spans.numbers.list[i].part[0]);
        table_integer(&hta->spans, spans.list[i].named);
        table_integer(&hta->spans, spans.list[i].has_rows ? rows->base + spans.list[i].first : INT64_MAX);
        table_integer(&hta->spans, spans.list[i].has_rows ? rows->base + spans.list[i].last : INT64_MIN);
    }
    tuples_free(&spans.numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status hta_collectives(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    static const struct requested_field field = {"Process Group Ranks", ASK_STRING, false};
    const struct hta_rows *rows = &input->rows;
    if (input->alone)
        return SUTRA_OK;
    row_t *events = arena_alloc(arena, rows->n, sizeof *events), n = 0;
    struct requested_column groups = {0};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        uint32_t name = rows->events->name[event];
        bool is_collective = input->options.compat ? strncmp(strings_text(rows->strings, name), "ncclKernel", 10) == 0
                                                   : rows->state[event] & HTA_STREAM &&
                                                         input->kernels.of_name[name] == KERNEL_COMMUNICATION + 1;
        if (is_collective && rows->stream[event] >= 0)
            events[n++] = event;
    }
    if (n)
        TRY(event_columns_request(input->context, rows->trace, &field, 1, events, n, &groups, error));
    for (row_t i = 0; i < n; i++) {
        struct sutra_table *table = &hta->collectives;
        table_integer(table, rows->stream[events[i]]);
        table_integer(table, hta_iteration(input, events[i]));
        table_string(table, rows->strings, rows->events->name[events[i]]);
        table_string(table, event_columns_strings(rows->trace), groups.string[events[i]]);
        table_integer(table, events[i]);
        table_integer(table, rows->base + rows->start[events[i]]);
        table_integer(table, rows->dur[events[i]]);
    }
    return SUTRA_OK;
}

/* ---- The slowest rank and its cause. O(n log n) for the medians. ---- */

#define N_CAUSES (SUTRA_CAUSE_IDLE + 1)

static double cause_us(const struct sutra_hta_summary *summary, int cause) {
    const double us[N_CAUSES] = {[SUTRA_CAUSE_COMPUTE] = summary->compute_us,
                                 [SUTRA_CAUSE_COMMUNICATION] = summary->exposed_us,
                                 [SUTRA_CAUSE_MEMORY] = summary->memory_us,
                                 [SUTRA_CAUSE_IDLE] = summary->idle_us};
    return us[cause];
}

/* The next rank that has kernels, from index *i on; NULL at the end. */
static const struct sutra_hta_rank *next_rank(const struct sutra_hta_ranks *ranks, size_t *i) {
    const struct sutra_hta_rank *rank;
    while ((rank = sutra_hta_ranks_get(ranks, (*i)++)) && !rank->reason)
        if (rank->summary->n_kernels > 0)
            return rank;
    return NULL;
}

/* The median of a cause, or of the span, over all ranks that have kernels. */
static double median_of(const struct sutra_hta_ranks *ranks, int cause, double *values) {
    size_t n = 0, i = 0;
    for (const struct sutra_hta_rank *rank; (rank = next_rank(ranks, &i));)
        values[n++] = cause < N_CAUSES ? cause_us(rank->summary, cause) : rank->summary->span_us;
    qsort(values, n, sizeof *values, compare_doubles);
    return quantile_of(values, n, 0.5);
}

int sutra_hta_ranks_slowest(const struct sutra_hta_ranks *ranks, struct sutra_hta_slowest *slowest) {
    const struct sutra_hta_rank *longest = NULL, *fastest = NULL; /* fastest: with the least communication */
    size_t n = 0, i = 0;
    for (const struct sutra_hta_rank *rank; (rank = next_rank(ranks, &i)); n++) {
        if (!longest || rank->summary->span_us > longest->summary->span_us)
            longest = rank;
        if (!fastest || rank->summary->communication_us < fastest->summary->communication_us)
            fastest = rank;
    }
    double *values = n >= 2 ? malloc(n * sizeof *values) : NULL;
    if (!values)
        return 0;
    struct sutra_hta_slowest found = {.rank = longest->rank, .span_us = longest->summary->span_us};
    found.median_span_us = median_of(ranks, N_CAUSES, values);
    found.awaited_rank = fastest->summary->communication_us > 0 ? fastest->rank : -1;
    for (int cause = 0; cause < N_CAUSES; cause++) {
        double us = cause_us(longest->summary, cause), median = median_of(ranks, cause, values);
        if (cause > 0 && us - median <= found.cause_us - found.median_cause_us)
            continue;
        found.cause = (enum sutra_hta_cause)cause;
        found.cause_us = us;
        found.median_cause_us = median;
    }
    free(values);
    report_give(slowest, &found, sizeof found);
    return 1;
}
