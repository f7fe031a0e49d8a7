/*
 * trend.c - implements trend.h.
 *
 * Medians of all prefixes and suffixes of a segment, in O(1) each: the windows of the segment are a list in the order
 * of their step times, from which one window after the other is removed; the median moves by at most one element.
 *
 *     remove the last windows in turn     medians of prefixes
 *     remove the first windows in turn    medians of suffixes
 *
 * Both parts of a divided segment inherit the sorted order, so that step times are sorted once.
 */
#include "compare/trend.h"

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

/* [from, to) of the series. */
struct segment {
    size_t from, to;
    double level;
};

struct step_series {
    size_t n;
    size_t *window;   /* index of the window */
    double *us;       /* step times */
    double *values;   /* scratch */
    double middle_us; /* median of the step times */
    double noise_us;  /* sigma */
    double factor, floor;
    /* By window of the series: the list in the order of step times, and the medians of a segment up to, and from, a
     * window. */
    size_t *next, *previous;
    double *before, *after;
    struct segment *levels; /* of the window's segment, or of a spike */
    bool *is_spike;
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

static double find_noise(const struct trend *trend, const struct step_series *series) {
    double noise = (double)NAN;
    size_t n = 0;
    for (size_t i = 0; i < series->n; i++) {
        const struct trend_window *window = &trend->windows[series->window[i]];
        if (window->n_steps >= MIN_STEPS)
            series->values[n++] = MEDIAN_TO_MEAN * window->spread_us / sqrt((double)window->n_steps);
    }
    if (n > 0)
        noise = median_of(series->values, n);
    if (series->n >= MIN_WINDOWS) {
        for (size_t i = 0; i + 1 < series->n; i++)
            series->values[i] = fabs(series->us[i + 1] - series->us[i]);
        qsort(series->values, series->n - 1, sizeof *series->values, compare_doubles);
        noise = fmax(noise, DISTANCE_TO_NOISE * series->values[lower_median_at(series->n - 1)]); /* not NaN */
    }
    if (series->n < 2 || isnan(noise))
        return (double)NAN;
    return fmax(noise, MIN_NOISE * series->middle_us);
}

/* ---- Medians of the parts of a segment ---- */

static bool is_before(const struct step_series *series, size_t a, size_t b) {
    return series->us[a] != series->us[b] ? series->us[a] < series->us[b] : a < b;
}

/* Removes the windows of a segment, given in ascending order of step times, from its last to its first one (`step` -1)
 * or from its first to its last one (1). medians[i]: of the windows before i is removed. */
static void find_medians(struct step_series *series, const size_t *order, struct segment segment, int step,
                         double *medians) {
    const size_t none = series->n;
    size_t n = segment.to - segment.from, middle = order[lower_median_at(n)];
    for (size_t k = 0; k < n; k++) {
        series->previous[order[k]] = k ? order[k - 1] : none;
        series->next[order[k]] = k + 1 < n ? order[k + 1] : none;
    }
    for (size_t i = step > 0 ? segment.from : segment.to - 1; n > 0; n--, i += (size_t)step) {
        const size_t next = series->next[middle], previous = series->previous[middle];
        medians[i] = n % 2 ? series->us[middle] : (series->us[next] + series->us[middle]) / 2;
        const size_t removed_next = series->next[i], removed_previous = series->previous[i];
        if (n % 2 && !is_before(series, i, middle)) /* else the lower part keeps its size */
            middle = previous;
        else if (n % 2 == 0 && !is_before(series, middle, i))
            middle = next;
        if (removed_previous != none)
            series->next[removed_previous] = removed_next;
        if (removed_next != none)
            series->previous[removed_next] = removed_previous;
    }
}

/* ---- Segments ---- */

/* Whether a window is nearer to the level after a difference. */
static bool is_beyond_half(const struct step_series *series, size_t i, double level, double difference) {
    return (series->us[i] - level) / difference >= 0.5;
}

/* The window at which a segment is divided, or its end. */
static size_t find_division(struct step_series *series, const size_t *order, struct segment segment) {
    const size_t from = segment.from, to = segment.to;
    size_t found = to;
    double largest = 0;
    find_medians(series, order, segment, -1, series->before);
    find_medians(series, order, segment, 1, series->after);
    for (size_t j = from + 2; j < to; j++) {
        const double before = series->before[j - 1], difference = series->after[j] - before;
        const double limit = limit_of(series, j - from, to - j, before);
        if (!(fabs(difference) > limit) || (to - j == 1 && to < series->n) ||
            !is_beyond_half(series, j, before, difference) ||
            (to - j > 1 && !is_beyond_half(series, j + 1, before, difference)) ||
            is_beyond_half(series, j - 1, before, difference) || is_beyond_half(series, j - 2, before, difference))
            continue;
        if (found == to || fabs(difference) / limit > largest) {
            largest = fabs(difference) / limit;
            found = j;
        }
    }
    return found;
}

struct ordered_window {
    double us;
    size_t index;
};

ORDER_BY(compare_windows, struct ordered_window, ASCENDING(us) ASCENDING(index))

/* Divides the series; *n segments in their order. `order` and `part` have room for all windows. */
static void find_segments(struct step_series *series, size_t *order, size_t *part, struct segment *segments,
                          size_t *n) {
    size_t n_waiting = 1, *ends = part + series->n; /* of segments that are not searched yet, the next one last */
    *n = 0;
    ends[0] = series->n;
    for (size_t from = 0; n_waiting;) {
        struct segment segment = {.from = from, .to = ends[n_waiting - 1]};
        const size_t at = find_division(series, order + from, segment);
        if (at == segment.to) {
            segment.level = series->before[segment.to - 1];
            segments[(*n)++] = segment;
            from = segment.to;
            n_waiting--;
            continue;
        }
        /* Divide the order, too. */
        size_t n_left = 0, n_right = at - from;
        for (size_t k = 0; k < segment.to - from; k++)
            part[order[from + k] < at ? n_left++ : n_right++] = order[from + k];
        memcpy(order + from, part, (segment.to - from) * sizeof *order);
        ends[n_waiting++] = at;
    }
}

/* ---- Changes ---- */

static struct trend_change change_at(enum trend_kind kind, size_t window, double from_us, double to_us) {
    return (struct trend_change){.kind = kind,
                                 .window = window,
                                 .from_us = from_us,
                                 .to_us = to_us,
                                 .confirmed = true,
                                 .part = "",
                                 .part_us = (double)NAN,
                                 .operator= "",
                                 .kernel = "",
                                 .collective = ""};
}

/* Lists shifts and spikes, with indices of the series, and sets the level of each window: a spike has its own one. */
static void list_changes(struct trend *trend, struct step_series *series, const struct segment *segments, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct segment *segment = &segments[i];
        const size_t length = segment->to - segment->from;
        const double limit = limit_of(series, 1, length, segment->level);
        if (i > 0) {
            struct trend_change *change = &trend->changes[trend->n_changes++];
            *change = change_at(TREND_SHIFT, segment->from, segments[i - 1].level, segment->level);
            change->confirmed = length > 1;
        }
        for (size_t k = segment->from; k < segment->to; k++) {
            const bool is_spike = length > 2 && fabs(series->us[k] - segment->level) > limit;
            series->levels[k] = is_spike ? (struct segment){k, k + 1, series->us[k]} : *segment;
            series->is_spike[k] = is_spike;
            if (is_spike)
                trend->changes[trend->n_changes++] = change_at(TREND_SPIKE, k, segment->level, series->us[k]);
        }
    }
}

