/*
 * operators_report.c - writes the pages on operators and on kernels of one or many ranks.
 *
 *     tables of the analysis --> sums over ranks --> bars, treemap, table
 *     rates, peak rates      --> roofline of the first rank, tables
 *
 * O(rows), plus a sort of the sums.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "report/sections.h"
#include "sutra/report.h"
#include "text/quantities.h"

static const struct sutra_table *table_of(const struct operators_source *source, enum sutra_operators_table id) {
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(source->ranks), id, NULL);
    return table && table->n_rows ? table : NULL;
}

/* ---- Sums over ranks ---- */

/* Columns of a table of the analysis and the prefix of names that is not shown (or NULL), with the words of the sums'
 * charts. */
struct summed_chart {
    enum sutra_operators_table table;
    const char *missing; /* why the table is missing */
    const char *name, *group, *count, *value, *prefix;
    struct bars_words bars;
    const char *areas_name, *areas_title, *areas_description; /* of the treemap */
    bool kernels;
};

struct summed_row {
    uint32_t name, group;
    uint64_t count;
    double value;
    uint32_t number; /* order of discovery */
};

ORDER_BY(compare_summed, struct summed_row, DESCENDING(value) ASCENDING(number))

struct sums {
    struct strings texts;
    struct tuples keys;
    struct summed_row *rows;
    uint64_t capacity;
};

/* Sums the rows of each name and group. */
static bool sum_rows(struct sums *sums, const struct sutra_table *from, const struct summed_chart *chart) {
    uint32_t name_column = table_column(from, chart->name), group_column = table_column(from, chart->group);
    uint32_t count_column = table_column(from, chart->count), value_column = table_column(from, chart->value);
    size_t n_prefix = chart->prefix ? strlen(chart->prefix) : 0;
    if (!strings_init(&sums->texts))
        return false;
    for (uint64_t row = 0; row < from->n_rows; row++) {
        size_t n_name, n_group;
        const char *name = table_get_text(from, name_column, row, &n_name);
        const char *group = table_get_text(from, group_column, row, &n_group);
        double value = table_get_real(from, value_column, row);
        if (n_prefix && n_prefix < n_name && memcmp(name, chart->prefix, n_prefix) == 0) {
            name += n_prefix;
            n_name -= n_prefix;
        }
        uint32_t n = sums->keys.n;
        uint32_t name_text = strings_intern(&sums->texts, name, n_name);
        uint32_t group_text = strings_intern(&sums->texts, group, n_group);
        uint32_t number = tuples_number(&sums->keys, (struct tuple){{name_text, group_text, 0, 0}});
        if (name_text == STRING_NONE || group_text == STRING_NONE || number == TUPLE_NONE ||
            !column_grow(&sums->rows, number, &sums->capacity, sizeof *sums->rows))
            return false;
        if (number == n)
            sums->rows[number] = (struct summed_row){name_text, group_text, 0, 0, number};
        sums->rows[number].count += (uint64_t)table_get_integer(from, count_column, row);
        sums->rows[number].value += isfinite(value) ? value : 0;
    }
    if (sums->keys.n)
        qsort(sums->rows, sums->keys.n, sizeof *sums->rows, compare_summed);
    return true;
}

/* Makes a table of the sums, in descending order of device_us. */
static void make_summed(struct sutra_table *table, const struct sutra_table *from, const struct summed_chart *chart) {
    static const struct column_spec specs[] = {TEXT("name"), TEXT("group"), INTEGER("count"), REAL("device_us"),
                                               REAL("share_pctg")};
    struct sums sums = {0};
    double all = 0;
    table_init(table, chart->bars.name, specs, sizeof specs / sizeof *specs);
    if (!sum_rows(&sums, from, chart))
        table->failed = true;
    for (uint32_t i = 0; i < sums.keys.n && !table->failed; i++)
        all += sums.rows[i].value;
    for (uint32_t i = 0; i < sums.keys.n && !table->failed; i++) {
        const struct summed_row *row = &sums.rows[i];
        table_text(table, strings_text(&sums.texts, row->name), strings_length(&sums.texts, row->name));
        table_text(table, strings_text(&sums.texts, row->group), strings_length(&sums.texts, row->group));
        table_integer(table, (int64_t)row->count);
        table_real(table, row->value);
        table_real(table, all > 0 ? row->value / all * 100 : 0);
    }
    strings_free(&sums.texts);
    tuples_free(&sums.keys);
    free(sums.rows);
}

