/*
 * trace_copy.h - writing a device trace once more with something added: its bytes are copied as they are.
 */
#ifndef WRITE_TRACE_COPY_H
#define WRITE_TRACE_COPY_H

#include "read/device_trace.h"
#include "write/text_out.h"

/* Copies the file's bytes from *from to `to`, in pieces. */
void trace_copy_to(const struct sutra_device_trace *trace, struct text_out *text, size_t *from, size_t to);

/* Copies a number or string as it stands in the file; what is neither becomes 0 or 1. */
void trace_copy_value(const struct sutra_device_trace *trace, struct text_out *text, struct json_place place);

/* Where the last of the events ends, of which there must be one: at the closing bracket of the array, or white space
 * before it. */
size_t trace_events_end(const struct sutra_device_trace *trace);

/* Where an event ends, behind which only white space and a comma stand before the next one. O(white space), but for the
 * last one O(length). */
size_t trace_event_end(const struct sutra_device_trace *trace, row_t event);

#endif
