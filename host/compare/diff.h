/*
 * diff.h - inside of struct sutra_diff, and the makers of its tables.
 */
#ifndef COMPARE_DIFF_H
#define COMPARE_DIFF_H

#include "analyze/ranks.h"
#include "compare/hta_compare.h"
#include "compare/path_rows.h"

struct sutra_diff {
    bool compat;
    struct sutra_table tables[SUTRA_DIFF_N_TABLES];
    bool made[SUTRA_DIFF_N_TABLES];
    struct sutra_diff_summary summary;
};

/* Sets a table up. */
struct sutra_table *diff_table_begin(struct sutra_diff *diff, enum sutra_diff_table id);

/* All our tables. SUTRA_SYSTEM: out of memory. */
enum sutra_status diff_tables_make(struct part *whole, struct sutra_diff *diff, struct sutra_error *error);

#endif
