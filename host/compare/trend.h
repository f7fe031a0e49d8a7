/*
 * trend.h - the step times of the profiling windows of a run: their noise, the windows at which they change; and the
 * gate between two windows or traces.
 *
 *     step time   4.1 4.2 4.1 4.2 | 5.0 5.1 5.0 6.3 5.1
 *                                   ^ shift     ^ spike
 *
 * A shift divides the windows into segments with levels, the medians of their step times. A spike is a window that
 * differs from the level of its segment.
 *
 *     noise    sigma of the step time of a window: the largest of
 *                within    median of 1.2533 spread / sqrt(steps), over windows with 3 or more steps
 *                between   1.0484 lower median of the differences of adjacent windows, from 5 windows on
 *                0.2 % of the median of all windows
 *     error    e(n) of the level of n windows: sigma / sqrt(n) for n <= 2, else 1.2533 sigma / sqrt(n)
 *     limit    max(F sqrt(e(n before)^2 + e(n after)^2), G level before); F = 5, or 4.5 from 10 windows on; G = 1 %, or
 *              5 % below 5 windows
 *
 * Cost of all functions: O(n log n), and O(length) for each segment that is searched.
 */
#ifndef COMPARE_TREND_H
#define COMPARE_TREND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/table.h"
#include "base/arena.h"
#include "sutra/diff.h"
#include "sutra/overview.h"

/* A finding of a window. */
struct trend_finding {
    const char *rule, *title; /* "data_loading", "Data loading" */
    double percent;           /* estimated saving in percent of the step; NaN: none */
};

#define TREND_FINDINGS 5

struct trend_findings {
    struct trend_finding list[TREND_FINDINGS];
    size_t n;
};

/* A window. Texts live as long as the trend. */
struct trend_window {
    const char *label;   /* "iteration_30", or NULL */
    const char *name;    /* for readers: the label, or the file name of a single trace, or "-" */
    const char *missing; /* ranks without a trace: "1-1023"; "": none */
    char start[24];      /* "2026-11-28 04:24:30", UTC; "": not recorded */
    size_t n_ranks;
    uint64_t n_steps;
    double step_us, spread_us;    /* median, and 1.4826 times the median absolute deviation; NaN: no steps */
    double shares[SUTRA_N_PARTS]; /* of the verdict, percent; NaN: unknown */
    struct trend_findings findings;
    double change_percent; /* of the step time, from the baseline; NaN: unknown */
    bool differs;          /* from the baseline, beyond the limit */
    bool is_shown;         /* in a short list of windows */
};

enum trend_kind { TREND_SHIFT, TREND_SPIKE };

struct trend_change {
    enum trend_kind kind;
    size_t window, before; /* the changed window, and the one to compare it with: an adjacent one that is no spike */
    double from_us, to_us; /* levels before and after a shift; the level and the step time of a spike */
    double percent;        /* from `from_us` to `to_us` */
    bool confirmed;        /* the segment of a shift has two or more windows */
    /* Its cause, by sutra_diff_run() of both windows; texts are NULL if unknown. */
    const char *part; /* row of diff_steps */
    double part_us;
    const char *operator, * kernel, *collective; /* with most of the change; of compute and communication only */
    struct trend_findings new_findings, gone_findings;
};

struct trend {
    struct arena arena; /* of all members */
    const char *role;
    struct trend_window *windows;
    size_t n_windows;
    double noise_us;      /* NaN: unknown, so no change is reported */
    double limit_percent; /* smaller shifts are not reported in a series of this length and noise; NaN: none is */
    const char *no_limit; /* why the limit is unknown: a sentence; NULL: it is known */
    struct trend_change *changes; /* ascending by window */
    size_t n_changes;
    size_t baseline, default_window;
    const char *const *sentences; /* one per change, or a single one without changes */
    size_t n_sentences;
};

/* Sets step time, spread and count of a window from the durations of its steps, which become sorted. */
void trend_window_set_steps(struct trend_window *window, double *durations_us, uint64_t n);

/* Finds the noise and the changes, and compares each window with the baseline. SUTRA_SYSTEM: out of memory. */
enum sutra_status trend_find_changes(struct trend *trend, struct sutra_error *error);

/* Sets the cause of a change from the comparison of the windows `before` (A) and `window` (B). */
enum sutra_status trend_set_cause(struct trend *trend, struct trend_change *change, const struct sutra_diff *diff,
                                  struct sutra_error *error);

/* Writes the sentences about the changes:
 *
 *     The step takes 20.2 % longer since window 4 (iteration_50): 4.16 ms -> 5.00 ms, idle: data loading +840 us. New
 *     finding: DATA LOADING (18.8 %). */
enum sutra_status trend_write_sentences(struct trend *trend, struct sutra_error *error);

/* The table `windows`: a row per window. The caller frees it; `failed` is set if memory ran out. */
void trend_table(const struct trend *trend, struct sutra_table *table);

/* Marks windows for a short list: at most `n_most` more, of the first and the last one, the baseline, the default
 * window, the windows next to changes, and then the latest. */
void trend_select_windows(struct trend *trend, size_t n_most);

/*
 * ---- The gate: whether the step time regressed from A to B, for continuous integration ----
 *
 *     d = mean B - mean A      noise = 2 sqrt(sA^2/nA + sB^2/nB)      L = limit * mean A
 *
 *     regression   d > L and |d| > noise; with an unknown noise, d > L
 *     pass         d = 0, or |d| > noise, or d + noise <= L
 *     unclear      neither, or a trace is damaged
 */

/* The first row of the table diff_steps is the step time. */
enum diff_decision { DIFF_PASS, DIFF_REGRESSION, DIFF_UNCLEAR };

/* "pass", "regression", "unclear" */
extern const char *const diff_decision_names[];

struct diff_gate {
    enum diff_decision decision;
    double growth_us, growth_percent; /* of the step time, B - A */
    double noise_us, noise_percent;   /* a smaller difference is not clear; NaN: unknown, a side has one step */
    uint64_t n_steps_needed;          /* of each rank and side, for a decision; 0: more steps do not help */
    char cause[64];                   /* the part of the step that changed most: see diff_cause(); "": none */
    char reason[400];                 /* why the decision is DIFF_UNCLEAR, and the number of steps to record */
};

/* `fail_above` in percent; NaN: no limit, so only the sign of the difference is to be decided. */
struct diff_gate diff_gate_decide(const struct sutra_diff *diff, double fail_above);

/* The row of the table diff_steps with the part of a step that has the largest difference of this sign; 0: none. */
uint64_t diff_cause(const struct sutra_diff *diff, double sign);

#endif
