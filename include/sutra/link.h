/*
 * link.h - linking a host trace and a device trace into ET+.
 *
 *     host trace ---\
 *                    sutra_link() --> struct sutra_linked --> sutra_linked_write() --> ET+ file
 *     device trace -/
 *
 * The rules are those of MLCommons Chakra's `chakra_trace_link`; where that program succeeds the file is the same,
 * byte for byte.
 */
#ifndef SUTRA_LINK_H
#define SUTRA_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct sutra_linked;

/* Options; initialize all other fields to zero. `size` is sizeof the caller's struct. */
struct sutra_link_options {
    size_t size;
    bool no_sync;        /* leave synchronisation dependencies out */
    bool hta_pandas3;    /* find those that the reference finds with pandas 3, which are few */
    uint64_t most_bytes; /* refuse an output that would be about as long or longer, SUTRA_DATA; 0: any length */
};

/* What was made of the two traces, and what was left out. */
struct sutra_link_report {
    size_t size;                   /* sizeof the struct, set by the caller */
    uint64_t n_host_nodes;         /* nodes of the host trace */
    uint64_t n_host_ops;           /* of these, reachable from the root */
    uint64_t n_host_linked;        /* host operators that found their device event by an id other than 0 */
    uint64_t n_host_without_rf;    /* host operators without a record-function id */
    uint64_t n_host_rf_unmatched;  /* host operators whose record-function id the device trace lacks */
    uint64_t n_events;             /* events of the device trace */
    uint64_t n_cpu_ops;            /* CPU operators among them */
    uint64_t n_gpu_ops;            /* GPU operators among them */
    uint64_t n_gpu_with_parent;    /* GPU operators that found a CPU operator */
    uint64_t n_gpu_without_launch; /* orphans: no launch has their correlation */
    uint64_t n_gpu_without_parent; /* orphans: no CPU operator begins before their launch on its thread */
    uint64_t n_gpu_host_unmatched; /* found a CPU operator that no node of the host trace stands for */
    uint64_t n_gpu_nodes;          /* GPU nodes in the output */
    uint64_t n_nodes;              /* nodes in the output */
    uint64_t n_inter_thread;       /* CPU nodes with a dependency on another thread */
    uint64_t n_sync;               /* nodes with synchronisation dependencies */
    uint64_t n_exclusive_rounded;  /* exclusive durations below 0 by no more than rounding, taken as 0 */
    uint64_t n_exclusive_replaced; /* exclusive durations below 0, replaced by the inclusive one clipped at 0 */
    uint64_t n_fields_dropped;     /* fields of a wrong type taken as absent (lenient) */
    uint64_t n_host_rf_zero;       /* host operators with the record-function id 0, which stands for none */
    uint64_t n_gpu_memory_sets;    /* GPU operators that set memory, which the reference leaves out */
};

/* Links the two traces, which must outlive the result. *linked is the caller's.
 * SUTRA_DATA: two launches with one correlation. SUTRA_STRICT: an anomaly in strict mode, as durations below 0,
 * traces of two processes or times, less than half of the operators linked. SUTRA_SYSTEM: out of memory. */
enum sutra_status sutra_link(struct sutra_context *context, const struct sutra_host_trace *host,
                             const struct sutra_device_trace *device, const struct sutra_link_options *options,
                             struct sutra_linked **linked, struct sutra_error *error);

void sutra_linked_report(const struct sutra_linked *linked, struct sutra_link_report *report);

/* Writes ET+ to a file: beside it first, then renamed, so that an old file stays until the new one is whole. "-" is
 * standard output. A name that ends in .gz or .zst is compressed. *n_bytes (may be NULL): JSON bytes written.
 * SUTRA_NO_OUTPUT: cannot be created. SUTRA_IO: writing failed; nothing is left behind. */
enum sutra_status sutra_linked_write(struct sutra_context *context, const struct sutra_linked *linked, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error);

/* Says whether `path` could be written, before any work is done; leaves no trace of the attempt. */
enum sutra_status sutra_output_check(const char *path, struct sutra_error *error);

void sutra_linked_free(struct sutra_linked *linked);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
