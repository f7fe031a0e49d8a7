/*
 * lines.c - draws step lines over time, one panel per series: the maximum of each time bin as an area, the mean as a
 * line.
 *
 * Equal adjacent bins become one step. All panels share the time axis; each has its own value axis. O(bins).
 */
#include <math.h>
#include <stdio.h>

#include "report/chart.h"

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

static void draw_head(const struct svg *svg, const struct line_series *series, double most, double y) {
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
    draw_head(svg, series, most, top + 14);
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
