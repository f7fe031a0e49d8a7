/*
 * bars.c - draws horizontal bars, stacked for rows with several values.
 *
 *     wide     rank 0  ####====....            12.3 ms      narrow    rank 0                12.3 ms
 *              |       |      |      |                                ####====....
 *
 * O(rows x values).
 */
#include <math.h>
#include <stdlib.h>

#include "report/chart.h"
#include "text/number_text.h"
#include "text/short_name.h"

#define BAR_HEIGHT 15.0

/* Where things stand. */
struct layout {
    double top, left, plot_width, row_height, sum_width;
    bool above; /* labels stand above their bars */
    struct ticks ticks;
};

/* Columns of a kernel's name, about as many as there is room for. */
#define KERNEL_COLUMNS 48

/* Names of kernels in short; NULL: they stand as they are. */
static struct shortened *shorten(const struct bars *bars) {
    struct shortened *shorts = bars->kernels ? calloc(bars->n_rows, sizeof *shorts) : NULL;
    const char **names = bars->kernels ? calloc(bars->n_rows, sizeof *names) : NULL;
    size_t length;
    for (uint64_t row = 0; row < bars->n_rows && names; row++)
        names[row] = table_get_text(bars->table, bars->labels[0], row, &length);
    if (shorts && names)
        short_names(names, bars->n_rows, KERNEL_COLUMNS, shorts);
    if (!names) {
        free(shorts);
        shorts = NULL;
    }
    free(names);
    return shorts;
}

/* The text of a row's label: "rank 0, stream 7". */
static void append_label(const struct bars *bars, const struct shortened *shorts, uint64_t row, struct buffer *label) {
    for (uint32_t i = 0; i < bars->n_labels; i++) {
        const struct column_spec *spec = &bars->table->columns[bars->labels[i]].spec;
        size_t length;
        if (i > 0)
            buffer_append(label, ", ", 2);
        if (spec->kind == SUTRA_COLUMN_TEXT) {
            const char *text = table_get_text(bars->table, bars->labels[i], row, &length);
            if (shorts && i == 0 && length > KERNEL_COLUMNS) {
                text = shorts[row].text;
                length = strlen(text);
            }
            const char *prefix = bars->label_prefix ? bars->label_prefix : "";
            buffer_append(label, prefix, strlen(prefix));
            buffer_append(label, text, length);
            continue;
        }
        char number[NUMBER_TEXT_MAX + 1] = " ";
        length = 1 + integer_format(table_get_integer(bars->table, bars->labels[i], row), number + 1);
        buffer_append(label, spec->name, strlen(spec->name));
        buffer_append(label, number, length);
    }
}

static struct name label_name(const struct bars *bars, const struct buffer *label) {
    return (struct name){label->bytes, label->length, bars->by_end};
}

static double value_of(const struct bars *bars, uint64_t row, int i) {
    double value = table_get_real(bars->table, bars->values[i].column, row);
    return value > 0 && isfinite(value) ? value : 0;
}

static double sum_of(const struct bars *bars, uint64_t row) {
    double sum = 0;
    for (int i = 0; i < bars->n_values; i++)
        sum += value_of(bars, row, i);
    return sum;
}

static struct layout lay_out(const struct svg *svg, const struct bars *bars, const struct shortened *shorts,
                             double top) {
    struct layout layout = {.top = top, .above = svg->form == SVG_NARROW, .sum_width = 78};
    double largest = 0, widest = 0;
    struct buffer label = {0};
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        label.length = 0;
        append_label(bars, shorts, row, &label);
        widest = fmax(widest, markup_width(label_name(bars, &label)) * FONT_SIZE);
        largest = fmax(largest, sum_of(bars, row));
    }
    svg_out(svg)->out.failed |= label.failed;
    buffer_free(&label);
    layout.row_height = layout.above ? 2 * LINE_HEIGHT + 2 : BAR_HEIGHT + 7;
    layout.left = layout.above ? 1 : fmin(widest, svg->width * 0.42) + 12;
    layout.plot_width = svg->width - layout.left - (layout.above ? 2 : layout.sum_width);
    layout.ticks = ticks_make(largest, bars->unit, (int)(layout.plot_width / 70));
    return layout;
}

