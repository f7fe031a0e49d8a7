/*
 * diff_gate.c - compares the change of the step time with its noise and with a limit.
 *
 *     d = mean B - mean A      noise = 2 sqrt(sA^2/nA + sB^2/nB)      L = limit * mean A
 *
 *     regression   d > L and |d| > noise; with an unknown noise, d > L
 *     pass         d = 0, or |d| > noise, or d + noise <= L
 *     unclear      neither
 *
 * With N steps of each side the noise is 2 sqrt((sA^2 + sB^2) / N). The decision is clear as soon as the noise is below
 * |d| or below L - d: N > 4 (sA^2 + sB^2) / max(|d|, L - d)^2. Steps of all ranks are samples, so each rank records its
 * share of N.
 */
#include "cli/diff_gate.h"

#include <math.h>
#include <stdio.h>

#include "text/counted.h"

/* More steps than that are no advice. */
#define STEPS_MAX 1e9

static uint64_t steps_needed(const struct sutra_diff *diff, const struct sutra_diff_summary *summary, double growth_us,
                             double limit_us) {
    const struct sutra_table *steps = sutra_diff_table(diff, SUTRA_DIFF_STEPS);
    struct sutra_column a, b;
    if (isnan(summary->step_error_us) || !sutra_table_column(steps, STEP_DEVIATION_A, &a) ||
        !sutra_table_column(steps, STEP_DEVIATION_B, &b))
        return 2;
    double variance = a.reals[0] * a.reals[0] + b.reals[0] * b.reals[0];
    double margin = fmax(fabs(growth_us), limit_us - growth_us); /* NaN: the other one */
    double n_ranks = (double)(summary->n_ranks[0] < summary->n_ranks[1] ? summary->n_ranks[0] : summary->n_ranks[1]);
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
    const char *run = summary.n_ranks[0] > 1 || summary.n_ranks[1] > 1 ? "rank" : "run";
    if (isnan(gate->noise_us))
        snprintf(
            reason.text, sizeof reason.text,
            "step time: %+.1f %% but noise is unknown, because %s has only one step: record at least %s steps per %s",
            gate->growth_percent, summary.n_steps[0] < 2 ? "A" : "B", count_text(gate->n_steps_needed).text, run);
    else
        snprintf(reason.text, sizeof reason.text,
                 "step time: %+.1f %% but noise is %.1f %%: too noisy to decide; record at least %s steps per %s",
                 gate->growth_percent, gate->noise_percent, count_text(gate->n_steps_needed).text, run);
    return reason;
}
