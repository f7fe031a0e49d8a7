/*
 * hta_page.h - parts of the page on ranks, and their inputs.
 *
 *     hta_report.c                       the whole page
 *       |-- hta_cards.c                  key numbers at the top
 *       `-- hta_charts.c                 sections with charts, each from a table of hta_tables.c or of the analysis
 */
#ifndef REPORT_HTA_PAGE_H
#define REPORT_HTA_PAGE_H

#include "report/page.h"
#include "sutra/report.h"

/* What a section is made from. */
struct hta_source {
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
    bool is_beside; /* it was made with an overview, with the tables of all ranks only */
};

/* Writes the page, and adds its bytes. */
enum sutra_status hta_page_write(struct sutra_context *context, const struct hta_source *source, const char *folder,
                                 uint64_t *n_bytes, struct sutra_error *error);

void hta_cards_show(struct page *page, const struct hta_source *source);

/* What stands in sections, of a struct hta_source: charts with their tables, or why there are none. */
void hta_time_show(struct page *page, const void *of);
void hta_steps_show(struct page *page, const void *of);
void hta_stragglers_show(struct page *page, const void *of);
void hta_kernels_show(struct page *page, const void *of);
void hta_idle_show(struct page *page, const void *of);
void hta_overlap_show(struct page *page, const void *of);
void hta_queues_show(struct page *page, const void *of);
void hta_launches_show(struct page *page, const void *source);
void hta_copies_show(struct page *page, const void *source);

/* A table of the analysis, or why there is none. */
void hta_table_show(struct page *page, const struct hta_source *source, enum sutra_hta_table id, const char *caption);

#endif
