/*
 * plain_nodes.h - compares the rows of a host trace with rows from a parse of each node alone, without learned layouts.
 */
#ifndef TESTS_PLAIN_NODES_H
#define TESTS_PLAIN_NODES_H

#include <string.h>

#include "base/memory.h"
#include "context/context.h"
#include "read/host_trace.h"

/* The first difference, or NULL. NaN differs from every value, also as an id. */
static inline const char *node_difference(struct sutra_context *context, const struct sutra_host_trace *trace,
                                          row_t row) {
    const struct host_nodes *nodes = &trace->nodes;
    const char *node = trace->document.source.bytes + nodes->text[row], *what = NULL;
    size_t length = nodes->end[row] - nodes->text[row];
    struct sutra_host_trace *alone = NULL;
    struct buffer text = {0};
    const char *schema =
        trace->flat ? "{\"schema\": \"1.0.1\", \"nodes\": [" : "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [";
    buffer_append(&text, schema, strlen(schema));
    buffer_append(&text, node, length);
    buffer_append(&text, "]}", 2);
    if (text.failed || sutra_host_trace_parse(context, "node", text.bytes, text.length, &alone, NULL))
        what = "it is refused";
    else if (alone->nodes.end[0] - alone->nodes.text[0] != length)
        what = "end";
    else if (memmem(node, length, "NaN", 3))
        what = NULL;
    else if (alone->nodes.id[0] != nodes->id[row])
        what = "id";
    else if (alone->nodes.parent[0] != nodes->parent[row])
        what = "parent";
    else if (alone->nodes.rf[0] != nodes->rf[row])
        what = "rf_id";
    else if (alone->nodes.ctrl_deps[0] != nodes->ctrl_deps[row])
        what = "ctrl_deps";
    sutra_host_trace_free(alone);
    buffer_free(&text);
    return what;
}

#endif
