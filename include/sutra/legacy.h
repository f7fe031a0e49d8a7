/*
 * legacy.h - link traces by names and order, as MLCommons Chakra's older trace_link.py, for traces without common
 * record-function ids.
 *
 *     host trace ---\
 *                    sutra_legacy_link() --> struct sutra_legacy --> sutra_legacy_write() --> ET+ file
 *     device trace -/
 *
 * With exact match, the file equals trace_link.py's byte for byte, where that program writes one. Approximate match
 * compares names, order, sequence numbers and numbers of collectives per thread with all operators of the device trace,
 * so that operators may be missing on either side, and the operators determine the step.
 */
#ifndef SUTRA_LEGACY_H
#define SUTRA_LEGACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_legacy;

/* Kind of log line: info, warning, or a GPU operator skipped because no CPU operator runs at its launch. */
enum sutra_legacy_line { SUTRA_LEGACY_INFO, SUTRA_LEGACY_WARNING, SUTRA_LEGACY_DISCARDED };

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_legacy_options {
    size_t size;
    const char *annotation; /* text in the names of operators that end an iteration; NULL: "DataLoader". Approximate
                               match uses it for the host trace only */
    bool exact;             /* exact match; else approximate match */
    bool all_launches;      /* all launching calls; else only the two that trace_link.py knows */
    uint32_t max_depth;     /* approximate match: levels of the call trees; 0: all */
    bool positional;        /* approximate match as trace_link.py: pairs the k-th operators of both trees in pre-order,
                               down to ten levels, if their numbers are equal; for sutra_legacy_write_durations() */
    double min_match;       /* approximate match: minimum share of matched host operators */
    /* Called with each log line, `length` bytes without line break, on the thread that called the library. */
    void (*line)(void *arg, enum sutra_legacy_line kind, const char *text, size_t length);
    void *arg;           /* passed to the callback */
    uint64_t most_bytes; /* fail with SUTRA_DATA if the output would exceed about this size; 0: unlimited */
};

/* Maximum number of unmatched operators that are reported. */
#define SUTRA_LEGACY_UNMATCHED 5

/* Counts of linked and skipped nodes, also filled on failure as far as linking got. Names live as long as the traces
 * and the result. */
struct sutra_legacy_report {
    size_t size;                   /* sizeof the struct, set by the caller */
    uint64_t n_host_nodes;         /* nodes of the host trace */
    uint64_t n_host_ops;           /* operators of the chosen iteration */
    uint64_t n_device_ops;         /* CPU operators of the chosen iteration, including added operators for process and
                                      threads */
    uint64_t n_matched;            /* host operators matched with a device operator */
    uint64_t n_matched_twice;      /* of these, whose device operator is already matched */
    uint64_t n_segments;           /* iterations of the device trace; 0: the annotation does not occur */
    uint64_t shift;                /* exact match: offset of the device trace in operators */
    uint64_t n_gpu_ops;            /* GPU operators of the device trace */
    uint64_t n_gpu_without_launch; /* skipped: no launch or arrow with their external id (lenient) */
    uint64_t n_gpu_without_parent; /* skipped: no CPU operator runs at their launch */
    uint64_t n_gpu_unmatched;      /* skipped: their CPU operator is unmatched */
    uint64_t n_gpu_nodes;          /* GPU nodes in the output */
    uint64_t n_nodes;              /* nodes in the output */
    uint64_t edit_cost;            /* approximate match: unmatched operators of the host's iteration and of the step */
    bool mismatch;                 /* exact match: operators differ */
    bool count_mismatch;           /* exact match: fewer device than host operators, so none is matched */
    uint64_t n_gpu_memory_sets;    /* skipped: memsets, as trace_link.py does */
    bool aligned;                  /* approximate match is used, because exact match fails or sequence numbers differ */
    uint64_t n_positions;          /* steps that fit equally well: the first is used; 0: there was no choice */
};

/* Links two traces. Both must outlive *legacy, which the caller frees; *report may be NULL. Errors: SUTRA_DATA: the
 * traces do not match (report->mismatch if operators differ), or a required field is missing; SUTRA_STRICT: in a strict
 * context, too few matches, operators of another step, several steps that fit, or traces of different processes or
 * times; SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_legacy_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                    const struct sutra_device_trace *device, const struct sutra_legacy_options *options,
                                    struct sutra_legacy_report *report, struct sutra_legacy **legacy,
                                    struct sutra_error *error);

/* Writes ET+ as sutra_linked_write() does. */
enum sutra_status sutra_legacy_write(struct sutra_context *context, const struct sutra_legacy *legacy, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* Writes only the match, as one JSON object: host operator id to duration of its device operator. */
enum sutra_status sutra_legacy_write_durations(struct sutra_context *context, const struct sutra_legacy *legacy,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error);

void sutra_legacy_free(struct sutra_legacy *legacy);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
