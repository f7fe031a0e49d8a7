/*
 * trend.c - implements trend.h.
 *
 * Medians of all prefixes and suffixes of a segment: its windows are added, from the first to the last one, to a
 * Fenwick tree that counts them by the rank of their step time among all windows, and are removed in the same order.
 *
 *     add the windows in turn               medians of prefixes
 *     remove the first windows in turn      medians of suffixes
 *
 * Cost: O(log n) per window. Step times are sorted once.
 */
#include "compare/trend.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "text/quantities.h"

#define MAD_TO_DEVIATION  1.4826 /* of a normal distribution: deviation / median absolute deviation */
#define MEDIAN_TO_MEAN    1.2533 /* standard error of a median / standard error of a mean */
#define DISTANCE_TO_NOISE 1.0484 /* sigma / median distance of two windows */
#define MIN_NOISE         0.002
#define MIN_STEPS         3 /* for a spread */
#define MIN_WINDOWS       5 /* for distances */
#define MANY_WINDOWS      10

/* Sorts the values. n > 0. */
static double median_of(double *values, uint64_t n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return mean_median(values, n);
}

void trend_window_set_steps(struct trend_window *window, double *durations_us, uint64_t n) {
    window->n_steps = n;
    window->step_us = window->spread_us = (double)NAN;
    if (n == 0)
        return;
    window->step_us = median_of(durations_us, n);
    for (uint64_t i = 0; i < n; i++)
        durations_us[i] = fabs(durations_us[i] - window->step_us);
    window->spread_us = MAD_TO_DEVIATION * median_of(durations_us, n);
}

/* ---- The series: windows with steps ---- */

/* A window of the series. */
struct point {
    size_t window;        /* its index in the trend */
    double us;            /* step time */
    size_t rank;          /* the number of smaller step times in the series */
    double before, after; /* medians of its segment up to this window, and from it on */
    bool begins_segment, is_spike;
    double level; /* of its segment, or of itself if it is a spike, */
    size_t n;     /* with this number of windows */
};

struct step_series {
    struct point *points;
    size_t n;
    double *sorted;   /* step times, ascending */
    size_t *counts;   /* Fenwick tree over their ranks, counted from 1 */
    double middle_us; /* median of the step times */
    double noise_us;  /* sigma */
    double factor, floor;
};

/* Standard error of the median of n windows. */
static double error_of(const struct step_series *series, size_t n) {
    return (n <= 2 ? 1 : MEDIAN_TO_MEAN) * series->noise_us / sqrt((double)n);
}

/* The smallest difference to a level of n_a windows that n_b windows must exceed. */
static double limit_of(const struct step_series *series, size_t n_a, size_t n_b, double level) {
    const double a = error_of(series, n_a), b = error_of(series, n_b);
    return fmax(series->factor * sqrt(a * a + b * b), series->floor * level);
}

/* `values` is scratch for a number per window. */
static double find_noise(const struct trend *trend, const struct step_series *series, double *values) {
    double noise = (double)NAN;
    size_t n = 0;
    for (size_t i = 0; i < series->n; i++) {
        const struct trend_window *window = &trend->windows[series->points[i].window];
        if (window->n_steps >= MIN_STEPS)
            values[n++] = MEDIAN_TO_MEAN * window->spread_us / sqrt((double)window->n_steps);
    }
    if (n > 0)
        noise = median_of(values, n);
    if (series->n >= MIN_WINDOWS) {
        for (n = 0; n + 1 < series->n; n++)
            values[n] = fabs(series->points[n + 1].us - series->points[n].us);
        qsort(values, n, sizeof *values, compare_doubles);
        noise = fmax(noise, DISTANCE_TO_NOISE * values[lower_median_at(n)]); /* not NaN */
    }
    if (series->n < 2 || isnan(noise))
        return (double)NAN;
    return fmax(noise, MIN_NOISE * series->middle_us);
}

/* ---- Segments ---- */