/* Replaces all rows after the first n by one, "(others)". */
static void limit_summed(struct sutra_table *table, uint64_t n) {
    struct sutra_table made;
    double value = 0, share = 0;
    int64_t count = 0;
    if (table->n_rows <= n)
        return;
    table_init_like(&made, table);
    for (uint64_t row = 0; row < n; row++)
        table_append_row(&made, table, row);
    for (uint64_t row = n; row < table->n_rows; row++) {
        count += integer_named(table, "count", row);
        value += real_named(table, "device_us", row);
        share += real_named(table, "share_pctg", row);
    }
    table_words(&made, "(others)");
    table_words(&made, "(others)");
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

/* Shorter durations have one bin: no kernel is shorter, and clocks record 0. */
#define SHORTEST_US 1

void durations_table(struct sutra_table *table, const struct sutra_table *durations) {
    static const struct column_spec specs[] = {TEXT("takes"), INTEGER("kernels"), REAL("percent"), REAL("device_us"),
                                               REAL("device_percent")};
    struct bin bins[DURATION_BINS_MAX], all = {0};
    uint64_t n = 0;
    for (uint64_t row = 0; row < durations->n_rows; row++) {
        struct bin bin = {real_named(durations, "from_us", row), real_named(durations, "below_us", row),
                          real_named(durations, "device_us", row), integer_named(durations, "kernels", row)};
        if (bin.below_us <= SHORTEST_US) {
            bin.from_us = 0;
            bin.below_us = SHORTEST_US;
        }
        /* Add to the bin with the same end, or insert a bin. */
        uint64_t at = n;
        while (at > 0 && bins[at - 1].below_us > bin.below_us)
            at--;
        if (at > 0 && bins[at - 1].below_us >= bin.below_us) {
            bins[at - 1].kernels += bin.kernels;
            bins[at - 1].device_us += bin.device_us;
        } else if (n < DURATION_BINS_MAX) {
            memmove(bins + at + 1, bins + at, (n++ - at) * sizeof *bins);
            bins[at] = bin;
        }
    }
    table_init(table, "durations", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < n; i++) {
        all.kernels += bins[i].kernels;
        all.device_us += bins[i].device_us;
    }
    for (const struct bin *bin = bins; bin < bins + n; bin++) {
        char takes[2 * sizeof(struct shown) + 8];
        if (bin->from_us > 0)
            snprintf(takes, sizeof takes, "%s to %s", shown_figure(bin->from_us, UNIT_US).text,
                     shown_figure(bin->below_us, UNIT_US).text);
        else
            snprintf(takes, sizeof takes, "below %s", shown_figure(bin->below_us, UNIT_US).text);
        table_words(table, takes);
        table_integer(table, bin->kernels);
        table_real(table, all.kernels > 0 ? (double)bin->kernels / (double)all.kernels * 100 : (double)NAN);
        table_real(table, bin->device_us);
        table_real(table, all.device_us > 0 ? bin->device_us / all.device_us * 100 : (double)NAN);
    }
}

/* ---- The timeline ---- */

#define LINES_MAX 32

void lines_table(struct sutra_table *table, const struct sutra_table *timeline) {
    static const struct column_spec specs[] = {TEXT("type"), REAL("time_us"), REAL("share_pctg")};
    uint32_t rank = table_column(timeline, "rank");
    double sums[LINES_MAX] = {0}, wholes[2] = {0}; /* time span, all GPU activity */
    uint64_t n = 0;
    size_t length;
    bool is_attribution = false;
    table_init(table, "timeline", specs, sizeof specs / sizeof *specs);
    while (n < timeline->n_rows && n < LINES_MAX &&
           table_get_integer(timeline, rank, n) == table_get_integer(timeline, rank, 0))
        n++;
    for (uint64_t row = 0; n > 0 && row < timeline->n_rows; row++)
        sums[row % n] += real_named(timeline, "time_us", row);
    for (uint64_t i = 0; i < n; i++) {
        const char *type = text_named(timeline, "type", i);
        if (strcmp(type, "total") == 0)
            wholes[0] = sums[i];
        if (strcmp(type, "all GPU activity") == 0)
            wholes[1] = sums[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        const char *type = table_get_text(timeline, table_column(timeline, "type"), i, &length);
        table_text(table, type, length);
        table_real(table, sums[i]);
        table_real(table, wholes[is_attribution] > 0 ? sums[i] / wholes[is_attribution] * 100 : (double)NAN);
        is_attribution |= strcmp(type, "memcpy") == 0; /* the last share of the time span */
    }
}

/* The time of a line; 0: not in the table. */
static double lines_us(const struct sutra_table *lines, const char *type) {
    for (uint64_t row = 0; row < lines->n_rows; row++)
        if (strcmp(text_named(lines, "type", row), type) == 0)
            return real_named(lines, "time_us", row);
    return 0;
}

/* ---- Sections ---- */

/* Bars and areas of one chart. */
#define BARS_SHOWN  16
#define AREAS_SHOWN 48

void operators_show_warnings(struct page *page, const struct sutra_operators_ranks *ranks) {
    const struct sutra_operators_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(ranks, i)); i++)
        if (rank->reason)
            page_warn_skipped(page, n++, rank->path, rank->reason);
    page_warn_more_skipped(page, n);
    page_warn_defects(page, SUTRA_RESULT(ranks));
}

