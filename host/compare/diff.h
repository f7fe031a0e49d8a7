/*
 * diff.h - a comparison: its two sides; tables of totals of both sides per step, their differences, and call paths.
 *
 * A side's total is divided by its number of steps. To compare and sort integers, the difference of totals a and b of m
 * and n steps is computed as b*m - a*n, divided by m*n; so rows of A against B and of B against A are equal except for
 * the sign.
 */
#ifndef COMPARE_DIFF_H
#define COMPARE_DIFF_H

#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/memory.h"
#include "columns/strings.h"
#include "compare/sums.h"
#include "facts/validity.h"
#include "match/intervals.h"
#include "read/device_trace.h"
#include "sutra/diff.h"

/* ---- The two sides ---- */

/* One side of a comparison. */
struct diff_side {
    /* Set before. */
    const char *const *paths;
    size_t n_paths;
    const struct rank_analysis *analysis; /* reduces a trace to a result; its argument is the side */
    const void *options;                  /* for the analysis */
    struct rank_tasks tasks;

    /* Of diff_sides_read(), which reads several sides concurrently, each with its own context, and reports the warnings
     * later. */
    int side;                            /* 0: A, 1: B */
    const struct sutra_context *context; /* of the caller */
    unsigned n_threads;
    struct buffer warnings; /* lines, each with a NUL */
    enum sutra_status status;
    struct sutra_error error;
};

/* Reads the traces of both sides. rank_tasks_free() is due for both in any case. */
enum sutra_status diff_sides_read(struct sutra_context *context, struct diff_side sides[2], struct sutra_error *error);

/* The defects of the traces of A and of B, which a result refers to. */
struct diff_defects {
    struct trace_validity validity[2];
    struct sutra_trace_defect list[2 * N_DEFECTS];
};

/* Publishes the defects of a side, A first: "B: rank 1: 4 of 40 GPU activities ...". */
void diff_publish_defects(struct sutra_result *result, struct diff_defects *defects, int side,
                          const struct trace_validity *validity);

/* ---- Tables ---- */

struct sutra_diff {
    struct sutra_result result;
    struct diff_defects defects;
    struct sutra_diff_summary summary;
};

/* Names and columns of all tables. */
extern const struct table_spec diff_table_specs[];

/* Makes all tables. SUTRA_SYSTEM: out of memory. */
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

#endif
