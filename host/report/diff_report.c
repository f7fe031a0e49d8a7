/*
 * diff_report.c - writes the page that compares two traces or jobs: two-sided bars, a tree of call paths, and tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/page.h"
#include "sutra/report.h"

#define BARS_SHOWN 16

/* Rows of the tree: at most so many, and so deep; those that differ by less than this share of the largest difference
 * are left out. */
#define TREE_SHOWN 300
#define TREE_DEPTH 40
#define TREE_SHARE 0.005

/* Nodes whose difference has this share of the largest are unfolded. */
#define TREE_OPEN 0.2

struct diff_source {
    const struct sutra_diff *diff;
    struct sutra_diff_summary summary;
    const char *clear; /* whether steps differ clearly */
};

static const struct sutra_table *table_of(const struct diff_source *source, enum sutra_diff_table id) {
    return sutra_result_table(SUTRA_RESULT(source->diff), id, NULL);
}

static uint32_t column_of(const struct sutra_table *table, const char *name) {
    uint32_t i = 0;
    while (i + 1 < table->n_columns && strcmp(table->columns[i].spec.name, name) != 0)
        i++;
    return i;
}

/* ---- Bars ---- */

enum labels { LABELS_OPERATORS, LABELS_KERNELS, LABELS_PATHS };

/* Rows that differ, which come first. */
static uint64_t rows_to_show(const struct sutra_table *table, uint32_t value) {
    uint64_t n = 0;
    while (n < table->n_rows && n < BARS_SHOWN && table_get_real(table, value, n) != 0)
        n++;
    return n;
}

static void show_bars(struct page *page, const struct sutra_table *table, enum labels labels, const char *name,
                      const char *title, const char *description) {
    int colours[BARS_SHOWN];
    const struct changes changes = {.table = table,
                                    .n_rows = rows_to_show(table, column_of(table, "device_diff_us")),
                                    .label = 0,
                                    .value = column_of(table, "device_diff_us"),
                                    .by_end = labels != LABELS_KERNELS,
                                    .kernels = labels == LABELS_KERNELS,
                                    .row_colours = colours,
                                    .unit = UNIT_US};
    for (uint64_t row = 0; row < changes.n_rows; row++) {
        size_t length;
        const char *text = table_get_text(table, 0, row, &length);
        enum colour colour = labels == LABELS_KERNELS ? colour_of_work(text, length) : COLOUR_COMPUTE;
        colours[row] = (int)(labels == LABELS_OPERATORS ? colour_of_operator(text, length) : colour);
    }
    if (changes.n_rows)
        page_chart(page, name, title, description, changes_draw, &changes);
    else
        page_words(page, "No differences.");
}

/* Rows of the table of steps: the step, its parts, the work of the device. */
static void show_parts(struct page *page, const struct sutra_table *steps) {
    static const int colours[] = {COLOUR_COMPUTE,   COLOUR_COMMUNICATION, COLOUR_COPIES,      COLOUR_WAIT_HOST,
                                  COLOUR_WAIT_DATA, COLOUR_WAIT_SYNC,     COLOUR_WAIT_DEVICE, COLOUR_IDLE};
    static const struct column_spec specs[] = {{"part", SUTRA_COLUMN_TEXT}, {"diff_us", SUTRA_COLUMN_REAL}};
    const uint32_t value = column_of(steps, "diff_us");
    struct sutra_table parts;
    table_init(&parts, "changed_parts", specs, 2);
    for (uint64_t row = 1; row <= sizeof colours / sizeof *colours; row++) {
        size_t length;
        const char *text = table_get_text(steps, 0, row, &length);
        table_text(&parts, text, length);
        table_real(&parts, table_get_real(steps, value, row));
    }
    const struct changes changes = {
        .table = &parts, .n_rows = parts.n_rows, .label = 0, .value = 1, .row_colours = colours, .unit = UNIT_US};
    page_chart(page, "changed_parts", "Parts of a step: B - A",
               "One bar per part of a step: to the right if B takes longer, to the left if A takes longer.",
               changes_draw, &changes);
    page_check(page, &parts);
    table_free(&parts);
}

static void show_steps(struct page *page, const void *of) {
    const struct diff_source *source = of;
    const struct sutra_table *steps = table_of(source, SUTRA_DIFF_STEPS);
    show_parts(page, steps);
    page_table(page, steps, "Mean step", "diff_steps");
}

static void show_operators(struct page *page, const void *of) {
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_OPERATORS);
    show_bars(page, table, LABELS_OPERATORS, "changed_operators", "GPU time of operators: B - A",
              "One bar per operator: to the right if B takes longer, to the left if A takes longer.");
    page_table(page, table, "Operators, per step", "diff_operators");
    page_table(page, table_of(of, SUTRA_DIFF_SHAPES), "Operators by shape and type, per step", "diff_shapes");
}

