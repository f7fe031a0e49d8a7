/*
 * diff.h - tables of a comparison: totals of both sides per step and their differences, call paths, and HTA's tables.
 *
 * A side's total is divided by its number of steps. To compare and sort integers, the difference of totals a and b of m
 * and n steps is computed as b*m - a*n, divided by m*n; so rows of A against B and of B against A are equal except for
 * the sign.
 */
#ifndef COMPARE_DIFF_H
#define COMPARE_DIFF_H

#include "analyze/table.h"
#include "base/memory.h"
#include "columns/strings.h"
#include "compare/sums.h"
#include "facts/validity.h"
#include "match/intervals.h"
#include "read/device_trace.h"
#include "sutra/diff.h"

struct sutra_diff {
    struct sutra_result result;
    bool compat;
    struct trace_validity validity[2]; /* of the traces of A and of B */
    struct sutra_trace_defect defects[2 * N_DEFECTS];
    struct sutra_diff_summary summary;
};

/* Names and columns of all tables. */
extern const struct table_spec diff_table_specs[];

/* Makes all tables except HTA's. SUTRA_SYSTEM: out of memory. */
enum sutra_status diff_tables_make(struct part *whole, struct sutra_diff *diff, struct sutra_error *error);

/* A total of a side, times the steps of the other side. */
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

/* Adds three cells: A, B, and the difference. */
void add_diff_times(struct sutra_table *table, const struct part *whole, const wide_t ns[2]);

/*
 * ---- Call paths: the kernels of A and of B at each call path ----
 *
 *     both sides have the GPU activity         the same kernel at the same path
 *     one side has it, but the other has it    the same, with fewer calls at the path
 *     elsewhere at the same path
 *     only one side has it                     gone or new: an operator with its subtree
 *     both sides have GPU activity that the    replaced, as one row: "gemm, reduce" -> "gemm2", "foo" -> "bar, baz"
 *     other lacks, next to each other
 *
 * Each GPU activity is in one row. Rows with equal texts are merged. O(n), plus the texts.
 */

struct path_row {
    uint32_t path[2], kernels[2]; /* texts; 0: the side has none */
    uint64_t calls[2];
    wide_t ns[2];
};

struct path_row_list {
    struct path_row *list; /* in the arena of the caller */
    uint64_t n, capacity;
    struct tuples keys;
};

/* Adds texts to `whole`. Call tuples_free(&rows->keys) also after a failure. SUTRA_SYSTEM: out of memory. */
enum sutra_status path_rows_make(struct part *whole, const struct path_tree *tree, struct arena *arena,
                                 struct path_row_list *rows, struct sutra_error *error);

/* Fills the table of paths by names only. SUTRA_SYSTEM: out of memory. */
enum sutra_status path_sums_table(const struct part *whole, const struct path_tree *tree, struct arena *arena,
                                  struct sutra_table *table, struct sutra_error *error);

/*
 * ---- TraceDiff of Holistic Trace Analysis: one rank and one step of each side ----
 *
 * Counts and durations by name of event, on the CPU, on the GPU, and on both.
 *
 *     trace --> hta_names_sum(): sums by name --+
 *                                               +--> hta_compare_table(), hta_compare_write_changes()
 *     trace --> hta_names_sum() ----------------+
 *
 * Durations of the CPU include the children of operators. O(events), and a sort of the names.
 */

/* Sums of one name: on the CPU, on the GPU. */
struct hta_name_sum {
    uint64_t count[2];
    wide_t ns[2];
};

struct hta_names {
    struct strings names;
    struct hta_name_sum *sums; /* by name */
    bool durs_real;
};

/* Sums the events of the requested step, or of the step with the lowest number if `step` is NULL. Call hta_names_free()
 * also after a failure. SUTRA_DATA: the trace has no such step. */
enum sutra_status hta_names_sum(struct sutra_context *context, const struct sutra_device_trace *trace, const char *step,
                                struct hta_names *names, struct sutra_error *error);
void hta_names_free(struct hta_names *names);

/* compare_traces: names of A in order, then names of B only. */
enum sutra_status hta_compare_table(const struct hta_names sides[2], enum sutra_diff_table id,
                                    struct sutra_table *table, struct sutra_error *error);

/* ops_diff as JSON. */
enum sutra_status hta_compare_write_changes(struct sutra_context *context, const struct sutra_table *table,
                                            const char *path, uint64_t *n_bytes, struct sutra_error *error);

#endif
