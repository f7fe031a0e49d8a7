/*
 * convert_result.c - prints the closing lines of `sutra convert`, one count per line, and --stats.
 */
#include "cli/simulate/convert_result.h"

#include <stdio.h>

#include "cli/tool/faithful.h"
#include "cli/tool/paths.h"

/* X(field, words, whether the summary shows a count of 0) */
#define COUNTS(X)                                                                                                      \
    X(n_plus_nodes, "nodes in ET+", true)                                                                              \
    X(n_unmade, "  skipped: GPU nodes below no CPU operator", false)                                                   \
    X(n_dangling, "  skipped: nodes without dependencies and dependents", false)                                       \
    X(n_metadata, "  skipped: nodes that define process groups", false)                                                \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  GPU operators", true)                                                                            \
    X(n_collectives, "    collectives", false)                                                                         \
    X(n_sends, "    sends", false)                                                                                     \
    X(n_receives, "    receives", false)                                                                               \
    X(n_unknown, "    collectives of unknown type, written as computation", false)                                     \
    X(n_types, "    collectives of types unknown to chakra_converter", false)                                          \
    X(n_nested, "    communication of nested tensor lists, sizes added", false)                                        \
    X(n_works, "    kernels with operations and bytes", false)                                                         \
    X(n_peers, "    sends and receives with peer and tag", false)                                                      \
    X(n_starts, "  with a start time", false)                                                                          \
    X(n_rootless, "  not below a thread", false)                                                                       \
    X(n_data_deps, "data dependencies", true)                                                                          \
    X(n_inter, "  on other threads", false)                                                                            \
    X(n_ctrl_deps, "control dependencies", true)                                                                       \
    X(n_absent, "dependencies on absent nodes: skipped", false)                                                        \
    X(n_groups, "process groups with other names: numbered", false)                                                    \
    X(n_rings, "dependencies that closed a cycle: skipped", false)                                                     \
    X(n_attributes, "attributes that are missing or of the wrong type: skipped", false)

void convert_summary_print(const struct convert_result *result) {
    const struct summary_row rows[] = {
#define ROW(field, words, always) {result->report.field, words, always},
        COUNTS(ROW)
#undef ROW
    };
    fprintf(stderr, "sutra: converted into %s\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (result->faithful) {
        faithful_summary_print(result->faithful);
        fputs("sutra: not modeled, because ET+ does not record them: launches, most synchronizing calls, and\n"
              "streams that wait for each other. 'sutra link HOST DEVICE -o X.et' reads them from the device trace\n",
              stderr);
    }
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct convert_result *result = data;
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, result->report.field},
        COUNTS(COUNT)
#undef COUNT
    };
    _Static_assert(sizeof counts / sizeof *counts ==
                       (sizeof(struct sutra_convert_report) - sizeof(size_t)) / sizeof(uint64_t),
                   "every field of the report is printed");
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

enum sutra_status convert_stats_write(const struct convert_result *result, const char *path) {
    return stats_write(path, print_all, result);
}
