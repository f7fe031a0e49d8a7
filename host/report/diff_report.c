/*
 * diff_report.c - writes the page that compares two traces or jobs: two-sided bars, a tree of call paths, and tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "report/page.h"
#include "sutra/report.h"

#define BARS_SHOWN 16

/* Limits of the tree: number of rows, depth, and minimum difference as a share of the largest difference. */
#define TREE_SHOWN 300
#define TREE_DEPTH 40
#define TREE_SHARE 0.005

/* Nodes with at least this share of the largest difference are expanded. */
#define TREE_OPEN 0.2

struct diff_source {
    const struct sutra_diff *diff;
    struct sutra_diff_summary summary;
    const char *clear; /* "yes", "no" or "unknown": whether the difference of the steps exceeds the noise */
};

static const struct sutra_table *table_of(const struct diff_source *source, enum sutra_diff_table id) {
    return sutra_result_table(SUTRA_RESULT(source->diff), id, NULL);
}

/* ---- Bars ---- */

enum labels { LABELS_OPERATORS, LABELS_KERNELS, LABELS_PATHS };

/* Rows with a difference, which precede the other rows. */
static uint64_t count_changed(const struct sutra_table *table) {
    const uint32_t value = table_column(table, "device_diff_us");
    uint64_t n = 0;
    while (n < table->n_rows && table_get_real(table, value, n) != 0)
        n++;
    return n;
}

/* Where the last operator of a call path begins. */
static size_t last_of_path(const char *path, size_t length) {
    static const char separator[] = " / ";
    const char *last = path, *found;
    while ((found = memmem(last, length - (size_t)(last - path), separator, sizeof separator - 1)))
        last = found + sizeof separator - 1;
    return (size_t)(last - path);
}

/* Bars of the first of n_changed rows, labelled by the first column. */
static void show_bars(struct page *page, const struct sutra_table *table, uint64_t n_changed, enum labels labels,
                      const char *name, const char *title, const char *description) {
    int colours[BARS_SHOWN];
    struct bars bars =
        bars_of_value(table, table->columns[0].spec.name, "device_diff_us", "GPU time", COLOUR_COMPUTE, UNIT_US);
    bars.n_rows = MIN(n_changed, BARS_SHOWN);
    bars.kernels = labels == LABELS_KERNELS;
    bars.by_end = !bars.kernels;
    bars.row_colours = colours;
    for (uint64_t row = 0; row < bars.n_rows; row++) {
        size_t length;
        const char *text = table_get_text(table, 0, row, &length);
        size_t last = labels == LABELS_PATHS ? last_of_path(text, length) : 0;
        colours[row] = (int)(labels == LABELS_KERNELS ? colour_of_work(text, length)
                                                      : colour_of_operator(text + last, length - last));
    }
    if (bars.n_rows)
        page_chart(page, name, title, description, changes_draw, &bars);
    else
        page_words(page, "No differences.");
    page_limit(page, bars.n_rows, n_changed, true, "differences");
}

static void show_steps(struct page *page, const void *of) {
    static const int colours[] = {COLOUR_COMPUTE,   COLOUR_COMMUNICATION, COLOUR_COPIES,      COLOUR_WAIT_HOST,
                                  COLOUR_WAIT_DATA, COLOUR_WAIT_SYNC,     COLOUR_WAIT_DEVICE, COLOUR_IDLE};
    static const struct column_spec specs[] = {TEXT("part"), REAL("diff_us")};
    const struct sutra_table *steps = table_of(of, SUTRA_DIFF_STEPS);
    const uint32_t value = table_column(steps, "diff_us");
    struct sutra_table parts;
    /* Rows of the table of steps: the step, its parts, GPU activity. */
    table_init(&parts, "changed_parts", specs, 2);
    for (uint64_t row = 1; row <= sizeof colours / sizeof *colours; row++) {
        size_t length;
        const char *text = table_get_text(steps, table_column(steps, "part"), row, &length);
        table_text(&parts, text, length);
        table_real(&parts, table_get_real(steps, value, row));
    }
    struct bars bars = bars_of_value(&parts, "part", "diff_us", "time", COLOUR_COMPUTE, UNIT_US);
    bars.n_rows = parts.n_rows;
    bars.row_colours = colours;
    bars.labels_name_colours = true;
    page_chart(page, "changed_parts", "Parts of a step: B - A",
               "One bar per part of a step: to the right if B takes longer, to the left if A takes longer.",
               changes_draw, &bars);
    page_check(page, &parts);
    table_free(&parts);
    page_table(page, steps, "Mean step", "diff_steps");
}

