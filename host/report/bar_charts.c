/*
 * bar_charts.c - draws rows of a table as bars, two-sided bars or squares of a heat map, and shares as a grid of
 * bars. O(rows x values).
 *
 *     bars     wide     rank 0  ####====....            12.3 ms      narrow    rank 0                12.3 ms
 *                       |       |      |      |                                ####====....
 *
 *     changes           -2 ms      |      +2 ms                      increases to the right, decreases to the left
 *              gemm                |##########  +1.9 ms
 *              add          #######|            -1.2 ms
 *
 *     heat     compute, up to 12.3 ms            idle, up to 4.5 ms
 *              rank 0   ########........         rank 0   ..##............
 *              rank 16  ########........         rank 16  ................
 *
 * A heat map has one square per row, in lines of equal length, and one block of lines per value; larger values have a
 * stronger color. Values with a negligible share have no block.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/shared.h"
#include "report/charts.h"
#include "text/names.h"
#include "text/numbers.h"

#define BAR_HEIGHT 15.0

/* Characters of a kernel's name, approximately as many as fit. */
#define KERNEL_COLUMNS 48

/* ---- Common parts ---- */

struct shortened *table_short_names(const struct sutra_table *table, uint32_t column, uint64_t n, unsigned width) {
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

void chart_data(const struct svg *svg, const struct sutra_table *table, uint32_t column, uint64_t row) {
    struct text_out *out = svg_out(svg);
    out_format(out, " data-row=\"%llu\" data-column=\"", (unsigned long long)row);
    markup_text(svg->markup, table->columns[column].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(table, column, row));
    out_add(out, "\"><title>");
}

/* The legend of the colors of rows, in the order of the bars; colors without a meaning have no entry. */
static int legend_of_rows(const struct bars *bars, struct legend_entry *entries) {
    bool used[N_COLOURS] = {false};
    int n = 0;
    for (uint64_t row = 0; row < bars->n_rows && !bars->labels_name_colours; row++) {
        const int colour = bars->row_colours[row];
        const double value = table_get_real(bars->table, bars->values[0].column, row);
        if (used[colour] || !isfinite(value) || value == 0)
            continue;
        used[colour] = true;
        if (colour_meaning((enum colour)colour))
            entries[n++] = (struct legend_entry){.name = colour_meaning((enum colour)colour), .colour = colour};
    }
    return n;
}

/* Positions of rows with a label, a bar and a text: in a narrow drawing, the label is above its bar. */
struct row_layout {
    double top, bottom, left, plot_width, row_height, text_width;
    bool above;
};

static struct row_layout lay_out_rows(const struct svg *svg, uint64_t n_rows, double label_width, double text_width,
                                      double top) {
    struct row_layout layout = {.top = top, .above = svg->form == SVG_NARROW, .text_width = text_width};
    layout.row_height = layout.above ? 2 * LINE_HEIGHT + 2 : BAR_HEIGHT + 7;
    layout.bottom = top + (double)n_rows * layout.row_height + 4;
    layout.left = layout.above ? 1 : fmin(label_width, svg->width * 0.42) + 12;
    layout.plot_width = svg->width - layout.left - (layout.above ? 2 : text_width);
    return layout;
}

/* Draws the label and the text of a row; returns the y coordinate of its bar. */
static double draw_label(const struct svg *svg, const struct row_layout *layout, uint64_t row, struct name label,
                         const char *text) {
    double y = layout->top + (double)row * layout->row_height, text_y = layout->above ? y + 13 : y + 15;
    if (layout->above)
        svg_text(svg, NULL, ANCHOR_START, 0, text_y, label, svg->width - layout->text_width);
    else
        svg_text(svg, NULL, ANCHOR_END, layout->left - 8, text_y, label, layout->left - 10);
    svg_text(svg, NULL, ANCHOR_END, svg->width, text_y, name_of(text), 0);
    return layout->above ? y + LINE_HEIGHT : y + 3;
}

/* ---- Bars ---- */

static double value_of(const struct bars *bars, uint64_t row, int i) {
    double value = table_get_real(bars->table, bars->values[i].column, row);
    return value > 0 && isfinite(value) ? value : 0;
}

double bars_sum(const struct bars *bars, uint64_t row) {
    double sum = 0;
    for (int i = 0; i < bars->n_values; i++)
        sum += value_of(bars, row, i);
    return sum;
}

/* Sets the label of a row: "rank 0, stream 7". */
static struct name set_label(const struct bars *bars, const struct shortened *shorts, uint64_t row,
                             struct buffer *label) {
    label->length = 0;
    for (uint32_t i = 0; i < bars->n_labels; i++) {
        const struct column_spec *spec = &bars->table->columns[bars->labels[i]].spec;
        size_t length;
        if (i > 0)
            buffer_append_text(label, ", ");
        if (spec->kind == SUTRA_COLUMN_TEXT) {
            const char *text = table_get_text(bars->table, bars->labels[i], row, &length);
            if (shorts && i == 0 && length > KERNEL_COLUMNS) {
                text = shorts[row].text;
                length = strlen(text);
            }
            const char *prefix = bars->label_prefix ? bars->label_prefix : "";
            buffer_append_text(label, prefix);
            buffer_append(label, text, length);
            continue;
        }
        char number[NUMBER_TEXT_MAX + 1] = " ";
        length = 1 + integer_format(table_get_integer(bars->table, bars->labels[i], row), number + 1);
        buffer_append_text(label, spec->name);
        buffer_append(label, number, length);
    }
    return (struct name){label->bytes, label->length, bars->by_end};
}

void bars_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    struct text_out *out = svg_out(svg);
    struct legend_entry entries[N_COLOURS > BAR_VALUES_MAX ? N_COLOURS : BAR_VALUES_MAX];
    int n_entries = bars->row_colours ? legend_of_rows(bars, entries) : 0;
    /* Values that are not all 0 have an entry, unless there is a single value. */
    for (int i = 0; !bars->row_colours && bars->n_values > 1 && i < bars->n_values; i++) {
        uint64_t row = 0;
        while (row < bars->n_rows && !(value_of(bars, row, i) > 0))
            row++;
        if (row < bars->n_rows)
            entries[n_entries++] =
                (struct legend_entry){.name = bars->values[i].name, .colour = bars->values[i].colour};
    }
    struct shortened *shorts =
        bars->kernels ? table_short_names(bars->table, bars->labels[0], bars->n_rows, KERNEL_COLUMNS) : NULL;
    struct buffer label = {0};
    double largest = 0, widest = 0, top = n_entries ? svg_legend(svg, entries, n_entries, false) : 0;
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        widest = fmax(widest, markup_width(set_label(bars, shorts, row, &label)) * FONT_SIZE);
        largest = fmax(largest, bars_sum(bars, row));
    }
    struct row_layout layout = lay_out_rows(svg, bars->n_rows, widest, 78, top);
    struct ticks ticks = ticks_make(largest, bars->unit, (int)(layout.plot_width / 70));
    svg_begin(svg, layout.bottom + 20);
    if (n_entries)
        svg_legend(svg, entries, n_entries, true);
    svg_axis(svg, &ticks, layout.left, layout.plot_width, layout.above ? layout.bottom - 4 : top, layout.bottom);
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        struct name name = set_label(bars, shorts, row, &label);
        double x = layout.left, scale = layout.plot_width / ticks.end;
        double y = draw_label(svg, &layout, row, name, shown_figure(bars_sum(bars, row), bars->unit).text);
        for (int i = 0; i < bars->n_values; i++) {
            double width = value_of(bars, row, i) * scale;
            svg_part(svg, bars->row_colours ? bars->row_colours[row] : bars->values[i].colour, x, y, width, BAR_HEIGHT);
            chart_data(svg, bars->table, bars->values[i].column, row);
            markup_cut(svg->markup, name, 80);
            out_format(out, ", %s: %s</title></rect>\n", bars->values[i].name,
                       shown_figure(value_of(bars, row, i), bars->unit).text);
            x += width;
        }
    }
    out->out.failed |= label.failed || (bars->kernels && !shorts);
    buffer_free(&label);
    free(shorts);
    svg_end(svg);
}

