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
    X(n_host_ops, "  of them operators of the chosen iteration", true)                                                 \
    X(n_matched, "    matched with an operator of the device trace", true)                                             \
    X(n_matched_twice, "      with one that another host operator has too", false)                                     \
    X(n_device_ops, "CPU operators of the device trace's iteration, with process and threads", true)                   \
    X(n_segments, "  iterations to choose from", false)                                                                \
    X(shift, "  places by which they are behind", false)                                                               \
    X(edit_cost, "operators of either side without a match", false)                                                    \
    X(n_gpu_ops, "GPU operators of the device trace", true)                                                            \
    X(n_gpu_memory_sets, "  left out: they set memory, which no linker takes", false)                                  \
    X(n_gpu_without_launch, "  left out: no launch has their external id", false)                                      \
    X(n_gpu_without_parent, "  left out: no CPU operator of the iteration runs at their launch", false)                \
    X(n_gpu_unmatched, "  left out: no host operator stands for their CPU operator", false)                            \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  of them GPU operators", true)

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