static void draw_part(const struct svg *svg, const struct bars *bars, uint64_t row, int i, struct name label, double x,
                      double y, double width) {
    struct text_out *out = svg_out(svg);
    int colour = bars->row_colours ? bars->row_colours[row] : bars->values[i].colour;
    svg_part(svg, colour, x, y, width, BAR_HEIGHT);
    out_add(out, " data-row=\"");
    out_integer(out, (int64_t)row);
    out_add(out, "\" data-column=\"");
    markup_text(svg->markup, bars->table->columns[bars->values[i].column].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(bars->table, bars->values[i].column, row));
    out_add(out, "\"><title>");
    markup_cut(svg->markup, label, 80);
    out_add(out, ", ");
    out_add(out, bars->values[i].name);
    out_add(out, ": ");
    out_add(out, shown_figure(value_of(bars, row, i), bars->unit).text);
    out_add(out, "</title></rect>\n");
}

static void draw_row(const struct svg *svg, const struct bars *bars, const struct layout *layout, uint64_t row,
                     struct name label) {
    double y = layout->top + (double)row * layout->row_height, x = layout->left;
    double scale = layout->plot_width / layout->ticks.end;
    double bar_y = layout->above ? y + LINE_HEIGHT : y + 3, text_y = layout->above ? y + 13 : y + 15;
    struct shown sum = shown_figure(sum_of(bars, row), bars->unit);
    if (layout->above)
        svg_text(svg, NULL, ANCHOR_START, 0, text_y, label, svg->width - layout->sum_width);
    else
        svg_text(svg, NULL, ANCHOR_END, layout->left - 8, text_y, label, layout->left - 10);
    svg_text(svg, NULL, ANCHOR_END, svg->width, text_y, name_of(sum.text), 0);
    for (int i = 0; i < bars->n_values; i++) {
        double width = value_of(bars, row, i) * scale;
        draw_part(svg, bars, row, i, label, x, bar_y, width);
        x += width;
    }
}

/* The colours that there are: of values that are not all 0, or of rows. One alone needs no words. */
static int make_legend(const struct bars *bars, struct legend_entry *entries) {
    int n = 0;
    bool seen[N_COLOURS] = {false};
    for (uint64_t row = 0; bars->row_colours && row < bars->n_rows; row++)
        seen[bars->row_colours[row]] = true;
    for (int colour = 0; colour < N_COLOURS; colour++)
        if (seen[colour] && colour_meaning((enum colour)colour))
            entries[n++] = (struct legend_entry){.name = colour_meaning((enum colour)colour), .colour = colour};
    for (int i = 0; !bars->row_colours && i < bars->n_values; i++) {
        double most = 0;
        for (uint64_t row = 0; row < bars->n_rows; row++)
            most = fmax(most, value_of(bars, row, i));
        if (most > 0)
            entries[n++] = (struct legend_entry){.name = bars->values[i].name, .colour = bars->values[i].colour};
    }
    return bars->row_colours || bars->n_values > 1 ? n : 0;
}

void bars_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    struct legend_entry entries[N_COLOURS > BAR_VALUES_MAX ? N_COLOURS : BAR_VALUES_MAX];
    int n_entries = make_legend(bars, entries);
    struct shortened *shorts = shorten(bars);
    double top = n_entries ? svg_legend(svg, entries, n_entries, false) : 0;
    struct layout layout = lay_out(svg, bars, shorts, top);
    double bottom = top + (double)bars->n_rows * layout.row_height + 4;
    svg_begin(svg, bottom + 20);
    if (n_entries)
        svg_legend(svg, entries, n_entries, true);
    svg_axis(svg, &layout.ticks, layout.left, layout.plot_width, layout.above ? bottom - 4 : top, bottom);
    struct buffer label = {0};
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        label.length = 0;
        append_label(bars, shorts, row, &label);
        draw_row(svg, bars, &layout, row, label_name(bars, &label));
    }
    svg_out(svg)->out.failed |= label.failed || (bars->kernels && !shorts);
    buffer_free(&label);
    free(shorts);
    svg_end(svg);
}
