/*
 * timeline_sources.h - what the measured timeline takes from a device trace, whoever says which operators there are:
 * kernels with their launches, calls that wait for the GPU, and streams that wait for each other.
 *
 *     kernel --correlation--> call                                          its launch
 *     calls that synchronise --correlation--> cuda_sync event               what they wait for
 *     cuda_sync events "Stream Wait Event" --correlation--> calls           what streams wait for
 *
 *     begin, threads, (kernels begin, add ..., finish), calls and orders, free
 */
#ifndef SIMULATE_TIMELINE_SOURCES_H
#define SIMULATE_TIMELINE_SOURCES_H

#include "columns/pair_table.h"
#include "context/context.h"
#include "facts/names.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "simulate/timeline.h"

struct timeline_sources {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct arena *arena; /* of all columns */
    const struct string_roles *roles;

    row_t *calls, *syncs; /* events, as the file has them */
    row_t n_calls, n_syncs;
    struct key_index call_of, sync_of;          /* correlation -> first call, last synchronisation event */
    struct asked_column awaited_stream, record; /* of synchronisation events */

    struct key_index thread_of; /* tid -> position of an operator on it */
    const uint32_t *op_thread;  /* by position: the thread's number */

    struct pair_table stream_of; /* stream -> its number */
    uint32_t n_streams;
};

/* Finds calls and synchronisation events. To be freed also after a failure. SUTRA_SYSTEM: out of memory. */
enum sutra_status timeline_sources_begin(struct timeline_sources *sources, struct sutra_context *context,
                                         const struct sutra_device_trace *trace, struct arena *arena,
                                         struct sutra_error *error);
void timeline_sources_free(struct timeline_sources *sources);

/* Tells the threads of the operators: events[i] runs on thread[i], which outlives the sources. */
enum sutra_status timeline_sources_thread(struct timeline_sources *sources, const row_t *events, const uint32_t *thread,
                                          row_t n, struct sutra_error *error);

/* Whether the event lasts from one time to another. */
bool timeline_event_lasts(const struct timeline_sources *sources, row_t event);
double timeline_event_start(const struct timeline_sources *sources, row_t event);
double timeline_event_end(const struct timeline_sources *sources, row_t event);

/* The call with the event's correlation, or ROW_NONE. */
row_t timeline_call_of(const struct timeline_sources *sources, row_t event);

/* ---- Kernels ---- */

/* The columns while they are filled. */
struct kernel_columns {
    row_t n;
    uint64_t *id;
    double *start, *end, *launch_start, *launch_end;
    uint32_t *stream, *thread;
    row_t *event;
    uint8_t *traits;
};

/* Room for n kernels; false: out of memory. */
bool timeline_kernels_begin(const struct timeline_sources *sources, size_t n, struct kernel_columns *columns);
/* Adds one, by rising id; false: out of memory. */
bool timeline_kernels_add(struct timeline_sources *sources, struct kernel_columns *columns, uint64_t id, row_t event);
struct timeline_kernels timeline_kernels_finish(const struct timeline_sources *sources,
                                                const struct kernel_columns *columns);

/* ---- Calls and orders, once the streams of all kernels are known ---- */

enum sutra_status timeline_read_waits(struct timeline_sources *sources, struct timeline_input *input,
                                      struct sutra_error *error);

#endif
