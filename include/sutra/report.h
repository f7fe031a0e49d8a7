/*
 * report.h - write analysis results as HTML pages with charts as SVG files.
 *
 *     sutra_hta_ranks_run() --> sutra_report_write_hta()
 *     sutra_overview_run() --> sutra_report_write_overview()
 *     sutra_dlrm_analyze() --> sutra_report_write_dlrm()
 *
 * A page is one self-contained HTML file without external resources. Its script only sorts tables. A page has less than
 * 2 MB regardless of the trace size. All text from traces is escaped.
 */
#ifndef SUTRA_REPORT_H
#define SUTRA_REPORT_H

#include "sutra/analyze.h"
#include "sutra/collectives.h"
#include "sutra/diff.h"
#include "sutra/dlrm.h"
#include "sutra/hang.h"
#include "sutra/memory.h"
#include "sutra/operators.h"
#include "sutra/overview.h"
#include "sutra/pipeline.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Writes hta.html and charts/hta_NAME.svg to a directory, which is created if missing. Files are written atomically.
 * Pages of other analyses in the directory and this page link to each other. *n_bytes (may be NULL): bytes written.
 * Errors: SUTRA_NO_OUTPUT: cannot be created; SUTRA_IO: writing failed. */
enum sutra_status sutra_report_write_hta(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                         const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* Writes report.html and charts/NAME.svg: findings, steps, and sections of the other pages; and hta.html with HTA's
 * tables. The overview must have been made with `tables` and sutra_hta_companion(). Otherwise as
 * sutra_report_write_hta(). */
enum sutra_status sutra_report_write_overview(struct sutra_context *context, const struct sutra_overview *overview,
                                              const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* Writes operators.html or kernels.html, depending on the tables of the ranks. TraceLens' tables are not supported.
 * Otherwise as sutra_report_write_hta(). */
enum sutra_status sutra_report_write_operators(struct sutra_context *context, const struct sutra_operators_ranks *ranks,
                                               const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* Writes a comparison of two traces or jobs, named `a` and `b`, as report.html. Other pages do not link to it.
 * Otherwise as sutra_report_write_hta(). */
enum sutra_status sutra_report_write_diff(struct sutra_context *context, const struct sutra_diff *diff, const char *a,
                                          const char *b, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error);

/* Writes the collectives of a job as collectives.html. TraceLens' tables are not supported. Otherwise as
 * sutra_report_write_hta(). */
enum sutra_status sutra_report_write_collectives(struct sutra_context *context,
                                                 const struct sutra_collectives *collectives, const char *folder,
                                                 uint64_t *n_bytes, struct sutra_error *error);

/* Writes findings, timeline and peak of inputs, or the differences of two inputs, as memory.html. The tables were
 * requested. Otherwise as sutra_report_write_hta(). */
enum sutra_status sutra_report_write_memory(struct sutra_context *context, const struct sutra_memory *memory,
                                            const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* Writes the causes of a hung job, its waits, process groups and ranks as hang.html. The tables were made. Otherwise as
 * sutra_report_write_hta(). */
enum sutra_status sutra_report_write_hang(struct sutra_context *context, const struct sutra_hang *hang,
                                          const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* Writes operators and overheads of one trace as dlrm.html; `path` is the file of the trace. Otherwise as
 * sutra_report_write_hta(). */
enum sutra_status sutra_report_write_dlrm(struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                          const char *path, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error);

/* Writes pipeline bubbles and expert balance of a simulated job as pipeline.html; `path` is the directory or the first
 * file of the job. Otherwise as sutra_report_write_hta(). */
enum sutra_status sutra_report_write_pipeline(struct sutra_context *context, const struct sutra_pipeline *pipeline,
                                              const char *path, const char *folder, uint64_t *n_bytes,
                                              struct sutra_error *error);

/* Updates the links between the pages of a directory. Writing a page does this; call it after moving pages. Errors as
 * for sutra_report_write_hta(). */
enum sutra_status sutra_report_link(struct sutra_context *context, const char *folder, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
