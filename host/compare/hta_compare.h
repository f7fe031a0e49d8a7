/*
 * hta_compare.h - two traces by the names of their events, as TraceDiff of Holistic Trace Analysis has it: of one rank
 * and one step each, counts and durations under each name, of the host, of the device, and of both together.
 *
 *     trace --> hta_names_take(): sums by name --+
 *                                                +--> hta_compare_table(), hta_compare_write_changes()
 *     trace --> hta_names_take() ----------------+
 *
 * The durations of the host are those of operators with all that they call. O(events), and a sort of the names.
 */
#ifndef COMPARE_HTA_COMPARE_H
#define COMPARE_HTA_COMPARE_H

#include "analyze/table.h"
#include "base/memory.h"
#include "columns/strings.h"
#include "match/intervals.h"
#include "read/device_trace.h"
#include "sutra/diff.h"

/* What stands under a name: on the host, on the device. */
struct hta_name_sum {
    uint64_t count[2];
    wide_t ns[2];
};

struct hta_names {
    struct strings names;
    struct hta_name_sum *sums; /* by name */
    bool durs_real;
};

/* Adds up the events of the step of the lowest number, or of the one that is asked for (NULL: none is). `names` needs
 * hta_names_free() in any case. SUTRA_DATA: the trace has no such step. */
enum sutra_status hta_names_take(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const char *step, struct hta_names *names, struct sutra_error *error);
void hta_names_free(struct hta_names *names);

/* compare_traces: names of A in order, then those of B alone. */
enum sutra_status hta_compare_table(const struct hta_names sides[2], enum sutra_diff_table id,
                                    struct sutra_table *table, struct sutra_error *error);

/* ops_diff as JSON. */
enum sutra_status hta_compare_write_changes(struct sutra_context *context, const struct sutra_table *table,
                                            const char *path, uint64_t *n_bytes, struct sutra_error *error);

#endif
