/*
 * device_trace.h - members of struct sutra_device_trace, for the readers of its columns.
 */
#ifndef READ_DEVICE_TRACE_H
#define READ_DEVICE_TRACE_H

#include "base/memory.h"
#include "columns/strings.h"
#include "columns/traces.h"
#include "read/document.h"
#include "read/event_columns.h"
#include "read/event_fields.h"
#include "sutra/trace.h"

struct trace_processes;
struct trace_validity;

struct sutra_device_trace {
    struct document document;
    struct device_events events;
    struct strings strings;          /* names and categories */
    uint64_t n_fields_dropped;       /* fields of the wrong type, ignored */
    uint64_t n_not_objects;          /* elements of an array of events that are no objects: rows without fields */
    uint64_t n_lower_external;       /* events with an "external id", as some older traces write it */
    struct sutra_count *categories;  /* made for the summary */
    struct kept_columns *columns;    /* requested later: event_columns.h */
    int64_t skipped_ns;              /* from the first event to the first one that a restriction keeps */
    struct trace_validity *validity; /* facts/validity.h */
    struct holders holders;          /* references to the columns */

    struct trace_processes *processes; /* facts/processes.h; NULL: all calls have one pid */
};

/* Reads a trace for sutra_device_trace_read() (facts/validity.c), which checks its events. */
enum sutra_status device_trace_read(struct sutra_context *context, const struct source_input *input,
                                    struct sutra_device_trace **trace, struct sutra_error *error);

/* Releases a reference to the events' columns, which refcount_add() added. If the owner has freed the trace, only the
 * columns are left, and the last reference frees them. */
void device_trace_unref(struct sutra_device_trace *trace);

/* Whether the trace has only metadata events. O(metadata events). */
bool device_trace_is_empty(const struct sutra_device_trace *trace);

/* SUTRA_DATA: the trace is empty; or no event has a category, apart from metadata, flows, instant events and counters,
 * so that there are no operators and kernels. O(events without a category). */
enum sutra_status device_trace_check_events(const struct sutra_device_trace *trace, struct sutra_error *error);

/* Finds the fields of an event in the trace's text, for fields without a column. O(length of the event). */
void event_find(const struct sutra_device_trace *trace, row_t event, struct event_forms *learned,
                struct event_spans *places);

/* The text from event `first` to event `last` is not needed any more; as in source_return_pages(). */
void events_passed(const struct sutra_device_trace *trace, row_t first, row_t last);

/* An error about one event, with its offset: "event 12: field 'ts': ...". */
enum sutra_status event_error(const struct sutra_device_trace *trace, row_t event, const char *field,
                              const char *expected, struct sutra_error *error);

#endif