/* Adds `number` windows of this rank to the tree; (size_t)-1 removes one. */
static void count_windows(struct step_series *series, size_t rank, size_t number) {
    for (size_t i = rank + 1; i <= series->n; i += i & -i)
        series->counts[i] += number;
}

/* The k-th step time in the tree, from 0 on. */
static double counted_us(const struct step_series *series, size_t k) {
    size_t rank = 0, step = 1;
    while (step <= series->n / 2)
        step *= 2;
    for (; step; step /= 2)
        if (rank + step <= series->n && series->counts[rank + step] <= k) {
            rank += step;
            k -= series->counts[rank];
        }
    return series->sorted[rank];
}

static double counted_median(const struct step_series *series, size_t n) {
    return (counted_us(series, upper_median_at(n)) + counted_us(series, lower_median_at(n))) / 2;
}

/* The window at which a segment is divided, or its end. Sets the medians of its windows. */
static size_t find_division(struct step_series *series, size_t from, size_t to) {
    size_t found = to;
    double largest = 0;
    for (size_t i = from; i < to; i++) {
        count_windows(series, series->points[i].rank, 1);
        series->points[i].before = counted_median(series, i + 1 - from);
    }
    for (size_t i = from; i < to; i++) {
        series->points[i].after = counted_median(series, to - i);
        count_windows(series, series->points[i].rank, (size_t)-1);
    }
    for (size_t j = from + 2; j < to; j++) {
        const double before = series->points[j - 1].before, difference = series->points[j].after - before;
        const double limit = limit_of(series, j - from, to - j, before);
        bool is_valid = fabs(difference) > limit && (to - j > 1 || to == series->n);
        for (size_t k = j - 2; k < MIN(j + 2, to) && is_valid; k++) /* windows nearer to the level after j */
            is_valid = ((series->points[k].us - before) / difference >= 0.5) == (k >= j);
        if (is_valid && (found == to || fabs(difference) / limit > largest)) {
            largest = fabs(difference) / limit;
            found = j;
        }
    }
    return found;
}

/* ---- Changes ---- */

/* Adds a change at a window of the series. */
static void add_change(struct trend *trend, enum trend_kind kind, size_t window, double from_us, double to_us,
                       bool confirmed) {
    trend->changes[trend->n_changes++] = (struct trend_change){.kind = kind,
                                                               .window = window,
                                                               .from_us = from_us,
                                                               .to_us = to_us,
                                                               .percent = (to_us / from_us - 1) * 100,
                                                               .confirmed = confirmed,
                                                               .part_us = (double)NAN};
}

/* Adds the shift and the spikes of a segment that is not divided, and sets the level of each window. */
static void add_segment(struct trend *trend, struct step_series *series, size_t from, size_t to) {
    const size_t n = to - from;
    const double level = series->points[to - 1].before, limit = limit_of(series, 1, n, level);
    if (from > 0)
        add_change(trend, TREND_SHIFT, from, series->points[from - 1].before, level, n > 1);
    for (size_t i = from; i < to; i++) {
        struct point *point = &series->points[i];
        point->is_spike = n > 2 && fabs(point->us - level) > limit;
        point->level = point->is_spike ? point->us : level;
        point->n = point->is_spike ? 1 : n;
        if (point->is_spike)
            add_change(trend, TREND_SPIKE, i, level, point->us, true);
    }
}

/* Divides the series into segments, from the first to the last one. */
static void find_segments(struct trend *trend, struct step_series *series) {
    for (size_t from = 0, to; from < series->n;) {
        for (to = from + 1; to < series->n && !series->points[to].begins_segment;)
            to++;
        const size_t division = find_division(series, from, to);
        if (division < to) {
            series->points[division].begins_segment = true;
        } else {
            add_segment(trend, series, from, to);
            from = to;
        }
    }
}

