/*
 * line_charts.c - draws values over an axis: as steps, with lines in one panel per series, or stacked areas; or as
 * points joined by lines. Equal adjacent bins become one step.
 *
 *     lines: maximum of each bin as area, mean as line       areas: each layer is above the sum of the layers below it
 *
 *     rank 0, stream 7: at most 3                            |      ______        line: reserved
 *     | ##    ___                                            |  ___/
 *     |_##___|###                                            | |###|__####        layer 2
 *     +--------------                                        | |oooooooooo        layer 1
 *                                                            +--------------
 *
 * Cost: O(bins) for lines; O(layers^2 x bins) for areas, with a handful of layers.
 */
#include <math.h>
#include <stdio.h>

#include "report/charts.h"

/* How bins and values become pixels. */
struct plot {
    const struct svg *svg;
    double left, width; /* of all `n` bins */
    double bottom, scale;
    uint32_t n;
};

/* Value of a bin of some data. */
typedef double value_at(const void *data, uint32_t bin);

static double y_of(const struct plot *plot, value_at *value, const void *data, uint32_t bin) {
    return plot->bottom - fmax(value(data, bin), 0) * plot->scale;
}

/* Draws steps from left to right, or back; a step starts where the value visibly changes. */
static void draw_steps(const struct plot *plot, value_at *value, const void *data, bool back) {
    struct text_out *out = svg_out(plot->svg);
    double last = y_of(plot, value, data, back ? plot->n - 1 : 0);
    svg_number(plot->svg, last);
    for (uint32_t i = 1; i < plot->n; i++) {
        uint32_t bin = back ? plot->n - 1 - i : i;
        double y = y_of(plot, value, data, bin);
        if (fabs(y - last) < 0.05)
            continue;
        last = y;
        out_add(out, "H");
        svg_number(plot->svg, plot->left + plot->width * (back ? bin + 1 : bin) / plot->n);
        out_add(out, "V");
        svg_number(plot->svg, y);
    }
    out_add(out, "H");
    svg_number(plot->svg, back ? plot->left : plot->left + plot->width);
}

static void begin_path(const struct plot *plot, int colour) {
    plot->svg->markup->used[colour] = true;
    out_format(svg_out(plot->svg), "<path class=\"%s\" d=\"M", colour == COLOUR_LINE ? "mean" : svg_colour(colour));
    svg_number(plot->svg, plot->left);
    out_add(svg_out(plot->svg), " ");
}

/* Horizontal lines and their values, from `left` to the right border: `n` marks, from the mark `first` on. */
static void draw_value_axis(const struct svg *svg, const struct ticks *ticks, int first, int n, double left,
                            double bottom, double scale) {
    for (int i = 0; i < n; i++) {
        double y = bottom - i * ticks->step * scale;
        svg_line(svg, i ? "grid" : "base", left, y, svg->width - 2, y);
        svg_text(svg, "small", ANCHOR_END, left - 6, y + 4, name_of(ticks_text(ticks, first + i).text), 0);
    }
}

/* ---- Lines ---- */

#define PANEL_HEIGHT 64.0
#define PANEL_STEP   (PANEL_HEIGHT + 34)
#define PANEL_LEFT   44.0

static double value_of_line(const void *data, uint32_t bin) {
    return ((const double *)data)[bin];
}

void lines_draw(const struct svg *svg, const void *chart) {
    static const struct legend_entry entries[] = {{"maximum per time interval", COLOUR_WAIT_DEVICE, NULL},
                                                  {"mean over time", COLOUR_LINE, NULL}};
    const struct chart_lines *lines = chart;
    struct text_out *out = svg_out(svg);
    double end = 0, top = svg_legend(svg, entries, 2, false), plot_width = svg->width - PANEL_LEFT - 2;
    for (uint64_t i = 0; i < lines->n_series; i++)
        end = fmax(end, lines->series[i].end_us);
    struct ticks time = ticks_make(end, UNIT_US, (int)(svg->width / 75));
    double bottom = top + (double)lines->n_series * PANEL_STEP - 10;
    svg_begin(svg, bottom + 24);
    svg_legend(svg, entries, 2, true);
    svg_axis(svg, &time, PANEL_LEFT, plot_width, top + 22, bottom);
    for (uint64_t i = 0; i < lines->n_series; i++, top += PANEL_STEP) {
        const struct line_series *series = &lines->series[i];
        double largest = 0;
        char head[128];
        for (uint32_t k = 0; k < series->n; k++)
            largest = fmax(largest, series->max[k]);
        struct ticks values = ticks_make(largest, UNIT_COUNT, 3);
        const struct plot plot = {svg,
                                  PANEL_LEFT + plot_width * series->begin_us / time.end,
                                  plot_width * (series->end_us - series->begin_us) / time.end,
                                  top + 22 + PANEL_HEIGHT,
                                  PANEL_HEIGHT / values.end,
                                  series->n};
        snprintf(head, sizeof head, "rank %lld, stream %lld: at most %s", (long long)series->rank,
                 (long long)series->stream, shown_decimal(largest, 0).text);
        svg_text(svg, "strong", ANCHOR_START, 0, top + 14, name_of(head), svg->width);
        draw_value_axis(svg, &values, 0, values.n, PANEL_LEFT, plot.bottom, plot.scale);
        begin_path(&plot, COLOUR_WAIT_DEVICE);
        svg_number(svg, plot.bottom);
        out_add(out, "V");
        draw_steps(&plot, value_of_line, series->max, false);
        out_add(out, "V");
        svg_number(svg, plot.bottom);
        out_add(out, "Z\"/>\n");
        begin_path(&plot, COLOUR_LINE);
        draw_steps(&plot, value_of_line, series->mean, false);
        out_add(out, "\"/>\n");
    }
    svg_end(svg);
}

