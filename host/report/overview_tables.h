/*
 * overview_tables.h - tables that the page of an overview derives from the analysis.
 */
#ifndef REPORT_OVERVIEW_TABLES_H
#define REPORT_OVERVIEW_TABLES_H

#include "report/chart.h"
#include "sutra/overview.h"

/* What the time of each rank went to, in parts that do not overlap: rank, parts from compute to idle time of unknown
 * cause, window_us. The caller's, to free with table_free(). */
enum { SPLIT_RANK, SPLIT_PARTS, N_SPLIT_PARTS = 8 };
void split_table(struct sutra_table *table, const struct sutra_table *timeline);

/* How much of the communication of each rank that has some other work hides: rank, hidden_us, exposed_us,
 * communication_us, overlap_percent; from the analysis's ranks, and their parts, which have the same order. */
enum { OVERLAP_HIDDEN_US = 1, OVERLAP_EXPOSED_US };
void overlap_table(struct sutra_table *table, const struct sutra_table *ranks, const struct sutra_table *split);

/* Columns of the analysis's table of streams. */
enum {
    STREAMS_RANK,
    STREAMS_STREAM,
    STREAMS_KERNELS,
    STREAMS_COMPUTE,
    STREAMS_COMMUNICATION,
    STREAMS_COPIES,
    STREAMS_WORK
};

/* Bars of these parts, which begin at a column of a table. */
struct bars split_bars(const struct sutra_table *table, uint32_t first_part);

#endif
