/*
 * step_tables.c - tables of steps: each step of each rank, each rank, and each step index over all ranks.
 *
 * Cause of a slow step: the part that exceeds most the median of this part, over the steps of its rank, or over the
 * steps of all ranks with the same index. O(n log n).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "base/arena.h"
#include "base/shared.h"

const char *const step_part_names[N_STEP_PARTS] = {
    [STEP_COMPUTE] = "compute",
    [STEP_COMMUNICATION] = "exposed communication",
    [STEP_COPIES] = "exposed memcpy",
    [STEP_WAIT_HOST] = "idle: host",
    [STEP_WAIT_DATA] = "idle: data loading",
    [STEP_WAIT_SYNC] = "idle: synchronizing",
    [STEP_WAIT_DEVICE] = "idle: launched before",
    [STEP_IDLE_REST] = "idle: unknown cause",
};

/* ---- Each step ---- */

void steps_table_add(struct sutra_table *table, int64_t rank, const struct overview *overview,
                     const struct overview_steps *steps) {
    const struct launch_model *model = overview->model;
    for (row_t i = 0; i < steps->n; i++) {
        const struct overview_step *step = &steps->list[i];
        int64_t idle = 0;
        table_integer(table, rank);

        /* A name without a number gets one. */
        const char *name = step->name == STRING_NONE ? "" : strings_text(model->strings, step->name);
        char numbered[64], last = *name ? name[strlen(name) - 1] : ' ';
        snprintf(numbered, sizeof numbered, "%.40s %u", *name ? name : "repetition", (unsigned)i + 1);
        if (last >= '0' && last <= '9')
            table_string(table, model->strings, step->name);
        else
            table_text(table, numbered, strlen(numbered));
        table_real(table, launch_model_us(model, step->begin - overview->window.from));
        table_real(table, launch_model_us(model, step->end - step->begin));
        for (int part = 0; part < N_STEP_PARTS; part++) {
            table_real(table, launch_model_us(model, step->ticks[part]));
            idle += part >= STEP_WAIT_HOST ? step->ticks[part] : 0;
        }
        table_real(table, launch_model_us(model, idle));
        table_real(table, launch_model_us(model, step->host));
        table_integer(table, step->n_pieces);
    }
}

/* ---- Statistics of a group of steps ---- */

/* Rows of the table of steps. */
struct step_group {
    const struct sutra_table *steps;
    const uint64_t *rows;
    uint64_t n;
    double *values; /* scratch for n */
};

static double median_of(const struct step_group *group, uint32_t column) {
    for (uint64_t i = 0; i < group->n; i++)
        group->values[i] = table_get_real(group->steps, column, group->rows[i]);
    qsort(group->values, group->n, sizeof *group->values, compare_doubles);
    return mean_median(group->values, group->n);
}

static double mean_of(const struct step_group *group, uint32_t column) {
    double sum = 0;
    for (uint64_t i = 0; i < group->n; i++)
        sum += table_get_real(group->steps, column, group->rows[i]);
    return sum / (double)group->n;
}

/* The slowest (sign 1) or fastest (sign -1) step; of equal ones the first. */
static uint64_t find_extreme(const struct step_group *group, double sign) {
    uint64_t found = group->rows[0];
    for (uint64_t i = 1; i < group->n; i++)
        if (sign * table_get_real(group->steps, STEPS_TIME, group->rows[i]) >
            sign * table_get_real(group->steps, STEPS_TIME, found))
            found = group->rows[i];
    return found;
}

/* Appends the cause of the slowest step, and the time by which it exceeds the median. */
static void append_cause(struct sutra_table *table, const struct step_group *group, uint64_t slowest) {
    double max_excess = 0;
    const char *cause = "";
    for (int part = 0; part < N_STEP_PARTS; part++) {
        uint32_t column = STEPS_PARTS + (uint32_t)part;
        double excess = table_get_real(group->steps, column, slowest) - median_of(group, column);
        if (excess > max_excess) {
            max_excess = excess;
            cause = step_part_names[part];
        }
    }
    table_text(table, cause, strlen(cause));
    table_real(table, max_excess);
}

