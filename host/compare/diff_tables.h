/*
 * diff_tables.h - totals of both sides as those of a step, and their differences.
 *
 * A side's total is divided by its steps, so that the difference of totals a and b of m and n steps is that of a*n and
 * b*m, divided by m*n: what is compared and sorted are integers, so rows of A against B and of B against A are the same
 * but for the sign.
 */
#ifndef COMPARE_DIFF_TABLES_H
#define COMPARE_DIFF_TABLES_H

#include "compare/sums.h"

/* A total of a side, times the steps of the other one. */
static inline wide_t diff_scaled(const struct part *whole, const wide_t ns[2], int side) {
    return ns[side] * whole->sides[!side].n_samples;
}

static inline wide_t diff_of(const struct part *whole, const wide_t ns[2]) {
    return diff_scaled(whole, ns, 1) - diff_scaled(whole, ns, 0);
}

static inline wide_t wide_size(wide_t value) {
    return value < 0 ? -value : value;
}

/* Microseconds of a step. */
double diff_us(const struct part *whole, const wide_t ns[2]);

/* Of A, of B, the difference. */
void diff_put_times(struct sutra_table *table, const struct part *whole, const wide_t ns[2]);

/* path_sums.c: the table of paths by names only. SUTRA_SYSTEM: out of memory. */
enum sutra_status path_sums_put(const struct part *whole, const struct path_tree *tree, struct arena *arena,
                                struct sutra_table *table, struct sutra_error *error);

#endif
