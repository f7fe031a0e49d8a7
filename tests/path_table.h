/*
 * path_table.h - small device traces as strings, and a critical path as a line of text.
 *
 *     OP("a", 10, 5, 11)                  an operator from 10 to 15 with external id 11
 *     CALL("cudaLaunchKernel", 12, 1, 7)  a call with correlation 7
 *     KERNEL(20, 14, 3, 7)                a kernel on stream 20, launched by this call
 *
 * A path is written as its edges in insertion order, then its nodes:
 *
 *     1s>2s O2 1e>3s D0 | 1s 2s 2e 1e 3s 3e
 *
 * with the event's number, s for start and e for end, and O, D, L, K, S for the type with its weight.
 */
#ifndef TESTS_PATH_TABLE_H
#define TESTS_PATH_TABLE_H

#include <stdio.h>
#include <string.h>

#include "critical_path/path.h"
#include "sutra/sutra.h"

#define EVENT(cat, name, pid, tid, ts, dur, args)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" #pid ",\"tid\":" #tid ",\"ts\":" #ts            \
    ",\"dur\":" #dur ",\"args\":{" args "}}"
#define STEP(number, ts, dur)          EVENT("user_annotation", "ProfilerStep#" #number, 1, 1, ts, dur, "")
#define OP_ON(tid, name, ts, dur, ext) EVENT("cpu_op", name, 1, tid, ts, dur, "\"External id\":" #ext)
#define OP(name, ts, dur, ext)         OP_ON(1, name, ts, dur, ext)
#define CALL_ON(tid, name, ts, dur, correlation)                                                                       \
    EVENT("cuda_runtime", name, 1, tid, ts, dur, "\"correlation\":" #correlation ",\"External id\":90" #correlation)
#define CALL(name, ts, dur, correlation) CALL_ON(1, name, ts, dur, correlation)
#define LAUNCH(ts, dur, correlation)     CALL("cudaLaunchKernel", ts, dur, correlation)
#define ON_STREAM(cat, name, device, stream, ts, dur, correlation, more)                                               \
    EVENT(cat, name, device, stream, ts, dur,                                                                          \
          "\"stream\":" #stream ",\"correlation\":" #correlation ",\"External id\":80" #correlation more)
#define KERNEL(stream, ts, dur, correlation)     ON_STREAM("kernel", "k", 0, stream, ts, dur, correlation, "")
#define SYNC(name, stream, ts, dur, correlation) ON_STREAM("cuda_sync", name, 0, stream, ts, dur, correlation, "")
#define WAIT(name, stream, ts, dur, correlation, for_stream, record)                                                   \
    ON_STREAM("cuda_sync", name, 0, stream, ts, dur, correlation,                                                      \
              ",\"wait_on_stream\":" #for_stream ",\"wait_on_cuda_event_record_corr_id\":" #record)

#define BARE_TRACE(events) "{\"traceEvents\":[" events "]}"

/* The reference wants an operator somewhere: one on a thread of its own. */
#define TRACE_OF(events) BARE_TRACE(events "," OP_ON(9, "o", 0, 1, 1))

static inline void tell_node(const struct path_search *search, node_t node, char *text, size_t size) {
    snprintf(text + strlen(text), size - strlen(text), "%u%c", node_event(&search->graph, node),
             node_is_end(node) ? 'e' : 's');
}

/* Writes an edge unless it was written before: hubs may represent one edge twice. */
static inline void tell_edge(const struct path_search *search, node_t from, uint32_t edge, char *text, size_t size) {
    const struct graph *graph = &search->graph;
    char line[64] = "";
    tell_node(search, from, line, sizeof line);
    strcat(line, ">");
    tell_node(search, graph->to[edge], line, sizeof line);
    snprintf(line + strlen(line), sizeof line - strlen(line), " %c%g ", "ODLKS"[graph->type[edge]],
             graph -> weight[edge]);
    if (!strstr(text, line))
        snprintf(text + strlen(text), size - strlen(text), "%s", line);
}

/* The search as text: its path, or how and why it ended. */
static inline void tell_search(const struct path_search *search, char *text, size_t size) {
    const struct graph *graph = &search->graph;
    *text = 0;
    if (search->verdict.outcome != OUTCOME_PATH) {
        snprintf(text, size, "%s: %s", search->verdict.outcome == OUTCOME_EMPTY ? "empty" : "crash",
                 search->verdict.reason);
        return;
    }
    for (uint32_t edge = 0; edge < graph->n_edges; edge++) {
        if (!edge_is_hub(graph, edge))
            tell_edge(search, graph->from[edge], edge, text, size);
        for (uint32_t i = 0; edge_is_hub(graph, edge) && i < graph->hubs.n_sources; i++)
            if (hub_has(&graph->hubs, edge_hub(graph, edge), i))
                tell_edge(search, (graph->n_cpu_pairs + i) * 2 + 1, edge, text, size);
    }
    strcat(text, "|");
    for (node_t i = 0; i < search->path.n; i++) {
        strcat(text, " ");
        tell_node(search, search->path.node[i], text, size);
    }
}

static inline struct sutra_device_trace *parse(struct sutra_context *context, const char *text) {
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_device_trace_parse(context, "trace", text, strlen(text), &trace, &error), SUTRA_OK);
    return trace;
}

static inline struct sutra_context *make_context(void) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .lenient = true};
    struct sutra_context *context = NULL;
    assert_int_equal(sutra_context_create(&options, &context, NULL), SUTRA_OK);
    return context;
}

#endif
