/*
 * table.h - the columns of struct sutra_table and struct sutra_result (all tables of an analysis), and building them.
 *
 *     static const struct table_spec specs[] = {[SUTRA_DIFF_STEPS] = {"diff_steps", ...}, ...};
 *
 *     result_init(&diff->result, specs, SUTRA_DIFF_N_TABLES)
 *     table = result_table_begin(&diff->result, SUTRA_DIFF_STEPS)
 *     for each row: table_integer(), table_real() or table_text() once for each column, in their order
 *     result_status(&diff->result)
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
#include "columns/strings.h"
#include "sutra/table.h"
#include "write/text.h"

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

/* Append the next values of the row: TABLE_REALS(table, mean, median, max). */
#define TABLE_INTEGERS(table, ...)                                                                                     \
    table_integers(table, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define TABLE_REALS(table, ...)                                                                                        \
    table_reals(table, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
void table_integers(struct sutra_table *table, const int64_t *values, size_t n);
void table_reals(struct sutra_table *table, const double *values, size_t n);

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