static void show_operators(struct page *page, const void *of) {
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_OPERATORS);
    show_bars(page, table, count_changed(table), LABELS_OPERATORS, "changed_operators", "GPU time of operators: B - A",
              "One bar per operator: to the right if B takes longer, to the left if A takes longer.");
    page_table(page, table, "Operators, per step", "diff_operators");
    page_table(page, table_of(of, SUTRA_DIFF_SHAPES), "Operators by shape and type, per step", "diff_shapes");
}

static void show_kernels(struct page *page, const void *of) {
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_KERNELS);
    show_bars(page, table, count_changed(table), LABELS_KERNELS, "changed_kernels", "GPU time of kernels: B - A",
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

/* The tree of call paths: its rows are in depth-first order. */
struct shown_tree {
    const struct sutra_table *table;
    uint32_t depth, name, calls_a, calls_b, a, b, difference; /* columns */
    bool *shown;                                              /* by row */
    double largest;
};

static double difference_at(const struct shown_tree *tree, uint64_t row) {
    return fabs(table_get_real(tree->table, tree->difference, row));
}

static int64_t depth_at(const struct shown_tree *tree, uint64_t row) {
    return table_get_integer(tree->table, tree->depth, row);
}

/* Selects rows with a larger difference, and their ancestors; returns their number. */
static uint64_t select_rows(struct shown_tree *tree, double min_difference) {
    bool is_ancestor[TREE_DEPTH + 1] = {false}; /* by depth: the next row above has a shown descendant */
    uint64_t n = 0;
    for (uint64_t row = tree->table->n_rows; row-- > 0;) {
        int64_t depth = depth_at(tree, row);
        tree->shown[row] = depth < TREE_DEPTH && (is_ancestor[depth] || difference_at(tree, row) > min_difference);
        if (depth < TREE_DEPTH)
            is_ancestor[depth] = false;
        if (tree->shown[row] && depth > 0)
            is_ancestor[depth - 1] = true;
        n += tree->shown[row];
    }
    return n;
}

/* Writes the tree as nested lists; a node with children can be expanded. */
static void write_tree(struct page *page, const struct shown_tree *tree) {
    struct text_out *out = &page->markup.out;
    const struct sutra_table *table = tree->table;
    int64_t n_open = 0;
    uint64_t n = table->n_rows;
    out_add(out, "<ul class=\"tree\">\n");
    for (uint64_t row = 0; row < n; row++) {
        if (!tree->shown[row])
            continue;
        uint64_t next = row + 1;
        while (next < n && !tree->shown[next])
            next++;
        int64_t depth = depth_at(tree, row), next_depth = next < n ? depth_at(tree, next) : 0;
        bool has_children = next_depth > depth, is_open = difference_at(tree, row) >= TREE_OPEN * tree->largest;
        out_add(out, "<li>");
        if (has_children)
            out_format(out, "<details%s><summary>", is_open ? " open=\"open\"" : "");
        double difference = table_get_real(table, tree->difference, row);
        double calls_a = table_get_real(table, tree->calls_a, row), calls_b = table_get_real(table, tree->calls_b, row);
        struct name name = {.by_end = true};
        name.bytes = table_get_text(table, tree->name, row, &name.length);
        out_format(out, "<b>%s%s</b> <span title=\"", difference > 0 ? "+" : "",
                   shown_figure(difference, UNIT_US).text);
        markup_title(&page->markup, name);
        out_add(out, "\">");
        markup_cut(&page->markup, name, 46);
        out_format(out, "</span> <span class=\"soft\">%s → %s, ",
                   shown_figure(table_get_real(table, tree->a, row), UNIT_US).text,
                   shown_figure(table_get_real(table, tree->b, row), UNIT_US).text);
        if (calls_a != calls_b)
            out_format(out, "%s → ", shown_figure(calls_a, UNIT_PLAIN).text);
        out_format(out, "%s %s</span>", shown_figure(calls_b, UNIT_PLAIN).text, calls_b == 1 ? "call" : "calls");
        out_add(out, has_children ? "</summary><ul>\n" : "</li>\n");
        for (n_open += has_children; n_open > next_depth; n_open--)
            out_add(out, "</ul></details></li>\n");
    }
    out_add(out, "</ul>\n");
}

static void show_where(struct page *page, const void *of) {
    static const struct column_spec specs[] = {TEXT("path"), REAL("device_diff_us")};
    const struct sutra_table *paths = table_of(of, SUTRA_DIFF_PATHS);
    struct sutra_table labels; /* the path of B, or of A if B has none */
    table_init(&labels, "changed_paths", specs, 2);
    uint32_t value = table_column(paths, "device_diff_us");
    const uint64_t n_changed = count_changed(paths);
    for (uint64_t row = 0; row < n_changed && row < BARS_SHOWN; row++) {
        size_t length;
        const char *text = table_get_text(paths, table_column(paths, "path_b"), row, &length);
        if (!length)
            text = table_get_text(paths, table_column(paths, "path_a"), row, &length);
        table_text(&labels, text, length);
        table_real(&labels, table_get_real(paths, value, row));
    }
    show_bars(page, &labels, n_changed, LABELS_PATHS, "changed_paths", "GPU time of call paths: B - A",
              "One bar per call path and its kernels: to the right if B takes longer, to the left if A takes longer.");
    page_check(page, &labels);
    table_free(&labels);
    const struct sutra_table *table = table_of(of, SUTRA_DIFF_TREE);
    struct shown_tree tree = {.table = table,
                              .depth = table_column(table, "depth"),
                              .name = table_column(table, "name"),
                              .calls_a = table_column(table, "calls_a"),
                              .calls_b = table_column(table, "calls_b"),
                              .a = table_column(table, "device_a_us"),
                              .b = table_column(table, "device_b_us"),
                              .difference = table_column(table, "device_diff_us"),
                              .shown = calloc(table->n_rows + 1, sizeof *tree.shown)};
    uint64_t n_shown = 0;
    page->markup.out.out.failed |= !tree.shown;
    for (uint64_t row = 0; row < table->n_rows && tree.shown; row++)
        tree.largest = fmax(tree.largest, difference_at(&tree, row));
    for (double share = TREE_SHARE; tree.shown && share < 1; share *= 2)
        if ((n_shown = select_rows(&tree, tree.largest * share)) <= TREE_SHOWN)
            break;
    if (n_shown)
        write_tree(page, &tree);
    free(tree.shown);
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

static void show_cards(struct page *page, const void *of) {
    const struct diff_source *source = of;
    const struct sutra_diff_summary *summary = &source->summary;
    double growth = (summary->step_us[1] - summary->step_us[0]) / summary->step_us[0] * 100;
    static const char *const names[2][2] = {{"Step of A", "Step of B"}, {"GPU activity of A", "GPU activity of B"}};
    char note[2][160];
    for (int side = 0; side < 2; side++) {
        const char *one = summary->has_steps[side] ? "step" : "trace",
                   *several = summary->has_steps[side] ? "steps" : "traces";
        snprintf(note[side], sizeof note[side], "%s%s", summary->n_steps[side] == 1 ? "" : "mean of ",
                 counted_text(summary->n_steps[side], one, several).text);
        page_card(page, names[0][side], summary->step_us[side], UNIT_US, note[side]);
    }
    page_card_words(page, "B - A", change_text(growth).text, strcmp(source->clear, "no") == 0 ? "unclear" : "");
    for (int side = 0; side < 2; side++) {
        char words[200];
        snprintf(words, sizeof words, "sum of durations, %s", note[side]);
        page_card(page, names[1][side], summary->device_us[side], UNIT_US, words);
    }
}

static void warn(struct page *page, const void *of) {
    const struct diff_source *source = of;
    page_warn_defects(page, SUTRA_RESULT(source->diff));
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
    sutra_diff_summary(diff, &source.summary);
    source.clear = text_named(steps, "clear", 0);
    snprintf(more, sizeof more, " (A) and %s (B)", b);
    const struct page_frame frame = {.title = "Comparison of two traces",
                                     .path = a,
                                     .more = more,
                                     .lead = source.summary.sentence,
                                     .warnings = warn,
                                     .cards = show_cards,
                                     .sections = sections};
    page_open(&page, context, folder, NULL, error);
    return page_write(&page, &frame, &source, n_bytes);
}
