/*
 * table.h - the columns of struct sutra_table and struct sutra_result (all tables of an analysis), and building them.
 *
 *     static const struct table_spec specs[] = {[SUTRA_HTA_TEMPORAL] = {"temporal_breakdown", ...}, ...};
 *
 *     result_init(&hta->result, specs, SUTRA_HTA_N_TABLES)
 *     table = result_table_begin(&hta->result, SUTRA_HTA_TEMPORAL)
 *     for each row: table_integer(), table_real() or table_text() once for each column, in their order
 *     result_status(&hta->result)
 *
 * Out of memory sets `failed`, after which no value is added; the caller checks it once, at the end.
 */
#ifndef ANALYZE_TABLE_H
#define ANALYZE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "columns/row.h"
#include "columns/strings.h"
#include "match/steps.h"
#include "sutra/table.h"
#include "write/text.h"

/*
 * Distributions of values in groups, as pandas' describe(): count, mean, sample standard deviation, minimum, quartiles
 * (interpolated linearly), maximum.
 */

#define DESCRIPTION_N 8

/* NaN without values; the deviation also for one value. */
struct description {
    double count, mean, std, min, q25, q50, q75, max;
};

/* Describes the integers of each group as value / scale: values[i] is of group groups[i] < n_groups. Sums are exact.
 * O(n) for each 11 bits in which values differ. SUTRA_SYSTEM: out of memory. */
enum sutra_status describe_integers(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                    const int64_t *values, row_t n, uint32_t n_groups, double scale,
                                    struct description *descriptions, struct sutra_error *error);

/* The same of real numbers, none of them NaN. Sums are added in the order of the rows. */
enum sutra_status describe_reals(const struct engine *engine, struct arena *arena, const uint32_t *groups,
                                 const double *values, row_t n, uint32_t n_groups, struct description *descriptions,
                                 struct sutra_error *error);

/* The quantile of ascending values, 0 <= at <= 1; n > 0. */
double quantile_of(const double *sorted, uint64_t n, double at);

/*
 * Sums of leaves of trees, each rounded as if every tree node first summed up its children.
 *
 *            a                sum of the leaves x, y, z of one key:   x + (y + z), not (x + y) + z
 *          /   \
 *         x     b             Only nodes with several children that have leaves of the key matter: x and y join in a,
 *              / \            depth 0; y and z in b, depth 1. Unfinished sums are on a stack per key, deeper ones on
 *             y   z           top: O(1) amortised per leaf.
 */

struct waiting_sum {
    double us;
    uint32_t depth, below; /* index of the next one on the stack + 1, or 0 */
};

struct ordered_sums {
    struct waiting_sum *list;
    uint32_t n;
    uint64_t capacity;
};

/* One key's sum. Zero-initialise. */
struct ordered_sum {
    double last;  /* the last leaf or finished subtree */
    uint32_t top; /* of its stack + 1, or 0 */
    bool begun;
};

/* Adds a leaf, whose common ancestor with the last one is at `depth`. False: out of memory. */
bool ordered_sum_add(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth, double us);

double ordered_sum_total(const struct ordered_sums *sums, const struct ordered_sum *sum);

/*
 * Sums and spreads of doubles, rounded as numpy and pandas round them, so that tables are equal to
 * theirs in the last digit.
 *
 *     numpy    sums are pairwise: eight partial sums up to 128 values, halves beyond; deviations have ddof 0
 *     pandas   groupby() adds the first value to numpy's sum of the other values if the rows are sorted by group and
 *              none is NaN. Otherwise it compensates sums (Kahan). It updates the variance (ddof 1) with each value
 *              (Welford).
 *
 * The rules match numpy 2.4 and pandas 3.1.
 */

/* NaN for too few values; the sum of no values is 0. */
struct value_stats {
    uint64_t n;
    double sum, mean, median, std, min, max;
};

/* numpy.sum(). */
double numpy_sum(const double *values, uint64_t n);

