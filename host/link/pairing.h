/*
 * pairing.h - checks whether a host trace and a device trace were recorded together.
 *
 *     host trace     pid 8403     time + (finish_ts - start_ts)     rf_id  3 .. 499 \
 *                                                                                    the same process, time and steps?
 *     device trace   pid of its   ts of its first and last          rf_id  3 .. 499 /
 *                    CPU operators
 *
 * The check does not affect linking: traces of two ranks have the same ids for the same operators, so that they link
 * nearly as well as the traces of one rank. Only the process distinguishes them. Cost: O(nodes + events).
 */
#ifndef LINK_PAIRING_H
#define LINK_PAIRING_H

#include <stdbool.h>
#include <stdint.h>

#include "context/context.h"
#include "read/device_trace.h"
#include "read/host_trace.h"

/* Record-function ids of one side. */
struct rf_range {
    row_t n_ids, n_zero; /* nonzero ids, and zeros, which mean no id */
    value_key low, high; /* smallest and largest nonzero integer; none: low > high */
};

struct pairing {
    const char *host_name, *device_name;
    struct rf_range host, device; /* of nodes and of CPU operators */
    row_t n_nodes, n_cpu_ops;
    bool no_events;               /* the device trace has only metadata, */
    bool no_categories;           /* or no event with a category */
    bool linked;                  /* the host trace is ET+ already */
    bool truncated;               /* the end of the device trace is missing */
    bool other_process;           /* no CPU operator is of the host trace's process */
    int64_t host_pid, device_pid; /* process of the host trace and of the first CPU operator */
    bool other_time;              /* the times do not overlap in any time zone of the host trace, */
    bool in_ns;                   /* but they would if the times of the device trace were nanoseconds */
    bool gpu_in_ns;               /* only as nanoseconds, times of GPU activities fit times of CPU operators */
    char absent_thread[800];      /* why most nodes of the host trace are not below the root, if a thread is absent */
};

/* Fills *pairing; names belong to the traces. SUTRA_SYSTEM: out of memory. */
enum sutra_status pairing_inspect(const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                                  struct pairing *pairing, struct sutra_error *error);

/* Warns if the traces are of different processes or times, or were linked; strict: fails with SUTRA_STRICT. */
enum sutra_status pairing_check(const struct pairing *pairing, struct sutra_context *context,
                                struct sutra_error *error);

/* Bytes of the texts below, with names of files. */
#define PAIRING_TEXT 1024

/* Describes why the traces do not belong together, with advice; false if there is no sign of it. */
bool pairing_misfit(const struct pairing *pairing, char text[static PAIRING_TEXT]);

/* The probable cause if few operators have an id in common, with advice. */
const char *pairing_cause(const struct pairing *pairing);

#endif
