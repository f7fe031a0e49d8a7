/*
 * operators_report.h - tables of operators and kernels over all ranks, derived from the analysis. The caller frees each
 * table with table_free(); `failed` is set if memory ran out.
 */
#ifndef REPORT_OPERATORS_REPORT_H
#define REPORT_OPERATORS_REPORT_H

#include "analyze/table.h"
#include "report/page.h"
#include "sutra/operators.h"

/* Columns by name of a table of the analysis that are added up; `group` and `count` may be NULL. `prefix`, which may be
 * NULL, is what names begin with and are shown without. */
struct summed_columns {
    const char *name, *group, *count, *value, *prefix;
};

/* Rows by name and group, those with the largest sums first: name, group (""), count, device_us, share_pctg of all. */
enum { SUMMED_NAME, SUMMED_GROUP, SUMMED_COUNT, SUMMED_VALUE, SUMMED_SHARE };

/* Bins of durations of all ranks, from the shortest: takes ("1 µs to 2 µs"), kernels and their time, with shares of
 * all. */
#define DURATION_BINS_MOST 64 /* more than there are between a nanosecond and the longest time */
enum { BIN_TAKES, BIN_KERNELS, BIN_SHARE, BIN_TIME, BIN_TIME_SHARE };
void durations_table(struct sutra_table *table, const struct sutra_table *durations);

/* Our timeline of all ranks: type, time_us, percent of "total" or "all work". */
enum { LINE_TYPE, LINE_TIME, LINE_SHARE };
void lines_table(struct sutra_table *table, const struct sutra_table *timeline);

/*
 * Sections on operators and kernels, for any page.
 */

/* What a section is made from. */
struct operators_source {
    const struct sutra_operators_ranks *ranks;
    struct sutra_table lines; /* see operators_tables.h */
};

/* What stands on top of a page: traces and events that are left out. */
void operators_show_warnings(struct page *page, const struct sutra_operators_ranks *ranks);

void operators_show_operators(struct page *page, const void *of);
void operators_show_categories(struct page *page, const void *of);
void operators_show_modules(struct page *page, const void *of);
void operators_show_arguments(struct page *page, const void *of);
void operators_show_annotations(struct page *page, const void *of);
void operators_show_rates(struct page *page, const void *of);
void operators_show_kernels(struct page *page, const void *of);
void operators_show_durations(struct page *page, const void *of);
void operators_show_configurations(struct page *page, const void *of);

#endif