/* Sets the window to compare each change with, and replaces indices of the series by indices of windows. O(n). */
static void set_windows_before(struct trend *trend, const struct step_series *series) {
    size_t k = 0, earlier = series->n, later = 0; /* the nearest windows that are no spikes */
    for (size_t i = 0; i < trend->n_changes; i++) {
        struct trend_change *change = &trend->changes[i];
        for (; k < change->window; k++)
            earlier = series->is_spike[k] ? earlier : k;
        later = MAX(later, change->window + 1);
        while (later < series->n && series->is_spike[later])
            later++;
        size_t before = change->window ? change->window - 1 : 1; /* if all windows are spikes */
        if (earlier < series->n || later < series->n)
            before = earlier < series->n ? earlier : later;
        change->before = series->window[before];
        change->window = series->window[change->window];
    }
}

/* Compares each window, and its level, with the baseline. */
static void compare_with_baseline(struct trend *trend, const struct step_series *series) {
    const struct segment *base = NULL;
    for (size_t k = 0; k < series->n && !isnan(series->noise_us); k++)
        base = series->window[k] == trend->baseline ? &series->levels[k] : base;
    for (size_t i = 0; i < trend->n_windows; i++)
        trend->windows[i].change_percent =
            (trend->windows[i].step_us / trend->windows[trend->baseline].step_us - 1) * 100;
    for (size_t k = 0; k < series->n && base; k++) {
        const struct segment *level = &series->levels[k];
        const size_t n_base = base->to - base->from, n = level->to - level->from;
        trend->windows[series->window[k]].differs =
            (level->from != base->from || n != n_base) &&
            fabs(level->level - base->level) > limit_of(series, n_base, n, base->level);
    }
}

