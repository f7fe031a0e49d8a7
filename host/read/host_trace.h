/*
 * host_trace.h - members of struct sutra_host_trace, for the readers of its columns.
 */
#ifndef READ_HOST_TRACE_H
#define READ_HOST_TRACE_H

#include "base/memory.h"
#include "columns/traces.h"
#include "read/document.h"
#include "sutra/trace.h"

struct trace_validity;

struct sutra_host_trace {
    struct document document;
    struct host_nodes nodes;
    struct trace_validity *validity; /* facts/validity.h */
    char *schema;                    /* "" if the file has none */
    bool flat;                       /* nodes have the form of schema 1.0.1 */
    uint64_t n_fields_dropped;       /* fields of the wrong type, ignored */
    struct holders holders;          /* references to the columns */
};

/* Reads a trace for sutra_host_trace_read() (facts/validity_host.c), which checks its nodes. */
enum sutra_status host_trace_read(struct sutra_context *context, const struct source_input *input,
                                  struct sutra_host_trace **trace, struct sutra_error *error);

/* SUTRA_DATA: the trace has no nodes. */
enum sutra_status host_trace_check_nodes(const struct sutra_host_trace *trace, struct sutra_error *error);

/* Releases a reference to the nodes; see device_trace_unref(). */
void host_trace_unref(struct sutra_host_trace *trace);

#endif