/* ---- Stacked areas ---- */

#define AREAS_PLOT_HEIGHT 240.0
#define AREAS_LEFT        64.0

/* The first layers of a chart. */
struct layer_stack {
    const struct chart_areas *areas;
    int n_layers;
};

static double value_of_stack(const void *data, uint32_t bin) {
    const struct layer_stack *stack = data;
    double sum = 0;
    for (int i = 0; i < stack->n_layers; i++)
        sum += fmax(stack->areas->layers[i].values[bin], 0);
    return sum;
}

void areas_draw(const struct svg *svg, const void *chart) {
    const struct chart_areas *areas = chart;
    const struct layer_stack all = {areas, areas->n_layers};
    struct legend_entry entries[AREA_LAYERS_MAX + 1];
    bool is_drawn[AREA_LAYERS_MAX] = {false};
    int n_entries = 0;
    double largest = 0;
    for (int i = 0; i < areas->n_layers; i++) {
        for (uint32_t bin = 0; bin < areas->n && !is_drawn[i]; bin++)
            is_drawn[i] = areas->layers[i].values[bin] > 0;
        if (is_drawn[i])
            entries[n_entries++] = (struct legend_entry){areas->layers[i].name, areas->layers[i].colour, NULL};
    }
    if (areas->line)
        entries[n_entries++] = (struct legend_entry){areas->line_name, COLOUR_LINE, NULL};
    for (uint32_t i = 0; i < areas->n; i++)
        largest = fmax(largest, fmax(value_of_stack(&all, i), areas->line ? areas->line[i] : 0));
    double top = svg_legend(svg, entries, n_entries, false) + 12;
    struct ticks values = ticks_make(largest, areas->unit, 6);
    struct ticks ends = ticks_make(areas->end, areas->end_unit, (int)(svg->width / 90));
    const struct plot plot = {
        svg,     AREAS_LEFT, svg->width - AREAS_LEFT - 2, top + AREAS_PLOT_HEIGHT, AREAS_PLOT_HEIGHT / values.end,
        areas->n};
    svg_begin(svg, plot.bottom + 24);
    svg_legend(svg, entries, n_entries, true);
    svg_axis(svg, &ends, AREAS_LEFT, plot.width * (ends.end > 0 ? 1 : 0), top, plot.bottom);
    draw_value_axis(svg, &values, 0, values.n, AREAS_LEFT, plot.bottom, plot.scale);
    for (int i = 0; i < areas->n_layers; i++) {
        if (!is_drawn[i])
            continue;
        begin_path(&plot, areas->layers[i].colour);
        draw_steps(&plot, value_of_stack, &(struct layer_stack){areas, i + 1}, false);
        out_add(svg_out(svg), "V");
        draw_steps(&plot, value_of_stack, &(struct layer_stack){areas, i}, true);
        out_add(svg_out(svg), "Z\"/>\n");
    }
    if (areas->line) {
        begin_path(&plot, COLOUR_LINE);
        draw_steps(&plot, value_of_line, areas->line, false);
        out_add(svg_out(svg), "\"/>\n");
    }
    svg_end(svg);
}

/* ---- Points ---- */

#define POINTS_PLOT_HEIGHT 220.0
#define POINTS_LEFT        72.0
#define POINT_RADIUS       3.0

/* How rows and values become pixels. */
struct point_plot {
    const struct svg *svg;
    const struct chart_points *points;
    double step, bottom, base, scale;
};

static double x_of_row(const struct point_plot *plot, uint64_t row) {
    return POINTS_LEFT + plot->step * ((double)row + 0.5);
}

static double y_of_value(const struct point_plot *plot, double value) {
    return plot->bottom - (value - plot->base) * plot->scale;
}

/* Draws one line; a row that is at the same pixel as the one before it is skipped. */
static void draw_line(const struct point_plot *plot, const struct bar_value *line) {
    const struct svg *svg = plot->svg;
    struct text_out *out = svg_out(svg);
    bool is_open = false, is_joined = false;
    double last_x = -1, last_y = -1;
    svg->markup->used[line->colour] = true;
    for (uint64_t row = 0; row < plot->points->table->n_rows; row++) {
        const double value = table_get_real(plot->points->table, line->column, row);
        const double x = x_of_row(plot, row), y = y_of_value(plot, value);
        is_joined &= isfinite(value) != 0;
        if (!isfinite(value) || (is_joined && fabs(x - last_x) < 0.25 && fabs(y - last_y) < 0.25))
            continue;
        if (!is_open)
            out_format(out, "<path fill=\"none\" stroke=\"var(--%s)\" stroke-width=\"1.5\" d=\"",
                       svg_colour(line->colour));
        out_add(out, is_joined ? "L" : "M");
        svg_number(svg, x);
        out_add(out, " ");
        svg_number(svg, y);
        last_x = x;
        last_y = y;
        is_open = is_joined = true;
    }
    out_add(out, is_open ? "\"/>\n" : "");
}