enum sutra_status trend_find_changes(struct trend *trend, struct sutra_error *error) {
    struct arena scratch = {0};
    struct step_series series = {.n = 0};
    const size_t n = trend->n_windows;
    series.window = arena_alloc(&scratch, n, sizeof *series.window);
    series.us = arena_alloc(&scratch, n, sizeof *series.us);
    series.values = arena_alloc(&scratch, n, sizeof *series.values);
    series.before = arena_alloc(&scratch, n, sizeof *series.before);
    series.after = arena_alloc(&scratch, n, sizeof *series.after);
    series.next = arena_alloc(&scratch, n, sizeof *series.next);
    series.previous = arena_alloc(&scratch, n, sizeof *series.previous);
    series.is_spike = arena_zeros(&scratch, n, sizeof *series.is_spike);
    series.levels = arena_zeros(&scratch, n, sizeof *series.levels);
    size_t *order = arena_alloc(&scratch, n, sizeof *order), *part = arena_alloc(&scratch, 2 * n + 1, sizeof *part);
    struct ordered_window *sorted = arena_alloc(&scratch, n, sizeof *sorted);
    struct segment *segments = arena_alloc(&scratch, n, sizeof *segments);
    size_t n_segments = 0;
    trend->changes = arena_alloc(&trend->arena, 2 * n, sizeof *trend->changes);
    trend->n_changes = 0;
    if (scratch.failed || trend->arena.failed) {
        arena_free(&scratch);
        return error_memory(error);
    }
    for (size_t i = 0; i < n; i++)
        if (!isnan(trend->windows[i].step_us)) {
            series.window[series.n] = i;
            series.us[series.n++] = trend->windows[i].step_us;
        }
    series.factor = series.n >= MANY_WINDOWS ? 4.5 : 5;
    series.floor = series.n >= MIN_WINDOWS ? 0.01 : 0.05;
    for (size_t i = 0; i < series.n; i++)
        sorted[i] = (struct ordered_window){series.us[i], i};
    qsort(sorted, series.n, sizeof *sorted, compare_windows);
    for (size_t i = 0; i < series.n; i++)
        order[i] = sorted[i].index;
    series.middle_us = series.n ? (sorted[lower_median_at(series.n)].us + sorted[upper_median_at(series.n)].us) / 2 : 0;
    trend->noise_us = series.noise_us = find_noise(trend, &series);
    trend->limit_percent = (double)NAN;
    if (series.n > 2)
        trend->limit_percent =
            limit_of(&series, series.n / 2, series.n - series.n / 2, series.middle_us) / series.middle_us * 100;
    if (!isnan(series.noise_us)) {
        find_segments(&series, order, part, segments, &n_segments);
        list_changes(trend, &series, segments, n_segments);
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

/* The first name in a table, sorted by the size of differences, whose difference has this sign; "": none. */
static const char *first_of_sign(struct trend *trend, const struct sutra_diff *diff, enum sutra_diff_table id,
                                 const char *column, double sign) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), id, NULL);
    for (uint64_t row = 0; row < table->n_rows; row++)
        if (real_named(table, "device_diff_us", row) * sign > 0) {
            const char *text = text_named(table, column, row);
            return arena_text(&trend->arena, text, strlen(text));
        }
    return "";
}

