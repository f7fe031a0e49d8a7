/*
 * device_ops.h - the operators of a device trace as tables in the order of the sorted trace, with the results of the
 * engine's steps.
 *
 *     events --sort, classify--> CPU ops, launches, GPU ops --engine--> exclusive durations, order, parents, groups
 */
#ifndef LINK_DEVICE_OPS_H
#define LINK_DEVICE_OPS_H

#include "context/context.h"
#include "facts/names.h"
#include "match/key_index.h"
#include "match/steps.h"
#include "read/device_trace.h"

struct device_ops {
    row_t *order;               /* all events, sorted stably by timestamp */
    struct string_roles *roles; /* of every string of the trace */

    /* CPU operators, sorted; row i is event cpu_event[i]. This is the table of the engine. */
    struct cpu_ops cpu;
    row_t *cpu_event;
    struct number_column exclusive; /* exclusive duration of each */
    row_t *waits_for;    /* CPU op of another thread whose rf_id gives the inter-thread dependency, or none */
    struct key_index rf; /* rf_id -> position in rf_op; the last operator of each rf_id */
    row_t *rf_op;        /* CPU operators with an rf_id */
    row_t n_rf;

    /* GPU operators that found a CPU operator, by the external id of that operator, each group in sorted order. */
    row_t *grouped_event;
    row_t n_grouped;
    row_t n_groups;
    row_t *group_start;      /* n_groups + 1 */
    struct key_index groups; /* external id -> group */

    row_t n_launches, n_gpu, n_memory_sets, n_without_launch, n_without_parent;
    row_t n_untimed; /* operators without a start or a duration: 0 is used, as chakra_trace_link does */
    uint64_t n_fields_dropped;
    struct exclusive_anomalies anomalies;
};

/* Makes the tables, which are in the arena except for the indexes. SUTRA_DATA: an operator has a field of a wrong type;
 * SUTRA_STRICT: several launches have the same correlation. */
enum sutra_status device_ops_build(struct device_ops *ops, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, struct arena *arena,
                                   struct sutra_error *error);
void device_ops_free(struct device_ops *ops);

/* The GPU operators that belong to a CPU operator: *n rows of events. */
static inline const row_t *device_ops_group(const struct device_ops *ops, row_t cpu_op, row_t *n) {
    row_t group = key_index_find(&ops->groups, ops->cpu.external[cpu_op]);
    *n = group == ROW_NONE ? 0 : ops->group_start[group + 1] - ops->group_start[group];
    return group == ROW_NONE ? NULL : ops->grouped_event + ops->group_start[group];
}

#endif