/* Sets the window to compare each change with, and replaces indices of the series by indices of windows. O(n). */
static void set_windows_before(struct trend *trend, const struct step_series *series) {
    const struct point *points = series->points;
    const size_t n = series->n;
    size_t i = 0, earlier = n, later = 0; /* the nearest windows that are no spikes */
    for (struct trend_change *change = trend->changes; change < trend->changes + trend->n_changes; change++) {
        const size_t at = change->window;
        for (; i < at; i++)
            earlier = points[i].is_spike ? earlier : i;
        for (later = MAX(later, at + 1); later < n && points[later].is_spike;)
            later++;
        const size_t if_all_are_spikes = at ? at - 1 : 1;
        change->before = points[earlier < n ? earlier : later < n ? later : if_all_are_spikes].window;
        change->window = points[at].window;
    }
}

/* Compares each window, and its level, with the baseline. Levels are 0 if noise is unknown. */
static void compare_with_baseline(struct trend *trend, const struct step_series *series) {
    const double base_us = trend->windows[trend->baseline].step_us;
    const struct point *base = NULL;
    for (size_t i = 0; i < trend->n_windows; i++)
        trend->windows[i].change_percent = (trend->windows[i].step_us / base_us - 1) * 100;
    for (size_t i = 0; i < series->n; i++)
        base = series->points[i].window == trend->baseline ? &series->points[i] : base;
    for (size_t i = 0; i < series->n && base; i++) {
        const struct point *point = &series->points[i];
        trend->windows[point->window].differs =
            fabs(point->level - base->level) > limit_of(series, base->n, point->n, base->level);
    }
}

enum sutra_status trend_find_changes(struct trend *trend, struct sutra_error *error) {
    struct arena scratch = {0};
    const size_t n = trend->n_windows;
    struct step_series series = {.points = arena_zeros(&scratch, n, sizeof *series.points),
                                 .sorted = arena_alloc(&scratch, n, sizeof *series.sorted),
                                 .counts = arena_zeros(&scratch, n + 1, sizeof *series.counts)};
    double *values = arena_alloc(&scratch, n, sizeof *values);
    trend->changes = arena_alloc(&trend->arena, 2 * n, sizeof *trend->changes);
    trend->n_changes = 0;
    if (scratch.failed || trend->arena.failed) {
        arena_free(&scratch);
        return error_memory(error);
    }
    for (size_t i = 0; i < n; i++)
        if (!isnan(trend->windows[i].step_us)) {
            series.sorted[series.n] = trend->windows[i].step_us;
            series.points[series.n++] = (struct point){.window = i, .us = trend->windows[i].step_us};
        }
    series.factor = series.n >= MANY_WINDOWS ? 4.5 : 5;
    series.floor = series.n >= MIN_WINDOWS ? 0.01 : 0.05;
    series.middle_us = series.n ? median_of(series.sorted, series.n) : 0;
    for (size_t i = 0; i < series.n; i++)
        BISECT(series.points[i].rank, series.n, series.sorted[series.points[i].rank] < series.points[i].us);
    trend->noise_us = series.noise_us = find_noise(trend, &series, values);
    trend->limit_percent = (double)NAN;
    if (series.n > 2)
        trend->limit_percent =
            limit_of(&series, series.n / 2, series.n - series.n / 2, series.middle_us) / series.middle_us * 100;
    trend->no_limit = series.n < 3 ? "Changes are found in 3 or more windows with steps."
                      : isnan(series.noise_us)
                          ? "Noise is unknown: record 3 or more steps per window, or 5 or more windows."
                          : NULL;
    if (!isnan(series.noise_us)) {
        find_segments(trend, &series);
        set_windows_before(trend, &series);
    }
    compare_with_baseline(trend, &series);
    arena_free(&scratch);
    return SUTRA_OK;
}

/* ---- Causes ---- */

/* Findings of a window that another one has not. */
static struct trend_findings findings_without(const struct trend_findings *of, const struct trend_findings *others) {
    struct trend_findings found = {.n = 0};
    for (size_t i = 0; i < of->n; i++) {
        bool is_common = false;
        for (size_t k = 0; k < others->n; k++)
            is_common |= strcmp(of->list[i].rule, others->list[k].rule) == 0;
        if (!is_common)
            found.list[found.n++] = of->list[i];
    }
    return found;
}

