/*
 * heat.c - draws a heat map for more rows than bars can show: one square per row, in lines of equal length, and one
 * block of lines per value. Larger values have stronger color.
 *
 *     compute, up to 12.3 ms            idle, up to 4.5 ms
 *     rank 0   ########........         rank 0   ..##............
 *     rank 16  ########........         rank 16  ................
 *
 * Values with a negligible share have no block. O(rows x values).
 */
#include <math.h>
#include <stdio.h>

#include "report/chart.h"

#define LEFT        70.0
#define CELL_MOST   22.0
#define HEAD_HEIGHT 22.0
#define BLOCK_GAP   10.0
#define FAINTEST    0.05
#define LEAST_SHARE 0.02

/* Where things stand. */
struct heat_layout {
    const struct bars *bars;
    uint64_t per_line, n_lines;
    double cell;
};

static double value_of(const struct bars *bars, uint64_t row, int i) {
    double value = table_get_real(bars->table, bars->values[i].column, row);
    return value > 0 && isfinite(value) ? value : 0;
}

static double largest_of(const struct bars *bars, int i) {
    double largest = 0;
    for (uint64_t row = 0; row < bars->n_rows; row++)
        largest = fmax(largest, value_of(bars, row, i));
    return largest;
}

static struct heat_layout lay_out(const struct svg *svg, const struct bars *bars) {
    struct heat_layout layout = {.bars = bars, .per_line = svg->form == SVG_NARROW ? 16 : 32};
    layout.n_lines = (bars->n_rows + layout.per_line - 1) / layout.per_line;
    layout.cell = fmin(CELL_MOST, (svg->width - LEFT) / (double)layout.per_line);
    return layout;
}

static double block_height(const struct heat_layout *layout) {
    return HEAD_HEIGHT + (double)layout->n_lines * layout->cell + BLOCK_GAP;
}

static int64_t label_of(const struct bars *bars, uint64_t row) {
    return table_get_integer(bars->table, bars->labels[0], row);
}

static void draw_cell(const struct svg *svg, const struct heat_layout *layout, int i, uint64_t row, double largest,
                      double top) {
    const struct bars *bars = layout->bars;
    struct text_out *out = svg_out(svg);
    uint64_t line = row / layout->per_line, place = row % layout->per_line;
    double value = value_of(bars, row, i), x = LEFT + (double)place * layout->cell;
    double y = top + (double)line * layout->cell;
    svg_rectangle(svg, svg_colour(bars->values[i].colour), x, y, layout->cell - 1, layout->cell - 1);
    out_format(out, " fill-opacity=\"%s\" data-row=\"%llu\" data-column=\"",
               shown_decimal(fmax(FAINTEST, value / largest), 2).text, (unsigned long long)row);
    markup_text(svg->markup, bars->table->columns[bars->values[i].column].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(bars->table, bars->values[i].column, row));
    out_format(out, "\"><title>%s %lld: %s</title></rect>\n", bars->table->columns[bars->labels[0]].spec.name,
               (long long)label_of(bars, row), shown_figure(value, bars->unit).text);
}

static void draw_block(const struct svg *svg, const struct heat_layout *layout, int i, double largest, double top) {
    const struct bars *bars = layout->bars;
    char words[160];
    snprintf(words, sizeof words, "%s, up to %s", bars->values[i].name, shown_figure(largest, bars->unit).text);
    svg_text(svg, "strong", ANCHOR_START, 0, top + 14, name_of(words), svg->width);
    for (uint64_t line = 0; line < layout->n_lines; line++) {
        double y = top + HEAD_HEIGHT + (double)line * layout->cell;
        snprintf(words, sizeof words, "%s %lld", bars->table->columns[bars->labels[0]].spec.name,
                 (long long)label_of(bars, line * layout->per_line));
        svg_text(svg, "small", ANCHOR_END, LEFT - 8, y + layout->cell / 2 + 4, name_of(words), LEFT - 8);
    }
    for (uint64_t row = 0; row < bars->n_rows; row++)
        draw_cell(svg, layout, i, row, largest, top + HEAD_HEIGHT);
}

/* The largest value of each block; 0 of those that are next to nothing of all. */
static int choose_blocks(const struct bars *bars, double *largest) {
    double sums[BAR_VALUES_MAX] = {0}, all = 0;
    int n = 0;
    for (int i = 0; i < bars->n_values; i++)
        for (uint64_t row = 0; row < bars->n_rows; row++) {
            sums[i] += value_of(bars, row, i);
            all += value_of(bars, row, i);
        }
    for (int i = 0; i < bars->n_values; i++) {
        largest[i] = sums[i] > LEAST_SHARE * all ? largest_of(bars, i) : 0;
        n += largest[i] > 0;
    }
    return n;
}

void heat_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    struct heat_layout layout = lay_out(svg, bars);
    double top = 0, largest[BAR_VALUES_MAX] = {0};
    int n_blocks = choose_blocks(bars, largest);
    svg_begin(svg, fmax(1, n_blocks * block_height(&layout)));
    for (int i = 0; i < bars->n_values; i++) {
        if (!(largest[i] > 0))
            continue;
        draw_block(svg, &layout, i, largest[i], top);
        top += block_height(&layout);
    }
    svg_end(svg);
}
