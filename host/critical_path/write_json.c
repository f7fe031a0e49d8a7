/*
 * write_json.c - the critical path as one JSON object:
 *
 *     kind, map, caught, exception   the reference's map: external id -> external ids that it waits for, how it ended
 *     rules, hta_version             "reference" or "extended", "0.5" or "0.6": by which nodes, edges and path were found
 *     nodes                          [event, microseconds since the first event, is it the start]
 *     edges                          [from, to, weight, type], by node
 *     path                           nodes
 *     coverage                       what of the window the path covers, and what begins before it and behind it
 *     breakdown                      microseconds on the path
 */
#include <stdlib.h>
#include <string.h>

#include "critical_path/path.h"

static const char *const type_words[EDGE_N_TYPES] = {
    [EDGE_OPERATOR] = "OPERATOR_KERNEL",
    [EDGE_DEPENDENCY] = "DEPENDENCY",
    [EDGE_LAUNCH_DELAY] = "KERNEL_LAUNCH_DELAY",
    [EDGE_KERNEL_DELAY] = "KERNEL_KERNEL_DELAY",
    [EDGE_SYNC] = "SYNC_DEPENDENCY",
};

static const char *const kind_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",         [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch_delay", [SUTRA_PATH_KERNEL_DELAY] = "kernel_kernel_delay",
    [SUTRA_PATH_SYNC] = "synchronisation",      [SUTRA_PATH_DEPENDENCY] = "dependency",
};

/* ---- The map ---- */

struct id_pair {
    value_key end, start;
};

static int compare_pairs(const void *left, const void *right) {
    const struct id_pair *a = left, *b = right;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

/* An id as a JSON value, or as a key. */
static void write_id(const struct values *odd, struct text_out *text, value_key id, bool as_key) {
    if (key_is_integer(id)) {
        out_add(text, as_key ? "\"" : "");
        out_integer(text, id);
        out_add(text, as_key ? "\"" : "");
    } else if (id < KEY_VALUES) {
        out_add(text, as_key ? "\"None\"" : "null");
    } else {
        struct value value = values_at(odd, id);
        out_string(text, value.text, value.length);
    }
}

static bool write_map(const struct sutra_critical_path *path, struct text_out *text) {
    const struct sync_map *map = &path->map;
    struct id_pair *pairs = malloc(((size_t)map->n + 1) * sizeof *pairs);
    if (!pairs)
        return false;
    for (row_t i = 0; i < map->n; i++)
        pairs[i] = (struct id_pair){map->end[i], map->start[i]};
    qsort(pairs, map->n, sizeof *pairs, compare_pairs);
    out_add(text, "{\"kind\": \"map\",\n\"map\": {");
    for (row_t i = 0; i < map->n; i++) {
        bool begins = i == 0 || pairs[i].end != pairs[i - 1].end;
        if (begins) {
            out_add(text, i ? "], " : "");
            write_id(&path->context->values, text, pairs[i].end, true);
        }
        out_add(text, begins ? ": [" : ", ");
        write_id(&path->context->values, text, pairs[i].start, false);
    }
    out_add(text, map->n ? "]},\n" : "},\n");
    free(pairs);
    return true;
}

static void write_outcome(const struct sutra_critical_path *path, struct text_out *text) {
    out_add(text, "\"caught\": [");
    if (path->verdict.outcome == OUTCOME_EMPTY)
        out_string(text, path->verdict.reason, strlen(path->verdict.reason));
    out_add(text, "],\n\"exception\": ");
    if (path->verdict.outcome == OUTCOME_CRASH)
        out_string(text, path->verdict.reason, strlen(path->verdict.reason));
    else
        out_add(text, "null");
    out_format(text, ",\n\"rules\": \"%s\",\n\"hta_version\": \"%s\",\n",
               path->report.extended ? "extended" : "reference", sutra_hta_version_name(path->report.hta_version));
}

/* ---- The graph ---- */

static void write_nodes(const struct path_search *search, struct text_out *text) {
    out_add(text, "\"nodes\": [");
    for (node_t node = 0; node < graph_nodes(&search->graph); node++) {
        out_add(text, node ? ",\n[" : "\n[");
        out_integer(text, node_event(&search->graph, node));
        out_add(text, ", ");
        out_number(text, node_time(&search->rows, &search->graph, node));
        out_add(text, node_is_end(node) ? ", false]" : ", true]");
        out_step(text);
    }
    out_add(text, "],\n");
}

static void write_edge(const struct graph *graph, struct text_out *text, node_t from, uint32_t edge, bool first) {
    out_add(text, first ? "\n[" : ",\n[");
    out_integer(text, from);
    out_add(text, ", ");
    out_integer(text, graph->to[edge]);
    out_add(text, ", ");
    out_number(text, graph->weight[edge]);
    out_add(text, ", \"");
    out_add(text, type_words[graph->type[edge]]);
    out_add(text, "\"]");
    out_step(text);
}

/* What hubs stand for is spelt out here. `from[v]`: the last node from which an edge to v was written, + 1. */
static bool write_edges(const struct graph *graph, struct text_out *text) {
    node_t *from = calloc((size_t)graph_nodes(graph) + 1, sizeof *from);
    bool first = true;
    if (!from)
        return false;
    out_add(text, "\"edges\": [");
    for (node_t node = 0; node < graph_nodes(graph); node++) {
        struct edge_lists lists = edges_from(graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists)) {
            if (from[graph->to[edge]] == node + 1)
                continue;
            from[graph->to[edge]] = node + 1;
            write_edge(graph, text, node, edge, first);
            first = false;
        }
    }
    out_add(text, "],\n");
    free(from);
    return true;
}