/* The first name in a table, sorted by the size of differences, whose difference has this sign; NULL: none. */
static const char *first_of_sign(struct trend *trend, const struct sutra_diff *diff, enum sutra_diff_table id,
                                 const char *column, double sign) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), id, NULL);
    for (uint64_t row = 0; row < table->n_rows; row++)
        if (real_named(table, "device_diff_us", row) * sign > 0)
            return arena_format(&trend->arena, "%s", text_named(table, column, row));
    return NULL;
}

enum sutra_status trend_set_cause(struct trend *trend, struct trend_change *change, const struct sutra_diff *diff,
                                  struct sutra_error *error) {
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    const double sign = change->to_us - change->from_us;
    const uint64_t row = diff_cause(diff, sign);
    if (row) {
        const char *part = change->part = arena_format(&trend->arena, "%s", text_named(steps, "part", row));
        change->part_us = real_named(steps, "diff_us", row);
        if (strcmp(part, "compute") == 0 || strcmp(part, "exposed communication") == 0) {
            change->operator= first_of_sign(trend, diff, SUTRA_DIFF_OPERATORS, "name", sign);
            change->kernel = first_of_sign(trend, diff, SUTRA_DIFF_KERNELS, "name", sign);
            change->collective = first_of_sign(trend, diff, SUTRA_DIFF_COLLECTIVES, "collective", sign);
        }
    }
    const struct trend_findings *before = &trend->windows[change->before].findings,
                                *after = &trend->windows[change->window].findings;
    change->new_findings = findings_without(after, before);
    change->gone_findings = findings_without(before, after);
    return arena_status(&trend->arena, error);
}

/* ---- Sentences ---- */

static const char *sentence_of(struct trend *trend, const struct trend_change *change) {
    struct arena *arena = &trend->arena;
    const char *label = trend->windows[change->window].label, *size = change->percent < 0 ? "less" : "longer";
    const char *cause = "", *findings = "", *what;
    label = label ? arena_format(arena, " (%s)", label) : "";
    if (change->kind == TREND_SPIKE)
        what = arena_format(arena, "Window %zu%s takes %.1f %% %s than the windows next to it", change->window, label,
                            fabs(change->percent), size);
    else
        what = arena_format(arena, "The step takes %.1f %% %s %s window %zu%s%s", fabs(change->percent), size,
                            change->confirmed ? "since" : "in", change->window, label,
                            change->confirmed ? "" : ", the last one");
    if (change->part) {
        const char *name = strcmp(change->part, "compute") == 0 ? change->operator: change->collective;
        cause = arena_format(arena, ", %s %c%s%s%s%s", change->part, change->part_us < 0 ? '-' : '+',
                             brief_time_text(fabs(change->part_us) * 1000).text, name ? " (" : "", name ? name : "",
                             name ? ")" : "");
    }
    for (size_t i = 0; i < change->new_findings.n; i++) {
        const struct trend_finding *finding = &change->new_findings.list[i];
        char *title = arena_text(arena, finding->title, strlen(finding->title));
        for (char *at = title; at && *at && *at != '('; at++)
            *at = (char)toupper((unsigned char)*at);
        const char *share = isnan(finding->percent) ? "" : arena_format(arena, " (%.1f %%)", finding->percent);
        findings =
            arena_format(arena, "%s%s%s%s", i ? findings : " New finding: ", i ? ", " : "", title ? title : "", share);
    }
    return arena_format(arena, "%s: %s -> %s%s.%s%s%s", what, brief_time_text(change->from_us * 1000).text,
                        brief_time_text(change->to_us * 1000).text, cause,
                        change->confirmed ? "" : " One more window would confirm the change.", findings,
                        *findings ? "." : "");
}

