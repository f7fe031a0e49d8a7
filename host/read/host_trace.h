/*
 * host_trace.h - inside of struct sutra_host_trace.
 */
#ifndef READ_HOST_TRACE_H
#define READ_HOST_TRACE_H

#include "base/memory.h"
#include "columns/traces.h"
#include "read/document.h"
#include "sutra/trace.h"

struct sutra_host_trace {
    struct document document;
    struct host_nodes nodes;
    char *schema;              /* "" where the file has none */
    bool flat;                 /* nodes have the form of schema 1.0.1 */
    uint64_t n_fields_dropped; /* fields of a wrong type taken as absent */
    struct holders holders;    /* columns that were given away */
};

/* Ends a look at the nodes, which holders_add() began; see device_trace_leave(). */
void host_trace_leave(struct sutra_host_trace *trace);

#endif
