/*
 * operators_report.c - the pages about operators and about kernels of one or many ranks: where the device's time went,
 * as areas and bars, and the tables behind them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/operators_tables.h"
#include "report/page.h"
#include "report/rates_section.h"
#include "sutra/report.h"

/* Bars and areas of one chart. */
#define BARS_SHOWN  16
#define AREAS_SHOWN 48

/* Traces that were left out, by name. */
#define LEFT_OUT_SHOWN 50

/* What a section is made from. */
struct operators_source {
    const struct sutra_operators_ranks *ranks;
    struct sutra_table lines;
};

static const struct sutra_table *table_of(const struct operators_source *source, enum sutra_operators_table id) {
    const struct sutra_table *table = sutra_operators_ranks_table(source->ranks, id);
    return table && table->n_rows ? table : NULL;
}

static void show_table(struct page *page, const struct operators_source *source, enum sutra_operators_table id,
                       const char *caption, const char *why) {
    const struct sutra_table *table = table_of(source, id);
    if (table)
        page_table(page, table, caption, sutra_table_name(table));
    else
        page_missing(page, caption, why);
}

static void show_time(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_table(page, &source->lines, "What the device did, and who is charged with its work", "gpu_timeline");
}

/* ---- Sums over ranks as bars and areas ---- */

struct summed_words {
    struct bars_words bars;
    struct {
        const char *name, *title, *description;
    } areas; /* no name: there are none */
    bool kernels;
};

/* Of kernels by name; of operators by name or category. */
static enum colour colour_of_row(const struct sutra_table *table, uint64_t row, bool kernels) {
    size_t n_name, n_group;
    const char *name = table_get_text(table, SUMMED_NAME, row, &n_name);
    const char *group = table_get_text(table, SUMMED_GROUP, row, &n_group);
    enum colour colour = kernels ? colour_of_work(name, n_name) : colour_of_operator(name, n_name);
    return colour == COLOUR_COMPUTE && !kernels ? colour_of_operator(group, n_group) : colour;
}

static void show_areas(struct page *page, struct sutra_table *table, const struct summed_words *words) {
    summed_cut(table, AREAS_SHOWN - 1);
    const struct treemap map = {.table = table,
                                .n_rows = (uint32_t)table->n_rows,
                                .label = SUMMED_NAME,
                                .group = SUMMED_GROUP,
                                .value = SUMMED_VALUE,
                                .unit = UNIT_US};
    page_chart(page, words->areas.name, words->areas.title, words->areas.description, treemap_draw, &map);
}

static void show_summed(struct page *page, const struct sutra_table *from, const struct summed_columns *columns,
                        const struct summed_words *words) {
    struct sutra_table table;
    int colours[BARS_SHOWN];
    summed_table(&table, words->bars.name, from, columns);
    for (uint64_t row = 0; row < table.n_rows && row < BARS_SHOWN; row++)
        colours[row] = (int)colour_of_row(&table, row, words->kernels);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .kernels = words->kernels,
                              .by_end = !words->kernels,
                              .values = {{SUMMED_VALUE, "device time", COLOUR_COMPUTE}},
                              .n_values = 1,
                              .row_colours = colours,
                              .unit = UNIT_US};
    page_bars(page, bars, BARS_SHOWN, &words->bars);
    if (words->areas.name && table.n_rows)
        show_areas(page, &table, words);
    page_check(page, &table);
    table_free(&table);
}

static void show_operators(struct page *page, const void *of) {
    static const struct summed_columns columns = {"name", "category", "calls", "device_us"};
    static const struct summed_words words = {
        {"top_operators", "Device time of operators", "One bar for each operator, of the work that it launched.", NULL,
         "Operators, all ranks together", "operators"},
        {"operator_areas", "Device time of operators by category",
         "An area for each operator, as large as the time of its work; operators of one category stand together."},
        false};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_OPERATORS_BY_NAME);
    if (table)
        show_summed(page, table, &columns, &words);
    else
        page_missing(page, "Operators", "the traces have none");
}

static void show_categories(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_CATEGORY, "Categories", "no work of the device is charged to operators");
}

static void show_modules(struct page *page, const void *of) {
    static const struct summed_columns columns = {"module", "kind", "calls", "own_us"};
    static const struct summed_words words = {
        {"top_modules", "Device time of modules",
         "One bar for each module, of the work in it and in no module below it.", NULL, "Modules, all ranks together",
         "modules"},
        {"module_areas", "Device time of modules by kind",
         "An area for each module, as large as the time of the work in it and in no module below it, forward and "
         "backward; modules of one kind stand together."},
        false};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_OPERATORS_BY_MODULE);
    if (table)
        show_summed(page, table, &columns, &words);
    else
        page_missing(page, "Modules", "no nn.Module was recorded; record with_stack=True to have them");
}