/* ---- Changes ---- */

static double change_at(const struct bars *bars, uint64_t row) {
    double value = table_get_real(bars->table, bars->values[0].column, row);
    return isfinite(value) ? value : 0;
}

static struct name label_at(const struct bars *bars, const struct shortened *shorts, uint64_t row) {
    struct name name = {.by_end = bars->by_end};
    name.bytes = table_get_text(bars->table, bars->labels[0], row, &name.length);
    return shorts ? name_of(shorts[row].text) : name;
}

void changes_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    struct text_out *out = svg_out(svg);
    struct legend_entry entries[N_COLOURS];
    int n_entries = legend_of_rows(bars, entries);
    bool has_legend = n_entries > 1, decreases = false, increases = false;
    struct shortened *shorts =
        bars->kernels ? table_short_names(bars->table, bars->labels[0], bars->n_rows, KERNEL_COLUMNS) : NULL;
    char words[56];
    double largest = 0, widest = 0;
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        double value = change_at(bars, row);
        widest = fmax(widest, markup_width(label_at(bars, shorts, row)) * FONT_SIZE);
        largest = fmax(largest, fabs(value));
        decreases |= value < 0;
        increases |= value > 0;
    }
    double top = 4 + (has_legend ? svg_legend(svg, entries, n_entries, false) : 0);
    struct row_layout layout = lay_out_rows(svg, bars->n_rows, widest, 84, top);
    double side = decreases && increases ? layout.plot_width / 2 : layout.plot_width;
    double zero = layout.left + (decreases ? side : 0);
    struct ticks ticks = ticks_make(largest, bars->unit, (int)(side / 90));
    double scale = side / ticks.end;
    svg_begin(svg, layout.bottom + 20);
    if (has_legend)
        svg_legend(svg, entries, n_entries, true);
    for (int i = decreases ? 1 - ticks.n : 0; i < (increases ? ticks.n : 1); i++) {
        double x = zero + i * ticks.step * scale;
        snprintf(words, sizeof words, "%s%s", i == 0 ? "" : i > 0 ? "+" : "-", ticks_text(&ticks, abs(i)).text);
        double half = markup_width(name_of(words)) * SMALL_FONT_SIZE / 2;
        svg_line(svg, i == 0 ? "base" : "grid", x, layout.top, x, layout.bottom);
        svg_text(svg, "small", ANCHOR_MIDDLE, fmax(half, fmin(x, svg->width - half)), layout.bottom + 15,
                 name_of(words), 0);
    }
    for (uint64_t row = 0; row < bars->n_rows; row++) {
        double value = change_at(bars, row), width = fabs(value) * scale;
        struct name label = label_at(bars, shorts, row);
        snprintf(words, sizeof words, "%s%s", value > 0 ? "+" : "", shown_figure(value, bars->unit).text);
        double y = draw_label(svg, &layout, row, label, words);
        svg_part(svg, bars->row_colours[row], value < 0 ? zero - width : zero, y, width, BAR_HEIGHT);
        chart_data(svg, bars->table, bars->values[0].column, row);
        markup_cut(svg->markup, label, 80);
        out_format(out, ": %s</title></rect>\n", words);
    }
    out->out.failed |= bars->kernels && !shorts;
    free(shorts);
    svg_end(svg);
}

