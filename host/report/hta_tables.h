/*
 * hta_tables.h - tables that the page on ranks derives from HTA's tables, for its charts.
 *
 * The caller frees each table with table_free(); `failed` is set if memory ran out.
 */
#ifndef REPORT_HTA_TABLES_H
#define REPORT_HTA_TABLES_H

#include "analyze/table.h"
#include "sutra/analyze.h"

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

#endif
