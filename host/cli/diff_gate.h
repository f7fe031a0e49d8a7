/*
 * diff_gate.h - whether the step time of B regressed, as a gate of continuous integration decides it.
 */
#ifndef CLI_DIFF_GATE_H
#define CLI_DIFF_GATE_H

#include <stdint.h>

#include "sutra/diff.h"

/* Columns of the table diff_steps. Its first row is the step time. */
enum {
    STEP_PART,
    STEP_A,
    STEP_B,
    STEP_DIFFERENCE,
    STEP_PERCENT,
    STEP_DEVIATION_A,
    STEP_DEVIATION_B,
    STEP_CLEAR = 8,
};

enum diff_decision { DIFF_PASS, DIFF_REGRESSION, DIFF_UNCLEAR };

struct diff_gate {
    enum diff_decision decision;
    double growth_us, growth_percent; /* of the step time, B - A */
    double noise_us, noise_percent;   /* a smaller difference is not clear; NaN: unknown, a side has one step */
    uint64_t n_steps_needed;          /* of each rank and side, for a decision; 0: DIFF_UNCLEAR is not the decision */
};

/* `fail_above` in percent; NaN: no limit, so only the sign of the difference is to be decided. */
struct diff_gate diff_gate_decide(const struct sutra_diff *diff, double fail_above);

struct diff_reason {
    char text[400];
};

/* Why the decision is DIFF_UNCLEAR, and the number of steps to record. */
struct diff_reason diff_gate_reason(const struct sutra_diff *diff, const struct diff_gate *gate);

#endif
