/*
 * page_table.c - writes tables on a page: rounded numbers, with exact values in data-value. Tables below a chart are
 * collapsed; empty columns are omitted.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/shared.h"
#include "report/page.h"
#include "report/page_table.h"
#include "text/names.h"

/*
 * Implements table_order.h. O(n log n).
 */

struct ordered {
    double sum;
    uint64_t row;
};

ORDER_BY(compare_ordered, struct ordered, DESCENDING(sum) ASCENDING(row))

static double sum_of(const struct sutra_table *table, uint64_t row, uint32_t first, uint32_t last) {
    double sum = 0;
    for (uint32_t i = first; i <= last; i++)
        sum += table_get_real(table, i, row);
    return isnan(sum) ? -INFINITY : sum;
}

void table_sort_falling(struct sutra_table *table, uint32_t first, uint32_t last) {
    struct arena arena = {0};
    struct ordered *ordered = arena_take(&arena, table->n_rows, sizeof *ordered);
    uint64_t *order = arena_take(&arena, table->n_rows, sizeof *order);
    table->failed |= arena.failed;
    if (!table->failed) {
        for (uint64_t row = 0; row < table->n_rows; row++)
            ordered[row] = (struct ordered){sum_of(table, row, first, last), row};
        qsort(ordered, table->n_rows, sizeof *ordered, compare_ordered);
        for (uint64_t row = 0; row < table->n_rows; row++)
            order[row] = ordered[row].row;
        table_reorder(table, order);
    }
    arena_free(&arena);
}

/* Characters of a name, about, before it is cut. */
#define NAME_WIDTH            34
#define NAME_WIDTH_OF_SEVERAL 21 /* where the table has several columns of names */

/* Columns of text that such a width has, about. */
#define COLUMNS_OF(width) ((unsigned)((width)*5 / 3))

/* Texts that need no width of their own in a narrow window: at most so wide, and so long. */
#define BRIEF_WIDTH 11
#define BRIEF_BYTES 64

/* How the columns of a table are shown. */
struct column_views {
    uint32_t n_shown;
    bool left_out[TABLE_COLUMNS_MAX], brief[TABLE_COLUMNS_MAX];
    int decimals[TABLE_COLUMNS_MAX];
    double width;                                /* of names */
    struct shortened *shorts[TABLE_COLUMNS_MAX]; /* of names of kernels; NULL: others */
};

static bool is_text(const struct sutra_table *table, uint32_t column) {
    return table->columns[column].spec.kind == SUTRA_COLUMN_TEXT;
}

/* Whether something stands in the column. */
static bool says_something(const struct sutra_table *table, uint32_t column, uint64_t n) {
    size_t length = 0;
    bool says = n == 0 || table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER;
    for (uint64_t row = 0; row < n && !says; row++)
        if (is_text(table, column))
            says = *table_get_text(table, column, row, &length) != '\0' || length > 0;
        else
            says = !isnan(table_get_real(table, column, row));
    return says;
}

/* Decimals that suit all shown numbers of a column. */
static int decimals_of(const struct sutra_table *table, uint32_t column, uint64_t n) {
    double largest = 0;
    bool whole = true;
    for (uint64_t row = 0; row < n; row++) {
        double value = table_get_real(table, column, row);
        whole &= !isfinite(value) || value == rint(value);
        largest = isfinite(value) ? fmax(largest, fabs(value)) : largest;
    }
    return whole ? 0 : largest < 1 ? 3 : largest < 1e4 ? 2 : 1;
}

/* Names of kernels in short, which stay different. */
static struct shortened *shorten(const struct sutra_table *table, uint32_t column, uint64_t n, unsigned width) {
    struct shortened *shorts = calloc(n, sizeof *shorts);
    const char **names = calloc(n, sizeof *names);
    size_t length;
    for (uint64_t row = 0; row < n && names; row++)
        names[row] = table_get_text(table, column, row, &length);
    if (shorts && names)
        short_names(names, n, width, shorts);
    if (!names) {
        free(shorts);
        shorts = NULL;
    }
    free(names);
    return shorts;
}

/* Whether all texts of a column fit into a narrow window beside others. */
static bool is_brief(const struct sutra_table *table, uint32_t column, uint64_t n) {
    struct name name = {0};
    for (uint64_t row = 0; row < n; row++) {
        name.bytes = table_get_text(table, column, row, &name.length);
        if (name.length > BRIEF_BYTES || markup_width(name) > BRIEF_WIDTH)
            return false;
    }
    return true;
}

static void views_make(struct page *page, const struct sutra_table *table, uint64_t n, struct column_views *views) {
    int n_names = 0;
    *views = (struct column_views){.width = NAME_WIDTH};
    for (uint32_t i = 0; i < table->n_columns; i++)
        n_names += is_text(table, i) && says_something(table, i, n);
    if (n_names > 1)
        views->width = NAME_WIDTH_OF_SEVERAL;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        views->left_out[i] = !says_something(table, i, n);
        views->n_shown += !views->left_out[i];
        if (table->columns[i].spec.kind == SUTRA_COLUMN_REAL)
            views->decimals[i] = decimals_of(table, i, n);
        views->brief[i] = is_text(table, i) && is_brief(table, i, n);
        if (n == 0 || !is_text(table, i) || !heading_of_kernels(table->name, table->columns[i].spec.name))
            continue;
        views->shorts[i] = shorten(table, i, n, COLUMNS_OF(views->width));
        page->markup.out.out.failed |= !views->shorts[i];
    }
}

