/*
 * gpu_groups.h - which GPU operators belong to which CPU operator: GPU operator -> its launch -> the CPU operator that
 * runs when the launch ends. CPU operators are told apart by "Ev Idx", as in the older program.
 */
#ifndef LEGACY_GPU_GROUPS_H
#define LEGACY_GPU_GROUPS_H

#include "legacy/device_side.h"
#include "match/key_index.h"
#include "sutra/legacy.h"

/* Columns live in one arena; the index is the owner's to free. */
struct gpu_groups {
    /* GPU operators that found a CPU operator: group by group, inside a group by the time of the launch. */
    row_t *event;
    struct number_column ts; /* of each: when its launch ended, which the output has as its ts */
    row_t n;
    row_t n_groups;
    row_t *start;           /* n_groups + 1 */
    row_t *group_of;        /* of each in the order of the trace, not of the groups */
    struct key_index index; /* "Ev Idx" -> the first such operator */
};

/* Counts go into the report. SUTRA_DATA: a GPU operator has no external id, no launch, or a CPU operator without
 * "Ev Idx"; lenient contexts leave such operators out and count them. */
enum sutra_status gpu_groups_build(struct gpu_groups *groups, struct sutra_context *context,
                                   const struct device_side *side, struct legacy_log *log,
                                   struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error);

/* The group of each of the n events (ROW_NONE in, ROW_NONE out), or ROW_NONE. */
enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error);

#endif