enum sutra_status trend_set_cause(struct trend *trend, struct trend_change *change, const struct sutra_diff *diff,
                                  struct sutra_error *error) {
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    const double sign = change->to_us - change->from_us;
    const uint64_t row = diff_cause(diff, sign);
    if (row) {
        const char *part = text_named(steps, "part", row);
        change->part = arena_text(&trend->arena, part, strlen(part));
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
    const struct trend_window *window = &trend->windows[change->window];
    const double percent = (change->to_us / change->from_us - 1) * 100;
    const char *cause = "", *findings = "", *what;
    const char *label = window->label ? arena_format(arena, " (%s)", window->label) : "";
    if (change->kind == TREND_SPIKE)
        what = arena_format(arena, "Window %zu%s takes %.1f %% %s than the windows next to it", change->window, label,
                            fabs(percent), percent < 0 ? "less" : "longer");
    else
        what = arena_format(arena, "The step takes %.1f %% %s %s window %zu%s%s", fabs(percent),
                            percent < 0 ? "less" : "longer", change->confirmed ? "since" : "in", change->window, label,
                            change->confirmed ? "" : ", the last one");
    if (*change->part) {
        const char *name = strcmp(change->part, "compute") == 0 ? change->operator: change->collective;
        cause =
            arena_format(arena, ", %s %c%s%s%s%s", change->part, change->part_us < 0 ? '-' : '+',
                         brief_time_text(fabs(change->part_us) * 1000).text, *name ? " (" : "", name, *name ? ")" : "");
    }
    for (size_t i = 0; i < change->new_findings.n; i++) {
        const struct trend_finding *finding = &change->new_findings.list[i];
        char *title = arena_text(arena, finding->title, strlen(finding->title));
        for (char *at = title; at && *at && *at != '('; at++)
            *at = (char)(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
        const char *share = isnan(finding->percent) ? "" : arena_format(arena, " (%.1f %%)", finding->percent);
        findings =
            arena_format(arena, "%s%s%s%s", i ? findings : " New finding: ", i ? ", " : "", title ? title : "", share);
    }
    return arena_format(arena, "%s: %s -> %s%s.%s%s%s", what, brief_time_text(change->from_us * 1000).text,
                        brief_time_text(change->to_us * 1000).text, cause,
                        change->confirmed ? "" : " One more window would confirm the change.", findings,
                        *findings ? "." : "");
}

const char *trend_no_limit(const struct trend *trend) {
    size_t n = 0;
    for (size_t i = 0; i < trend->n_windows; i++)
        n += isnan(trend->windows[i].step_us) ? 0 : 1;
    if (n < 3)
        return "Changes are found in 3 or more windows with steps.";
    return isnan(trend->noise_us) ? "Noise is unknown: record 3 or more steps per window, or 5 or more windows." : "";
}

enum sutra_status trend_write_sentences(struct trend *trend, struct sutra_error *error) {
    struct arena *arena = &trend->arena;
    const char **sentences = arena_alloc(arena, trend->n_changes + 1, sizeof *sentences);
    TRY_ALLOC(sentences, error);
    for (size_t i = 0; i < trend->n_changes; i++)
        sentences[i] = sentence_of(trend, &trend->changes[i]);
    double shortest_us = INFINITY, longest_us = 0;
    for (size_t i = 0; i < trend->n_windows; i++)
        if (!isnan(trend->windows[i].step_us)) {
            shortest_us = fmin(shortest_us, trend->windows[i].step_us);
            longest_us = fmax(longest_us, trend->windows[i].step_us);
        }
    if (trend->n_changes == 0 && longest_us <= 0) {
        sentences[0] = "No step times: no window has a ProfilerStep.";
    } else if (trend->n_changes == 0) {
        const struct figure shortest = brief_time_text(shortest_us * 1000),
                            longest = brief_time_text(longest_us * 1000);
        const bool is_range = strcmp(shortest.text, longest.text) != 0;
        sentences[0] = arena_format(arena, "%s: the step takes %s%s%s.",
                                    *trend_no_limit(trend) ? "No statement about changes" : "No change", shortest.text,
                                    is_range ? " to " : "", is_range ? longest.text : "");
    }
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

/* Marks a window, unless the list is full. */
static void select_window(bool *shown, size_t window, size_t *n_free) {
    if (shown[window] || *n_free == 0)
        return;
    shown[window] = true;
    (*n_free)--;
}

void trend_select_windows(const struct trend *trend, size_t n_most, bool *shown) {
    const size_t n = trend->n_windows;
    memset(shown, 0, n * sizeof *shown);
    if (n == 0)
        return;
    select_window(shown, 0, &n_most);
    select_window(shown, n - 1, &n_most);
    select_window(shown, trend->baseline, &n_most);
    select_window(shown, trend->default_window, &n_most);
    for (size_t i = 0; i < trend->n_changes; i++) {
        select_window(shown, trend->changes[i].before, &n_most);
        select_window(shown, trend->changes[i].window, &n_most);
    }
    for (size_t i = 0; i < trend->n_changes; i++)
        if (trend->changes[i].window + 1 < n)
            select_window(shown, trend->changes[i].window + 1, &n_most);
    for (size_t i = n; i-- > 0 && n_most;)
        select_window(shown, i, &n_most);
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

/* Larger recommendations are limited to this number. */
#define STEPS_MAX 1e9

static uint64_t steps_needed(const struct sutra_diff *diff, const struct sutra_diff_summary *summary, double growth_us,
                             double limit_us) {
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    if (isnan(summary->step_error_us))
        return 2;
    double a = real_named(steps, "deviation_a_us", 0), b = real_named(steps, "deviation_b_us", 0);
    double variance = a * a + b * b;
    double margin = fmax(fabs(growth_us), limit_us - growth_us); /* NaN: the other one */
    double n_ranks = (double)MIN(summary->n_ranks[0], summary->n_ranks[1]);
    return (uint64_t)fmin(ceil((floor(4 * variance / (margin * margin)) + 1) / n_ranks), STEPS_MAX);
}

struct diff_gate diff_gate_decide(const struct sutra_diff *diff, double fail_above) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    const double a_us = summary.step_us[0], growth_us = summary.step_us[1] - a_us, noise_us = 2 * summary.step_error_us;
    const double limit_us = fail_above / 100 * a_us;
    const bool clear = fabs(growth_us) > noise_us;
    struct diff_gate gate = {.growth_us = growth_us,
                             .growth_percent = growth_us / a_us * 100,
                             .noise_us = noise_us,
                             .noise_percent = noise_us / a_us * 100};
    if (!summary.reliable[0] || !summary.reliable[1]) {
        gate.decision = DIFF_UNCLEAR;
        return gate;
    }
    if (gate.growth_percent > fail_above && (clear || isnan(noise_us)))
        gate.decision = DIFF_REGRESSION;
    else if (growth_us != 0 && !clear && !(growth_us + noise_us <= limit_us))
        gate.decision = DIFF_UNCLEAR;
    if (gate.decision == DIFF_UNCLEAR)
        gate.n_steps_needed = steps_needed(diff, &summary, growth_us, limit_us);
    return gate;
}

struct diff_reason diff_gate_reason(const struct sutra_diff *diff, const struct diff_gate *gate) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    struct diff_reason reason;
    sutra_diff_summary(diff, &summary);
    if (!summary.reliable[0] || !summary.reliable[1]) {
        const char damaged = summary.reliable[0] ? 'B' : 'A'; /* the side's defects begin with its name */
        struct sutra_trace_defect defect = {.size = sizeof defect};
        for (uint32_t i = 0; sutra_result_defect(SUTRA_RESULT(diff), i, &defect) && *defect.message != damaged; i++)
            ;
        snprintf(reason.text, sizeof reason.text, "cannot decide: the trace is damaged: %.350s", defect.message);
        return reason;
    }
    const char *run = summary.n_ranks[0] > 1 || summary.n_ranks[1] > 1 ? "rank" : "run";
    if (isnan(gate->noise_us))
        snprintf(reason.text, sizeof reason.text,
                 "step time: %s but noise is unknown, because %s has only one step: record at least %s steps per %s",
                 change_text(gate->growth_percent).text, summary.n_steps[0] < 2 ? "A" : "B",
                 count_text(gate->n_steps_needed).text, run);
    else
        snprintf(reason.text, sizeof reason.text,
                 "step time: %s but noise is %.1f %%: too noisy to decide; record at least %s steps per %s",
                 change_text(gate->growth_percent).text, gate->noise_percent, count_text(gate->n_steps_needed).text,
                 run);
    return reason;
}

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