/* ---- Heat map ---- */

#define HEAT_LEFT        70.0
#define CELL_MAX         22.0
#define HEAT_HEAD_HEIGHT 22.0
#define BLOCK_GAP        10.0
#define MIN_OPACITY      0.05
#define MIN_SHARE        0.02

void heat_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    const char *label = bars->table->columns[bars->labels[0]].spec.name;
    uint64_t per_line = svg->form == SVG_NARROW ? 16 : 32, n_lines = (bars->n_rows + per_line - 1) / per_line;
    double cell = fmin(CELL_MAX, (svg->width - HEAT_LEFT) / (double)per_line);
    double block_height = HEAT_HEAD_HEIGHT + (double)n_lines * cell + BLOCK_GAP;
    double top = 0, largest[BAR_VALUES_MAX] = {0}, sums[BAR_VALUES_MAX] = {0}, total = 0;
    int n_blocks = 0;
    char words[160];
    for (int i = 0; i < bars->n_values; i++)
        for (uint64_t row = 0; row < bars->n_rows; row++) {
            sums[i] += value_of(bars, row, i);
            total += value_of(bars, row, i);
            largest[i] = fmax(largest[i], value_of(bars, row, i));
        }
    for (int i = 0; i < bars->n_values; i++) {
        largest[i] = sums[i] > MIN_SHARE * total ? largest[i] : 0; /* 0: no block */
        n_blocks += largest[i] > 0;
    }
    svg_begin(svg, fmax(1, n_blocks * block_height));
    for (int i = 0; i < bars->n_values; i++) {
        if (!(largest[i] > 0))
            continue;
        svg->markup->used[bars->values[i].colour] = true;
        snprintf(words, sizeof words, "%s, up to %s", bars->values[i].name, shown_figure(largest[i], bars->unit).text);
        svg_text(svg, "strong", ANCHOR_START, 0, top + 14, name_of(words), svg->width);
        for (uint64_t line = 0; line < n_lines; line++) {
            snprintf(words, sizeof words, "%s %lld", label,
                     (long long)table_get_integer(bars->table, bars->labels[0], line * per_line));
            svg_text(svg, "small", ANCHOR_END, HEAT_LEFT - 8,
                     top + HEAT_HEAD_HEIGHT + (double)line * cell + cell / 2 + 4, name_of(words), HEAT_LEFT - 8);
        }
        for (uint64_t row = 0; row < bars->n_rows; row++) {
            double value = value_of(bars, row, i);
            uint64_t line = row / per_line;
            svg_rectangle(svg, svg_colour(bars->values[i].colour), HEAT_LEFT + (double)(row % per_line) * cell,
                          top + HEAT_HEAD_HEIGHT + (double)line * cell, cell - 1, cell - 1);
            out_format(svg_out(svg), " fill-opacity=\"%s\"",
                       shown_decimal(fmax(MIN_OPACITY, value / largest[i]), 2).text);
            chart_data(svg, bars->table, bars->values[i].column, row);
            out_format(svg_out(svg), "%s %lld: %s</title></rect>\n", label,
                       (long long)table_get_integer(bars->table, bars->labels[0], row),
                       shown_figure(value, bars->unit).text);
        }
        top += block_height;
    }
    svg_end(svg);
}