static void operators_show_time(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_table(page, &source->lines, "GPU time and attribution", "gpu_timeline");
}

/* A treemap is shown only with at least this number of rows, and if no row has nearly all of the time. */
#define MIN_AREAS      4
#define MAX_AREA_SHARE 0.85

static void show_summed(struct page *page, const struct operators_source *source, const struct summed_chart *chart) {
    const struct sutra_table *from =
        page_find_table(page, SUTRA_RESULT(source->ranks), chart->table, chart->bars.caption, chart->missing);
    if (!from)
        return;
    struct sutra_table table;
    int colours[BARS_SHOWN];
    struct bars_words bars_words = chart->bars;
    char caption[64];
    double all = 0;
    snprintf(caption, sizeof caption, "%s%s", bars_words.caption,
             sutra_operators_ranks_get(source->ranks, 1) ? ", all ranks" : "");
    bars_words.caption = caption;
    make_summed(&table, from, chart);
    uint32_t name = table_column(&table, "name"), group = table_column(&table, "group");
    uint32_t value = table_column(&table, "device_us");
    for (uint64_t row = 0; row < table.n_rows; row++)
        all += table_get_real(&table, value, row);
    if (!table.failed && !(all > 0)) {
        page_missing(page, caption, "no GPU activity");
        table_free(&table);
        return;
    }
    /* Colors of kernels by name; of operators by name or category. */
    for (uint64_t row = 0; row < table.n_rows && row < BARS_SHOWN; row++) {
        size_t length;
        const char *text = table_get_text(&table, name, row, &length);
        colours[row] = (int)(chart->kernels ? colour_of_work(text, length) : colour_of_operator(text, length));
        text = table_get_text(&table, group, row, &length);
        if (colours[row] == COLOUR_COMPUTE && !chart->kernels)
            colours[row] = (int)colour_of_operator(text, length);
    }
    struct bars bars = bars_of_value(&table, "name", "device_us", "GPU time", COLOUR_COMPUTE, UNIT_US);
    bars.kernels = chart->kernels;
    bars.by_end = !chart->kernels;
    bars.row_colours = colours;
    page_bars(page, bars, BARS_SHOWN, &bars_words);
    if (table.n_rows >= MIN_AREAS && table_get_real(&table, value, 0) < MAX_AREA_SHARE * all) {
        limit_summed(&table, AREAS_SHOWN - 1);
        page_subtitle(page, chart->areas_title);
        const struct treemap map = {.table = &table,
                                    .n_rows = (uint32_t)table.n_rows,
                                    .label = name,
                                    .group = group,
                                    .value = value,
                                    .unit = UNIT_US};
        page_chart(page, chart->areas_name, chart->areas_title, chart->areas_description, treemap_draw, &map);
    }
    page_check(page, &table);
    table_free(&table);
}