static void show_arguments(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_ARGUMENTS, "Operators by arguments",
               "no work of the device is charged to operators");
}

static void show_rates(struct page *page, const void *of) {
    const struct operators_source *source = of;
    rates_show(page, source->ranks);
}

static void show_annotations(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_ANNOTATION, "Annotations", "the traces have none");
}

static void show_kernels(struct page *page, const void *of) {
    static const struct summed_columns columns = {"name", "operator", "kernels", "device_us"};
    static const struct summed_words words = {
        {"top_kernels", "Time of kernels", "One bar for each kernel, copy or set of memory, by its name.", NULL,
         "Kernels, all ranks together", "kernels"},
        {"kernel_areas", "Time of kernels by operator",
         "An area for each kernel, as large as its time; kernels of one operator stand together."},
        true};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_KERNELS_BY_NAME);
    if (table)
        show_summed(page, table, &columns, &words);
    else
        page_missing(page, "Kernels", "the traces have none");
}

static void show_durations(struct page *page, const void *of) {
    show_table(page, of, SUTRA_KERNELS_DURATIONS, "Kernels by duration", "the traces have none");
}

static void show_configurations(struct page *page, const void *of) {
    show_table(page, of, SUTRA_KERNELS_BY_CONFIGURATION, "Kernels by launch", "the traces have none");
}

static const struct page_section of_operators[] = {
    {"time", "Time of the device",
     "Time between the first work and the last, and what is charged to whom. Exposed is what nothing hides that stands "
     "above it. Work is charged once: to the innermost operator that ran at its call; to the call where none did, as at "
     "the launch of a graph; to nobody where the call is not in the trace.",
     show_time},
    {"operators", "Operators", "Work that each operator launched itself, not those below it.", show_operators},
    {"categories", "Categories", "What kind of work the operators stand for.", show_categories},
    {"modules", "Modules",
     "Work of modules, forward and backward: what they launched, and what autograd launched for them.", show_modules},
    {"arguments", "Arguments", "The same operators by shapes, types, strides and values of their inputs.",
     show_arguments},
    {"rates", "Rates", "How near operators come to what the device can do.", show_rates},
    {"annotations", "Annotations", "Steps and other annotations, with all that was launched in them.",
     show_annotations},
    {0},
};

static const struct page_section of_kernels[] = {
    {"time", "Time of the device", "Time between the first work and the last, and what is charged to whom.", show_time},
    {"kernels", "Kernels", "Kernels, copies and sets of memory by name.", show_kernels},
    {"durations", "Durations", "How many kernels take how long. Short ones cannot keep a GPU busy.", show_durations},
    {"launches", "Launches",
     "The same by operator, stream, grid, block, registers and shared memory. Occupancy is the share of a "
     "multiprocessor's threads that are there at once; waves are how often the grid fills the device.",
     show_configurations},
    {0},
};

/* ---- The page ---- */

/* Ranks with tables, and the first of them. */
static size_t count_ranks(const struct sutra_operators_ranks *ranks, const struct sutra_operators_rank **first) {
    const struct sutra_operators_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_at(ranks, i)); i++)
        if (rank->wanted && n++ == 0)
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

static void show_warnings(struct page *page, const struct sutra_operators_ranks *ranks) {
    const struct sutra_operators_rank *rank;
    unsigned n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_at(ranks, i)); i++)
        if (rank->reason && n++ < LEFT_OUT_SHOWN)
            page_warning_of(page, rank->path, rank->reason);
    page_warning_count(page, n > LEFT_OUT_SHOWN ? n - LEFT_OUT_SHOWN : 0, "more traces are left out.");
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
    show_warnings(page, source->ranks);
    show_cards(page, source, n);
    page_sections(page, sections, source);
}

enum sutra_status sutra_report_write_operators(struct sutra_context *context, const struct sutra_operators_ranks *ranks,
                                               const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct operators_source source = {.ranks = ranks};
    const struct sutra_table *timeline = sutra_operators_ranks_table(ranks, SUTRA_OPERATORS_TIMELINE);
    struct page page;
    page_open(&page, context, folder, error);
    lines_table(&source.lines, timeline);
    page_check(&page, &source.lines);
    write_page(&page, &source, sutra_operators_ranks_table(ranks, SUTRA_KERNELS_BY_NAME) != NULL);
    table_free(&source.lines);
    enum sutra_status status = page_close(&page);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
