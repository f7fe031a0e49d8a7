/*
 * test_trend.c - tests the noise and the changes of a series of step times, against tables and a plain implementation.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/shared.h"
#include "compare/trend.h"
#include "generate/random.h"
#include "unit.h"

#define WINDOWS_MAX 64

/* ---- A plain implementation ---- */

struct plain_change {
    enum trend_kind kind;
    size_t window, before;
    double from, to;
    bool confirmed;
};

struct plain {
    const double *us;
    size_t n;
    double noise, factor, floor;
    size_t ends[WINDOWS_MAX], n_ends;
    struct plain_change changes[2 * WINDOWS_MAX];
    size_t n_changes;
};

static double plain_median(const double *values, size_t n) {
    double sorted[WINDOWS_MAX];
    memcpy(sorted, values, n * sizeof *values);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double plain_error(const struct plain *plain, size_t n) {
    return (n <= 2 ? 1 : 1.2533) * plain->noise / sqrt((double)n);
}

static double plain_limit(const struct plain *plain, size_t n_a, size_t n_b, double level) {
    const double a = plain_error(plain, n_a), b = plain_error(plain, n_b);
    return fmax(plain->factor * sqrt(a * a + b * b), plain->floor * level);
}

static void plain_split(struct plain *plain, size_t a, size_t b) {
    size_t best = b;
    double best_ratio = 0;
    for (size_t j = a + 2; j < b; j++) {
        const double before = plain_median(plain->us + a, j - a), after = plain_median(plain->us + j, b - j);
        const double d = after - before, limit = plain_limit(plain, j - a, b - j, before);
        bool valid = fabs(d) > limit && (b - j >= 2 || b == plain->n);
        for (size_t i = j; i < b && i < j + 2; i++)
            valid = valid && (plain->us[i] - before) / d >= 0.5;
        for (size_t i = j - 2; i < j; i++)
            valid = valid && !((plain->us[i] - before) / d >= 0.5);
        if (valid && (best == b || fabs(d) / limit > best_ratio)) {
            best = j;
            best_ratio = fabs(d) / limit;
        }
    }
    if (best == b) {
        plain->ends[plain->n_ends++] = b;
        return;
    }
    plain_split(plain, a, best);
    plain_split(plain, best, b);
}

static void plain_find(struct plain *plain) {
    bool is_spike[WINDOWS_MAX] = {false};
    double last_level = 0;
    plain_split(plain, 0, plain->n);
    for (size_t i = 0, from = 0; i < plain->n_ends; from = plain->ends[i++]) {
        const size_t n = plain->ends[i] - from;
        const double level = plain_median(plain->us + from, n);
        if (i)
            plain->changes[plain->n_changes++] = (struct plain_change){TREND_SHIFT, from, 0, last_level, level, n > 1};
        for (size_t k = from; k < plain->ends[i]; k++) {
            is_spike[k] = n > 2 && fabs(plain->us[k] - level) > plain_limit(plain, 1, n, level);
            if (is_spike[k])
                plain->changes[plain->n_changes++] =
                    (struct plain_change){TREND_SPIKE, k, 0, level, plain->us[k], true};
        }
        last_level = level;
    }
    for (size_t i = 0; i < plain->n_changes; i++) {
        struct plain_change *change = &plain->changes[i];
        size_t k = change->window;
        while (k > 0 && is_spike[k - 1])
            k--;
        if (k > 0) {
            change->before = k - 1;
            continue;
        }
        for (k = change->window + 1; k < plain->n && is_spike[k];)
            k++;
        change->before = k < plain->n ? k : change->window ? change->window - 1 : 1;
    }
}

/* ---- Series ---- */

/* A trend of windows with `n_steps` steps each, without spread unless it is given. */
static void make_trend(struct trend *trend, const double *us, size_t n, uint64_t n_steps, double spread_us) {
    *trend = (struct trend){.n_windows = n, .default_window = n ? n - 1 : 0};
    trend->windows = arena_zeros(&trend->arena, n, sizeof *trend->windows);
    assert_non_null(trend->windows);
    for (size_t i = 0; i < n; i++)
        trend->windows[i] = (struct trend_window){
            .n_steps = isnan(us[i]) ? 0 : n_steps, .step_us = us[i], .spread_us = isnan(us[i]) ? NAN : spread_us};
}

static void find_changes(struct trend *trend) {
    struct sutra_error error;
    assert_int_equal(trend_find_changes(trend, &error), SUTRA_OK);
}

/* Changes as text: "shift 4, spike 6, last 9": "last" is a shift that is not confirmed. */
static const char *changes_text(const struct trend *trend) {
    static char text[1024];
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < trend->n_changes; i++) {
        const struct trend_change *change = &trend->changes[i];
        const char *kind = change->kind == TREND_SPIKE ? "spike" : change->confirmed ? "shift" : "last";
        length +=
            (size_t)snprintf(text + length, sizeof text - length, "%s%s %zu", i ? ", " : "", kind, change->window);
    }
    return text;
}

