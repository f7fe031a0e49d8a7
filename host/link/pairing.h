/*
 * pairing.h - whether a host trace and a device trace were recorded together, and where not, what they show of the
 * cause.
 *
 *     host trace     pid 8403     time + (finish_ts - start_ts)     rf_id  3 .. 499 \
 *                                                                                    the same process, time and steps?
 *     device trace   pid of its   ts of its first and last          rf_id  3 .. 499 /
 *                    CPU operators
 *
 * Nothing is linked or left out by this: traces of two ranks have the same ids for the same operators, so that they
 * link nearly as well as those of one, and only the process tells.
 *
 * Cost: O(n).
 */
#ifndef LINK_PAIRING_H
#define LINK_PAIRING_H

#include "read/device_trace.h"
#include "read/host_trace.h"

/* Record-function ids of one side. */
struct rf_range {
    row_t n_ids, n_zero; /* those that are ids, and those that are 0, which stands for none */
    value_key low, high; /* of the former, as far as they are integers; none: low > high */
};

struct pairing {
    const char *host_name, *device_name;
    struct rf_range host, device; /* of nodes and of CPU operators */
    row_t n_nodes, n_cpu_ops;
    bool linked;                  /* the host trace is ET+: this was done before */
    bool other_process;           /* no CPU operator is of the host trace's process */
    int64_t host_pid, device_pid; /* that process, and that of the first CPU operator */
    bool other_time;              /* they do not overlap, whatever the time zone of the host trace's clock is */
};

/* Fills *pairing; names belong to the traces. SUTRA_SYSTEM: out of memory. */
enum sutra_status pairing_look(const struct sutra_host_trace *host, const struct sutra_device_trace *device,
                               struct pairing *pairing, struct sutra_error *error);

/* Warns where the two are of different processes or times, or were linked; in strict mode this fails with
 * SUTRA_STRICT. */
enum sutra_status pairing_judge(const struct pairing *pairing, struct sutra_context *context,
                                struct sutra_error *error);

/* Room for the texts below, with names of files. */
#define PAIRING_TEXT 1024

/* What does not fit, and what to do; false: nothing is known that does not. */
bool pairing_misfit(const struct pairing *pairing, char text[static PAIRING_TEXT]);

/* Why few operators have an id in common, as far as the traces show it, and what to do. */
const char *pairing_cause(const struct pairing *pairing);

#endif