enum sutra_status trend_write_sentences(struct trend *trend, struct sutra_error *error) {
    struct arena *arena = &trend->arena;
    const char **sentences = arena_alloc(arena, trend->n_changes + 1, sizeof *sentences);
    TRY_ALLOC(sentences, error);
    double shortest_us = INFINITY, longest_us = 0;
    for (size_t i = 0; i < trend->n_windows; i++) { /* without NaN */
        shortest_us = fmin(shortest_us, trend->windows[i].step_us);
        longest_us = fmax(longest_us, trend->windows[i].step_us);
    }
    const struct figure shortest = brief_time_text(shortest_us * 1000), longest = brief_time_text(longest_us * 1000);
    const bool is_range = strcmp(shortest.text, longest.text) != 0;
    sentences[0] = longest_us <= 0 ? "No step times: no window has a ProfilerStep."
                                   : arena_format(arena, "%s: the step takes %s%s%s.",
                                                  trend->no_limit ? "No statement about changes" : "No change",
                                                  shortest.text, is_range ? " to " : "", is_range ? longest.text : "");
    for (size_t i = 0; i < trend->n_changes; i++)
        sentences[i] = sentence_of(trend, &trend->changes[i]);
    trend->sentences = sentences;
    trend->n_sentences = MAX(trend->n_changes, 1U);
    return arena_status(arena, error);
}

/* ---- The table ---- */

void trend_table(const struct trend *trend, struct sutra_table *table) {
    static const struct column_spec specs[] = {
        INTEGER("window"), TEXT("label"), TEXT("start"), INTEGER("n_ranks"), TEXT("missing"), INTEGER("n_steps"),
        REAL("step_us"), REAL("spread_us"), REAL("change_percent"),
        /* In the order of enum sutra_verdict_part. */
        REAL("compute_percent"), REAL("exposed_comm_percent"), REAL("exposed_copy_percent"), REAL("host_percent"),
        REAL("data_percent"), REAL("sync_percent"), REAL("setup_percent"), REAL("queued_percent"),
        REAL("after_percent"), REAL("unknown_percent"), REAL("outside_step_percent"), TEXT("findings")};
    _Static_assert(sizeof specs / sizeof *specs == 10 + SUTRA_N_PARTS, "a column per part");
    table_init(table, "windows", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; i < trend->n_windows; i++) {
        const struct trend_window *window = &trend->windows[i];
        char findings[512] = "";
        size_t length = 0;
        for (size_t k = 0; k < window->findings.n && length < sizeof findings; k++)
            length += (size_t)snprintf(findings + length, sizeof findings - length, "%s%s", k ? ", " : "",
                                       window->findings.list[k].rule);
        table_integer(table, (int64_t)i);
        table_words(table, window->name);
        table_words(table, window->start);
        table_integer(table, (int64_t)window->n_ranks);
        table_words(table, window->missing);
        table_integer(table, (int64_t)window->n_steps);
        TABLE_REALS(table, window->step_us, window->spread_us, window->change_percent);
        table_reals(table, window->shares, SUTRA_N_PARTS);
        table_words(table, findings);
    }
}

/* ---- Short lists ---- */

/* Marks a window, unless the list is full, or the trend has no such window. */
static void select_window(struct trend *trend, size_t window, size_t *n_free) {
    if (window >= trend->n_windows || trend->windows[window].is_shown || *n_free == 0)
        return;
    trend->windows[window].is_shown = true;
    (*n_free)--;
}

void trend_select_windows(struct trend *trend, size_t n_most) {
    select_window(trend, 0, &n_most);
    select_window(trend, trend->n_windows - 1, &n_most);
    select_window(trend, trend->baseline, &n_most);
    select_window(trend, trend->default_window, &n_most);
    for (size_t i = 0; i < trend->n_changes; i++) {
        select_window(trend, trend->changes[i].before, &n_most);
        select_window(trend, trend->changes[i].window, &n_most);
    }
    for (size_t i = 0; i < trend->n_changes; i++)
        select_window(trend, trend->changes[i].window + 1, &n_most);
    for (size_t i = trend->n_windows; i-- > 0 && n_most;)
        select_window(trend, i, &n_most);
}