void graph_totals_of(const struct sutra_table *table, int64_t rank, struct graph_totals totals[GRAPHS_N]) {
    static const char *const names[GRAPHS_N] = {"exact", "high", "medium", "none"};
    for (int k = 0; k < GRAPHS_N; k++)
        totals[k] = (struct graph_totals){.confidence = names[k]};
    for (uint64_t row = 0; table && row < table->n_rows; row++)
        for (int k = 0; k < GRAPHS_N; k++) {
            if (strcmp(text_named(table, "confidence", row), names[k]) != 0 ||
                (rank >= 0 && integer_named(table, "rank", row) != rank))
                continue;
            totals[k].n += (uint64_t)integer_named(table, "kernels", row);
            totals[k].us += real_named(table, "device_us", row);
            totals[k].percent += real_named(table, "percent", row);
        }
}

/* "N kernels of graphs are attributed by kernel name, ..."; "" if all are exact or unmatched. */
static void describe_graphs(const struct operators_source *source, char *text, size_t size) {
    struct graph_totals totals[GRAPHS_N];
    size_t length = 0;
    graph_totals_of(table_of(source, SUTRA_OPERATORS_GRAPH_KERNELS), -1, totals);
    *text = 0;
    for (int k = GRAPHS_HIGH; k <= GRAPHS_MEDIUM; k++)
        if (totals[k].n && length < size)
            length += (size_t)snprintf(text + length, size - length, "%s%s %s attributed %s.", length ? " " : "",
                                       counted_text(totals[k].n, "kernel of graphs", "kernels of graphs").text,
                                       totals[k].n == 1 ? "is" : "are", graph_remark(totals[k].confidence));
}

void operators_show_operators(struct page *page, const void *of) {
    struct summed_chart chart = {.table = SUTRA_OPERATORS_BY_NAME,
                                 .missing = "the traces have no operators",
                                 .name = "name",
                                 .group = "category",
                                 .count = "calls",
                                 .value = "device_us",
                                 .bars = {"top_operators", "GPU time of operators",
                                          "One bar per operator: self GPU time.", NULL, "Operators", "operators"},
                                 .areas_name = "operator_areas",
                                 .areas_title = "GPU time of operators by category",
                                 .areas_description =
                                     "One area per operator, proportional to its GPU time, grouped by category."};
    char note[256];
    describe_graphs(of, note, sizeof note);
    chart.bars.note = *note ? note : NULL;
    show_summed(page, of, &chart);
}

void operators_show_categories(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_CATEGORY, "Categories",
                      "no GPU activity is attributed to operators");
}

void operators_show_modules(struct page *page, const void *of) {
    static const struct summed_chart chart = {
        .table = SUTRA_OPERATORS_BY_MODULE,
        .missing = "no nn.Module is recorded: profile with with_stack=True",
        .name = "module",
        .group = "kind",
        .count = "calls",
        .value = "own_us",
        .prefix = MODULE_PREFIX,
        .bars = {"top_modules", "GPU time of modules",
                 "One bar per module: GPU activity launched in the module, without its child modules.", NULL, "Modules",
                 "modules"},
        .areas_name = "module_areas",
        .areas_title = "GPU time of modules by kind",
        .areas_description =
            "One area per module, proportional to its GPU time (forward and backward, without child modules), grouped by "
            "kind."};
    show_summed(page, of, &chart);
}

void operators_show_arguments(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_ARGUMENTS, "Operators by arguments",
                      "no GPU activity is attributed to operators");
}

void operators_show_annotations(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_BY_ANNOTATION, "Annotations",
                      "the traces have no annotations");
}

void operators_show_kernels(struct page *page, const void *of) {
    static const struct summed_chart chart = {
        .table = SUTRA_KERNELS_BY_NAME,
        .missing = "the traces have no kernels",
        .name = "full_name",
        .group = "operator",
        .count = "kernels",
        .value = "device_us",
        .bars = {"top_kernels", "GPU time of kernels", "One bar per kernel, memcpy or memset name.", NULL, "Kernels",
                 "kernels"},
        .areas_name = "kernel_areas",
        .areas_title = "GPU time of kernels by operator",
        .areas_description = "One area per kernel, proportional to its time, grouped by operator.",
        .kernels = true};
    show_summed(page, of, &chart);
}

