/*
 * run_figures.c - measures time, bytes and memory of a command.
 */
#include "cli/tool/run_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "sutra/sutra.h"

/* Below this a rate says more about starting than about working. */
#define RATE_SECONDS 0.1

void run_figures_take(struct run_figures *figures, struct watch *watch, double begin, struct sutra_context *context,
                      uint64_t n_mapped_bytes) {
    figures->n_stages = sutra_context_stages(context, &figures->stages);
    figures->seconds = clock_seconds() - begin;
    memory_sample(&watch->memory);
    figures->peak_memory = memory_peak(&watch->memory, n_mapped_bytes);
    figures->peak_rss = memory_peak_rss();
    figures->engine = sutra_context_engine(context);
    figures->n_device_stages = sutra_context_device_stages(context, &figures->device_stages);
}

void run_figures_print(const struct run_figures *figures) {
    if (figures->input_bytes > 0)
        fprintf(stderr, "%16s  read%s\n", bytes_text(figures->input_bytes).text,
                figures->compressed ? ", compressed" : "");
    fprintf(stderr, "%16s  written\n", bytes_text(figures->output_bytes).text);
    fprintf(stderr, "%14.3f s  ", figures->seconds);
    if (figures->input_bytes > 0 && figures->seconds >= RATE_SECONDS)
        fprintf(stderr, "at %.1f MB/s of input, ", (double)figures->input_bytes / figures->seconds / 1e6);
    fprintf(stderr, "%s peak memory\n", bytes_text(figures->peak_memory).text);
}

void summary_print(const struct summary_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].always || rows[i].count)
            fprintf(stderr, "%16s  %s\n", count_text(rows[i].count).text, rows[i].words);
}

void run_counts_print_json(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more) {
    fprintf(file, "{\n  \"version\": \"%s\",\n", sutra_version());
    run_counts_print_list(file, counts, n, more, n_more);
}

void run_counts_print_list(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more) {
    fputs("  \"counts\": {", file);
    for (size_t i = 0; i < n + n_more; i++) {
        const struct named_count *count = i < n ? &counts[i] : &more[i - n];
        fprintf(file, "%s\n    \"%s\": %" PRIu64, i ? "," : "", count->name, count->count);
    }
    fputs("\n  },\n", file);
}

void run_figures_print_json(FILE *file, const struct run_figures *figures) {
    fputs("  \"seconds\": {\n", file);
    for (size_t i = 0; i < figures->n_stages; i++) {
        fputs("    ", file);
        json_string_print(file, figures->stages[i].name);
        fprintf(file, ": %.6f,\n", figures->stages[i].seconds);
    }
    fprintf(file, "    \"total\": %.6f\n  },\n", figures->seconds);
    fprintf(file, "  \"input_bytes\": %" PRIu64 ",\n", figures->input_bytes);
    fprintf(file, "  \"output_bytes\": %" PRIu64 ",\n", figures->output_bytes);
    fprintf(file, "  \"peak_memory_bytes\": %" PRIu64 ",\n", figures->peak_memory);
    fprintf(file, "  \"peak_rss_bytes\": %" PRIu64 ",\n", figures->peak_rss);
    fprintf(file, "  \"threads\": %u,\n", figures->n_threads);
    fprintf(file, "  \"engine\": \"%s\"", figures->engine);
    for (size_t i = 0; i < figures->n_device_stages; i++)
        fprintf(file, "%s    \"%s\": %.6f", i ? ",\n" : ",\n  \"device_seconds\": {\n", figures->device_stages[i].name,
                figures->device_stages[i].seconds);
    fputs(figures->n_device_stages ? "\n  }\n}\n" : "\n}\n", file);
}

enum sutra_status stats_write(const char *path, void (*print)(FILE *file, const void *result), const void *result) {
    if (path_is_stream(path)) {
        print(stdout, result);
        return SUTRA_OK;
    }
    FILE *file = fopen(path, "we");
    if (!file)
        return (enum sutra_status)message_fail(SUTRA_NO_OUTPUT, "%s: %s", path, strerror(errno));
    print(file, result);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return (enum sutra_status)message_fail(SUTRA_IO, "%s: %s", path, strerror(errno));
    return SUTRA_OK;
}