static void show_kernels(struct page *page, const void *of) {
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_KERNELS);
    show_bars(page, table, LABELS_KERNELS, "changed_kernels", "GPU time of kernels: B - A",
              "One bar per kernel, memcpy or memset: to the right if B takes longer, to the left if A takes longer.");
    page_table(page, table, "Kernels, per step", "diff_kernels");
}

static void show_collectives(struct page *page, const void *of) {
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_COLLECTIVES);
    if (table->n_rows)
        page_table(page, table, "Collectives, per step", "diff_collectives");
    else
        page_missing(page, "Collectives", "the traces have no collectives");
}

/* ---- The tree ---- */

enum { TREE_OF_DEPTH, TREE_OF_NAME, TREE_OF_CALLS_A, TREE_OF_CALLS_B, TREE_OF_A, TREE_OF_B, TREE_OF_DIFFERENCE };

struct shown_tree {
    const struct sutra_table *table;
    bool *shown; /* by row */
    double largest;
};

static double difference_at(const struct shown_tree *tree, uint64_t row) {
    return fabs(table_get_real(tree->table, TREE_OF_DIFFERENCE, row));
}

static int64_t depth_at(const struct shown_tree *tree, uint64_t row) {
    return table_get_integer(tree->table, TREE_OF_DEPTH, row);
}

/* Shows rows that differ enough, and those above them; returns how many. */
static uint64_t choose_rows(struct shown_tree *tree, double least) {
    bool wanted[TREE_DEPTH + 1] = {false}; /* a row of this depth, since one below it is shown */
    uint64_t n = 0;
    for (uint64_t row = tree->table->n_rows; row-- > 0;) {
        int64_t depth = depth_at(tree, row);
        tree->shown[row] = depth < TREE_DEPTH && (wanted[depth] || difference_at(tree, row) > least);
        if (depth < TREE_DEPTH)
            wanted[depth] = false;
        if (tree->shown[row] && depth > 0)
            wanted[depth - 1] = true;
        n += tree->shown[row];
    }
    return n;
}

static void write_node(struct page *page, const struct shown_tree *tree, uint64_t row) {
    struct text_out *out = &page->markup.out;
    const struct sutra_table *table = tree->table;
    double difference = table_get_real(table, TREE_OF_DIFFERENCE, row);
    double calls_a = table_get_real(table, TREE_OF_CALLS_A, row), calls_b = table_get_real(table, TREE_OF_CALLS_B, row);
    struct name name = {.by_end = true};
    name.bytes = table_get_text(table, TREE_OF_NAME, row, &name.length);
    out_format(out, "<b>%s%s</b> <span title=\"", difference > 0 ? "+" : "", shown_figure(difference, UNIT_US).text);
    markup_title(&page->markup, name);
    out_add(out, "\">");
    markup_cut(&page->markup, name, 46);
    out_format(out, "</span> <span class=\"soft\">%s → ",
               shown_figure(table_get_real(table, TREE_OF_A, row), UNIT_US).text);
    out_format(out, "%s, ", shown_figure(table_get_real(table, TREE_OF_B, row), UNIT_US).text);
    if (calls_a != calls_b)
        out_format(out, "%s → ", shown_figure(calls_a, UNIT_PLAIN).text);
    out_format(out, "%s %s</span>", shown_figure(calls_b, UNIT_PLAIN).text, calls_b == 1 ? "call" : "calls");
}

/* Opens a node; one with others below it can be unfolded. */
static void open_node(struct page *page, const struct shown_tree *tree, uint64_t row, bool has_children) {
    struct text_out *out = &page->markup.out;
    bool open = difference_at(tree, row) >= TREE_OPEN * tree->largest;
    out_add(out, "<li>");
    if (has_children)
        out_format(out, "<details%s><summary>", open ? " open=\"open\"" : "");
    write_node(page, tree, row);
    out_add(out, has_children ? "</summary><ul>\n" : "</li>\n");
}

static void write_tree(struct page *page, const struct shown_tree *tree) {
    struct text_out *out = &page->markup.out;
    int64_t open = 0; /* lists */
    uint64_t n = tree->table->n_rows;
    out_add(out, "<ul class=\"tree\">\n");
    for (uint64_t row = 0; row < n; row++) {
        if (!tree->shown[row])
            continue;
        uint64_t next = row + 1;
        while (next < n && !tree->shown[next])
            next++;
        int64_t depth = depth_at(tree, row), behind = next < n ? depth_at(tree, next) : 0;
        open_node(page, tree, row, behind > depth);
        open += behind > depth;
        for (; open > behind; open--)
            out_add(out, "</ul></details></li>\n");
    }
    out_add(out, "</ul>\n");
}