void operators_show_durations(struct page *page, const void *of) {
    static const struct bars_words words = {"kernel_durations",
                                            "Kernels by duration",
                                            "One bar per duration range: number of kernels of all ranks.",
                                            NULL,
                                            "Kernels by duration",
                                            "kernel_durations"};
    const struct operators_source *source = of;
    const struct sutra_table *from = page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_KERNELS_DURATIONS,
                                                     words.caption, "the traces have no kernels");
    struct sutra_table table;
    if (!from)
        return;
    durations_table(&table, from);
    if (page->charted)
        page_subtitle(page, words.title); /* a section with this chart only has a title already */
    page_bars(page, bars_of_value(&table, "takes", "kernels", "kernels", COLOUR_COUNT, UNIT_COUNT), DURATION_BINS_MAX,
              &words);
    table_free(&table);
}

void operators_show_configurations(struct page *page, const void *of) {
    const struct operators_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_KERNELS_BY_CONFIGURATION,
                      "Kernels by launch configuration", "the traces have no kernels");
}

/* ---- Kernels of graphs ---- */

void operators_show_graphs(struct page *page, const void *of) {
    const struct operators_source *source = of;
    const struct sutra_table *launches =
        page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_GRAPH_KERNELS, "CUDA graphs",
                        "the traces have no kernels of graph launches");
    const struct sutra_table *by_operator = table_of(source, SUTRA_OPERATORS_GRAPH_OPERATORS);
    struct graph_totals totals[GRAPHS_N];
    double all_us = 0;
    if (!launches)
        return;
    graph_totals_of(launches, -1, totals);
    for (int k = 0; k < GRAPHS_N; k++)
        all_us += totals[k].us;
    for (int k = 0; k < GRAPHS_N; k++) {
        char words[256];
        const char *remark = graph_remark(totals[k].confidence);
        if (totals[k].n == 0)
            continue;
        snprintf(words, sizeof words, "%s (%s of the time of graphs), confidence %s%s%s.",
                 counted_text(totals[k].n, "kernel of graphs", "kernels of graphs").text,
                 shown_figure(all_us > 0 ? totals[k].us / all_us * 100 : NAN, UNIT_PERCENT).text, totals[k].confidence,
                 *remark ? ": " : "", remark);
        page_words(page, words);
    }
    page_table(page, launches, "Kernels of graphs by launch and method", "graph_kernels");
    if (by_operator)
        page_table(page, by_operator,
                   totals[GRAPHS_MEDIUM].n
                       ? "Operators of graphs; medium confidence: by position, kernel names were not "
                         "recorded; high: by kernel name"
                   : totals[GRAPHS_HIGH].n ? "Operators of graphs; high confidence: by kernel name"
                                           : "Operators of graphs",
                   "graph_operators");
}

/* ---- Rates: a roofline of the first rank, and tables ---- */

/* Maximum number of points of a roofline, the operators with most time, and of peaks. */
#define POINTS_SHOWN 100
#define PEAKS_SHOWN  6

static const enum shape shapes[N_SHAPES] = {SHAPE_CIRCLE, SHAPE_SQUARE, SHAPE_DIAMOND, SHAPE_UP,
                                            SHAPE_DOWN,   SHAPE_CROSS,  SHAPE_RING};
static const struct legend_entry kinds[N_SHAPES] = {{"matmul", 0, &shapes[0]},     {"convolutions", 0, &shapes[1]},
                                                    {"attention", 0, &shapes[2]},  {"elementwise", 0, &shapes[3]},
                                                    {"reductions", 0, &shapes[4]}, {"norms", 0, &shapes[5]},
                                                    {"others", 0, &shapes[6]}};

/* Copies a text of the table as a string of at most 31 bytes. */
static void copy_text(const struct sutra_table *table, const char *column, uint64_t row, char to[32]) {
    size_t length;
    const char *text = table_get_text(table, table_column(table, column), row, &length);
    length = length < 32 ? length : 31;
    memcpy(to, text, length);
    to[length] = 0;
}

