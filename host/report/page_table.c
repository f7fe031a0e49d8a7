/*
 * page_table.c - writes tables on a page: rounded numbers, with exact values in data-value. Tables below a chart are
 * collapsed; empty columns are omitted.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/shared.h"
#include "report/page.h"
#include "text/names.h"

/* ---- Rows and columns of tables ---- */

struct ordered {
    double sum;
    uint64_t row;
};

ORDER_BY(compare_ordered, struct ordered, DESCENDING(sum) ASCENDING(row))

void table_sort_descending(struct sutra_table *table, uint32_t first, uint32_t last) {
    struct arena arena = {0};
    struct ordered *ordered = arena_alloc(&arena, table->n_rows, sizeof *ordered);
    uint64_t *order = arena_alloc(&arena, table->n_rows, sizeof *order);
    table->failed |= arena.failed;
    if (!table->failed) {
        for (uint64_t row = 0; row < table->n_rows; row++) {
            double sum = 0;
            for (uint32_t i = first; i <= last; i++)
                sum += table_get_real(table, i, row);
            ordered[row] = (struct ordered){isnan(sum) ? -INFINITY : sum, row};
        }
        qsort(ordered, table->n_rows, sizeof *ordered, compare_ordered);
        for (uint64_t row = 0; row < table->n_rows; row++)
            order[row] = ordered[row].row;
        table_reorder(table, order);
    }
    arena_free(&arena);
}

/* ---- How columns are shown ---- */

/* Rows and columns of a table that is not collapsed if there is no chart above. */
#define PAGE_ROWS_OPEN    12
#define PAGE_COLUMNS_OPEN 10

/* Width of a name before it is shortened, in characters. */
#define NAME_WIDTH            34
#define NAME_WIDTH_OF_SEVERAL 21 /* if the table has several columns of names */

/* Characters of such a width, approximately. */
#define COLUMNS_OF(width) ((unsigned)((width)*5 / 3))

/* Limits of brief texts, which need no minimum width in a narrow window. */
#define BRIEF_WIDTH 11
#define BRIEF_BYTES 64

struct column_view {
    bool is_empty, is_brief; /* no value; only short texts */
    int decimals;
    struct shortened *shorts; /* names of kernels, by row; NULL: other columns */
};

/* How the columns of a table are shown. */
struct column_views {
    uint32_t n_shown;
    double width; /* of names */
    struct column_view column[TABLE_COLUMNS_MAX];
};

static bool is_text(const struct sutra_table *table, uint32_t column) {
    return table->columns[column].spec.kind == SUTRA_COLUMN_TEXT;
}

/* Whether the first `n` rows have no value in the column. Integers are always values. */
static bool is_empty(const struct sutra_table *table, uint32_t column, uint64_t n) {
    size_t length = 0;
    if (n == 0 || table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER)
        return false;
    for (uint64_t row = 0; row < n; row++)
        if (is_text(table, column) ? *table_get_text(table, column, row, &length) != '\0' || length > 0
                                   : !isnan(table_get_real(table, column, row)))
            return false;
    return true;
}

static void set_views(struct page *page, const struct sutra_table *table, uint64_t n, struct column_views *views) {
    int n_names = 0;
    *views = (struct column_views){.width = NAME_WIDTH};
    for (uint32_t i = 0; i < table->n_columns; i++) {
        views->column[i].is_empty = is_empty(table, i, n);
        views->n_shown += !views->column[i].is_empty;
        n_names += is_text(table, i) && !views->column[i].is_empty;
    }
    if (n_names > 1)
        views->width = NAME_WIDTH_OF_SEVERAL;
    for (uint32_t i = 0; i < table->n_columns; i++) {
        struct column_view *view = &views->column[i];
        /* Decimals that suit all shown numbers. */
        bool are_integers = true;
        double largest = 0;
        for (uint64_t row = 0; row < n && !is_text(table, i); row++) {
            double value = table_get_real(table, i, row);
            are_integers &= !isfinite(value) || value == rint(value);
            largest = isfinite(value) ? fmax(largest, fabs(value)) : largest;
        }
        view->decimals = are_integers ? 0 : largest < 1 ? 3 : largest < 1e4 ? 2 : 1;
        view->is_brief = is_text(table, i);
        for (uint64_t row = 0; row < n && view->is_brief; row++) {
            struct name name = {0};
            name.bytes = table_get_text(table, i, row, &name.length);
            view->is_brief = name.length <= BRIEF_BYTES && markup_width(name) <= BRIEF_WIDTH;
        }
        if (n == 0 || !is_text(table, i) || !heading_of_kernels(table->name, table->columns[i].spec.name))
            continue;
        view->shorts = table_short_names(table, i, n, COLUMNS_OF(views->width));
        page->markup.out.out.failed |= !view->shorts;
    }
}

