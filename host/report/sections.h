/*
 * sections.h - sections of pages on HTA's tables, operators and kernels, which the page of an overview contains, too;
 * and the page of a trend.
 *
 *     hta_report.c           HTA's whole page: cards, tables
 *     hta_charts.c           sections with charts, each from a table of the analysis or derived from it
 *     operators_report.c     the whole page of the operators, and its sections
 */
#ifndef REPORT_SECTIONS_H
#define REPORT_SECTIONS_H

#include "analyze/table.h"
#include "compare/trend.h"
#include "report/page.h"
#include "sutra/analyze.h"
#include "sutra/operators.h"
#include "sutra/report.h"

/* The source of the page and of each section. */
struct hta_source {
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
    bool with_overview; /* written together with an overview, with the tables of all ranks only */
};

/* Writes the page, and adds its bytes. */
enum sutra_status hta_page_write(struct sutra_context *context, const struct hta_source *source, const char *folder,
                                 uint64_t *n_bytes, struct sutra_error *error);

/* The overlap of communication and compute of each rank: table columns rank, hidden_us and exposed_us. `file` has all
 * rows. */
void overlap_show(struct page *page, const struct sutra_table *table, const char *file, const char *missing);

/* Contents of sections: charts with their tables, or why they are missing. */
page_show hta_time_show, hta_steps_show, hta_stragglers_show, hta_kernels_show, hta_idle_show, hta_overlap_show;
page_show hta_queues_show, hta_launches_show, hta_copies_show;

/* ---- Operators and kernels of all ranks ---- */

/* Derives a table of kernel durations over all ranks, in ascending order: takes ("1 µs to 2 µs"), kernels, percent,
 * device_us, device_percent. The caller frees it; `failed` is set if memory ran out. */
#define DURATION_BINS_MAX 64 /* more than there are between a nanosecond and the longest time */
void durations_table(struct sutra_table *table, const struct sutra_table *durations);

/* The same for the timeline, summed over all ranks: type, time_us, share_pctg of "total" or "all GPU activity". */
void lines_table(struct sutra_table *table, const struct sutra_table *timeline);

/* Kernels of graphs by the confidence of their attribution. */
enum { GRAPHS_EXACT, GRAPHS_HIGH, GRAPHS_MEDIUM, GRAPHS_UNMATCHED, GRAPHS_N };
struct graph_totals {
    const char *confidence;
    uint64_t n;
    double us, percent; /* of all GPU activity of the rank */
};

/* Sums a table of graph kernels over the rows of a rank; -1: over all ranks. O(rows). */
void graph_totals_of(const struct sutra_table *table, int64_t rank, struct graph_totals totals[GRAPHS_N]);

/* The source of each section. */
struct operators_source {
    const struct sutra_operators_ranks *ranks;
    struct sutra_table lines; /* of lines_table() */
};

/* Warns about skipped traces and events. */
void operators_show_warnings(struct page *page, const struct sutra_operators_ranks *ranks);

/* Contents of sections: charts with their tables, or why they are missing. */
page_show operators_show_operators, operators_show_categories, operators_show_modules, operators_show_arguments;
page_show operators_show_annotations, operators_show_rates, operators_show_kernels, operators_show_durations;
page_show operators_show_configurations, operators_show_graphs;

/* ---- The trend of a run ---- */

/* Writes trend.html and its charts, of *n_bytes (may be NULL). `windows`: of trend_table(); `path`: of the run. */
enum sutra_status trend_page_write(struct sutra_context *context, const struct trend *trend,
                                   const struct sutra_table *windows, const char *path, const char *folder,
                                   uint64_t *n_bytes, struct sutra_error *error);

#endif