/* A roofline of the operators of one rank. */
struct rank_roofline {
    struct roofline_point points[POINTS_SHOWN];
    uint64_t n_points, n_rated; /* shown operators, and all operators with a rate */
    struct buffer names;        /* of all points */
    struct roofline_peak peaks[PEAKS_SHOWN];
    char peak_names[PEAKS_SHOWN][32];
    int n_peaks;
    double us, tbytes_per_s;
};

ORDER_BY(compare_peaks, struct roofline_peak, DESCENDING(tflops_per_s))

/* Beginnings of the categories of the kinds. */
static const char *const kind_begins[] = {"GEMM", "CONV", "SDPA", "elementwise", "reduce", "NORM"};

static void add_points(struct rank_roofline *roofline, const struct sutra_table *rates, int64_t rank) {
    for (uint64_t row = 0; row < rates->n_rows; row++) {
        char category[32];
        size_t n_name, n_dims, before = roofline->names.length;
        double flops_per_byte = real_named(rates, "flops_per_byte", row), rate = real_named(rates, "tflops_per_s", row);
        if (integer_named(rates, "rank", row) != rank)
            continue;
        roofline->us += real_named(rates, "self_device_us", row);
        if (!(flops_per_byte > 0) || !(rate > 0))
            continue;
        roofline->n_rated++;
        if (roofline->n_points == POINTS_SHOWN)
            continue;
        const char *name = table_get_text(rates, table_column(rates, "name"), row, &n_name),
                   *dims = table_get_text(rates, table_column(rates, "input_dims"), row, &n_dims);
        copy_text(rates, "category", row, category);
        size_t kind = 0, n_kinds = sizeof kind_begins / sizeof *kind_begins;
        while (kind < n_kinds && strncmp(category, kind_begins[kind], strlen(kind_begins[kind])) != 0)
            kind++;
        buffer_append(&roofline->names, name, n_name);
        buffer_append_text(&roofline->names, " ");
        buffer_append(&roofline->names, dims, n_dims);
        roofline->points[roofline->n_points++] = (struct roofline_point){.name.length = roofline->names.length - before,
                                                                         .flops_per_byte = flops_per_byte,
                                                                         .tflops_per_s = rate,
                                                                         .us = real_named(rates, "self_device_us", row),
                                                                         .shape = shapes[kind],
                                                                         .row = row};
    }
    /* The buffer of the names has its final address now. */
    size_t at = 0;
    for (uint64_t i = 0; i < roofline->n_points; i++) {
        roofline->points[i].name.bytes = roofline->names.bytes + at;
        at += roofline->points[i].name.length;
    }
}

/* Adds the memory bandwidth, and the peaks of units on which operators of the rank compute. */
static void add_peaks(struct rank_roofline *roofline, const struct sutra_table *rates, const struct sutra_table *peaks,
                      int64_t rank) {
    for (uint64_t row = 0; row < peaks->n_rows && roofline->n_peaks < PEAKS_SHOWN; row++) {
        char *unit = roofline->peak_names[roofline->n_peaks], used[32];
        if (integer_named(peaks, "rank", row) != rank)
            continue;
        copy_text(peaks, "unit", row, unit);
        if (strcmp(unit, "memory") == 0) {
            roofline->tbytes_per_s = real_named(peaks, "tbytes_per_s", row);
            continue;
        }
        bool is_used = false;
        for (uint64_t i = 0; i < rates->n_rows && !is_used; i++) {
            copy_text(rates, "unit", i, used);
            is_used = integer_named(rates, "rank", i) == rank && strcmp(used, unit) == 0;
        }
        if (is_used)
            roofline->peaks[roofline->n_peaks++] =
                (struct roofline_peak){.name = unit, .tflops_per_s = real_named(peaks, "tflops_per_s", row)};
    }
    qsort(roofline->peaks, (size_t)roofline->n_peaks, sizeof *roofline->peaks, compare_peaks);
}

