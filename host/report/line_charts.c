/*
 * line_charts.c - draws values over an axis as steps: lines in one panel per series, or stacked areas. Equal adjacent
 * bins become one step.
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

/* Horizontal lines and their values, from `left` to the right border. */
static void draw_value_axis(const struct svg *svg, const struct ticks *ticks, double left, double bottom,
                            double scale) {
    for (int i = 0; i < ticks->n; i++) {
        double y = bottom - i * ticks->step * scale;
        svg_line(svg, i ? "grid" : "base", left, y, svg->width - 2, y);
        svg_text(svg, "small", ANCHOR_END, left - 6, y + 4, name_of(ticks_text(ticks, i).text), 0);
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
        draw_value_axis(svg, &values, PANEL_LEFT, plot.bottom, plot.scale);
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
    draw_value_axis(svg, &values, AREAS_LEFT, plot.bottom, plot.scale);
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