static void views_free(struct column_views *views) {
    for (uint32_t i = 0; i < TABLE_COLUMNS_MAX; i++)
        free(views->shorts[i]);
}

/* ---- Cells ---- */

static void write_text_cell(struct page *page, struct name name, const struct shortened *shortened, double width,
                            bool brief, bool heads) {
    struct text_out *out = &page->markup.out;
    out_add(out, heads ? "<th scope=\"row\" class=\"text" : "<td class=\"text");
    out_add(out, brief ? " brief\"" : "\"");
    bool cut = markup_width(name) > width;
    if (cut) {
        out_add(out, " title=\"");
        markup_title(&page->markup, name);
        out_add(out, "\"");
    }
    out_add(out, ">");
    markup_cut(&page->markup, cut && shortened ? name_of(shortened->text) : name, width);
    out_add(out, heads ? "</th>" : "</td>");
}

static void write_number_cell(struct page *page, const struct sutra_table *table, uint32_t column, uint64_t row,
                              int decimals, bool heads) {
    struct text_out *out = &page->markup.out;
    out_add(out, heads ? "<th scope=\"row\" data-value=\"" : "<td data-value=\"");
    if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER)
        out_integer(out, table_get_integer(table, column, row));
    else
        out_number(out, table_get_real(table, column, row));
    out_add(out, "\">");
    out_add(out, shown_decimal(table_get_real(table, column, row), decimals).text);
    out_add(out, heads ? "</th>" : "</td>");
}

static void write_row(struct page *page, const struct sutra_table *table, const struct column_views *views,
                      uint64_t row) {
    bool heads = true;
    out_add(&page->markup.out, "<tr>");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        struct name name = {0};
        if (views->left_out[i])
            continue;
        if (is_text(table, i)) {
            name.bytes = table_get_text(table, i, row, &name.length);
            write_text_cell(page, name, views->shorts[i] ? &views->shorts[i][row] : NULL, views->width, views->brief[i],
                            heads);
        } else {
            write_number_cell(page, table, i, row, views->decimals[i], heads);
        }
        heads = false;
    }
    out_add(&page->markup.out, "</tr>\n");
}

/* ---- The table ---- */

static void write_head(struct page *page, const struct sutra_table *table, const struct column_views *views) {
    struct text_out *out = &page->markup.out;
    out_add(out, "<thead><tr>");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        struct heading heading = heading_of(table->name, table->columns[i].spec.name);
        if (views->left_out[i])
            continue;
        out_format(out, "<th scope=\"col\"%s data-column=\"",
                   !is_text(table, i) ? ""
                   : views->brief[i]  ? " class=\"text brief\""
                                      : " class=\"text\"");
        markup_text(&page->markup, table->columns[i].spec.name);
        out_add(out, "\">");
        markup_text(&page->markup, heading.words);
        if (*heading.unit) {
            out_add(out, " <span class=\"unit\">");
            markup_text(&page->markup, heading.unit);
            out_add(out, "</span>");
        }
        out_add(out, "</th>");
    }
    out_add(out, "</tr></thead>\n");
}

static void write_summary(struct page *page, const char *caption, uint64_t n) {
    out_add(&page->markup.out, "<details><summary>");
    markup_text(&page->markup, caption);
    out_format(&page->markup.out, " <span class=\"soft\">table of %s %s</span></summary>\n",
               shown_decimal((double)n, 0).text, n == 1 ? "row" : "rows");
}

static void write_caption(struct page *page, const struct sutra_table *table, const char *caption, const char *file,
                          uint64_t n) {
    struct text_out *out = &page->markup.out;
    out_add(out, "<caption>");
    markup_text(&page->markup, caption);
    if (n < table->n_rows)
        out_format(out, "; %s of %s rows", shown_decimal((double)n, 0).text,
                   shown_decimal((double)table->n_rows, 0).text);
    if (file) {
        out_add(out, n < table->n_rows ? ", all in " : "; in ");
        out_format(out, "<code>%s</code>", file);
    }
    out_add(out, "</caption>\n");
}

void page_table(struct page *page, const struct sutra_table *table, const char *caption, const char *file) {
    struct text_out *out = &page->markup.out;
    struct column_views views;
    uint64_t most = page->n_rows ? page->n_rows : PAGE_ROWS_MAX, n = table->n_rows < most ? table->n_rows : most;
    page->filled = true;
    views_make(page, table, n, &views);
    bool folded = page->charted || n > PAGE_ROWS_OPEN || views.n_shown > PAGE_COLUMNS_OPEN;
    if (folded)
        write_summary(page, caption, n);
    out_add(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
    markup_text(&page->markup, caption);
    out_format(out, "\"><table data-table=\"%s\">\n", table->name);
    write_caption(page, table, caption, file, n);
    write_head(page, table, &views);
    out_add(out, "<tbody>\n");
    for (uint64_t row = 0; row < n && !out->out.failed; row++)
        write_row(page, table, &views, row);
    out_add(out, "</tbody></table></div>\n");
    if (folded)
        out_add(out, "</details>\n");
    views_free(&views);
}

void page_result_table(struct page *page, const struct sutra_result *result, uint32_t id, const char *caption,
                       const char *why) {
    const char *reason;
    const struct sutra_table *table = sutra_result_table(result, id, &reason);
    if (table && table->n_rows > 0)
        page_table(page, table, caption, sutra_table_name(table));
    else
        page_missing(page, caption, why ? why : table ? "the traces have none" : reason);
}
