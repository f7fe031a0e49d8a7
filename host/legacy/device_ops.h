/*
 * device_ops.h - the operators of a device trace, for the older linker.
 *
 *     events --sort by ts, filter--> CPU operators | launches | GPU operators
 *     CPU operators --cut at annotations--> segments --best fit--> with markers: the list to be matched
 *
 *     list   process  thread  op  op  op  thread  op  op ...     a marker directly before a thread's first operator
 *
 * GPU operators are grouped by CPU operator: GPU operator -> its launch -> the CPU operator that runs at the end of the
 * launch. CPU operators are identified by "Ev Idx", as in the older program.
 */
#ifndef LEGACY_DEVICE_OPS_H
#define LEGACY_DEVICE_OPS_H

#include "base/arena.h"
#include "context/context.h"
#include "legacy/host_ops.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "sutra/legacy.h"

/* Columns are in one arena. */
struct device_side {
    const struct sutra_device_trace *trace;
    row_t *cpu, *launch, *gpu; /* events, by start */
    row_t n_cpu, n_launches, n_gpu, n_memory_sets;
    row_t *flow_start, *flow_finish; /* of flows from CPU to GPU: phases s and f */
    row_t n_flow_start, n_flow_finish;
    row_t *step; /* profiler steps, of any category */
    row_t n_steps;
    row_t n_segments;
    row_t segment; /* the chosen operators: cpu[segment] ... cpu[segment + n_segment - 1] */
    row_t n_segment;

    /* The list to be matched. */
    row_t n;
    uint32_t *name;
    row_t *event;  /* ROW_NONE: a marker */
    row_t *thread; /* number of the thread in order of first use; ROW_NONE for the process */
    struct number_column ts, dur;
    row_t n_threads;
};

/* Sorts and filters. `all_launches`: all launching calls, not only cudaLaunchKernel and cudaMemcpyAsync. */
enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error);

/* Selects the segment whose length is nearest to `n_host_ops`, which include three markers. */
void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log);

/* Builds the list of the segment; a second call replaces the list. SUTRA_DATA: there are no CPU operators. */
enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error);

/* Columns are in one arena; the owner frees the index. */
struct gpu_groups {
    /* GPU operators with a CPU operator: by group, in a group by the time of the launch. */
    row_t *event;
    struct number_column ts; /* end of its launch, which the output uses as its ts */
    row_t n;
    row_t n_groups;
    row_t *start;           /* n_groups + 1 */
    row_t *group_of;        /* in trace order, not in group order */
    struct key_index index; /* "Ev Idx" -> its first operator */
};

/* Adds counts to the report. SUTRA_DATA: a GPU operator has no external id, no launch, or a CPU operator without
 * "Ev Idx"; lenient contexts skip and count such operators. */
enum sutra_status gpu_groups_build(struct gpu_groups *groups, struct sutra_context *context,
                                   const struct device_side *side, struct legacy_log *log,
                                   struct sutra_legacy_report *report, struct arena *arena, struct sutra_error *error);

/* Finds the group of each of n events (ROW_NONE: no event), or ROW_NONE. */
enum sutra_status gpu_groups_find(const struct gpu_groups *groups, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, const row_t *event, row_t n, row_t *group,
                                  struct sutra_error *error);

#endif
