/*
 * simulate_pipeline.h - output of pipeline bubbles and expert balance by `sutra simulate`: on the page, as JSON, as
 * tables and as a report.
 */
#ifndef CLI_SIMULATE_PIPELINE_H
#define CLI_SIMULATE_PIPELINE_H

#include "sutra/pipeline.h"
#include "write/json.h"

/* Prints the bubbles of at most n_most ranks, means over their steps, and the time lost by unbalanced experts. */
void pipeline_print(const struct sutra_pipeline *pipeline, uint32_t n_most);

/* Adds "pipeline": each table as an array of rows; null: the table is missing. */
void pipeline_add_json(struct json_out *json, const struct sutra_pipeline *pipeline);

/* Writes the tables and pipeline.html to a directory, which is created if missing. `path` names the job on the page. */
enum sutra_status pipeline_write(struct sutra_context *context, const struct sutra_pipeline *pipeline, const char *path,
                                 const char *folder, enum sutra_table_format format, struct sutra_error *error);

#endif
