/*
 * dlrm_tables.h - tables that the page on operators derives from the analysis, for its charts.
 *
 * The caller frees each table with table_free(); `failed` is set if memory ran out.
 */
#ifndef REPORT_DLRM_TABLES_H
#define REPORT_DLRM_TABLES_H

#include "analyze/table.h"
#include "sutra/dlrm.h"

/* Streams in the order of the analysis: stream, active_us, idle_us, active_pctg of the host's time. */
enum { STREAM_NAME, STREAM_ACTIVE, STREAM_IDLE };
void dlrm_streams_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                        const struct sutra_dlrm_report *report);

/* Operators by falling device time: name, device_us, share_pctg, calls, kernels. */
enum { OPERATOR_NAME, OPERATOR_TIME };
void dlrm_operators_table(struct sutra_table *table, const struct sutra_dlrm *dlrm);

/* Overheads of the host by kind, T1 to T5: kind, what, samples, mean_us, total_us. */
enum { KIND_NAME, KIND_WHAT, KIND_SAMPLES, KIND_MEAN, KIND_TOTAL };
void dlrm_kinds_table(struct sutra_table *table, const struct sutra_dlrm_report *report);

/* The same by kind and operator, those that take most first: kind, name, samples, mean_us, std_us, total_us. */
void dlrm_overheads_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                          const struct sutra_dlrm_report *report);

/* What the bars of the first `n_groups` groups of a stream's chart consist of: operator, variant, kernel, legend,
 * share_pctg. */
void dlrm_shares_table(struct sutra_table *table, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                       const struct sutra_dlrm_stream *stream, uint64_t n_groups);

#endif
