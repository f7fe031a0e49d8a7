/*
 * charts.c - draws stacked areas over an axis, with a line above: each layer lies on the sum of the layers below it.
 *
 *     |      ______        line: reserved
 *     |  ___/
 *     | |###|__####        layer 2
 *     | |oooooooooo        layer 1
 *     +--------------
 *
 * Equal adjacent bins become one step. O(layers^2 x bins), for a handful of layers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/charts.h"
#include "text/names.h"
#include "text/numbers.h"

/*
 * Draws step lines over time, one panel per series: the maximum of each time bin as an area, the mean as a
 * line.
 *
 * Equal adjacent bins become one step. All panels share the time axis; each has its own value axis. O(bins).
 */

#define PANEL_HEIGHT 64.0
#define PANEL_STEP   (PANEL_HEIGHT + 34)
#define LEFT         44.0

/* One panel, and how its values become pixels. */
struct panel {
    const struct svg *svg;
    const struct line_series *series;
    double x, width; /* of the series, which may end before the axis */
    double bottom, scale;
};

static double height_of(const struct panel *panel, double value) {
    return panel->bottom - fmax(value, 0) * panel->scale;
}

static double x_of(const struct panel *panel, uint32_t i) {
    return panel->x + panel->width * i / panel->series->n;
}

/* Steps along values[]: up or down where they change by what can be seen, else on. */
static void draw_steps(const struct panel *panel, const double *values) {
    struct text_out *out = svg_out(panel->svg);
    double at = height_of(panel, values[0]);
    svg_number(panel->svg, at);
    for (uint32_t i = 1; i < panel->series->n; i++) {
        double y = height_of(panel, values[i]);
        if (fabs(y - at) < 0.05)
            continue;
        at = y;
        out_add(out, "H");
        svg_number(panel->svg, x_of(panel, i));
        out_add(out, "V");
        svg_number(panel->svg, y);
    }
    out_add(out, "H");
    svg_number(panel->svg, panel->x + panel->width);
}

/* A line along values[], or the area below it. */
static void draw_path(const struct panel *panel, const char *class_name, const double *values, bool area) {
    struct text_out *out = svg_out(panel->svg);
    out_format(out, "<path class=\"%s\" d=\"M", class_name);
    svg_number(panel->svg, panel->x);
    out_add(out, " ");
    if (area) {
        svg_number(panel->svg, panel->bottom);
        out_add(out, "V");
    }
    draw_steps(panel, values);
    if (area) {
        out_add(out, "V");
        svg_number(panel->svg, panel->bottom);
        out_add(out, "Z");
    }
    out_add(out, "\"/>\n");
}

static double largest_of(const double *values, uint32_t n) {
    double largest = 0;
    for (uint32_t i = 0; i < n; i++)
        largest = fmax(largest, values[i]);
    return largest;
}

static void draw_head_lines(const struct svg *svg, const struct line_series *series, double most, double y) {
    char head[128];
    snprintf(head, sizeof head, "rank %lld, stream %lld: at most %s", (long long)series->rank,
             (long long)series->stream, shown_decimal(most, 0).text);
    svg_text(svg, "strong", ANCHOR_START, 0, y, name_of(head), svg->width);
}

static void draw_panel(const struct svg *svg, const struct line_series *series, double top, const struct ticks *time) {
    double most = largest_of(series->most, series->n), whole = time->end;
    double plot_width = svg->width - LEFT - 2, bottom = top + 22 + PANEL_HEIGHT;
    struct ticks ticks = ticks_make(most, UNIT_COUNT, 3);
    double scale = PANEL_HEIGHT / ticks.end;
    struct panel panel = {svg,
                          series,
                          LEFT + plot_width * series->begin_us / whole,
                          plot_width * (series->end_us - series->begin_us) / whole,
                          bottom,
                          scale};
    draw_head_lines(svg, series, most, top + 14);
    for (int i = 0; i < ticks.n; i++) {
        double y = bottom - i * ticks.step * scale;
        svg_line(svg, i ? "grid" : "base", LEFT, y, svg->width - 2, y);
        svg_text(svg, "small", ANCHOR_END, LEFT - 6, y + 4, name_of(ticks_text(&ticks, i).text), 0);
    }
    draw_path(&panel, svg_colour(COLOUR_WAIT_DEVICE), series->most, true);
    draw_path(&panel, "mean", series->mean, false);
}

void lines_draw(const struct svg *svg, const void *chart) {
    static const struct legend_entry entries[] = {{"maximum per time interval", COLOUR_WAIT_DEVICE, NULL},
                                                  {"mean over time", COLOUR_LINE, NULL}};
    const struct chart_lines *lines = chart;
    double end = 0, top = svg_legend(svg, entries, 2, false);
    for (uint64_t i = 0; i < lines->n_series; i++)
        end = fmax(end, lines->series[i].end_us);
    struct ticks time = ticks_make(end, UNIT_US, (int)(svg->width / 75));
    double bottom = top + (double)lines->n_series * PANEL_STEP - 10;
    svg_begin(svg, bottom + 24);
    svg_legend(svg, entries, 2, true);
    svg_axis(svg, &time, LEFT, svg->width - LEFT - 2, top + 22, bottom);
    for (uint64_t i = 0; i < lines->n_series; i++)
        draw_panel(svg, &lines->series[i], top + (double)i * PANEL_STEP, &time);
    svg_end(svg);
}