/*
 * ---- The gate ----
 *
 * With N steps of each side the noise is 2 sqrt((sA^2 + sB^2) / N). The decision is clear as soon as the noise is below
 * |d| or below L - d: N > 4 (sA^2 + sB^2) / max(|d|, L - d)^2. Steps of all ranks are samples, so each rank records its
 * share of N.
 */

const char *const diff_decision_names[] = {
    [DIFF_PASS] = "pass", [DIFF_REGRESSION] = "regression", [DIFF_UNCLEAR] = "unclear"};

uint64_t diff_cause(const struct sutra_diff *diff, double sign) {
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    double largest = 0;
    uint64_t cause = 0;
    for (uint64_t row = 1; row + 1 < sutra_table_rows(steps); row++) { /* between the step and the GPU activity */
        const double difference = real_named(steps, "diff_us", row);
        if (difference * sign > 0 && fabs(difference) > largest) {
            largest = fabs(difference);
            cause = row;
        }
    }
    return cause;
}

/* Larger recommendations are limited to this number. */
#define STEPS_MAX 1e9

struct diff_gate diff_gate_decide(const struct sutra_diff *diff, double fail_above) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    const double a_us = summary.step_us[0], growth_us = summary.step_us[1] - a_us, noise_us = 2 * summary.step_error_us;
    const double limit_us = fail_above / 100 * a_us;
    const bool clear = fabs(growth_us) > noise_us;
    const uint64_t cause = diff_cause(diff, growth_us);
    struct diff_gate gate = {.growth_us = growth_us,
                             .growth_percent = growth_us / a_us * 100,
                             .noise_us = noise_us,
                             .noise_percent = noise_us / a_us * 100};
    snprintf(gate.cause, sizeof gate.cause, "%s", cause ? text_named(steps, "part", cause) : "");
    if (!summary.reliable[0] || !summary.reliable[1]) {
        const char damaged = summary.reliable[0] ? 'B' : 'A'; /* the side's defects begin with its name */
        struct sutra_trace_defect defect = {.size = sizeof defect};
        for (uint32_t i = 0; sutra_result_defect(SUTRA_RESULT(diff), i, &defect) && *defect.message != damaged; i++)
            ;
        gate.decision = DIFF_UNCLEAR;
        snprintf(gate.reason, sizeof gate.reason, "cannot decide: the trace is damaged: %.350s", defect.message);
        return gate;
    }
    if (gate.growth_percent > fail_above && (clear || isnan(noise_us)))
        gate.decision = DIFF_REGRESSION;
    else if (growth_us != 0 && !clear && !(growth_us + noise_us <= limit_us))
        gate.decision = DIFF_UNCLEAR;
    if (gate.decision != DIFF_UNCLEAR)
        return gate;
    char noise[80];
    if (isnan(noise_us)) {
        gate.n_steps_needed = 2;
        snprintf(noise, sizeof noise,
                 "noise is unknown, because %s has only one step:", summary.n_steps[0] < 2 ? "A" : "B");
    } else {
        const double a = real_named(steps, "deviation_a_us", 0), b = real_named(steps, "deviation_b_us", 0);
        const double margin = fmax(fabs(growth_us), limit_us - growth_us); /* NaN: the other one */
        const double n_ranks = (double)MIN(summary.n_ranks[0], summary.n_ranks[1]);
        const double n_steps = ceil((floor(4 * (a * a + b * b) / (margin * margin)) + 1) / n_ranks);
        gate.n_steps_needed = (uint64_t)fmin(n_steps, STEPS_MAX);
        snprintf(noise, sizeof noise, "noise is %.1f %%: too noisy to decide;", gate.noise_percent);
    }
    snprintf(gate.reason, sizeof gate.reason, "step time: %s but %s record at least %s steps per %s",
             change_text(gate.growth_percent).text, noise, count_text(gate.n_steps_needed).text,
             summary.n_ranks[0] > 1 || summary.n_ranks[1] > 1 ? "rank" : "run");
    return gate;
}
