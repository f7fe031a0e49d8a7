/*
 * path_table.h - the critical path of a small device trace (trace_text.h) as a line of text.
 *
 * A path is written as its edges in insertion order, then its nodes:
 *
 *     1s>2s O2 1e>3s D0 | 1s 2s 2e 1e 3s 3e
 *
 * with the event's number, s for start and e for end, and O, D, L, K, S for the type with its weight.
 */
#ifndef TESTS_PATH_TABLE_H
#define TESTS_PATH_TABLE_H

#include "critical_path/path.h"
#include "sutra/sutra.h"
#include "trace_text.h"

/* The step of most traces. */
#define STEP_1 "user_annotation ProfilerStep#1 ts=0+100; "

/* The reference wants an operator somewhere: one on a thread of its own. */
#define SOME_OP "cpu_op o tid=9 ts=0+1"

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

static inline struct sutra_context *make_context(void) {
    return NEW_CONTEXT(.n_threads = 1, .lenient = true);
}

#endif
