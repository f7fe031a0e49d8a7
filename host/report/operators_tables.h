/*
 * operators_tables.h - tables of operators and kernels over all ranks, derived from the analysis. The caller frees each
 * table with table_free(); `failed` is set if memory ran out.
 */
#ifndef REPORT_OPERATORS_TABLES_H
#define REPORT_OPERATORS_TABLES_H

#include "analyze/table.h"
#include "sutra/operators.h"

/* Columns by name of a table of the analysis that are added up; `group` and `count` may be NULL. `prefix`, which may be
 * NULL, is what names begin with and are shown without. */
struct summed_columns {
    const char *name, *group, *count, *value, *prefix;
};

/* Rows by name and group, those with the largest sums first: name, group (""), count, device_us, share_pctg of all. */
enum { SUMMED_NAME, SUMMED_GROUP, SUMMED_COUNT, SUMMED_VALUE, SUMMED_SHARE };
void summed_table(struct sutra_table *table, const char *name, const struct sutra_table *from,
                  const struct summed_columns *columns);

/* The first n rows, and the rest as one, "(others)". */
void summed_cut(struct sutra_table *table, uint64_t n);

/* Bins of durations of all ranks, from the shortest: takes ("1 µs to 2 µs"), kernels and their time, with shares of
 * all. */
#define DURATION_BINS_MOST 64 /* more than there are between a nanosecond and the longest time */
enum { BIN_TAKES, BIN_KERNELS, BIN_SHARE, BIN_TIME, BIN_TIME_SHARE };
void durations_table(struct sutra_table *table, const struct sutra_table *durations);

/* Our timeline of all ranks: type, time_us, percent of "total" or "all work". */
enum { LINE_TYPE, LINE_TIME, LINE_SHARE };
void lines_table(struct sutra_table *table, const struct sutra_table *timeline);

/* The time of a line; 0: there is none. */
double lines_us(const struct sutra_table *lines, const char *type);

#endif
