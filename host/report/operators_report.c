/*
 * operators_report.c - writes the pages on operators and on kernels of one or many ranks, from the sections of
 * operators_sections.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "report/operators_report.h"
#include "report/rates_report.h"
#include "sutra/report.h"
#include "text/quantities.h"

/*
 * Sums tables over ranks. O(rows), plus a sort of the sums.
 */

struct summed_row {
    uint32_t name, group;
    uint64_t count;
    double value;
    uint32_t number; /* of first sight */
};

struct rank_sums {
    struct strings texts;
    struct tuples keys;
    struct summed_row *rows;
    uint64_t capacity;
};

static bool find_column(const struct sutra_table *table, const char *name, uint32_t *column) {
    for (*column = 0; name && *column < table->n_columns; ++*column)
        if (strcmp(table->columns[*column].spec.name, name) == 0)
            return true;
    return false;
}

static uint32_t sum_name(struct rank_sums *summing, const struct sutra_table *from, uint32_t column, const char *prefix,
                         uint64_t row) {
    size_t length, n = prefix ? strlen(prefix) : 0;
    const char *text = table_get_text(from, column, row, &length);
    bool begins = n < length && memcmp(text, prefix ? prefix : "", n) == 0;
    return begins ? strings_intern(&summing->texts, text + n, length - n)
                  : strings_intern(&summing->texts, text, length);
}

static uint32_t text_of(struct rank_sums *summing, const struct sutra_table *from, uint32_t column, bool there,
                        uint64_t row) {
    size_t length = 0;
    const char *text = there ? table_get_text(from, column, row, &length) : "";
    return strings_intern(&summing->texts, text, length);
}

static bool add_row(struct rank_sums *summing, uint32_t name, uint32_t group, uint64_t count, double value) {
    uint32_t n_known = summing->keys.n, number = tuples_number(&summing->keys, (struct tuple){{name, group, 0, 0}});
    if (name == STRING_NONE || group == STRING_NONE || number == TUPLE_NONE ||
        !column_grow(&summing->rows, number, &summing->capacity, sizeof *summing->rows))
        return false;
    struct summed_row *row = &summing->rows[number];
    if (number == n_known)
        *row = (struct summed_row){name, group, 0, 0, number};
    row->count += count;
    row->value += isfinite(value) ? value : 0;
    return true;
}

ORDER_BY(by_value, struct summed_row, DESCENDING(value) ASCENDING(number))

static void put_text(struct sutra_table *table, const struct strings *texts, uint32_t text) {
    table_text(table, strings_text(texts, text), strings_length(texts, text));
}

static void put_rows(const struct rank_sums *summing, struct sutra_table *table) {
    double all = 0;
    for (uint32_t i = 0; i < summing->keys.n; i++)
        all += summing->rows[i].value;
    for (uint32_t i = 0; i < summing->keys.n; i++) {
        const struct summed_row *row = &summing->rows[i];
        put_text(table, &summing->texts, row->name);
        put_text(table, &summing->texts, row->group);
        table_integer(table, (int64_t)row->count);
        table_real(table, row->value);
        table_real(table, all > 0 ? row->value / all * 100 : 0);
    }
}

static void summed_table(struct sutra_table *table, const char *name, const struct sutra_table *from,
                         const struct summed_columns *columns) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"group", SUTRA_COLUMN_TEXT},
                                               {"count", SUTRA_COLUMN_INTEGER},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL}};
    struct rank_sums summing = {0};
    uint32_t name_at, group_at, count_at, value_at;
    table_init(table, name, specs, sizeof specs / sizeof *specs);
    bool grouped = find_column(from, columns->group, &group_at), counted = find_column(from, columns->count, &count_at);
    bool ok = find_column(from, columns->name, &name_at) && find_column(from, columns->value, &value_at) &&
              strings_init(&summing.texts);
    for (uint64_t row = 0; row < from->n_rows && ok; row++)
        ok = add_row(&summing, sum_name(&summing, from, name_at, columns->prefix, row),
                     text_of(&summing, from, group_at, grouped, row),
                     counted ? (uint64_t)table_get_integer(from, count_at, row) : 1,
                     table_get_real(from, value_at, row));
    if (ok && summing.keys.n)
        qsort(summing.rows, summing.keys.n, sizeof *summing.rows, by_value);
    if (ok)
        put_rows(&summing, table);
    table->failed |= !ok;
    strings_free(&summing.texts);
    tuples_free(&summing.keys);
    free(summing.rows);
}

