/*
 * operators_report.c - writes the pages on operators and on kernels of one or many ranks, from the sections of
 * operators_sections.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/operators_sections.h"
#include "report/operators_tables.h"
#include "sutra/report.h"

static const struct page_section of_operators[] = {
    {"time", "GPU time",
     "Time from the first to the last GPU activity, and its attribution. Exposed communication does not overlap with "
     "compute, exposed memcpy with neither. Each GPU activity is attributed once: to the innermost enclosing operator "
     "of its launch call, or to the call if no operator runs (CUDA graphs). Without a launch call in the trace it is "
     "unattributed.",
     operators_show_time},
    {"operators", "Operators", "GPU activity that each operator launches itself, without its child operators.",
     operators_show_operators},
    {"categories", "Categories", "GPU time by operator category.", operators_show_categories},
    {"modules", "Modules", "GPU activity of modules: launched in forward, and by autograd in backward.",
     operators_show_modules},
    {"arguments", "Arguments", "Operators by shapes, types, strides and values of their inputs.",
     operators_show_arguments},
    {"rates", "Rates", "FLOP rates of operators against the peak rates of the GPU.", operators_show_rates},
    {"annotations", "Annotations", "Steps and other annotations, with all GPU activity launched inside.",
     operators_show_annotations},
    {0},
};

static const struct page_section of_kernels[] = {
    {"time", "GPU time", "Time from the first to the last GPU activity, and its attribution.", operators_show_time},
    {"kernels", "Kernels", "Kernels, memcpy and memset by name.", operators_show_kernels},
    {"durations", "Durations", "Histogram of kernel durations. Short kernels cannot keep a GPU busy.",
     operators_show_durations},
    {"launches", "Launches",
     "Kernels by operator, stream, grid, block, registers and shared memory. Occupancy is the share of a multiprocessor's "
     "threads that are resident; waves count how often the grid fills the GPU.",
     operators_show_configurations},
    {0},
};

/* ---- The page ---- */

/* Ranks with tables, and the first of them. */
static size_t count_ranks(const struct sutra_operators_ranks *ranks, const struct sutra_operators_rank **first) {
    const struct sutra_operators_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(ranks, i)); i++)
        if (!rank->reason && n++ == 0)
            *first = rank;
    return n;
}

static void show_cards(struct page *page, const struct operators_source *source, size_t n_ranks) {
    page_cards_begin(page);
    page_card(page, "Ranks", (double)n_ranks, UNIT_COUNT, "");
    page_card(page, "GPU time", lines_us(&source->lines, "total"), UNIT_US, "from the first to the last activity");
    page_card(page, "Busy", lines_us(&source->lines, "busy"), UNIT_US, "");
    page_card(page, "All GPU activity", lines_us(&source->lines, "all GPU activity"), UNIT_US, "sum of durations");
    page_card(page, "Unattributed", lines_us(&source->lines, "unattributed"), UNIT_US, "launch call not in the trace");
    page_cards_end(page);
}

static void write_page(struct page *page, const struct operators_source *source, bool kernels) {
    char title[96], more[96] = "";
    const struct sutra_operators_rank *first = sutra_operators_ranks_get(source->ranks, 0);
    size_t n = count_ranks(source->ranks, &first);
    const struct page_section *sections = kernels ? of_kernels : of_operators;
    snprintf(title, sizeof title, "%s of rank %" PRId64, kernels ? "Kernels" : "Operators", first->rank);
    if (n > 1) {
        snprintf(title, sizeof title, "%s of %s ranks", kernels ? "Kernels" : "Operators",
                 shown_decimal((double)n, 0).text);
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)n - 1, 0).text);
    }
    page_head(page, title, first->path, more, sections);
    operators_show_warnings(page, source->ranks);
    if (!(lines_us(&source->lines, "all GPU activity") > 0))
        page_warning(page, "No GPU activity with a duration: profile with ProfilerActivity.CUDA.");
    show_cards(page, source, n);
    page_sections(page, sections, source);
}

enum sutra_status sutra_report_write_operators(struct sutra_context *context, const struct sutra_operators_ranks *ranks,
                                               const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct operators_source source = {.ranks = ranks};
    const struct sutra_table *timeline = sutra_operators_ranks_table(ranks, SUTRA_OPERATORS_TIMELINE);
    bool kernels = sutra_operators_ranks_table(ranks, SUTRA_KERNELS_BY_NAME) != NULL;
    struct page page;
    page_open(&page, context, folder, kernels ? PAGE_KERNELS : PAGE_OPERATORS, error);
    lines_table(&source.lines, timeline);
    page_check(&page, &source.lines);
    write_page(&page, &source, kernels);
    table_free(&source.lines);
    enum sutra_status status = page_close(&page);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
