/*
 * device_ops.h - the operators of a device trace that the older linker works with.
 *
 *     events --sort by ts, filter--> CPU operators | launches | GPU operators
 *     CPU operators --cut at annotations--> segments --the one that fits best--> with markers: the list to be matched
 *
 *     list   process  thread  op  op  op  thread  op  op ...     a marker right before the first operator of its thread
 */
#ifndef LEGACY_DEVICE_OPS_H
#define LEGACY_DEVICE_OPS_H

#include "base/arena.h"
#include "context/context.h"
#include "legacy/host_ops.h"
#include "legacy/log.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "sutra/legacy.h"

/* All columns live in one arena. */
struct device_side {
    const struct sutra_device_trace *trace;
    row_t *cpu, *launch, *gpu; /* events, in the order of the sorted trace */
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
    row_t *thread; /* number of its thread as first seen; of the process: ROW_NONE */
    struct number_column ts, dur;
    row_t n_threads;
};

/* Sorts and filters. `all_launches`: every call that launches, not only cudaLaunchKernel and cudaMemcpyAsync. */
enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error);

/* Chooses the segment whose length is nearest to that of `n_host_ops` operators, three of which are markers. */
void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log);

/* Makes the list. SUTRA_DATA: there are no CPU operators. */
enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error);

/*
 * Which GPU operators belong to which CPU operator: GPU operator -> its launch -> the CPU operator that
 * runs when the launch ends. CPU operators are told apart by "Ev Idx", as in the older program.
 */

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
