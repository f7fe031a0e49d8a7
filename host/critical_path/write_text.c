/*
 * write_text.c - the critical path for people: where its time went, then each edge of it.
 */
#include "critical_path/path.h"

static const char *const kind_words[SUTRA_PATH_N_KINDS] = {
    [SUTRA_PATH_OPERATOR] = "operator",         [SUTRA_PATH_KERNEL] = "kernel",
    [SUTRA_PATH_LAUNCH_DELAY] = "launch delay", [SUTRA_PATH_KERNEL_DELAY] = "kernel-kernel delay",
    [SUTRA_PATH_SYNC] = "synchronisation",      [SUTRA_PATH_DEPENDENCY] = "next operator",
};

static const char *name_of(const struct path_search *search, row_t event) {
    return strings_text(&search->trace->strings, search->events->name[event]);
}

static void write_share(struct text_writer *text, const struct sutra_critical_path_report *report, double us,
                        uint64_t n_edges, const char *what) {
    text_writer_format(text, "%16.3f  %5.1f %%  %9llu  ", us, report->us > 0 ? us / report->us * 100 : 0,
                       (unsigned long long)n_edges);
    text_writer_add(text, what);
    text_writer_add(text, "\n");
}

static void write_head(const struct sutra_critical_path *path, struct text_writer *text) {
    const struct path_search *search = &path->search;
    const struct sutra_critical_path_report *report = &path->report;
    text_writer_add(text, "critical path of ");
    text_writer_add(text, search->trace->document.source.name);
    text_writer_add(text, "\n  window: ");
    text_writer_add(text, search->annotation == ROW_NONE ? "the whole trace" : name_of(search, search->annotation));
    text_writer_format(text, "\n  rules: %s\n", report->extended ? "extended" : "the reference's");
    text_writer_format(text, "  graph: %llu nodes, %llu edges; path: %llu nodes, %.3f us\n\n",
                       (unsigned long long)report->n_nodes, (unsigned long long)report->n_edges,
                       (unsigned long long)report->n_path_nodes, report->us);
}

static void write_breakdown(const struct sutra_critical_path_report *report, struct text_writer *text) {
    text_writer_add(text, "              us   share      edges  of the path\n");
    for (int kind = 0; kind < SUTRA_PATH_N_KINDS; kind++) {
        write_share(text, report, report->kind_us[kind], report->kind_edges[kind], kind_words[kind]);
        for (uint64_t i = 0; i < report->n_shares; i++) {
            const struct sutra_path_share *share = &report->shares[i];
            if (share->kind != (enum sutra_path_kind)kind || !share->name)
                continue;
            text_writer_format(text, "%16.3f  %5.1f %%  %9llu    ", share->us,
                               report->us > 0 ? share->us / report->us * 100 : 0, (unsigned long long)share->n_edges);
            text_writer_add(text, share->name);
            text_writer_add(text, "\n");
            text_writer_step(text);
        }
    }
    text_writer_format(text, "\nkernels on the path: %.3f us compute, %.3f us communication, %.3f us memory\n\n",
                       report->compute_us, report->communication_us, report->memory_us);
}

/* Each edge: when it begins, how long it is, its kind, and whose time it is, or from what to what it leads. */
static void write_edges(const struct path_search *search, struct text_writer *text) {
    text_writer_add(text, "              at              us  kind                 event\n");
    for (node_t i = 0; i + 1 < search->n_path; i++) {
        uint32_t edge = search->path_edge[i];
        row_t owner;
        enum sutra_path_kind kind = edge_kind(search, edge, &owner);
        text_writer_format(text, "%16.3f%16.3f  %-19s  ", node_time(search, search->path[i]),
                           search->graph.weight[edge], kind_words[kind]);
        row_t from = node_event(&search->graph, search->path[i]);
        row_t to = node_event(&search->graph, search->path[i + 1]);
        text_writer_integer(text, owner == ROW_NONE ? from : owner);
        text_writer_add(text, " ");
        text_writer_add(text, name_of(search, owner == ROW_NONE ? from : owner));
        if (owner == ROW_NONE) {
            text_writer_add(text, " -> ");
            text_writer_integer(text, to);
            text_writer_add(text, " ");
            text_writer_add(text, name_of(search, to));
        }
        text_writer_add(text, "\n");
        text_writer_step(text);
    }
}

bool write_path_text(const struct sutra_critical_path *path, struct text_writer *text) {
    write_head(path, text);
    write_breakdown(&path->report, text);
    write_edges(&path->search, text);
    return true;
}
