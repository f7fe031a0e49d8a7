/*
 * tracelens_sheets.h - the columns "kernel_details_summary" and "trunc_kernel_details" of TraceLens.
 *
 *     event 3   gemm 5.1   add 1.0        [{'name': 'add', 'count': 2, 'total_duration_us': np.float64(2.1), ...},
 *     event 9   gemm 5.3   add 1.1   -->   {'name': 'gemm', 'count': 2, 'total_duration_us': np.float64(10.4), ...}]
 *
 * Kernels of a group of events are joined by their position in the events' lists. The first list that is not empty is
 * the template; lists of another length are skipped. Entries are sorted by total duration, then name, ascending.
 */
#ifndef ANALYZE_OPERATORS_TRACELENS_SHEETS_H
#define ANALYZE_OPERATORS_TRACELENS_SHEETS_H

#include "analyze/operators/operators.h"

/* Kernels, memcpy and memset of events: of event i the rows device[first[i]] .. device[first[i + 1] - 1] of devices. */
struct kernel_lists {
    const row_t *first, *device;
};

/* Writes both columns for a group of n events. O(k log k) for k kernels. Out of memory sets table->failed. */
void tracelens_details_write(const struct op_input *input, const struct kernel_lists *lists, const row_t *members,
                             row_t n, struct arena *arena, struct sutra_table *table);

/* Whether the start and the duration of every kernel, memcpy and memset are integers, as pandas then keeps times. */
bool tracelens_has_integer_times(const struct launch_model *model);

/* Has columns of real numbers, by name up to NULL, hold integers. */
void tracelens_retype_integers(struct sutra_table *table, const char *const *names);

#endif