/*
 * Draws the parts of operators: one bar of shares per variant of an operator, all variants next to each other
 * below the operator's name.
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

#define CELL_WIDTH       168.0
#define BAR_WIDTH        26.0
#define GRID_PLOT_HEIGHT 112.0
#define HEAD_HEIGHT      44.0
#define LINE_STEP        (HEAD_HEIGHT + GRID_PLOT_HEIGHT + 20)
#define TEXT_STEP        14.0
#define TEXTS_MAX        8

static int columns_of(const struct svg *svg) {
    return (int)(svg->width / CELL_WIDTH);
}

static uint64_t count_cells(const struct grid *grid) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < grid->n_groups; i++)
        n += grid->groups[i].n_cells;
    return n;
}

/* The shares as texts from the bottom, the smallest ones as one. */
static void draw_texts(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    bool whole = cell->n_parts <= TEXTS_MAX;
    uint64_t n = whole ? cell->n_parts : TEXTS_MAX - 1;
    double rest = 0, right = x + CELL_WIDTH - 14;
    char words[48];
    for (uint64_t i = 0; i <= n && i < cell->n_parts; i++) {
        double y = bottom - 3 - (double)i * TEXT_STEP;
        for (uint64_t k = n; i == n && k < cell->n_parts; k++)
            rest += cell->parts[k].share;
        snprintf(words, sizeof words, "%llu more", (unsigned long long)(cell->n_parts - n));
        bool last = i == n;
        svg_rectangle(svg, svg_colour(last ? COLOUR_SHADE + COLOUR_SHADES - 1 : cell->parts[i].colour),
                      x + BAR_WIDTH + 8, y - 8, 8, 8);
        out_add(svg_out(svg), "/>\n");
        svg_text(svg, "small", ANCHOR_START, x + BAR_WIDTH + 20, y, last ? name_of(words) : cell->parts[i].legend, 66);
        svg_text(svg, "small", ANCHOR_END, right, y,
                 name_of(shown_figure(100 * (last ? rest : cell->parts[i].share), UNIT_PERCENT).text), 0);
    }
}

static void draw_cell(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    struct text_out *out = svg_out(svg);
    double y = bottom;
    for (uint64_t i = 0; i < cell->n_parts; i++) {
        const struct grid_part *part = &cell->parts[i];
        double height = isfinite(part->share) ? fmax(part->share, 0) * GRID_PLOT_HEIGHT : 0;
        y -= height;
        svg_part(svg, part->colour, x, y, BAR_WIDTH, height);
        out_add(out, " data-value=\"");
        out_number(out, part->share);
        out_add(out, "\"><title>");
        markup_cut(svg->markup, part->name, 80);
        out_format(out, ": %s</title></rect>\n", shown_figure(100 * part->share, UNIT_PERCENT).text);
    }
    svg_line(svg, "base", x, bottom, x + BAR_WIDTH, bottom);
    draw_texts(svg, cell, x, bottom);
}

/* The name and time of a group above `n` of its cells. */
static void draw_head_grid(const struct svg *svg, const struct grid_group *group, bool again, double x, double y,
                           uint64_t n) {
    double width = (double)n * CELL_WIDTH - 14;
    char words[64];
    if (again)
        snprintf(words, sizeof words, "continued");
    else
        snprintf(words, sizeof words, "%s", shown_figure(group->us, UNIT_US).text);
    struct name name = group->name;
    name.by_end = true;
    svg_text(svg, "strong", ANCHOR_START, x, y + 14, name, width);
    svg_text(svg, "small", ANCHOR_START, x, y + 28, name_of(words), width);
    svg_line(svg, "base", x, y + 34, x + width, y + 34);
}

static void draw_group(const struct svg *svg, const struct grid_group *group, uint64_t first) {
    uint64_t columns = (uint64_t)columns_of(svg);
    for (uint64_t i = 0; i < group->n_cells; i++) {
        uint64_t line = (first + i) / columns, column = (first + i) % columns, left = group->n_cells - i;
        double x = (double)column * CELL_WIDTH, y = (double)line * LINE_STEP;
        if (i == 0 || column == 0)
            draw_head_grid(svg, group, i > 0, x, y, left < columns - column ? left : columns - column);
        draw_cell(svg, &group->cells[i], x, y + HEAD_HEIGHT + GRID_PLOT_HEIGHT);
    }
}

void grid_draw(const struct svg *svg, const void *chart) {
    const struct grid *grid = chart;
    uint64_t columns = (uint64_t)columns_of(svg), n_lines = (count_cells(grid) + columns - 1) / columns, first = 0;
    svg_begin(svg, (double)n_lines * LINE_STEP);
    for (uint64_t i = 0; i < grid->n_groups; i++) {
        draw_group(svg, &grid->groups[i], first);
        first += grid->groups[i].n_cells;
    }
    svg_end(svg);
}

