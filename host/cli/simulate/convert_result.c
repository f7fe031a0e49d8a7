/*
 * convert_result.c - prints the closing lines of `sutra convert`, one count per line, and --stats.
 */
#include "cli/simulate/convert_result.h"

#include <stdio.h>

#include "cli/tool/faithful.h"
#include "cli/tool/paths.h"

/* X(field, words, whether it stands in the summary even if it is 0) */
#define COUNTS(X)                                                                                                      \
    X(n_plus_nodes, "nodes of ET+", true)                                                                              \
    X(n_unmade, "  left out: GPU nodes below no CPU operator", false)                                                  \
    X(n_dangling, "  left out: nodes that depend on none, and none depends on them", false)                            \
    X(n_metadata, "  left out: nodes that describe process groups", false)                                             \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  of them GPU operators", true)                                                                    \
    X(n_collectives, "    collectives", false)                                                                         \
    X(n_sends, "    sends", false)                                                                                     \
    X(n_receives, "    receives", false)                                                                               \
    X(n_unknown, "    collectives of an unknown type, taken as computation", false)                                    \
    X(n_types, "    collectives of other types than chakra_converter's", false)                                        \
    X(n_nested, "    communication of lists of lists of tensors, summed", false)                                       \
    X(n_works, "    kernels that tell their operations and bytes", false)                                              \
    X(n_peers, "    sends and receives that tell their peer and tag", false)                                           \
    X(n_starts, "  that tell when they start", false)                                                                  \
    X(n_rootless, "  that stand below no thread", false)                                                               \
    X(n_data_deps, "data dependencies", true)                                                                          \
    X(n_inter, "  of them on other threads", false)                                                                    \
    X(n_ctrl_deps, "control dependencies", true)                                                                       \
    X(n_absent, "dependencies on nodes that are not there, left out", false)                                           \
    X(n_groups, "process groups of other names than numbers, which got one", false)                                    \
    X(n_rings, "dependencies that closed a ring, left out", false)                                                     \
    X(n_attributes, "attributes that are missing or of a wrong type, left out", false)

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
        fputs("sutra: not modelled, since ET+ does not tell it: when kernels were launched, which calls\n"
              "waited for them (but for sync_dep and what times show), and streams that wait for each\n"
              "other. 'sutra link HOST DEVICE -o X.et' takes them from the device trace.\n",
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
                   "every field of the report is told");
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

enum sutra_status convert_stats_write(const struct convert_result *result, const char *path) {
    return stats_write(path, print_all, result);
}