/*
 * ---- Kernel shares: one bar per variant of an operator, all variants next to each other below its name ----
 *
 *     aten::linear                             aten::add
 *     12.3 ms                                  4 ms
 *     --------------------------------------   -------------------
 *     ## elwt    10 %      ## splitK   30 %    ## elwt     100 %
 *     ## gemm    90 %      ## gemm     70 %    ##
 *
 * A line has as many cells as fit; a group that does not fit continues on the next line. Shares descend from bottom to
 * top. O(parts).
 */

#define CELL_WIDTH  168.0
#define BAR_WIDTH   26.0
#define PLOT_HEIGHT 112.0
#define HEAD_HEIGHT 44.0
#define LINE_STEP   (HEAD_HEIGHT + PLOT_HEIGHT + 20)
#define TEXT_STEP   14.0
#define TEXTS_MAX   8

/* Draws a line of the legend of a cell: color, name and share. */
static void draw_text(const struct svg *svg, double x, double y, int colour, struct name name, double share) {
    svg_rectangle(svg, svg_colour(colour), x + BAR_WIDTH + 8, y - 8, 8, 8);
    out_add(svg_out(svg), "/>\n");
    svg_text(svg, "small", ANCHOR_START, x + BAR_WIDTH + 20, y, name, 66);
    svg_text(svg, "small", ANCHOR_END, x + CELL_WIDTH - 14, y, name_of(shown_figure(100 * share, UNIT_PERCENT).text),
             0);
}