/* The first n rows, and the rest as one, "(others)". */
static void summed_cut(struct sutra_table *table, uint64_t n) {
    struct sutra_table made;
    double value = 0, share = 0;
    int64_t count = 0;
    if (table->n_rows <= n)
        return;
    table_init_like(&made, table);
    for (uint64_t row = 0; row < n; row++)
        table_append_row(&made, table, row);
    for (uint64_t row = n; row < table->n_rows; row++) {
        count += table_get_integer(table, SUMMED_COUNT, row);
        value += table_get_real(table, SUMMED_VALUE, row);
        share += table_get_real(table, SUMMED_SHARE, row);
    }
    table_text(&made, "(others)", 8);
    table_text(&made, "(others)", 8);
    table_integer(&made, count);
    table_real(&made, value);
    table_real(&made, share);
    made.failed |= table->failed;
    table_free(table);
    *table = made;
}

/* ---- Durations ---- */

struct bin {
    double from_us, below_us, device_us;
    int64_t kernels;
};

/* Puts the bin among those before it, by its end; `n` are there. */
static uint64_t add_bin(struct bin *bins, uint64_t n, struct bin bin) {
    uint64_t at = n;
    while (at > 0 && bins[at - 1].below_us > bin.below_us)
        at--;
    if (at > 0 && bins[at - 1].below_us >= bin.below_us) {
        bins[at - 1].kernels += bin.kernels;
        bins[at - 1].device_us += bin.device_us;
        return n;
    }
    if (n == DURATION_BINS_MOST)
        return n;
    memmove(bins + at + 1, bins + at, (n - at) * sizeof *bins);
    bins[at] = bin;
    return n + 1;
}

/* What is shorter than a kernel can be is one bin: clocks tell durations of 0 there. */
#define SHORTEST_US 1

static uint64_t sum_bins(const struct sutra_table *durations, struct bin *bins) {
    enum { RANK, FROM, BELOW, KERNELS, PERCENT, TIME };
    uint64_t n = 0;
    for (uint64_t row = 0; row < durations->n_rows; row++) {
        struct bin bin = {table_get_real(durations, FROM, row), table_get_real(durations, BELOW, row),
                          table_get_real(durations, TIME, row), table_get_integer(durations, KERNELS, row)};
        if (bin.below_us <= SHORTEST_US) {
            bin.from_us = 0;
            bin.below_us = SHORTEST_US;
        }
        n = add_bin(bins, n, bin);
    }
    return n;
}

static void put_bin(const struct bin *bin, const struct bin *all, struct sutra_table *table) {
    char takes[2 * sizeof(struct shown) + 8];
    if (bin->from_us > 0)
        snprintf(takes, sizeof takes, "%s to %s", shown_figure(bin->from_us, UNIT_US).text,
                 shown_figure(bin->below_us, UNIT_US).text);
    else
        snprintf(takes, sizeof takes, "below %s", shown_figure(bin->below_us, UNIT_US).text);
    table_words(table, takes);
    table_integer(table, bin->kernels);
    table_real(table, all->kernels > 0 ? (double)bin->kernels / (double)all->kernels * 100 : (double)NAN);
    table_real(table, bin->device_us);
    table_real(table, all->device_us > 0 ? bin->device_us / all->device_us * 100 : (double)NAN);
}

