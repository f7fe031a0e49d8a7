/*
 * hta_busy.c - what the GPU was busy with: kernels of all streams merged, by type.
 *
 * Temporal breakdown: from the first start to the last end; what no kernel covers is idle, what compute kernels cover
 * is compute time, the rest (communication, copies and synchronisation that nothing hides) is non-compute time.
 * Overlap: how much of communication runs while something is computed. Types: for how long which types ran together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"

#define BIT(type) (1 << (type))

_Static_assert(KERNEL_COMPUTATION == 0 && KERNEL_COMMUNICATION == 1 && KERNEL_MEMORY == 2,
               "segments that states count");

/* 100 * part / whole; NaN where the whole is 0. */
static double share(double part, double whole) {
    return whole != 0 ? rounded_to(100 * (part / whole), 2) : NAN;
}

static void add_temporal(struct sutra_hta *hta) {
    struct sutra_hta_summary *summary = &hta->summary;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_TEMPORAL);
    double other = summary->span_us - summary->compute_us - summary->idle_us;
    table_integer(table, hta->options.rank);
    table_number(table, summary->idle_us);
    table_number(table, summary->compute_us);
    table_number(table, other);
    table_number(table, summary->span_us);
    table_real(table, share(summary->idle_us, summary->span_us));
    table_real(table, share(summary->compute_us, summary->span_us));
    table_real(table, share(other, summary->span_us));
}

static void measure_span(struct sutra_hta_summary *summary, const struct merged *all, int64_t base) {
    summary->first_us = us_of(base + all->start[0]);
    summary->span_us = us_of(all->end[all->n - 1] - all->start[0]);
    summary->busy_us = us_of_wide(cpu_merged_length(all, 0));
    summary->idle_us = summary->span_us - summary->busy_us;
}

static enum sutra_status measure_types(const struct engine *engine, const struct merged *types, struct sutra_hta *hta,
                                       struct sutra_error *error) {
    struct sutra_hta_summary *summary = &hta->summary;
    int64_t unit = hta_unit(&hta->options);
    const wide_t *without_memory = hta->types[0].exact, *with_memory = hta->types[1].exact;
    struct interval_states_step two = {types, 2, unit, &hta->types[0]}, three = {types, 3, unit, &hta->types[1]};
    enum sutra_status status = engine->interval_states(engine->state, &two, error);
    if (!status)
        status = engine->interval_states(engine->state, &three, error);
    if (status)
        return status;
    summary->compute_us = us_of_wide(cpu_merged_length(types, KERNEL_COMPUTATION));
    summary->communication_us = us_of_wide(cpu_merged_length(types, KERNEL_COMMUNICATION));
    summary->overlap_us = us_of_wide(without_memory[BIT(KERNEL_COMPUTATION) | BIT(KERNEL_COMMUNICATION)]);
    summary->exposed_us = us_of_wide(with_memory[BIT(KERNEL_COMMUNICATION)]);
    summary->memory_us =
        us_of_wide(with_memory[BIT(KERNEL_MEMORY)] + with_memory[BIT(KERNEL_MEMORY) | BIT(KERNEL_COMMUNICATION)]);
    return SUTRA_OK;
}

/* By state: the types whose bits are set. */
static const char *const state_names[N_STATES] = {
    "",
    "COMPUTATION",
    "COMMUNICATION",
    "COMPUTATION overlapping COMMUNICATION",
    "MEMORY",
    "COMPUTATION overlapping MEMORY",
    "COMMUNICATION overlapping MEMORY",
    "COMPUTATION overlapping COMMUNICATION overlapping MEMORY",
};

struct type_row {
    const char *name;
    double us;
};

/* The longest first, then by name. */
static int compare_types(const void *left, const void *right) {
    const struct type_row *a = left, *b = right;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return strcmp(a->name, b->name);
}

void hta_types_fill(struct sutra_table *table, const struct interval_states *states) {
    struct type_row rows[N_STATES];
    size_t n = 0;
    double total = 0;
    for (int state = 1; state < N_STATES; state++) {
        if (!states->seen[state])
            continue;
        rows[n].name = state_names[state];
        rows[n].us = us_of_wide(states->length[state]);
        total += rows[n++].us;
    }
    qsort(rows, n, sizeof *rows, compare_types);
    for (size_t i = 0; i < n; i++) {
        table_text(table, rows[i].name, strlen(rows[i].name));
        table_number(table, rows[i].us);
        table_real(table, total != 0 ? rounded_to(rows[i].us / total * 100, 1) : NAN);
    }
}

static void add_overlap(struct sutra_hta *hta) {
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_OVERLAP);
    table_integer(table, hta->options.rank);
    table_real(table, share(hta->summary.overlap_us, hta->summary.communication_us));
}

enum sutra_status hta_busy(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                           struct sutra_error *error) {
    const struct hta_kernels *kernels = &input->kernels;
    const struct engine *engine = input->engine;
    struct merged all = {0}, types = {0};
    (void)arena;
    struct merge_intervals_step to_all = {kernels->start, kernels->end, NULL, kernels->n, 1, &all};
    struct merge_intervals_step to_types = {kernels->start, kernels->end,   kernels->type,
                                            kernels->n,     KERNEL_N_TYPES, &types};
    enum sutra_status status = engine->merge_intervals(engine->state, &to_all, error);
    if (!status)
        status = engine->merge_intervals(engine->state, &to_types, error);
    if (!status)
        status = measure_types(engine, &types, hta, error);
    if (!status && kernels->n > 0) {
        measure_span(&hta->summary, &all, input->rows.base);
        add_temporal(hta);
    } else if (!status) {
        hta->reasons[SUTRA_HTA_TEMPORAL] = "no event has a stream";
    }
    if (!status) {
        hta_types_fill(hta_table_begin(hta, SUTRA_HTA_TYPES), &hta->types[0]);
        hta_types_fill(hta_table_begin(hta, SUTRA_HTA_TYPES_MEMORY), &hta->types[1]);
        add_overlap(hta);
    }
    merged_free(&all);
    merged_free(&types);
    return status;
}