#define AREAS_PLOT_HEIGHT 240.0
#define PLOT_LEFT         64.0

/* How values become pixels. */
struct area_plot {
    const struct svg *svg;
    const struct chart_areas *areas;
    double width, bottom, scale;
};

static double area_x(const struct area_plot *plot, uint32_t bin) {
    return PLOT_LEFT + plot->width * bin / plot->areas->n;
}

/* Sum of the first `n_layers` layers at a bin. */
static double sum_at(const struct chart_areas *areas, int n_layers, uint32_t bin) {
    double sum = 0;
    for (int i = 0; i < n_layers; i++)
        sum += fmax(areas->layers[i].values[bin], 0);
    return sum;
}

/* The y coordinate of the top of a layer, or of the line. */
static double top_of(const struct area_plot *plot, int n_layers, bool is_line, uint32_t bin) {
    double value = is_line ? plot->areas->line[bin] : sum_at(plot->areas, n_layers, bin);
    return plot->bottom - fmax(value, 0) * plot->scale;
}

/* Steps along the top of a layer, from left to right or back. */
static void draw_top(const struct area_plot *plot, int n_layers, bool is_line, bool back) {
    struct text_out *out = svg_out(plot->svg);
    uint32_t n = plot->areas->n;
    double last = top_of(plot, n_layers, is_line, back ? n - 1 : 0);
    svg_number(plot->svg, last);
    for (uint32_t i = 1; i < n; i++) {
        uint32_t bin = back ? n - 1 - i : i;
        double y = top_of(plot, n_layers, is_line, bin);
        if (fabs(y - last) < 0.05)
            continue;
        last = y;
        out_add(out, "H");
        svg_number(plot->svg, area_x(plot, back ? bin + 1 : bin));
        out_add(out, "V");
        svg_number(plot->svg, y);
    }
    out_add(out, "H");
    svg_number(plot->svg, area_x(plot, back ? 0 : n));
}

static void begin_path(const struct area_plot *plot, const char *class_name) {
    out_format(svg_out(plot->svg), "<path class=\"%s\" d=\"M", class_name);
    svg_number(plot->svg, PLOT_LEFT);
    out_add(svg_out(plot->svg), " ");
}

void areas_draw(const struct svg *svg, const void *chart) {
    const struct chart_areas *areas = chart;
    struct legend_entry entries[AREA_LAYERS_MAX + 1];
    int n_entries = areas->n_layers;
    double largest = 0;
    for (int i = 0; i < areas->n_layers; i++)
        entries[i] = (struct legend_entry){areas->layers[i].name, areas->layers[i].colour, NULL};
    if (areas->line)
        entries[n_entries++] = (struct legend_entry){areas->line_name, COLOUR_LINE, NULL};
    for (uint32_t i = 0; i < areas->n; i++)
        largest = fmax(largest, fmax(sum_at(areas, areas->n_layers, i), areas->line ? areas->line[i] : 0));
    double top = svg_legend(svg, entries, n_entries, false) + 12;
    struct ticks values = ticks_make(largest, areas->unit, 6);
    struct ticks ends = ticks_make(areas->end, areas->end_unit, (int)(svg->width / 90));
    struct area_plot plot = {svg, areas, svg->width - PLOT_LEFT - 2, top + AREAS_PLOT_HEIGHT,
                             AREAS_PLOT_HEIGHT / values.end};
    svg_begin(svg, plot.bottom + 24);
    svg_legend(svg, entries, n_entries, true);
    svg_axis(svg, &ends, PLOT_LEFT, plot.width * (ends.end > 0 ? 1 : 0), top, plot.bottom);
    for (int i = 0; i < values.n; i++) {
        double y = plot.bottom - i * values.step * plot.scale;
        svg_line(svg, i ? "grid" : "base", PLOT_LEFT, y, svg->width - 2, y);
        svg_text(svg, "small", ANCHOR_END, PLOT_LEFT - 6, y + 4, name_of(ticks_text(&values, i).text), 0);
    }
    for (int i = 0; i < areas->n_layers; i++) {
        begin_path(&plot, svg_colour(areas->layers[i].colour));
        draw_top(&plot, i + 1, false, false);
        out_add(svg_out(svg), "V");
        draw_top(&plot, i, false, true);
        out_add(svg_out(svg), "Z\"/>\n");
    }
    if (areas->line) {
        begin_path(&plot, "mean");
        draw_top(&plot, 0, true, false);
        out_add(svg_out(svg), "\"/>\n");
    }
    svg_end(svg);
}

/*
 * Draws horizontal bars, stacked for rows with several values.
 *
 *     wide     rank 0  ####====....            12.3 ms      narrow    rank 0                12.3 ms
 *              |       |      |      |                                ####====....
 *
 * O(rows x values).
 */

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
