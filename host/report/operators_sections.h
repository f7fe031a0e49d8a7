/*
 * operators_sections.h - sections on operators and kernels, for any page.
 */
#ifndef REPORT_OPERATORS_SECTIONS_H
#define REPORT_OPERATORS_SECTIONS_H

#include "report/page.h"
#include "sutra/operators.h"

/* What a section is made from. */
struct operators_source {
    const struct sutra_operators_ranks *ranks;
    struct sutra_table lines; /* see operators_tables.h */
};

/* What stands on top of a page: traces and events that are left out. */
void operators_show_warnings(struct page *page, const struct sutra_operators_ranks *ranks);

/* Of a struct operators_source: charts with their tables, or why there are none. */
void operators_show_time(struct page *page, const void *of);
void operators_show_operators(struct page *page, const void *of);
void operators_show_categories(struct page *page, const void *of);
void operators_show_modules(struct page *page, const void *of);
void operators_show_arguments(struct page *page, const void *of);
void operators_show_annotations(struct page *page, const void *of);
void operators_show_rates(struct page *page, const void *of);
void operators_show_kernels(struct page *page, const void *of);
void operators_show_durations(struct page *page, const void *of);
void operators_show_configurations(struct page *page, const void *of);

#endif