static void show_tree(struct page *page, const struct sutra_table *table) {
    struct shown_tree tree = {.table = table, .shown = calloc(table->n_rows + 1, sizeof *tree.shown)};
    page->markup.out.out.failed |= !tree.shown;
    for (uint64_t row = 0; row < table->n_rows && tree.shown; row++)
        tree.largest = fmax(tree.largest, difference_at(&tree, row));
    uint64_t n = 0;
    double share = TREE_SHARE;
    for (; tree.shown && share < 1 && (n = choose_rows(&tree, tree.largest * share)) > TREE_SHOWN; share *= 2)
        continue;
    if (n)
        write_tree(page, &tree);
    free(tree.shown);
}

static void show_where(struct page *page, const void *of) {
    static const struct column_spec specs[] = {{"path", SUTRA_COLUMN_TEXT}, {"device_diff_us", SUTRA_COLUMN_REAL}};
    const struct sutra_table *paths = table_of(of, SUTRA_DIFF_PATHS);
    struct sutra_table labels; /* by the path of B, or of A where B has none */
    table_init(&labels, "changed_paths", specs, 2);
    uint32_t value = column_of(paths, "device_diff_us");
    for (uint64_t row = 0; row < rows_to_show(paths, value); row++) {
        size_t length;
        const char *text = table_get_text(paths, 1, row, &length);
        if (!length)
            text = table_get_text(paths, 0, row, &length);
        table_text(&labels, text, length);
        table_real(&labels, table_get_real(paths, value, row));
    }
    show_bars(page, &labels, LABELS_PATHS, "changed_paths", "GPU time of call paths: B - A",
              "One bar per call path and its kernels: to the right if B takes longer, to the left if A takes longer.");
    page_check(page, &labels);
    table_free(&labels);
    show_tree(page, table_of(of, SUTRA_DIFF_TREE));
    page_table(page, paths, "Call paths and their kernels, per step", "diff_paths");
}

/* ---- The page ---- */

static const struct page_section sections[] = {
    {"steps", "Steps",
     "Step time and its parts, as means over the steps and ranks of each side. The parts add up to the step. A "
     "difference is clear if it is more than twice its standard error over the steps.",
     show_steps},
    {"where", "Call paths",
     "Call paths whose GPU activity takes longer or shorter. Paths of both sides are aligned by equal subpaths, then by "
     "names. A kernel and its replacement share one row. Each node of the tree shows all GPU activity launched below it; "
     "small differences are omitted.",
     show_where},
    {"operators", "Operators", "GPU activity that each operator launches itself, without its child operators.",
     show_operators},
    {"kernels", "Kernels", "Kernels, memcpy and memset by name.", show_kernels},
    {"collectives", "Collectives",
     "Communication by collective, type, elements and group size. Its time includes the wait for ranks that arrive "
     "later.",
     show_collectives},
    {0},
};

static void show_cards(struct page *page, const struct diff_source *source) {
    const struct sutra_diff_summary *summary = &source->summary;
    double growth = (summary->step_us[1] - summary->step_us[0]) / summary->step_us[0] * 100;
    char words[64];
    page_cards_begin(page);
    page_card(page, "Step of A", summary->step_us[0], UNIT_US, "");
    page_card(page, "Step of B", summary->step_us[1], UNIT_US, "");
    snprintf(words, sizeof words, "%s%s", growth > 0 ? "+" : "", shown_figure(growth, UNIT_PERCENT).text);
    page_card_words(page, "B - A", words, strcmp(source->clear, "no") == 0 ? "unclear" : "");
    page_card(page, "GPU activity of A", summary->device_us[0], UNIT_US, "per step, sum of durations");
    page_card(page, "GPU activity of B", summary->device_us[1], UNIT_US, "");
    page_cards_end(page);
}

static void show_warnings(struct page *page, const struct diff_source *source) {
    if (strcmp(source->clear, "no") == 0 && source->summary.step_us[0] != source->summary.step_us[1])
        page_warning(page, "The difference is unclear: it is within the step time noise.");
    if (strcmp(source->clear, "unknown") == 0)
        page_warning(page, "Step time noise is unknown: one side has only one step.");
}

enum sutra_status sutra_report_write_diff(struct sutra_context *context, const struct sutra_diff *diff, const char *a,
                                          const char *b, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error) {
    struct diff_source source = {.diff = diff, .summary = {.size = sizeof source.summary}};
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    struct page page;
    char more[256];
    size_t length;
    if (!steps)
        return error_set(error, SUTRA_USAGE, "HTA tables have no report");
    sutra_diff_summary(diff, &source.summary);
    source.clear = table_get_text(steps, column_of(steps, "clear"), 0, &length);
    page_open(&page, context, folder, NULL, error);
    snprintf(more, sizeof more, " (A) and %s (B)", b);
    page_head(&page, "Comparison of two traces", a, more, sections);
    show_warnings(&page, &source);
    show_cards(&page, &source);
    page_sections(&page, sections, &source);
    enum sutra_status status = page_close(&page);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