static void show_roofline(struct page *page, const struct sutra_table *rates, const struct sutra_table *peaks) {
    struct rank_roofline roofline = {.n_points = 0};
    int64_t rank = integer_named(rates, "rank", 0);
    add_points(&roofline, rates, rank);
    if (peaks)
        add_peaks(&roofline, rates, peaks, rank);
    /* The legend has the kinds with a point. */
    struct legend_entry legend[N_SHAPES];
    int n_legend = 0;
    for (size_t kind = 0; kind < N_SHAPES; kind++)
        for (uint64_t i = 0; i < roofline.n_points; i++)
            if (roofline.points[i].shape == *kinds[kind].shape) {
                legend[n_legend++] = kinds[kind];
                break;
            }
    const struct roofline_chart chart = {.points = roofline.points,
                                         .n_points = roofline.n_points,
                                         .us = roofline.us,
                                         .peaks = roofline.peaks,
                                         .n_peaks = roofline.n_peaks,
                                         .tbytes_per_s = roofline.tbytes_per_s,
                                         .legend = legend,
                                         .n_legend = n_legend};
    page->markup.out.out.failed |= roofline.names.failed;
    if (roofline.n_points && !roofline.names.failed)
        page_chart(
            page, "roofline", "Roofline of operators",
            "One point per operator and arguments, sized by GPU time, at its FLOPs per byte and FLOPs per second; the "
            "lines are the peak memory bandwidth and compute rate.",
            roofline_draw, &chart);
    page_limit(page, roofline.n_points, roofline.n_rated, true, "operators");
    if (integer_named(rates, "rank", rates->n_rows - 1) != rank) {
        char words[96];
        snprintf(words, sizeof words, "The chart shows the operators of rank %" PRId64 ".", rank);
        page_words(page, words);
    }
    buffer_free(&roofline.names);
}

void operators_show_rates(struct page *page, const void *of) {
    static const struct column_spec specs[] = {INTEGER("rank"),   TEXT("name"),    INTEGER("calls"),
                                               REAL("device_us"), REAL("percent"), TEXT("missing")};
    const struct operators_source *source = of;
    const struct sutra_table *rates = page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_RATES, "Rates",
                                                      "no GPU activity is attributed to operators");
    const struct sutra_table *peaks = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_PEAKS, NULL);
    if (!rates)
        return;
    show_roofline(page, rates, peaks);
    if (!peaks || peaks->n_rows == 0)
        page_missing(page, "Share of the roofline",
                     "no data sheet for this GPU, or the trace does not name it; use --peaks FILE");
    else
        page_table(page, peaks, "Peak rates of the GPU", "device_peaks");
    page_table(page, sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_RATE_STEPS, NULL),
               "FLOPs of steps and model FLOPs utilization (MFU)", "rate_steps");
    page_table(page, rates, "Rates", "rates");
    if (table_of(source, SUTRA_OPERATORS_TRITON))
        page_table(page, table_of(source, SUTRA_OPERATORS_TRITON),
                   "Triton kernels of torch.compile: FLOPs and bytes of one call", "triton");
    /* Operators whose FLOPs or bytes are unknown. */
    struct sutra_table table;
    table_init(&table, "rates_unknown", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < rates->n_rows; row++) {
        size_t n_name, n_missing;
        const char *name = table_get_text(rates, table_column(rates, "name"), row, &n_name),
                   *missing = table_get_text(rates, table_column(rates, "missing"), row, &n_missing);
        if (n_missing == 0)
            continue;
        table_integer(&table, integer_named(rates, "rank", row));
        table_text(&table, name, n_name);
        table_integer(&table, integer_named(rates, "calls", row));
        table_real(&table, real_named(rates, "device_us", row));
        table_real(&table, real_named(rates, "percent", row));
        table_text(&table, missing, n_missing);
    }
    page_check(page, &table);
    if (table.n_rows)
        page_table(page, &table, "GPU activity without known FLOPs", "rates");
    table_free(&table);
}

#define GRAPHS_WORDS                                                                                                    \
    "Kernels of CUDA and HIP graphs, by the operators that launched them when the graph was captured. A graph has one " \
    "launch call for all of its kernels. Confidence exact: graph node ids, or the kernel names of the capture in the "  \
    "same order. High: kernel names. Medium: positions. None: the kernels belong to the launch."

