/*
 * legacy_result.c - prints the closing lines and --stats of `sutra link-legacy`, in the format of `sutra link`.
 */
#include "cli/link/legacy_result.h"

#include <stdio.h>

#include "cli/tool/paths.h"
#include "sutra/context.h"

/* X(field, words, whether it stands in the summary even if it is 0) */
#define COUNTS(X)                                                                                                      \
    X(n_host_nodes, "nodes in the host trace", true)                                                                   \
    X(n_host_ops, "  operators of the selected iteration", true)                                                       \
    X(n_matched, "    matched to a device trace operator", true)                                                       \
    X(n_matched_twice, "      matched to an operator that another host operator matches too", false)                   \
    X(n_device_ops, "CPU operators of the device trace iteration, including process and threads", true)                \
    X(n_segments, "  iterations in the device trace", false)                                                           \
    X(shift, "  positions of offset from the host operators", false)                                                   \
    X(edit_cost, "unmatched operators of both traces", false)                                                          \
    X(n_gpu_ops, "GPU activities in the device trace", true)                                                           \
    X(n_gpu_memory_sets, "  skipped: memset (not part of ET+)", false)                                                 \
    X(n_gpu_without_launch, "  unmatched: no launch with this external id", false)                                     \
    X(n_gpu_without_parent, "  unmatched: no CPU operator of the iteration runs at the launch", false)                 \
    X(n_gpu_unmatched, "  skipped: CPU operator not in the host trace", false)                                         \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  GPU operators", true)

static const char *matching(const struct sutra_legacy_report *report) {
    return report->aligned ? "approximate" : "exact";
}

void legacy_summary_print(const struct legacy_result *result) {
    const struct summary_row rows[] = {
#define ROW(field, words, always) {result->report.field, words, always},
        COUNTS(ROW)
#undef ROW
    };
    fprintf(stderr, "sutra: linked into %s by %s match\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output,
            matching(&result->report));
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct legacy_result *result = data;
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, result->report.field},
        COUNTS(COUNT)
#undef COUNT
    };
    fprintf(file, "{\n  \"version\": \"%s\",\n  \"match\": \"%s\",\n", sutra_version(), matching(&result->report));
    run_counts_print_list(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

enum sutra_status legacy_stats_write(const struct legacy_result *result, const char *path) {
    return stats_write(path, print_all, result);
}
