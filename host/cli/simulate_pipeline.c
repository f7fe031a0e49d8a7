/*
 * simulate_pipeline.c - implements the output of pipelines of simulate.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/analyze/analysis.h"
#include "cli/simulate.h"
#include "sutra/report.h"
#include "text/quantities.h"
#include "write/text.h"

void pipeline_print(const struct sutra_pipeline *pipeline, uint32_t n_most) {
    struct sutra_pipeline_summary summary = {.size = sizeof summary};
    const char *reason;
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(pipeline), SUTRA_PIPELINE_BUBBLES, &reason);
    sutra_pipeline_summary(pipeline, &summary);
    if (table) {
        struct sutra_column columns[8];
        for (uint32_t i = 0; i < 8; i++)
            sutra_table_column(table, i, &columns[i]);
        printf("\npipeline, %u stages, %u micro-batches: bubbles %.1f %%, ideal %.1f %%\n", summary.n_stages,
               summary.n_micro_batches, summary.bubble_percent, summary.ideal_percent);
        printf("  %4s %6s %12s %12s %12s %12s %12s %8s\n", "rank", "steps", "window", "busy", "warm-up", "steady",
               "cool-down", "bubble");
        const uint64_t n = sutra_table_rows(table);
        uint32_t n_ranks = 0;
        for (uint64_t begin = 0, end; begin < n; begin = end, n_ranks++) {
            double sums[6] = {0};
            for (end = begin; end < n && columns[0].integers[end] == columns[0].integers[begin]; end++)
                for (int i = 0; i < 6; i++)
                    sums[i] += columns[2 + i].reals[end];
            const double n_steps = (double)(end - begin);
            if (n_ranks >= n_most)
                continue;
            printf("  %4" PRId64 " %6" PRIu64, columns[0].integers[begin], end - begin);
            for (int i = 0; i < 5; i++)
                printf(" %12s", time_text(sums[i] / n_steps).text);
            printf(" %6.1f %%\n", sums[5] / n_steps);
        }
        if (n_ranks > n_most)
            printf("  and %s\n", counted_text(n_ranks - n_most, "more rank", "more ranks").text);
    } else {
        printf("\npipeline: %s\n", reason);
    }
    if (!isnan(summary.experts_lost_us))
        printf("experts: ranks wait %s on average for the slowest expert of each layer\n",
               time_text(summary.experts_lost_us).text);
}

void pipeline_add_json(struct json_out *json, const struct sutra_pipeline *pipeline) {
    json_add_open(json, "pipeline", '{');
    for (uint32_t id = 0; id < SUTRA_PIPELINE_N_TABLES; id++) {
        static const char *const keys[] = {"bubbles", "passes", "experts"};
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(pipeline), id, NULL);
        if (!table) {
            json_add_text(json, keys[id], NULL);
            continue;
        }
        json_add_open(json, keys[id], '[');
        for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
            struct sutra_column column;
            json_open_line(json);
            for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
                if (column.integers)
                    json_add_format(json, column.name, "%" PRId64, column.integers[row]);
                else if (column.reals && isnan(column.reals[row]))
                    json_add_text(json, column.name, NULL);
                else if (column.reals)
                    json_add_format(json, column.name, "%.3f", column.reals[row]);
                else
                    json_add_text(json, column.name, sutra_column_text(&column, row));
            json_close_line(json);
        }
        json_close_lines(json, ']');
    }
    json_close(json, '}');
}

enum sutra_status pipeline_write(struct sutra_context *context, const struct sutra_pipeline *pipeline, const char *path,
                                 const char *folder, enum sutra_table_format format, struct sutra_error *error) {
    TRY(folder_create(folder, error));
    for (uint32_t id = 0; id < SUTRA_PIPELINE_N_TABLES; id++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(pipeline), id, NULL);
        char *file = NULL;
        if (!table)
            continue;
        TRY_ALLOC(asprintf(&file, "%s/%s.%s", folder, sutra_table_name(table), table_formats[format]) >= 0, error);
        const enum sutra_status status = sutra_table_write(context, table, format, file, NULL, error);
        free(file);
        TRY(status);
    }
    char *charts = NULL;
    TRY_ALLOC(asprintf(&charts, "%s/charts", folder) >= 0, error);
    const enum sutra_status status = folder_create(charts, error);
    free(charts);
    TRY(status);
    return sutra_report_write_pipeline(context, pipeline, path, folder, NULL, error);
}