/* ---- The table ---- */

/* A cell is a heading if it is the first one of its row. A shortened text has the full text as title; a number, the
 * exact value as data-value. */
static void write_row(struct page *page, const struct sutra_table *table, const struct column_views *views,
                      uint64_t row) {
    struct text_out *out = &page->markup.out;
    bool is_heading = true;
    out_add(out, "<tr>");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const struct column_view *view = &views->column[i];
        if (view->is_empty)
            continue;
        out_add(out, is_heading ? "<th scope=\"row\"" : "<td");
        if (is_text(table, i)) {
            struct name name = {0};
            name.bytes = table_get_text(table, i, row, &name.length);
            bool cut = markup_width(name) > views->width;
            out_add(out, view->is_brief ? " class=\"text brief\"" : " class=\"text\"");
            if (cut) {
                out_add(out, " title=\"");
                markup_title(&page->markup, name);
                out_add(out, "\"");
            }
            out_add(out, ">");
            markup_cut(&page->markup, cut && view->shorts ? name_of(view->shorts[row].text) : name, views->width);
        } else {
            out_add(out, " data-value=\"");
            if (table->columns[i].spec.kind == SUTRA_COLUMN_INTEGER)
                out_integer(out, table_get_integer(table, i, row));
            else
                out_number(out, table_get_real(table, i, row));
            out_add(out, "\">");
            out_add(out, shown_decimal(table_get_real(table, i, row), view->decimals).text);
        }
        out_add(out, is_heading ? "</th>" : "</td>");
        is_heading = false;
    }
    out_add(out, "</tr>\n");
}

void page_table(struct page *page, const struct sutra_table *table, const char *caption, const char *file) {
    struct text_out *out = &page->markup.out;
    struct column_views views;
    uint64_t most = page->n_rows ? page->n_rows : PAGE_ROWS_MAX, n = MIN(table->n_rows, most);
    page->filled = true;
    set_views(page, table, n, &views);
    bool collapsed = page->charted || n > PAGE_ROWS_OPEN || views.n_shown > PAGE_COLUMNS_OPEN;
    if (collapsed) {
        out_add(out, "<details><summary>");
        markup_text(&page->markup, caption);
        out_format(out, " <span class=\"soft\">table of %s", shown_decimal((double)n, 0).text);
        if (n < table->n_rows)
            out_format(out, " of %s", shown_decimal((double)table->n_rows, 0).text);
        out_format(out, " %s</span></summary>\n", table->n_rows == 1 ? "row" : "rows");
    }
    out_add(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
    markup_text(&page->markup, caption);
    out_format(out, "\"><table data-table=\"%s\">\n<caption>", table->name);
    markup_text(&page->markup, caption);
    if (n < table->n_rows)
        out_format(out, "; %s of %s rows", shown_decimal((double)n, 0).text,
                   shown_decimal((double)table->n_rows, 0).text);
    if (file)
        out_format(out, "%s<code>%s</code>", n < table->n_rows ? ", all in " : "; in ", file);
    out_add(out, "</caption>\n");
    out_add(out, "<thead><tr>");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        struct heading heading = heading_of(table->name, table->columns[i].spec.name);
        if (views.column[i].is_empty)
            continue;
        const char *class_name = views.column[i].is_brief ? " class=\"text brief\"" : " class=\"text\"";
        out_format(out, "<th scope=\"col\"%s data-column=\"", is_text(table, i) ? class_name : "");
        markup_text(&page->markup, table->columns[i].spec.name);
        out_add(out, "\">");
        markup_text(&page->markup, heading.words);
        if (*heading.unit)
            markup_between(&page->markup, " <span class=\"unit\">", heading.unit, "</span>");
        out_add(out, "</th>");
    }
    out_add(out, "</tr></thead>\n<tbody>\n");
    for (uint64_t row = 0; row < n && !out->out.failed; row++)
        write_row(page, table, &views, row);
    out_add(out, "</tbody></table></div>\n");
    if (collapsed)
        out_add(out, "</details>\n");
    for (uint32_t i = 0; i < table->n_columns; i++)
        free(views.column[i].shorts);
}

const struct sutra_table *page_find_table(struct page *page, const struct sutra_result *result, uint32_t id,
                                          const char *what, const char *why) {
    const char *reason;
    const struct sutra_table *table = sutra_result_table(result, id, &reason);
    if (table && table->n_rows > 0)
        return table;
    page_missing(page, what, why ? why : table ? "the traces have none" : reason);
    return NULL;
}

void page_result_table(struct page *page, const struct sutra_result *result, uint32_t id, const char *caption,
                       const char *why) {
    const struct sutra_table *table = page_find_table(page, result, id, caption, why);
    if (table)
        page_table(page, table, caption, sutra_table_name(table));
}