static void draw_point(const struct point_plot *plot, const struct bar_value *line, uint64_t row) {
    const struct svg *svg = plot->svg;
    const struct chart_points *points = plot->points;
    const double value = table_get_real(points->table, line->column, row);
    struct name name = {.by_end = true};
    if (!isfinite(value))
        return;
    out_format(svg_out(svg), "<circle class=\"%s\"", svg_colour(line->colour));
    svg_attribute(svg, "cx", x_of_row(plot, row));
    svg_attribute(svg, "cy", y_of_value(plot, value));
    svg_attribute(svg, "r", POINT_RADIUS);
    chart_data(svg, points->table, line->column, row);
    name.bytes = table_get_text(points->table, points->label, row, &name.length);
    markup_cut(svg->markup, name, 80);
    out_format(svg_out(svg), ", %s: %s</title></circle>\n", line->name, shown_figure(value, points->unit).text);
}

void points_draw(const struct svg *svg, const void *chart) {
    const struct chart_points *points = chart;
    const struct sutra_table *table = points->table;
    const bool has_spread = points->spread < table->n_columns, has_points = table->n_rows <= POINTS_MAX;
    struct legend_entry entries[BAR_VALUES_MAX];
    double smallest = INFINITY, largest = 0;
    for (int i = 0; i < points->n_lines; i++) {
        entries[i] = (struct legend_entry){points->lines[i].name, points->lines[i].colour, NULL};
        for (uint64_t row = 0; row < table->n_rows; row++) { /* without NaN */
            const double value = table_get_real(table, points->lines[i].column, row);
            const double spread = has_spread ? fmax(table_get_real(table, points->spread, row), 0) : 0;
            smallest = fmin(smallest, value - spread);
            largest = fmax(largest, value + spread);
        }
    }
    /* Marks at round numbers; the axis begins at one of them, so that about six are visible. */
    smallest = points->unit == UNIT_PERCENT ? 0 : fmax(0, fmin(smallest, 0.95 * largest));
    const double range = largest - smallest;
    const struct ticks ticks = ticks_make(largest, points->unit, (int)fmin(6 * largest / fmax(range, 1e-300), 120));
    const int first = (int)floor(smallest / ticks.step);
    const double end = fmax(largest, (first + 1) * ticks.step), base = first * ticks.step;
    const double top = svg_legend(svg, entries, points->n_lines, false) + 14;
    const struct point_plot plot = {.svg = svg,
                                    .points = points,
                                    .step = (svg->width - POINTS_LEFT - 2) / fmax((double)table->n_rows, 1),
                                    .bottom = top + POINTS_PLOT_HEIGHT,
                                    .base = base,
                                    .scale = POINTS_PLOT_HEIGHT / (end - base)};
    svg_begin(svg, plot.bottom + 24);
    svg_legend(svg, entries, points->n_lines, true);
    draw_value_axis(svg, &ticks, first, (int)(end * (1 + 1e-9) / ticks.step) - first + 1, POINTS_LEFT, plot.bottom,
                    plot.scale);
    /* Numbers of rows below the axis, as far as they fit. */
    double free_from = 0;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        const struct shown text = shown_decimal((double)row, 0);
        const double width = markup_width(name_of(text.text)) * SMALL_FONT_SIZE, x = x_of_row(&plot, row);
        if (x - width / 2 < free_from)
            continue;
        svg_text(svg, "small", ANCHOR_MIDDLE, x, plot.bottom + 15, name_of(text.text), 0);
        free_from = x + width / 2 + 12;
    }
    for (size_t i = 0; i < points->n_marks; i++) { /* at the left border of the changed row */
        const double x = x_of_row(&plot, points->marks[i]) - plot.step / 2;
        svg_line(svg, "arrow", x, top, x, plot.bottom);
    }
    for (uint64_t row = 0; row < table->n_rows && has_spread && has_points; row++) {
        const double value = table_get_real(table, points->lines[0].column, row), x = x_of_row(&plot, row);
        const double spread = table_get_real(table, points->spread, row);
        if (isfinite(value) && isfinite(spread))
            svg_line(svg, "base", x, y_of_value(&plot, value - spread), x, y_of_value(&plot, value + spread));
    }
    for (int i = 0; i < points->n_lines; i++) {
        draw_line(&plot, &points->lines[i]);
        for (uint64_t k = 0; k < (has_points ? table->n_rows : points->n_marks); k++)
            draw_point(&plot, &points->lines[i], has_points ? k : points->marks[k]);
    }
    svg_end(svg);
}
