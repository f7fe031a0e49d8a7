/*
 * write_text.c - the critical path for people: where its time went, then each edge of it.
 */
#include "critical_path/path.h"

static const char *const kind_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",           [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch latency", [SUTRA_PATH_KERNEL_DELAY] = "kernel gap",
    [SUTRA_PATH_SYNC] = "synchronization",        [SUTRA_PATH_DEPENDENCY] = "dependency",
};

static void write_name(struct text_out *text, const char *name) {
    out_name(text, name, strlen(name));
}

static void write_share(struct text_out *text, const struct sutra_critical_path_report *report, double us,
                        uint64_t n_edges, const char *what) {
    out_format(text, "%16.3f  %5.1f %%  %9llu  ", us, report->us > 0 ? us / report->us * 100 : 0,
               (unsigned long long)n_edges);
    write_name(text, what);
    out_add(text, "\n");
}

static void write_rules(const struct sutra_critical_path_report *report, struct text_out *text) {
    out_format(text, "\n  rules: %s, version %s\n", report->extended ? "extended" : "HTA",
               sutra_hta_version_name(report->hta_version));
    if (report->extended && *report->reason) {
        out_add(text, "  why: " PATH_REFERENCE " finds no critical path:\n    ");
        write_name(text, report->reason);
        out_add(text, "\n");
    } else if (report->extended) {
        out_add(text, "  why: stream 0, HIP, graphs or equal streams of several devices, which HTA does not support\n");
    }
}

static void write_outside(const struct sutra_path_outside *outside, const char *where, struct text_out *text) {
    if (!(outside->us > 0))
        return;
    out_format(text, "  %s the path: %.3f us; operators that start there: %llu, kernels: %llu\n", where, outside->us,
               (unsigned long long)outside->n_operators, (unsigned long long)outside->n_kernels);
    if (!outside->longest)
        return;
    out_format(text, "    longest: %.3f us, ", outside->longest_us);
    write_name(text, outside->longest);
    out_add(text, "\n");
}

static void write_coverage(const struct sutra_critical_path_report *report, struct text_out *text) {
    out_format(text, "  covers: %.3f of %.3f us (%.1f %%), from %.3f to %.3f us of the window\n", report->us,
               report->window_us, report->window_us > 0 ? report->us / report->window_us * 100 : 0, report->begin_us,
               report->end_us);
    write_outside(&report->before, "before", text);
    write_outside(&report->behind, "after", text);
    out_add(text, "\n");
}

static void write_head(const struct sutra_critical_path *path, struct text_out *text) {
    const struct path_search *search = &path->search;
    const struct sutra_critical_path_report *report = &path->report;
    out_add(text, "critical path of ");
    write_name(text, search->trace->document.source.name);
    out_add(text, "\n  window: ");
    write_name(text, report->window ? report->window : "the whole trace");
    write_rules(report, text);
    out_format(text, "  graph: %llu nodes, %llu edges; path: %llu nodes, %.3f us\n",
               (unsigned long long)report->n_nodes, (unsigned long long)report->n_edges,
               (unsigned long long)report->n_path_nodes, report->us);
}

static void write_breakdown(const struct sutra_critical_path_report *report, struct text_out *text) {
    out_add(text, "              us   share      edges  of the path\n");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++) {
        write_share(text, report, report->kind_us[kind], report->kind_edges[kind], kind_words[kind]);
        for (uint64_t i = 0; i < report->n_shares; i++) {
            const struct sutra_path_share *share = &report->shares[i];
            if (share->kind != (enum sutra_path_kind)kind || !share->name)
                continue;
            out_format(text, "%16.3f  %5.1f %%  %9llu    ", share->us,
                       report->us > 0 ? share->us / report->us * 100 : 0, (unsigned long long)share->n_edges);
            write_name(text, share->name);
            out_add(text, "\n");
            out_step(text);
        }
    }
    out_format(text, "\nkernels on the path: %.3f us compute, %.3f us communication, %.3f us memory\n\n",
               report->compute_us, report->communication_us, report->memory_us);
    if (report->data_loading_us > 0)
        out_format(text, "data loading: %.3f us of the operators' time\n\n", report->data_loading_us);
}

/* Each edge: when it begins, how long it is, its kind, and whose time it is, or from what to what it leads. */
static void write_edges(const struct path_search *search, struct text_out *text) {
    out_add(text, "              at              us  kind                 event\n");
    for (node_t i = 0; i + 1 < search->path.n; i++) {
        uint32_t edge = search->path.edge[i];
        row_t owner;
        enum sutra_path_kind kind = edge_kind(search, edge, &owner);
        out_format(text, "%16.3f%16.3f  %-19s  ", node_time(&search->rows, &search->graph, search->path.node[i]),
                   search->graph.weight[edge], kind_words[kind]);
        row_t from = node_event(&search->graph, search->path.node[i]);
        row_t to = node_event(&search->graph, search->path.node[i + 1]);
        out_integer(text, owner == ROW_NONE ? from : owner);
        out_add(text, " ");
        write_name(text, event_name(search, owner == ROW_NONE ? from : owner));
        if (owner == ROW_NONE) {
            out_add(text, " -> ");
            out_integer(text, to);
            out_add(text, " ");
            write_name(text, event_name(search, to));
        }
        out_add(text, "\n");
        out_step(text);
    }
}

bool write_path_text(const struct sutra_critical_path *path, struct text_out *text) {
    write_head(path, text);
    write_coverage(&path->report, text);
    write_breakdown(&path->report, text);
    write_edges(&path->search, text);
    return true;
}
