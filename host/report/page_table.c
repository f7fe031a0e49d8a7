/*
 * page_table.c - tables on a page: numbers rounded for people, with the exact ones in data-value.
 */
#include <math.h>

#include "report/page.h"

/* Characters of a name, about, before it is cut. */
#define NAME_WIDTH            34
#define NAME_WIDTH_OF_SEVERAL 21 /* where the table has several columns of names */

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t n = strlen(end);
    return length >= n && memcmp(text + length - n, end, n) == 0;
}

/* A column's name in words: "idle_time(us)" is "idle time µs". */
static void write_heading(struct page *page, const char *name) {
    static const struct {
        const char *end, *words;
    } ends[] = {{" (us)", " µs"}, {"(us)", " µs"}, {"_us", " µs"}, {"_pctg", " %"}};
    const char *words = "";
    size_t length = strlen(name), cut = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends && cut == 0; i++)
        if (ends_with(name, length, ends[i].end)) {
            cut = strlen(ends[i].end);
            words = ends[i].words;
        }
    for (size_t i = 0; i < length - cut; i++)
        markup_name(&page->markup, (struct name){name[i] == '_' ? " " : name + i, 1, false});
    markup_text(&page->markup, words);
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

static void write_text_cell(struct page *page, struct name name, double width, bool heads) {
    struct text_out *out = &page->markup.out;
    out_add(out, heads ? "<th scope=\"row\" class=\"text\"" : "<td class=\"text\"");
    if (markup_width(name) > width) {
        out_add(out, " title=\"");
        markup_title(&page->markup, name);
        out_add(out, "\"");
    }
    out_add(out, ">");
    markup_cut(&page->markup, name, width);
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
    out_format(out, "\">%s%s", shown_decimal(table_get_real(table, column, row), decimals).text,
               heads ? "</th>" : "</td>");
}

static void write_head(struct page *page, const struct sutra_table *table) {
    struct text_out *out = &page->markup.out;
    out_add(out, "<thead><tr>");
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const struct column_spec *spec = &table->columns[i].spec;
        out_format(out, "<th scope=\"col\"%s data-column=\"", spec->kind == SUTRA_COLUMN_TEXT ? " class=\"text\"" : "");
        markup_text(&page->markup, spec->name);
        out_add(out, "\">");
        write_heading(page, spec->name);
        out_add(out, "</th>");
    }
    out_add(out, "</tr></thead>\n");
}

static void write_rows(struct page *page, const struct sutra_table *table, uint64_t n) {
    int decimals[TABLE_COLUMNS_MAX] = {0}, n_names = 0;
    for (uint32_t i = 0; i < table->n_columns; i++)
        if (table->columns[i].spec.kind == SUTRA_COLUMN_REAL)
            decimals[i] = decimals_of(table, i, n);
        else
            n_names += table->columns[i].spec.kind == SUTRA_COLUMN_TEXT;
    for (uint64_t row = 0; row < n; row++) {
        out_add(&page->markup.out, "<tr>");
        for (uint32_t i = 0; i < table->n_columns; i++) {
            struct name name = {0};
            if (table->columns[i].spec.kind == SUTRA_COLUMN_TEXT) {
                name.bytes = table_get_text(table, i, row, &name.length);
                write_text_cell(page, name, n_names > 1 ? NAME_WIDTH_OF_SEVERAL : NAME_WIDTH, i == 0);
            } else {
                write_number_cell(page, table, i, row, decimals[i], i == 0);
            }
        }
        out_add(&page->markup.out, "</tr>\n");
    }
}

static void write_summary(struct page *page, const char *caption, uint64_t n) {
    out_add(&page->markup.out, "<details><summary>");
    markup_text(&page->markup, caption);
    out_format(&page->markup.out, ": %s rows</summary>\n", shown_decimal((double)n, 0).text);
}

void page_table(struct page *page, const struct sutra_table *table, const char *caption, const char *file) {
    struct text_out *out = &page->markup.out;
    uint64_t n = table->n_rows < PAGE_ROWS_MAX ? table->n_rows : PAGE_ROWS_MAX;
    bool folded = n > PAGE_ROWS_OPEN;
    if (folded)
        write_summary(page, caption, n);
    out_add(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"");
    markup_text(&page->markup, caption);
    out_format(out, "\"><table data-table=\"%s\">\n<caption>", table->name);
    markup_text(&page->markup, caption);
    if (n < table->n_rows)
        out_format(out, "; %s of %s rows", shown_decimal((double)n, 0).text,
                   shown_decimal((double)table->n_rows, 0).text);
    if (file) {
        out_add(out, n < table->n_rows ? ", all in " : "; in ");
        out_format(out, "<code>%s</code>", file);
    }
    out_add(out, "</caption>\n");
    write_head(page, table);
    out_add(out, "<tbody>\n");
    write_rows(page, table, n);
    out_add(out, "</tbody></table></div>\n");
    if (folded)
        out_add(out, "</details>\n");
}