/* Appends count, mean, sample deviation (NaN of one step), fastest, median and slowest. */
static void append_times(struct sutra_table *table, const struct step_group *group) {
    double mean = mean_of(group, STEPS_TIME), squares = 0;
    for (uint64_t i = 0; i < group->n; i++) {
        double deviation = table_get_real(group->steps, STEPS_TIME, group->rows[i]) - mean;
        squares += deviation * deviation;
    }
    table_integer(table, (int64_t)group->n);
    TABLE_REALS(table, mean, group->n > 1 ? sqrt(squares / (double)(group->n - 1)) : NAN,
                table_get_real(group->steps, STEPS_TIME, find_extreme(group, -1)), median_of(group, STEPS_TIME),
                table_get_real(group->steps, STEPS_TIME, find_extreme(group, 1)));
}

/* ---- Tables of groups ---- */

void step_ranks_add(struct sutra_table *table, const struct sutra_table *steps) {
    struct arena arena = {0};
    uint64_t n = steps->n_rows, *rows = arena_alloc(&arena, n, sizeof *rows);
    double *values = arena_alloc(&arena, n, sizeof *values);
    table->failed |= arena.failed;
    for (uint64_t row = 0; row < n && !arena.failed; row++)
        rows[row] = row;
    for (uint64_t first = 0, last; first < n && !arena.failed; first = last) {
        int64_t rank = table_get_integer(steps, STEPS_RANK, first);
        for (last = first; last < n && table_get_integer(steps, STEPS_RANK, last) == rank;)
            last++;
        struct step_group group = {steps, rows + first, last - first, values};
        uint64_t slowest = find_extreme(&group, 1);
        size_t length;
        const char *name = table_get_text(steps, STEPS_NAME, slowest, &length);
        table_integer(table, rank);
        append_times(table, &group);
        for (uint32_t part = 0; part < N_STEP_PARTS; part++)
            table_real(table, mean_of(&group, STEPS_PARTS + part));
        table_real(table, mean_of(&group, STEPS_HOST));
        table_text(table, name, length);
        append_cause(table, &group, slowest);
    }
    arena_free(&arena);
}

void step_indices_add(struct sutra_table *table, const struct sutra_table *steps) {
    struct arena arena = {0};

    /* index[row]: of the step, counted on its rank. */
    uint64_t n = steps->n_rows, n_indices = 0;
    uint64_t *rows = arena_alloc(&arena, n, sizeof *rows), *index = arena_alloc(&arena, n, sizeof *index);
    double *values = arena_alloc(&arena, n, sizeof *values);
    bool several_ranks = false;
    for (uint64_t row = 0; row < n && !arena.failed; row++) {
        bool same =
            row > 0 && table_get_integer(steps, STEPS_RANK, row) == table_get_integer(steps, STEPS_RANK, row - 1);
        index[row] = same ? index[row - 1] + 1 : 0;
        several_ranks |= row > 0 && !same;
        n_indices = MAX(index[row] + 1, n_indices);
    }
    uint64_t *next = arena_zeros(&arena, n_indices + 1, sizeof *next);
    table->failed |= arena.failed;
    if (!arena.failed && several_ranks) {
        for (uint64_t row = 0; row < n; row++)
            next[index[row] + 1]++;
        for (uint64_t i = 0; i < n_indices; i++)
            next[i + 1] += next[i];
        for (uint64_t row = 0; row < n; row++)
            rows[next[index[row]]++] = row;
        for (uint64_t i = 0, first = 0; i < n_indices; first = next[i++]) {
            struct step_group group = {steps, rows + first, next[i] - first, values};
            uint64_t slowest = find_extreme(&group, 1);
            size_t length;
            const char *name = table_get_text(steps, STEPS_NAME, group.rows[0], &length);
            table_text(table, name, length);
            append_times(table, &group);
            table_integer(table, table_get_integer(steps, STEPS_RANK, slowest));
            append_cause(table, &group, slowest);
        }
    }
    arena_free(&arena);
}
