/*
 * write.h - copies a device trace, optionally without some events, and appends flows.
 */
#ifndef TREE_WRITE_H
#define TREE_WRITE_H

#include <stdbool.h>

#include "read/device_trace.h"
#include "write/text.h"

struct trace_flows {
    const struct sutra_device_trace *trace;
    struct text_out *text;
    size_t from; /* the next byte of the file to copy */
    bool empty;  /* the array has no element yet */
};

/* Writes the file up to the end of its last event, without the events whose `dropped` (may be NULL) is 1. */
struct trace_flows trace_flows_begin(const struct sutra_device_trace *trace, struct text_out *text,
                                     const uint8_t *dropped);

/* Writes a flow between two events; `name` is also its category. */
void trace_flows_add(struct trace_flows *flows, row_t from, row_t to, uint64_t id, const char *name);

/* Writes the rest of the file. */
void trace_flows_end(struct trace_flows *flows);

#endif
