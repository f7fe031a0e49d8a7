/*
 * devices.h - the kind of device that a trace is of, and why a trace lacks device activities.
 *
 *     device trace --device_summary_find()--> kind; counts of activities and launches; launches without an activity
 *
 *     calls      launch 1   launch 2   launch 3   launch 4         lost: 1 and 2, from the start of 1 to that of 2
 *     stream                              kernel 3   kernel 4      first_kept: the start of launch 3
 *
 * A launch is a call whose name contains "launch", or begins with urEnqueue, zeCommandListAppend (XPU) or runFunction
 * (MTIA). Launches within the capture of a graph, and of host functions, launch no activity and do not count.
 */
#ifndef FACTS_DEVICES_H
#define FACTS_DEVICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "context/context.h"
#include "facts/names.h"
#include "read/device_trace.h"

#define DEVICE_KINDS(X)                                                                                                \
    X(NONE, "none", "")                                                                                                \
    X(CUDA, "cuda", "ProfilerActivity.CUDA")                                                                           \
    X(ROCM, "rocm", "ProfilerActivity.CUDA")                                                                           \
    X(XPU, "xpu", "ProfilerActivity.XPU")                                                                              \
    X(MTIA, "mtia", "ProfilerActivity.MTIA")                                                                           \
    X(NPU, "npu", "torch_npu.profiler")

#define DEVICE_KIND_ID(id, name, activity) DEVICE_KIND_##id,
enum device_kind { DEVICE_KINDS(DEVICE_KIND_ID) N_DEVICE_KINDS };

/* "cuda" */
extern const char *const device_kind_names[N_DEVICE_KINDS];

/* Whether CUDA's and HIP's APIs exist for the device, such as graphs. */
static inline bool device_has_cuda_apis(enum device_kind kind) {
    return kind <= DEVICE_KIND_ROCM;
}

/* Why a trace has no device activity. */
enum no_activity { HAS_ACTIVITY, FILE_TRUNCATED, RANGE_PROFILER, KERNELS_NOT_DELIVERED, HOST_ONLY, N_NO_ACTIVITY };
extern const char *const no_activity_names[N_NO_ACTIVITY];

/* The kind, by roles of categories for READER_TREE or READER_SUMMARY. Out of memory fails `scratch`. O(n). */
enum device_kind device_kind_find(const struct sutra_device_trace *trace, const struct string_roles *roles,
                                  struct arena *scratch);

struct device_summary {
    enum device_kind kind;
    enum no_activity cause;
    row_t n_activities, n_launches;
    row_t n_lost;               /* launches whose correlation no activity has; 0 if there are no activities */
    int64_t lost_from, lost_to; /* starts of the first and the last of them, nanoseconds of the trace */
    int64_t first_kept;         /* start of the first launch with an activity; INT64_MAX: there is none */
};

/* O(n) in expectation, and sorts of the captures. Leaves `scratch` as it was. SUTRA_SYSTEM: out of memory. */
enum sutra_status device_summary_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      struct arena *scratch, struct device_summary *summary, struct sutra_error *error);

/* Whether launches without an activity mean that activities were dropped. */
static inline bool device_has_dropped(const struct device_summary *summary) {
    return summary->n_lost >= 10 && (uint64_t)summary->n_lost * 10 >= summary->n_launches;
}

/* A sentence without a full stop: the cause of a trace without activities, and the remedy. */
#define NO_ACTIVITY_TEXT 400
struct no_activity_text {
    char text[NO_ACTIVITY_TEXT];
};
struct no_activity_text no_activity_message(const struct device_summary *summary);

#endif
