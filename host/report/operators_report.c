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
    {"time", "Time of the device",
     "Time between the first work and the last, and what is charged to whom. Exposed is what nothing hides that stands "
     "above it. Work is charged once: to the innermost operator that ran at its call; to the call where none did, as at "
     "the launch of a graph; to nobody where the call is not in the trace.",
     operators_show_time},
    {"operators", "Operators", "Work that each operator launched itself, not those below it.",
     operators_show_operators},
    {"categories", "Categories", "What kind of work the operators stand for.", operators_show_categories},
    {"modules", "Modules",
     "Work of modules, forward and backward: what they launched, and what autograd launched for them.",
     operators_show_modules},
    {"arguments", "Arguments", "The same operators by shapes, types, strides and values of their inputs.",
     operators_show_arguments},
    {"rates", "Rates", "How near operators come to what the device can do.", operators_show_rates},
    {"annotations", "Annotations", "Steps and other annotations, with all that was launched in them.",
     operators_show_annotations},
    {0},
};

static const struct page_section of_kernels[] = {
    {"time", "Time of the device", "Time between the first work and the last, and what is charged to whom.",
     operators_show_time},
    {"kernels", "Kernels", "Kernels, copies and sets of memory by name.", operators_show_kernels},
    {"durations", "Durations", "How many kernels take how long. Short ones cannot keep a GPU busy.",
     operators_show_durations},
    {"launches", "Launches",
     "The same by operator, stream, grid, block, registers and shared memory. Occupancy is the share of a "
     "multiprocessor's threads that are there at once; waves are how often the grid fills the device.",
     operators_show_configurations},
    {0},
};

/* ---- The page ---- */

/* Ranks with tables, and the first of them. */
static size_t count_ranks(const struct sutra_operators_ranks *ranks, const struct sutra_operators_rank **first) {
    const struct sutra_operators_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_at(ranks, i)); i++)
        if (!rank->reason && n++ == 0)
            *first = rank;
    return n;
}

static void show_cards(struct page *page, const struct operators_source *source, size_t n_ranks) {
    page_cards_begin(page);
    page_card(page, "Ranks", (double)n_ranks, UNIT_COUNT, "");
    page_card(page, "Device time", lines_us(&source->lines, "total"), UNIT_US, "from the first work to the last");
    page_card(page, "Busy", lines_us(&source->lines, "busy"), UNIT_US, "");
    page_card(page, "All work", lines_us(&source->lines, "all work"), UNIT_US, "durations added up");
    page_card(page, "Charged to nobody", lines_us(&source->lines, "charged to nobody"), UNIT_US,
              "its call is not in the trace");
    page_cards_end(page);
}

static void write_page(struct page *page, const struct operators_source *source, bool kernels) {
    char title[96], more[96] = "";
    const struct sutra_operators_rank *first = sutra_operators_ranks_at(source->ranks, 0);
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
    if (!(lines_us(&source->lines, "all work") > 0))
        page_warning(page, "No work of a device takes any time here: record it with ProfilerActivity.CUDA.");
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
