/*
 * link_result.c - prints the closing lines of `sutra link`, one count per line, and --stats:
 *
 *     sutra: linked into out.json
 *           12,345  nodes of the host trace, 12,000 of them operators
 *           ...
 *
 *     {"version": "0.1.0", "counts": {"n_host_nodes": 1, ...}, "seconds": {"read host": 0.1, ..., "total": 0.2},
 *      "input_bytes": 1, "output_bytes": 1, "peak_memory_bytes": 1, "peak_rss_bytes": 1, "threads": 2,
 *      "engine": "cuda", "device_seconds": {"up": 0.1, ...}}
 *
 * The first lines are always printed, so that runs are easy to compare. Lines on skipped or corrected nodes are printed
 * only if their count is not 0. "device_seconds" requires a CUDA device. "counts" has the fields of struct
 * sutra_link_report under their names.
 */
#include "cli/link/link_result.h"

#include <stdio.h>

#include "cli/tool/paths.h"

#define FIELDS(X)                                                                                                      \
    X(n_host_nodes)                                                                                                    \
    X(n_host_ops)                                                                                                      \
    X(n_host_linked)                                                                                                   \
    X(n_host_without_rf)                                                                                               \
    X(n_host_rf_unmatched)                                                                                             \
    X(n_events)                                                                                                        \
    X(n_cpu_ops)                                                                                                       \
    X(n_gpu_ops)                                                                                                       \
    X(n_gpu_with_parent)                                                                                               \
    X(n_gpu_without_launch)                                                                                            \
    X(n_gpu_without_parent)                                                                                            \
    X(n_gpu_host_unmatched)                                                                                            \
    X(n_gpu_nodes)                                                                                                     \
    X(n_nodes)                                                                                                         \
    X(n_inter_thread)                                                                                                  \
    X(n_sync)                                                                                                          \
    X(n_exclusive_rounded)                                                                                             \
    X(n_exclusive_replaced)                                                                                            \
    X(n_fields_dropped)                                                                                                \
    X(n_host_rf_zero)                                                                                                  \
    X(n_gpu_memory_sets)

#define SIZE(name) +sizeof(((struct sutra_link_report *)0)->name)
_Static_assert(sizeof(struct sutra_link_report) == sizeof(size_t) FIELDS(SIZE), "every field is listed");
#undef SIZE

void link_summary_print(const struct link_result *result) {
    const struct sutra_link_report *report = &result->report;
    const struct summary_row rows[] = {
        {report->n_host_nodes, "nodes in the host trace", true},
        {report->n_host_ops, "  operators below the root", true},
        {report->n_host_linked, "    linked to a device trace operator", true},
        {report->n_host_without_rf, "    unlinked: no rf_id", false},
        {report->n_host_rf_zero, "    unlinked: rf_id is 0", false},
        {report->n_host_rf_unmatched, "    unlinked: rf_id not in the device trace", false},
        {report->n_events, "events in the device trace", true},
        {report->n_cpu_ops, "  CPU operators", true},
        {report->n_gpu_ops, "  GPU activities", true},
        {report->n_gpu_with_parent, "    matched to a CPU operator", true},
        {report->n_gpu_host_unmatched, "      skipped: CPU operator not in the host trace", false},
        {report->n_gpu_memory_sets, "    skipped: memset (not part of ET+)", false},
        {report->n_gpu_without_launch, "    unmatched: no launch with this correlation", false},
        {report->n_gpu_without_parent, "    unmatched: no CPU operator starts before the launch", false},
        {report->n_nodes, "nodes written", true},
        {report->n_gpu_nodes, "  GPU operators", true},
        {report->n_inter_thread, "  with a dependency on another thread", true},
        {report->n_sync, "  with synchronization dependencies", true},
        {report->n_exclusive_rounded, "exclusive durations below 0 by rounding, replaced by 0", false},
        {report->n_exclusive_replaced, "exclusive durations below 0, replaced by inclusive durations", false},
        {report->n_fields_dropped, "fields of the wrong type, ignored", false},
    };
    fprintf(stderr, "sutra: linked into %s\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output);
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct link_result *result = data;
    const struct named_count counts[] = {
#define COUNT(name) {#name, result->report.name},
        FIELDS(COUNT)
#undef COUNT
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

enum sutra_status link_stats_write(const struct link_result *result, const char *path) {
    return stats_write(path, print_all, result);
}
