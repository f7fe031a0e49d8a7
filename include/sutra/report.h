/*
 * report.h - what analyses found as pages for people: a folder with a page for each analysis and its charts as SVG
 * files.
 *
 *     sutra_hta_ranks_make() --> sutra_report_write_hta()
 *     sutra_overview_make() --> sutra_report_write_overview()
 *     sutra_dlrm_analyze() --> sutra_report_write_dlrm()
 *
 * The page is one file that loads nothing and is whole without its script, which sorts tables; its size does not grow
 * with the traces (it stays below 2 MB). Texts of traces are shown as text, whatever they hold.
 */
#ifndef SUTRA_REPORT_H
#define SUTRA_REPORT_H

#include "sutra/analyze.h"
#include "sutra/collectives.h"
#include "sutra/diff.h"
#include "sutra/dlrm.h"
#include "sutra/operators.h"
#include "sutra/overview.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Writes hta.html and charts/hta_NAME.svg into a folder, which is made if it is not there; each file appears whole or
 * not at all. Pages of other analyses in the folder lead to this one from then on, and this one to them. *n_bytes (may
 * be NULL): bytes written. SUTRA_NO_OUTPUT: cannot be created. SUTRA_IO: writing failed. */
enum sutra_status sutra_report_write_hta(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                         const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* The same of an overview, whose tables were asked for, as report.html and charts/NAME.svg: findings, steps, and what
 * the other pages have of them. Beside it the page of HTA's tables, as hta.html. */
enum sutra_status sutra_report_write_overview(struct sutra_context *context, const struct sutra_overview *overview,
                                              const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* The same of operators, or of kernels, as the tables of the ranks have them, as operators.html or kernels.html; not of
 * those of TraceLens. */
enum sutra_status sutra_report_write_operators(struct sutra_context *context, const struct sutra_operators_ranks *ranks,
                                               const char *folder, uint64_t *n_bytes, struct sutra_error *error);

/* The same of two traces or jobs side by side, which are called `a` and `b`, as report.html, which no other page leads
 * to; not of HTA's tables (SUTRA_USAGE). */
enum sutra_status sutra_report_write_diff(struct sutra_context *context, const struct sutra_diff *diff, const char *a,
                                          const char *b, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error);

/* The same of the collectives of a job, as collectives.html; not of TraceLens' tables. */
enum sutra_status sutra_report_write_collectives(struct sutra_context *context,
                                                 const struct sutra_collectives *collectives, const char *folder,
                                                 uint64_t *n_bytes, struct sutra_error *error);

/* The same of one trace's operators and overheads, as dlrm.html; `path` is the trace's. */
enum sutra_status sutra_report_write_dlrm(struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                          const char *path, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error);

/* The pages of a folder lead to each other. Writing a page does this; who moves pages to others calls it there. Errors
 * as above. */
enum sutra_status sutra_report_link(struct sutra_context *context, const char *folder, struct sutra_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