static const struct page_section of_operators[] = {
    {"time", "GPU time",
     "Time from the first to the last GPU activity, and its attribution. Exposed communication does not overlap with "
     "compute, exposed memcpy with neither. Each GPU activity is attributed once: to the innermost enclosing operator "
     "of its launch call, or to the call if no operator runs. Without a launch call in the trace it is unattributed.",
     operators_show_time},
    {"operators", "Operators", "GPU activity that each operator launches itself, without its child operators.",
     operators_show_operators},
    {"categories", "Categories", "GPU time by operator category.", operators_show_categories},
    {"modules", "Modules", "GPU activity of modules: launched in forward, and by autograd in backward.",
     operators_show_modules},
    {"arguments", "Arguments", "Operators by shapes, types, strides and values of their inputs.",
     operators_show_arguments},
    {"rates", "Rates", "FLOP rates of operators against the peak rates of the GPU.", operators_show_rates},
    {"graphs", "CUDA graphs", GRAPHS_WORDS, operators_show_graphs},
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
    {"graphs", "CUDA graphs", GRAPHS_WORDS, operators_show_graphs},
    {0},
};

/* ---- The pages ---- */

static void warn(struct page *page, const void *of) {
    const struct operators_source *source = of;
    operators_show_warnings(page, source->ranks);
    if (!(lines_us(&source->lines, "all GPU activity") > 0))
        page_warning(page, "No GPU activity with a duration: sutra analyze reports the cause and the remedy.");
}

static void show_cards(struct page *page, const void *of) {
    const struct operators_source *source = of;
    const struct sutra_operators_rank *rank;
    size_t n_ranks = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(source->ranks, i)); i++)
        n_ranks += !rank->reason;
    page_card(page, "Ranks", (double)n_ranks, UNIT_COUNT, "");
    char notes[4][96];
    const char *const of_ranks = n_ranks > 1 ? ", total of all ranks" : "";
    snprintf(notes[0], sizeof notes[0], "from the first to the last activity%s", of_ranks);
    snprintf(notes[1], sizeof notes[1], "overlap counts once%s", of_ranks);
    snprintf(notes[2], sizeof notes[2], "sum of durations%s", of_ranks);
    snprintf(notes[3], sizeof notes[3], "launch call not in the trace%s", of_ranks);
    page_card(page, "GPU time", lines_us(&source->lines, "total"), UNIT_US, notes[0]);
    page_card(page, "Busy", lines_us(&source->lines, "busy"), UNIT_US, notes[1]);
    page_card(page, "All GPU activity", lines_us(&source->lines, "all GPU activity"), UNIT_US, notes[2]);
    page_card(page, "Unattributed", lines_us(&source->lines, "unattributed"), UNIT_US, notes[3]);
}

enum sutra_status sutra_report_write_operators(struct sutra_context *context, const struct sutra_operators_ranks *ranks,
                                               const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct operators_source source = {.ranks = ranks};
    const struct sutra_operators_rank *first = sutra_operators_ranks_get(ranks, 0), *rank;
    bool kernels = sutra_result_table(SUTRA_RESULT(ranks), SUTRA_KERNELS_BY_NAME, NULL) != NULL;
    const char *subject = kernels ? "Kernels" : "Operators";
    struct page page;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(ranks, i)); i++)
        if (!rank->reason && n++ == 0)
            first = rank;
    const struct rank_title title = title_of_ranks(subject, first->rank, n);
    const struct page_frame frame = {.title = title.title,
                                     .path = first->path,
                                     .more = title.more,
                                     .warnings = warn,
                                     .cards = show_cards,
                                     .sections = kernels ? of_kernels : of_operators};
    page_open(&page, context, folder, kernels ? PAGE_KERNELS : PAGE_OPERATORS, error);
    lines_table(&source.lines, sutra_result_table(SUTRA_RESULT(ranks), SUTRA_OPERATORS_TIMELINE, NULL));
    page_check(&page, &source.lines);
    enum sutra_status status = page_write(&page, &frame, &source, n_bytes);
    table_free(&source.lines);
    return status;
}