static void changes_of_a_series_are_shifts_and_spikes(void **state) {
    static const struct {
        const char *changes;
        double us[WINDOWS_MAX]; /* up to 0 */
    } cases[] = {
        {"", {100}},
        {"", {100, 150}},
        {"", {100, 100, 100, 100, 100, 100}},
        {"last 2", {100, 100, 120}},
        {"spike 0", {100, 120, 120}}, /* one window before a shift is not enough */
        {"", {100, 100, 104, 104}},   /* below 5 %, with fewer than 5 windows */
        {"shift 2", {100, 100, 106, 106}},
        {"shift 2", {100, 100, 90, 90}},
        {"shift 3", {100, 100, 100, 102, 102, 102}},
        {"", {100, 100, 100, 100.9, 100.9, 100.9}}, /* below 1 % */
        {"spike 3", {100, 100, 100, 120, 100, 100, 100}},
        {"spike 0", {120, 100, 100, 100, 100, 100}},
        {"last 5", {100, 100, 100, 100, 100, 120}},
        {"shift 4", {100, 100, 100, 100, 120, 120, 120}},
        {"shift 3, shift 6", {100, 100, 100, 120, 120, 120, 100, 100, 100}},
        {"shift 4, spike 6", {100, 100, 100, 100, 120, 120, 150, 120, 120, 120}},
        {"shift 3", {100, 100, 100, 120, 120, NAN, 120, 120}},
        {"", {NAN, NAN, NAN}},
        {"spike 1", {100, 120, 100, 100, NAN, 100}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trend trend;
        size_t n = 0;
        while (cases[i].us[n] != 0)
            n++;
        make_trend(&trend, cases[i].us, n, 4, 0);
        find_changes(&trend);
        assert_string_equal(changes_text(&trend), cases[i].changes);
        arena_free(&trend.arena);
    }
}

static void noise_is_the_largest_of_within_between_and_a_floor(void **state) {
    static const struct {
        double noise, spread, us[WINDOWS_MAX];
        uint64_t n_steps;
    } cases[] = {
        {NAN, 1, {100, 100}, 2},                       /* neither is known: fewer than 3 steps, fewer than 5 windows */
        {NAN, 1, {100}, 4},                            /* one window */
        {0.2, 0, {100, 100}, 4},                       /* 0.2 % of 100 us */
        {1.2533, 2, {100, 100}, 4},                    /* within: 1.2533 * 2 / sqrt(4) */
        {1.0484, 0, {100, 101, 100, 101, 100}, 4},     /* between */
        {1.0484 * 2, 0, {100, 102, 100, 103, 100}, 1}, /* the lower median of 2, 2, 3, 3 */
        {1.2533, 2, {100, 101, 100, 101, 100}, 4},     /* the larger one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trend trend;
        size_t n = 0;
        while (cases[i].us[n] != 0)
            n++;
        make_trend(&trend, cases[i].us, n, cases[i].n_steps, cases[i].spread);
        find_changes(&trend);
        assert_true(isnan(cases[i].noise) ? isnan(trend.noise_us) : fabs(trend.noise_us - cases[i].noise) < 1e-9);
        arena_free(&trend.arena);
    }
}

static void step_time_is_the_median_and_spread_the_scaled_deviation(void **state) {
    struct trend_window window = {0};
    double steps[] = {5, 1, 3, 9};
    trend_window_set_steps(&window, steps, 4);
    assert_int_equal(window.n_steps, 4);
    assert_true(window.step_us == 4); /* deviations: 1, 1, 3, 5 */
    assert_true(fabs(window.spread_us - 1.4826 * 2) < 1e-12);
    trend_window_set_steps(&window, steps, 0);
    assert_true(window.n_steps == 0 && isnan(window.step_us) && isnan(window.spread_us));
}

static void changes_are_compared_with_windows_that_are_no_spikes(void **state) {
    static const double us[] = {150, 100, 100, 100, 130, 131, 100, 120, 120, 120};
    struct trend trend;
    make_trend(&trend, us, 10, 4, 0);
    find_changes(&trend);
    for (size_t i = 0; i < trend.n_changes; i++) {
        const struct trend_change *change = &trend.changes[i];
        assert_int_equal(change->before, change->window == 0 ? 1 : change->window - 1);
    }
    arena_free(&trend.arena);
}

static void windows_differ_from_the_baseline_beyond_the_limit(void **state) {
    static const double us[] = {130, 100, 100, 120, 120, 120, 100, 130, 100, 100, 100, 100, 100, 100};
    struct trend trend;
    for (size_t baseline = 0; baseline < 4; baseline++) {
        make_trend(&trend, us, 14, 4, 0);
        trend.baseline = baseline;
        find_changes(&trend);
        for (size_t i = 0; i < 14; i++) {
            assert_int_equal(trend.windows[i].differs, us[i] != us[baseline]);
            assert_true(fabs(trend.windows[i].change_percent - (us[i] / us[baseline] - 1) * 100) < 1e-9);
        }
        arena_free(&trend.arena);
    }
}

static void short_list_contains_ends_and_windows_next_to_changes(void **state) {
    double us[60];
    struct trend trend;
    size_t n = 0;
    for (size_t i = 0; i < 60; i++)
        us[i] = i < 40 ? 100 : 120;
    make_trend(&trend, us, 60, 4, 0);
    find_changes(&trend);
    assert_string_equal(changes_text(&trend), "shift 40");
    trend_select_windows(&trend, 10);
    for (size_t i = 0; i < 60; i++) {
        n += trend.windows[i].is_shown;
        assert_int_equal(trend.windows[i].is_shown, i == 0 || i == 39 || i == 40 || i == 41 || i >= 54);
    }
    assert_int_equal(n, 10);
    trend_select_windows(&trend, 60);
    for (size_t i = 0; i < 60; i++)
        assert_true(trend.windows[i].is_shown);
    arena_free(&trend.arena);
}

/* ---- Random series ---- */

static void changes_equal_a_plain_implementation(void **state) {
    const uint64_t seed = (uint64_t)time(NULL);
    struct random random = {seed};
    printf("seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 20000; round++) {
        double us[WINDOWS_MAX], level = 1000;
        const size_t n = 1 + random_below(&random, WINDOWS_MAX);
        const uint32_t noise = random_below(&random, 3) * 5 + 1;
        for (size_t i = 0; i < n; i++) {
            if (random_below(&random, 8) == 0)
                level = 900 + (double)random_below(&random, 200);
            us[i] = level + (double)random_below(&random, noise) + (random_below(&random, 10) == 0 ? 100 : 0);
        }
        struct trend trend;
        make_trend(&trend, us, n, 4, (double)random_below(&random, 10));
        find_changes(&trend);
        struct plain plain = {
            .us = us, .n = n, .noise = trend.noise_us, .factor = n >= 10 ? 4.5 : 5, .floor = n >= 5 ? 0.01 : 0.05};
        if (!isnan(plain.noise))
            plain_find(&plain);
        assert_int_equal(trend.n_changes, plain.n_changes);
        for (size_t i = 0; i < trend.n_changes; i++) {
            const struct trend_change *change = &trend.changes[i];
            assert_int_equal(change->kind, plain.changes[i].kind);
            assert_int_equal(change->window, plain.changes[i].window);
            assert_int_equal(change->before, plain.changes[i].before);
            assert_true(change->from_us == plain.changes[i].from && change->to_us == plain.changes[i].to);
            assert_int_equal(change->confirmed, plain.changes[i].confirmed);
        }
        arena_free(&trend.arena);
    }
}

/* A series with as many divisions as possible, and one without any. */
static void ten_thousand_windows_take_less_than_five_seconds(void **state) {
    enum { N = 10000 };
    double *us = malloc(N * sizeof *us);
    assert_non_null(us);
    for (int kind = 0; kind < 2; kind++) {
        struct trend trend;
        for (size_t i = 0; i < N; i++)
            us[i] = kind ? 1000 : 1000 * pow(1.5, (double)(i / 4 % 100));
        make_trend(&trend, us, N, 4, 0);
        const clock_t begin = clock();
        find_changes(&trend);
        assert_true((double)(clock() - begin) / CLOCKS_PER_SEC < 5);
        printf("%zu changes in %.3f s\n", trend.n_changes, (double)(clock() - begin) / CLOCKS_PER_SEC);
        assert_int_equal(trend.n_changes > 0, kind == 0);
        arena_free(&trend.arena);
    }
    free(us);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_of_a_series_are_shifts_and_spikes),
        cmocka_unit_test(noise_is_the_largest_of_within_between_and_a_floor),
        cmocka_unit_test(step_time_is_the_median_and_spread_the_scaled_deviation),
        cmocka_unit_test(changes_are_compared_with_windows_that_are_no_spikes),
        cmocka_unit_test(windows_differ_from_the_baseline_beyond_the_limit),
        cmocka_unit_test(short_list_contains_ends_and_windows_next_to_changes),
        cmocka_unit_test(changes_equal_a_plain_implementation),
        cmocka_unit_test(ten_thousand_windows_take_less_than_five_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
