/*
 * areas.c - draws stacked areas over an axis, with a line above: each layer lies on the sum of the layers below it.
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

#include "report/chart.h"

#define PLOT_HEIGHT 240.0
#define PLOT_LEFT   64.0

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
    struct area_plot plot = {svg, areas, svg->width - PLOT_LEFT - 2, top + PLOT_HEIGHT, PLOT_HEIGHT / values.end};
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
