/*
 * hta_report.h - sections of the page on HTA's tables, also for the page of an overview.
 *
 *     hta_report.c     the whole page: cards, tables
 *     hta_charts.c     sections with charts, each from a table of the analysis or derived from it
 */
#ifndef REPORT_HTA_REPORT_H
#define REPORT_HTA_REPORT_H

#include "analyze/table.h"
#include "report/page.h"
#include "sutra/analyze.h"
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

#endif