/* numpy.sum() and so on of n values, none of them NaN. `scratch` has room for n. O(n log n). */
struct value_stats numpy_stats(const double *values, uint64_t n, double *scratch);

/* The order of the rows of a grouped column. */
enum group_order { GROUPS_MIXED, GROUPS_SORTED };

/* SORTED: group numbers never descend. By group, `rank` is the position of its key among the sorted keys; NULL: groups
 * are numbered so. */
enum group_order pandas_group_order(const uint32_t *groups, uint64_t n, const uint32_t *rank);

/* The sum of a group, none of whose values is NaN. */
double pandas_sum(const double *values, uint64_t n, enum group_order order);

/* Statistics of a group as in pandas' groupby(), without NaN. `order`: MIXED if any value of the column is NaN. */
struct value_stats pandas_stats(const double *values, uint64_t n, enum group_order order, double *scratch);

/* Columns of a table in the program at most. */
#define TABLE_COLUMNS_MAX 32

/* The name must outlive the table. */
struct column_spec {
    const char *name;
    enum sutra_column_kind kind;
};

/* Columns of a struct table_spec, or in a list of struct column_spec. */
#define INTEGER(name)                                                                                                  \
    { name, SUTRA_COLUMN_INTEGER }
#define REAL(name)                                                                                                     \
    { name, SUTRA_COLUMN_REAL }
#define TEXT(name)                                                                                                     \
    { name, SUTRA_COLUMN_TEXT }

struct column {
    struct column_spec spec;
    struct buffer values; /* of int64_t, double, or uint64_t starts (one more than there are rows) */
    struct buffer bytes;  /* of text */
};

/* Shared columns of a finished table, which own its memory. */
struct table_memory {
    struct holders holders;
    uint32_t n_columns;
    struct column columns[];
};

struct sutra_table {
    const char *name;
    uint64_t n_rows; /* complete rows */
    uint32_t n_columns, next_column;
    bool failed;
    /* CSV has this heading above the names of the columns from `n_index` on, as pandas' describe(). NULL: none. */
    const char *group;
    uint32_t n_index;
    bool verbatim; /* CSV does not mark text that begins like a formula: a table of another tool */
    struct column *columns;
    struct table_memory *memory; /* NULL: not shared */
};

/* Copies `specs`. The table needs table_free() in any case. */
void table_init(struct sutra_table *table, const char *name, const struct column_spec *specs, uint32_t n_columns);
void table_free(struct sutra_table *table);

/* Shares the columns of a finished table; NULL: out of memory. Thread-safe. */
struct table_memory *table_memory_of(const struct sutra_table *table);
void table_memory_release(struct table_memory *memory);

/* Changes the kind of a column of a table without rows. */
void table_retype(struct sutra_table *table, uint32_t column, enum sutra_column_kind kind);

/* Converts a finished column of real numbers to integers if all values are integers. */
void table_make_integers(struct sutra_table *table, uint32_t column);

/* Adds a column to a finished table that is not shared: a value for each row. The name must outlive the table. */
void table_add_integers(struct sutra_table *table, const char *name, const int64_t *values);
void table_add_texts(struct sutra_table *table, const char *name, const char *const *values);

/* Appends the next value of the row, of the kind of its column; integers also to real columns. */
void table_integer(struct sutra_table *table, int64_t value);
void table_real(struct sutra_table *table, double value);
void table_text(struct sutra_table *table, const char *bytes, size_t length);

/* A string, STRING_NONE as "". */
void table_string(struct sutra_table *table, const struct strings *strings, uint32_t string);

/* A C string. */
static inline void table_words(struct sutra_table *table, const char *words) {
    table_text(table, words, strlen(words));
}

/* A file name; bytes that are not UTF-8 become \xff. */
void table_file_name(struct sutra_table *table, const char *path);

/* A number for a column of either kind; integers lose its fraction. */
void table_number(struct sutra_table *table, double value);

