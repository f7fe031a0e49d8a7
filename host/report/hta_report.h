/*
 * hta_report.h - tables that the page on ranks derives from HTA's tables, for its charts.
 *
 * The caller frees each table with table_free(); `failed` is set if memory ran out.
 */
#ifndef REPORT_HTA_REPORT_H
#define REPORT_HTA_REPORT_H

#include "analyze/table.h"
#include "report/page.h"
#include "sutra/analyze.h"
#include "sutra/report.h"

/* What the time from the first to the last kernel of each rank went to, in parts that do not overlap: rank, compute_us,
 * exposed_communication_us, exposed_memory_us, other_us, idle_us, kernel_time_us. */
enum { TIME_COMPUTE = 1, TIME_COMMUNICATION, TIME_MEMORY, TIME_OTHER, TIME_IDLE };
void hta_time_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks);

/* Communication of each rank that has any: rank, hidden_us (at the same time as compute), exposed_us,
 * communication_us, comp_comm_overlap_pctg, which is that of `shares` (may be NULL). */
enum { OVERLAP_HIDDEN = 1, OVERLAP_REST };
void hta_overlap_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks,
                       const struct sutra_table *shares);

/* Kernels of all ranks by falling time: name, kernel_type, sum (us), share of all, ranks. What a rank's table calls
 * "others" stays so. */
enum { KERNEL_NAME, KERNEL_TYPE, KERNEL_SUM };
void hta_kernels_table(struct sutra_table *table, const struct sutra_table *kernels);

/* Gaps of each stream, those with the longest first: rank, stream, host_wait, kernel_wait, other. */
enum { IDLE_RANK, IDLE_STREAM, IDLE_HOST, IDLE_KERNEL, IDLE_REST };
void hta_idle_table(struct sutra_table *table, const struct sutra_table *idle);

/*
 * Parts of the page on ranks, and their inputs.
 *
 *     hta_report.c                       the whole page
 *       |-- hta_cards.c                  key numbers at the top
 *       `-- hta_charts.c                 sections with charts, each from a table of hta_tables.c or of the analysis
 */

/* What a section is made from. */
struct hta_source {
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
    bool is_beside; /* it was made with an overview, with the tables of all ranks only */
};

/* Writes the page, and adds its bytes. */
enum sutra_status hta_page_write(struct sutra_context *context, const struct hta_source *source, const char *folder,
                                 uint64_t *n_bytes, struct sutra_error *error);

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

#endif
