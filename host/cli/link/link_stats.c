/*
 * link_stats.c - what `sutra link --stats FILE` writes: one JSON object.
 *
 *     {"version": "0.1.0", "counts": {"n_host_nodes": 1, ...}, "seconds": {"read host": 0.1, ..., "total": 0.2},
 *      "input_bytes": 1, "output_bytes": 1, "peak_memory_bytes": 1, "peak_rss_bytes": 1, "threads": 2,
 *      "engine": "cuda", "device_seconds": {"up": 0.1, ...}}
 *
 * "device_seconds" is there where a CUDA device did the work; "counts" has the fields of struct sutra_link_report under
 * their own names.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/link/link_result.h"

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
    X(n_fields_dropped)

static const struct {
    const char *name;
    size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(struct sutra_link_report, name)},
    FIELDS(FIELD)
#undef FIELD
};

#define N_FIELDS (sizeof fields / sizeof *fields)

_Static_assert(sizeof(struct sutra_link_report) == sizeof(size_t) + N_FIELDS * sizeof(uint64_t), "every field is told");

static void print_counts(FILE *file, const struct sutra_link_report *report) {
    fputs("  \"counts\": {\n", file);
    for (size_t i = 0; i < N_FIELDS; i++) {
        uint64_t count;
        memcpy(&count, (const char *)report + fields[i].offset, sizeof count);
        fprintf(file, "    \"%s\": %" PRIu64 "%s\n", fields[i].name, count, i + 1 < N_FIELDS ? "," : "");
    }
    fputs("  },\n", file);
}

static void print_all(FILE *file, const void *result) {
    const struct link_result *link = result;
    fprintf(file, "{\n  \"version\": \"%s\",\n", sutra_version());
    print_counts(file, &link->report);
    run_figures_print_json(file, &link->figures);
}

enum sutra_status link_stats_write(const struct link_result *result, const char *path) {
    return stats_write(path, print_all, result);
}