static void draw_cell(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    struct text_out *out = svg_out(svg);
    double y = bottom, rest = 0;
    for (uint64_t i = 0; i < cell->n_parts; i++) {
        const struct grid_part *part = &cell->parts[i];
        double height = isfinite(part->share) ? fmax(part->share, 0) * PLOT_HEIGHT : 0;
        y -= height;
        svg_part(svg, part->colour, x, y, BAR_WIDTH, height);
        out_add(out, " data-value=\"");
        out_number(out, part->share);
        out_add(out, "\"><title>");
        markup_cut(svg->markup, part->name, 80);
        out_format(out, ": %s</title></rect>\n", shown_figure(100 * part->share, UNIT_PERCENT).text);
    }
    svg_line(svg, "base", x, bottom, x + BAR_WIDTH, bottom);
    /* Texts of the shares from the bottom; the smallest shares have one text. */
    uint64_t n = cell->n_parts <= TEXTS_MAX ? cell->n_parts : TEXTS_MAX - 1;
    y = bottom - 3;
    for (uint64_t i = 0; i < n; i++, y -= TEXT_STEP)
        draw_text(svg, x, y, cell->parts[i].colour, cell->parts[i].legend, cell->parts[i].share);
    if (n == cell->n_parts)
        return;
    char words[48];
    for (uint64_t i = n; i < cell->n_parts; i++)
        rest += cell->parts[i].share;
    snprintf(words, sizeof words, "%llu more", (unsigned long long)(cell->n_parts - n));
    draw_text(svg, x, y, COLOUR_SHADE + COLOUR_SHADES - 1, name_of(words), rest);
}

void grid_draw(const struct svg *svg, const void *chart) {
    const struct grid *grid = chart;
    uint64_t n_columns = (uint64_t)(int)(svg->width / CELL_WIDTH), n_cells = 0, cell = 0;
    for (uint64_t i = 0; i < grid->n_groups; i++)
        n_cells += grid->groups[i].n_cells;
    uint64_t n_lines = (n_cells + n_columns - 1) / n_columns;
    svg_begin(svg, (double)n_lines * LINE_STEP);
    for (uint64_t g = 0; g < grid->n_groups; g++) {
        const struct grid_group *group = &grid->groups[g];
        for (uint64_t i = 0; i < group->n_cells; i++, cell++) {
            uint64_t column = cell % n_columns, line = cell / n_columns;
            uint64_t n_left = group->n_cells - i, room = n_columns - column;
            double x = (double)column * CELL_WIDTH, y = (double)line * LINE_STEP;
            if (i == 0 || column == 0) { /* the name and time of the group, above its cells of this line */
                double width = (double)MIN(n_left, room) * CELL_WIDTH - 14;
                struct shown time = shown_figure(group->us, UNIT_US);
                struct name name = group->name;
                name.by_end = true;
                svg_text(svg, "strong", ANCHOR_START, x, y + 14, name, width);
                svg_text(svg, "small", ANCHOR_START, x, y + 28, name_of(i > 0 ? "continued" : time.text), width);
                svg_line(svg, "base", x, y + 34, x + width, y + 34);
            }
            draw_cell(svg, &group->cells[i], x, y + HEAD_HEIGHT + PLOT_HEIGHT);
        }
    }
    svg_end(svg);
}