/* Appends the rows of `from`, with the same columns. A column of integers and real numbers becomes one of real
 * numbers. */
void table_append(struct sutra_table *table, const struct sutra_table *from);

/* Appends one row of `from`, with columns of the same kinds. */
void table_append_row(struct sutra_table *table, const struct sutra_table *from, uint64_t row);

/* An empty table with the name and the columns of another. */
void table_init_like(struct sutra_table *table, const struct sutra_table *like);

/* Moves row order[i] to i; order[] is a permutation. */
void table_reorder(struct sutra_table *table, const uint64_t *order);

/* ---- The tables of a result ---- */

/* Which ranks a table covers. */
enum table_scope {
    OF_JOB,        /* a table per rank, and one of all ranks */
    OF_RANK,       /* a table per rank only */
    SERIES_OF_RANK /* the same, with a row per launch, kernel or change: freed after the rank's visit */
};

/* Name and columns of a table. */
struct table_spec {
    const char *name;
    enum table_scope scope;
    struct {
        const char *name; /* NULL: no more columns; none at all: they depend on the trace */
        uint8_t kind;     /* enum sutra_column_kind; above: integers or real numbers as `real_kinds` has it */
    } columns[TABLE_COLUMNS_MAX];
    const char *group; /* see struct sutra_table */
    uint32_t n_index;
};

/* The first member of each struct with tables. */
struct sutra_result {
    const struct table_spec *specs;
    uint32_t n_tables;
    uint32_t real_kinds;        /* bit 1 << kind: columns of this kind are real numbers */
    bool of_job;                /* of all ranks: no tables that exist per rank only */
    bool verbatim;              /* of its tables */
    struct sutra_table *tables; /* by id, as the following arrays */
    const char **reasons;       /* why a table was not made; NULL: not requested, or no data */
    bool *made;
    struct arena texts;                       /* of a decoded result: reasons, and names of columns */
    const struct sutra_trace_defect *defects; /* of the traces; the owner's */
    uint32_t n_defects;
};

/* False: out of memory. Zero-initialized and failed results may be freed, too. */
bool result_init(struct sutra_result *result, const struct table_spec *specs, uint32_t n_tables);
void result_free(struct sutra_result *result);

/* Initializes a table and marks it as made. `columns` is copied, names are not. Threads may begin different tables. */
struct sutra_table *result_table_begin(struct sutra_result *result, uint32_t id);
struct sutra_table *result_table_begin_with(struct sutra_result *result, uint32_t id, const struct column_spec *columns,
                                            uint32_t n);

/* SUTRA_SYSTEM: memory was short for a table. */
enum sutra_status result_status(const struct sutra_result *result, struct sutra_error *error);

/* ---- Values and text ---- */

/* The number of a column; n_columns: the table has none of this name, or ran out of memory and has no columns. */
uint32_t table_column(const struct sutra_table *table, const char *name);

/* The column itself; all zeros: the table has none of this name. */
struct sutra_column column_named(const struct sutra_table *table, const char *name);

/* Stored values. */
int64_t table_get_integer(const struct sutra_table *table, uint32_t column, uint64_t row);
double table_get_real(const struct sutra_table *table, uint32_t column, uint64_t row);
const char *table_get_text(const struct sutra_table *table, uint32_t column, uint64_t row, size_t *length);

/* The same by the name of a column, which the table has. */
static inline int64_t integer_named(const struct sutra_table *table, const char *name, uint64_t row) {
    return table_get_integer(table, table_column(table, name), row);
}

static inline double real_named(const struct sutra_table *table, const char *name, uint64_t row) {
    return table_get_real(table, table_column(table, name), row);
}

static inline const char *text_named(const struct sutra_table *table, const char *name, uint64_t row) {
    size_t length;
    return table_get_text(table, table_column(table, name), row, &length);
}

/* Writes a struct sutra_table as sutra_table_write() does. */
bool table_write_csv(const void *table, struct text_out *text);

#endif