void durations_table(struct sutra_table *table, const struct sutra_table *durations) {
    static const struct column_spec specs[] = {{"takes", SUTRA_COLUMN_TEXT},
                                               {"kernels", SUTRA_COLUMN_INTEGER},
                                               {"percent", SUTRA_COLUMN_REAL},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"device_percent", SUTRA_COLUMN_REAL}};
    struct bin bins[DURATION_BINS_MOST], all = {0};
    uint64_t n = sum_bins(durations, bins);
    table_init(table, "durations", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < n; i++) {
        all.kernels += bins[i].kernels;
        all.device_us += bins[i].device_us;
    }
    for (uint64_t i = 0; i < n; i++)
        put_bin(&bins[i], &all, table);
}

/* ---- The timeline ---- */

#define LINES_MOST 32

void lines_table(struct sutra_table *table, const struct sutra_table *timeline) {
    static const struct column_spec specs[] = {
        {"type", SUTRA_COLUMN_TEXT}, {"time_us", SUTRA_COLUMN_REAL}, {"share_pctg", SUTRA_COLUMN_REAL}};
    enum { RANK, TYPE, TIME };
    double sums[LINES_MOST] = {0}, wholes[2] = {0};
    uint64_t n = 0;
    bool charges = false;
    table_init(table, "timeline", specs, sizeof specs / sizeof *specs);
    while (n < timeline->n_rows && n < LINES_MOST &&
           table_get_integer(timeline, RANK, n) == table_get_integer(timeline, RANK, 0))
        n++;
    for (uint64_t row = 0; n > 0 && row < timeline->n_rows; row++)
        sums[row % n] += table_get_real(timeline, TIME, row);
    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *type = table_get_text(timeline, TYPE, i, &length);
        if (strcmp(type, "total") == 0)
            wholes[0] = sums[i];
        if (strcmp(type, "all GPU activity") == 0)
            wholes[1] = sums[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *type = table_get_text(timeline, TYPE, i, &length);
        table_text(table, type, length);
        table_real(table, sums[i]);
        table_real(table, wholes[charges] > 0 ? sums[i] / wholes[charges] * 100 : (double)NAN);
        charges |= strcmp(type, "memcpy") == 0; /* the last line that is a share of the whole time */
    }
}

/* The time of a line; 0: there is none. */
static double lines_us(const struct sutra_table *lines, const char *type) {
    size_t length;
    for (uint64_t row = 0; row < lines->n_rows; row++)
        if (strcmp(table_get_text(lines, LINE_TYPE, row, &length), type) == 0)
            return table_get_real(lines, LINE_TIME, row);
    return 0;
}

/*
 * Writes sections on operators and kernels: treemaps, bars, and tables.
 */

/* Bars and areas of one chart. */
#define BARS_SHOWN  16
#define AREAS_SHOWN 48

static const struct sutra_table *table_of(const struct operators_source *source, enum sutra_operators_table id) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(source->ranks), id, NULL);
    return table && table->n_rows ? table : NULL;
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

/* Of a struct operators_source: charts with their tables, or why there are none. */
static void operators_show_time(struct page *page, const void *of) {
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
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_CATEGORY, "Categories",
                      "no GPU activity is attributed to operators");
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
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_ARGUMENTS, "Operators by arguments",
                      "no GPU activity is attributed to operators");
}

void operators_show_rates(struct page *page, const void *of) {
    const struct operators_source *source = of;
    rates_show(page, source->ranks);
}

void operators_show_annotations(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_ANNOTATION, "Annotations",
                      "the traces have no annotations");
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
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_KERNELS_BY_CONFIGURATION,
                      "Kernels by launch configuration", "the traces have no kernels");
}

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
    const struct sutra_table *timeline = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_OPERATORS_TIMELINE, NULL);
    bool kernels = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_KERNELS_BY_NAME, NULL) != NULL;
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