static void write_nodes_of_path(const struct path_search *search, struct text_out *text) {
    out_add(text, "\"path\": [");
    for (node_t i = 0; i < search->path.n; i++) {
        out_add(text, i ? ", " : "");
        out_integer(text, search->path.node[i]);
        out_step(text);
    }
    out_add(text, "],\n");
}

/* ---- Sums ---- */

static void write_sum(struct text_out *text, const char *name, double us, bool comma) {
    out_format(text, "%s\"%s\": ", comma ? ", " : "", name);
    out_number(text, us);
}

static void write_outside(struct text_out *text, const char *name, const struct sutra_path_outside *outside) {
    out_format(text, ",\n\"%s\": {", name);
    write_sum(text, "us", outside->us, false);
    out_format(text,
               ", \"operators\": %llu, \"kernels\": %llu, \"longest\": ", (unsigned long long)outside->n_operators,
               (unsigned long long)outside->n_kernels);
    if (outside->longest)
        out_string(text, outside->longest, strlen(outside->longest));
    else
        out_add(text, "null");
    write_sum(text, "longest_us", outside->longest_us, true);
    out_add(text, "}");
}

static void write_coverage(const struct sutra_critical_path_report *report, struct text_out *text) {
    out_add(text, "\"coverage\": {");
    write_sum(text, "window_us", report->window_us, false);
    write_sum(text, "path_us", report->us, true);
    write_sum(text, "begin_us", report->begin_us, true);
    write_sum(text, "end_us", report->end_us, true);
    write_outside(text, "before_path", &report->before);
    write_outside(text, "after_path", &report->behind);
    out_add(text, "},\n");
}

static void write_breakdown(const struct sutra_critical_path_report *report, struct text_out *text) {
    out_add(text, "\"breakdown\": {");
    write_sum(text, "total_us", report->us, false);
    out_add(text, ",\n\"by_kind_us\": {");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++)
        write_sum(text, kind_words[kind], report->kind_us[kind], kind > 0);
    out_add(text, "},\n\"kernels_us\": {");
    write_sum(text, "compute", report->compute_us, false);
    write_sum(text, "communication", report->communication_us, true);
    write_sum(text, "memory", report->memory_us, true);
    out_add(text, "},\n\"data_loading_us\": ");
    out_number(text, report->data_loading_us);
    out_add(text, ",\n\"shares\": [");
    for (uint64_t i = 0; i < report->n_shares; i++) {
        const struct sutra_path_share *share = &report->shares[i];
        out_format(text, "%s\n{\"kind\": \"%s\", \"name\": ", i ? "," : "", kind_words[share->kind]);
        if (share->name)
            out_string(text, share->name, strlen(share->name));
        else
            out_add(text, "null");
        write_sum(text, "us", share->us, true);
        out_format(text, ", \"edges\": %llu}", (unsigned long long)share->n_edges);
        out_step(text);
    }
    out_add(text, "]}}\n");
}

bool write_path_json(const struct sutra_critical_path *path, struct text_out *text) {
    if (!write_map(path, text))
        return false;
    write_outcome(path, text);
    write_nodes(&path->search, text);
    if (!write_edges(&path->search.graph, text))
        return false;
    write_nodes_of_path(&path->search, text);
    write_coverage(&path->report, text);
    write_breakdown(&path->report, text);
    return true;
}
