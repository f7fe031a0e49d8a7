/*
 * profile.h - inside of struct sutra_profile: events as columns, in the order in which they were recorded.
 *
 *     kind           enum sutra_event_kind
 *     scope          enum sutra_scope, of operators
 *     gpu            enum event_site
 *     flow_role      enum sutra_flow_role, of Kineto events
 *     name           number of a string
 *     start, end     nanoseconds; end: or EVENT_NO_END
 *     thread         dense number of the thread (of a Kineto event with a parent: the parent's)
 *     forward        dense number of the thread to fall back on, or THREAD_NONE
 *     tid            autograd's small number of the thread; 0: not known
 *     forward_tid    the same of the forward thread; 0: no backward operator
 *     sequence       below 0: none
 *     flow           flow id, of Kineto events in flows
 *     parent         row above by flow or link, or ROW_NONE
 *     event          position in the file's array
 *     index          "Ev Idx", or else that position
 *     memory, bytes, device   of allocations: address, size, number of the device
 */
#ifndef TREE_PROFILE_H
#define TREE_PROFILE_H

#include "columns/strings.h"
#include "facts/times.h"
#include "match/call_tree.h"
#include "read/device_trace.h"
#include "read/host_trace.h"
#include "sutra/profiler.h"
#include "tree/inputs.h"
#include "write/text.h"

/* Where an event runs. What else is on the device waits, or only has a name. */
enum event_site { EVENT_ON_HOST, EVENT_GPU_OPERATOR, EVENT_ON_DEVICE };

/* X(type, name) for each column. */
#define PROFILE_COLUMNS(X)                                                                                             \
    X(uint8_t, kind)                                                                                                   \
    X(uint8_t, scope)                                                                                                  \
    X(uint8_t, gpu)                                                                                                    \
    X(uint8_t, flow_role)                                                                                              \
    X(uint32_t, name)                                                                                                  \
    X(int64_t, start)                                                                                                  \
    X(int64_t, end)                                                                                                    \
    X(uint32_t, thread)                                                                                                \
    X(uint32_t, forward)                                                                                               \
    X(int64_t, tid)                                                                                                    \
    X(int64_t, forward_tid)                                                                                            \
    X(int64_t, sequence)                                                                                               \
    X(int64_t, flow)                                                                                                   \
    X(row_t, parent)                                                                                                   \
    X(row_t, event)                                                                                                    \
    X(int64_t, index)                                                                                                  \
    X(uint64_t, memory)                                                                                                \
    X(int64_t, bytes)                                                                                                  \
    X(uint32_t, device)

struct sutra_profile {
    row_t n, capacity;
#define X(type, name) type *name;
    PROFILE_COLUMNS(X)
#undef X
    uint32_t n_threads;
    const struct strings *strings; /* names: the trace's, or those below */
    struct strings own_strings;
    const struct sutra_device_trace *trace; /* what it was taken from, or NULL */
    struct sutra_inputs *inputs;            /* of each operator, in the order of rows; NULL: not recorded */
    bool has_ids;                           /* inputs have addresses, or ids, of tensors and storages */
    row_t n_allocations;
    bool whole_us; /* all times are whole microseconds */
    struct sutra_profile_report report;
};

/* A profile without events. NULL: out of memory. */
struct sutra_profile *profile_new(void);

/* Room for n rows in all; false: out of memory. */
bool profile_reserve(struct sutra_profile *profile, row_t n);

/* Appends a row in which all is absent; there must be room. */
row_t profile_append(struct sutra_profile *profile, enum sutra_event_kind kind, row_t event);

/* Counts of kinds, for the report. */
void profile_count(struct sutra_profile *profile);

/* Writes a thread as the file calls it, as JSON. */
void write_thread_name(const struct sutra_profile *profile, row_t row, struct text_out *text);

static inline bool event_is_memory(uint8_t kind) {
    return kind == SUTRA_EVENT_ALLOCATION || kind == SUTRA_EVENT_OUT_OF_MEMORY;
}

#endif
