/*
 * write.h - a device trace once more with flows behind its events; flows of some categories may be left out.
 */
#ifndef TREE_WRITE_H
#define TREE_WRITE_H

#include <stdbool.h>

#include "read/device_trace.h"
#include "write/text.h"

struct trace_flows {
    const struct sutra_device_trace *trace;
    struct text_out *text;
    size_t from; /* what comes next of the file */
    bool empty;  /* nothing stands in the array yet */
};

/* Writes the file up to the end of its last event; `dropped` (may be NULL) has 1 for each event that is left out. */
struct trace_flows trace_flows_begin(const struct sutra_device_trace *trace, struct text_out *text,
                                     const uint8_t *dropped);

/* Writes a flow between two events, whose id, category and name are given. */
void trace_flows_add(struct trace_flows *flows, row_t from, row_t to, uint64_t id, const char *name);

/* Writes the rest of the file. */
void trace_flows_end(struct trace_flows *flows);

#endif
