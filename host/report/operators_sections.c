/*
 * operators_sections.c - writes sections on operators and kernels: treemaps, bars, and tables.
 */
#include "report/operators_sections.h"

#include <math.h>
#include <stdio.h>

#include "analyze/operators/tables.h"
#include "report/operators_tables.h"
#include "report/rates_section.h"

/* Bars and areas of one chart. */
#define BARS_SHOWN  16
#define AREAS_SHOWN 48

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

void operators_show_warnings(struct page *page, const struct sutra_operators_ranks *ranks) {
    const struct sutra_operators_rank *rank;
    size_t n = 0;
    uint64_t n_untimed = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(ranks, i)); i++) {
        if (rank->reason)
            page_left_out(page, n++, rank->path, rank->reason);
        n_untimed += rank->n_untimed;
    }
    page_left_out_more(page, n);
    page_warning_count(page, n_untimed, "event without a valid start time and duration is skipped.",
                       "events without a valid start time and duration are skipped.");
}

void operators_show_time(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_table(page, &source->lines, "GPU time and attribution", "gpu_timeline");
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

/* Whether areas tell more than bars: there are some, and none has nearly all. */
#define AREAS_LEAST    4
#define AREA_MOST_PART 0.85

static bool areas_tell(const struct sutra_table *table) {
    double all = 0;
    for (uint64_t row = 0; row < table->n_rows; row++)
        all += table_get_real(table, SUMMED_VALUE, row);
    return table->n_rows >= AREAS_LEAST && table_get_real(table, SUMMED_VALUE, 0) < AREA_MOST_PART * all;
}

/* Whether there is time to show. */
static bool takes_time(const struct sutra_table *table) {
    for (uint64_t row = 0; row < table->n_rows; row++)
        if (table_get_real(table, SUMMED_VALUE, row) > 0)
            return true;
    return false;
}

static void show_areas(struct page *page, struct sutra_table *table, const struct summed_words *words) {
    summed_cut(table, AREAS_SHOWN - 1);
    page_subtitle(page, words->areas.title);
    const struct treemap map = {.table = table,
                                .n_rows = (uint32_t)table->n_rows,
                                .label = SUMMED_NAME,
                                .group = SUMMED_GROUP,
                                .value = SUMMED_VALUE,
                                .unit = UNIT_US};
    page_chart(page, words->areas.name, words->areas.title, words->areas.description, treemap_draw, &map);
}

static void show_summed(struct page *page, const struct operators_source *source, const struct sutra_table *from,
                        const struct summed_columns *columns, const struct summed_words *words) {
    struct sutra_table table;
    int colours[BARS_SHOWN];
    struct bars_words told = words->bars;
    char caption[64];
    snprintf(caption, sizeof caption, "%s%s", told.caption,
             sutra_operators_ranks_get(source->ranks, 1) ? ", all ranks" : "");
    told.caption = caption;
    summed_table(&table, words->bars.name, from, columns);
    if (!table.failed && !takes_time(&table)) {
        page_missing(page, caption, "no GPU activity");
        table_free(&table);
        return;
    }
    for (uint64_t row = 0; row < table.n_rows && row < BARS_SHOWN; row++)
        colours[row] = (int)colour_of_row(&table, row, words->kernels);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .kernels = words->kernels,
                              .by_end = !words->kernels,
                              .values = {{SUMMED_VALUE, "GPU time", COLOUR_COMPUTE}},
                              .n_values = 1,
                              .row_colours = colours,
                              .unit = UNIT_US};
    page_bars(page, bars, BARS_SHOWN, &told);
    if (words->areas.name && areas_tell(&table))
        show_areas(page, &table, words);
    page_check(page, &table);
    table_free(&table);
}

void operators_show_operators(struct page *page, const void *of) {
    static const struct summed_columns columns = {"name", "category", "calls", "device_us", NULL};
    static const struct summed_words words = {
        {"top_operators", "GPU time of operators", "One bar per operator: self GPU time.", NULL, "Operators",
         "operators"},
        {"operator_areas", "GPU time of operators by category",
         "One area per operator, proportional to its GPU time, grouped by category."},
        false};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_OPERATORS_BY_NAME);
    if (table)
        show_summed(page, source, table, &columns, &words);
    else
        page_missing(page, "Operators", "the traces have no operators");
}

void operators_show_categories(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_CATEGORY, "Categories", "no GPU activity is attributed to operators");
}

void operators_show_modules(struct page *page, const void *of) {
    static const struct summed_columns columns = {"module", "kind", "calls", "own_us", MODULE_PREFIX};
    static const struct summed_words words = {
        {"top_modules", "GPU time of modules",
         "One bar per module: GPU activity launched in the module, without its child modules.", NULL, "Modules",
         "modules"},
        {"module_areas", "GPU time of modules by kind",
         "One area per module, proportional to its GPU time (forward and backward, without child modules), grouped by "
         "kind."},
        false};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_OPERATORS_BY_MODULE);
    if (table)
        show_summed(page, source, table, &columns, &words);
    else
        page_missing(page, "Modules", "no nn.Module is recorded: profile with with_stack=True");
}

void operators_show_arguments(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_ARGUMENTS, "Operators by arguments",
               "no GPU activity is attributed to operators");
}

void operators_show_rates(struct page *page, const void *of) {
    const struct operators_source *source = of;
    rates_show(page, source->ranks);
}

void operators_show_annotations(struct page *page, const void *of) {
    show_table(page, of, SUTRA_OPERATORS_BY_ANNOTATION, "Annotations", "the traces have no annotations");
}

void operators_show_kernels(struct page *page, const void *of) {
    static const struct summed_columns columns = {"full_name", "operator", "kernels", "device_us", NULL};
    static const struct summed_words words = {{"top_kernels", "GPU time of kernels",
                                               "One bar per kernel, memcpy or memset name.", NULL, "Kernels",
                                               "kernels"},
                                              {"kernel_areas", "GPU time of kernels by operator",
                                               "One area per kernel, proportional to its time, grouped by operator."},
                                              true};
    const struct operators_source *source = of;
    const struct sutra_table *table = table_of(source, SUTRA_KERNELS_BY_NAME);
    if (table)
        show_summed(page, source, table, &columns, &words);
    else
        page_missing(page, "Kernels", "the traces have no kernels");
}

void operators_show_durations(struct page *page, const void *of) {
    static const struct bars_words words = {"kernel_durations",
                                            "Kernels by duration",
                                            "One bar per duration range: number of kernels of all ranks.",
                                            NULL,
                                            "Kernels by duration",
                                            "kernel_durations"};
    const struct sutra_table *from = table_of(of, SUTRA_KERNELS_DURATIONS);
    struct sutra_table table;
    if (!from) {
        page_missing(page, words.caption, "the traces have no kernels");
        return;
    }
    durations_table(&table, from);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .values = {{BIN_KERNELS, "kernels", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_COUNT};
    if (page->charted)
        page_subtitle(page, words.title); /* where it is all of a section, that has a title */
    page_bars(page, bars, DURATION_BINS_MOST, &words);
    table_free(&table);
}

void operators_show_configurations(struct page *page, const void *of) {
    show_table(page, of, SUTRA_KERNELS_BY_CONFIGURATION, "Kernels by launch configuration",
               "the traces have no kernels");
}
