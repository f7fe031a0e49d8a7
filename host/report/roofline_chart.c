/*
 * roofline_chart.c - draws a roofline chart: FLOPs per byte against FLOP/s, both in powers of ten. Each operator is a
 * point, larger for more time.
 *
 *     TFLOP/s   |        ._____________ matrix bf16
 *               |      .'   o
 *               |    .'  .__O__________ vector fp32
 *               |  .' .'
 *               +---------------------- FLOPs per byte
 *
 * O(points).
 */
#include <math.h>
#include <stdio.h>

#include "report/charts.h"

#define PLOT_LEFT   52.0
#define PLOT_HEIGHT 300.0
#define MAX_RADIUS  15.0 /* of a point with all of the time */
#define MIN_RADIUS  2.5
#define DECADES_MAX 14

/* Powers of ten along an axis. */
struct decades {
    int first, last;
    bool any;
};

struct roofline_layout {
    struct decades x, y;
    double top, width;
};

static void add_to_decades(struct decades *decades, double value) {
    if (!(value > 0) || !isfinite(value))
        return;
    int below = (int)floor(log10(value)), above = (int)ceil(log10(value));
    decades->first = decades->any && decades->first < below ? decades->first : below;
    decades->last = decades->any && decades->last > above ? decades->last : above;
    decades->any = true;
}

/* Leaves at least one decade and at most DECADES_MAX; drops the lowest ones. */
static void limit_decades(struct decades *decades) {
    if (decades->last <= decades->first)
        decades->last = decades->first + 1;
    if (decades->last - decades->first > DECADES_MAX)
        decades->first = decades->last - DECADES_MAX;
}

/* The position of a value on an axis, from 0 to 1. */
static double position_of(const struct decades *decades, double value) {
    double share = (log10(value) - decades->first) / (decades->last - decades->first);
    return fmin(fmax(share, 0), 1);
}

static double x_of(const struct roofline_layout *layout, double flops_per_byte) {
    return PLOT_LEFT + position_of(&layout->x, flops_per_byte) * layout->width;
}

static double y_of(const struct roofline_layout *layout, double tflops_per_s) {
    return layout->top + (1 - position_of(&layout->y, tflops_per_s)) * PLOT_HEIGHT;
}

/* FLOPs per byte from which compute limits, instead of memory; 0: unknown. */
static double ridge_of(const struct roofline_chart *chart, double tflops_per_s) {
    return chart->tbytes_per_s > 0 ? tflops_per_s / chart->tbytes_per_s : 0;
}

static void format_power(int power, char text[64]) {
    if (power >= -3 && power <= 5)
        snprintf(text, 64, "%s", shown_decimal(pow(10, power), power < 0 ? -power : 0).text);
    else
        snprintf(text, 64, "1e%d", power);
}

/* Width of the last number of the x axis, which ends at the end of the axis and needs more room on its left. */
#define LAST_ROOM 66

static void draw_axes(const struct svg *svg, const struct roofline_layout *layout) {
    const struct decades *x_axis = &layout->x, *y_axis = &layout->y;
    char text[64];
    double bottom = layout->top + PLOT_HEIGHT, room = layout->width / (x_axis->last - x_axis->first);
    int every = room < 44 ? (int)ceil(44 / room) : 1, all = x_axis->last - x_axis->first;
    for (int power = x_axis->first; power <= x_axis->last; power++) {
        double x = x_of(layout, pow(10, power));
        enum anchor anchor = power == x_axis->last ? ANCHOR_END : ANCHOR_MIDDLE;
        svg_line(svg, power == x_axis->first ? "base" : "grid", x, layout->top, x, bottom);
        format_power(power, text);
        bool below_last = power < x_axis->last && all % every == 0 && (x_axis->last - power) * room < LAST_ROOM;
        if ((power - x_axis->first) % every == 0 && !below_last)
            svg_text(svg, "small", anchor, x, bottom + 15, name_of(text), 0);
    }
    for (int power = y_axis->first; power <= y_axis->last; power++) {
        double y = y_of(layout, pow(10, power));
        svg_line(svg, power == y_axis->first ? "base" : "grid", PLOT_LEFT, y, PLOT_LEFT + layout->width, y);
        format_power(power, text);
        svg_text(svg, "small", ANCHOR_END, PLOT_LEFT - 6, y + 4, name_of(text), 0);
    }
    svg_text(svg, "small", ANCHOR_START, 0, layout->top - 8, name_of("TFLOP/s"), 0);
    svg_text(svg, "small", ANCHOR_END, svg->width, bottom + 30, name_of("FLOPs per byte"), 0);
}

/* Draws the limit by memory up to the ridge, and by compute from there. */
static void draw_roof(const struct svg *svg, const struct roofline_layout *layout, const struct roofline_chart *chart,
                      const struct roofline_peak *peak) {
    struct text_out *out = svg_out(svg);
    double left = pow(10, layout->x.first), lowest = pow(10, layout->y.first);
    double ridge = ridge_of(chart, peak->tflops_per_s);
    double from = fmax(left, chart->tbytes_per_s > 0 ? lowest / chart->tbytes_per_s : left);
    out_add(out, "<path class=\"mean\" d=\"M");
    if (chart->tbytes_per_s > 0 && from < ridge) {
        svg_number(svg, x_of(layout, from));
        out_add(out, " ");
        svg_number(svg, y_of(layout, from * chart->tbytes_per_s));
        out_add(out, "L");
    }
    svg_number(svg, ridge > 0 ? x_of(layout, ridge) : PLOT_LEFT);
    out_add(out, " ");
    svg_number(svg, y_of(layout, peak->tflops_per_s));
    out_add(out, "H");
    svg_number(svg, PLOT_LEFT + layout->width);
    out_add(out, "\"/>\n");
}

void roofline_draw(const struct svg *svg, const void *of) {
    const struct roofline_chart *chart = of;
    struct text_out *out = svg_out(svg);
    double top = svg_legend(svg, chart->legend, chart->n_legend, false) + 18, last = -LINE_HEIGHT;
    struct roofline_layout layout = {.top = top, .width = svg->width - PLOT_LEFT - 4};
    for (uint64_t i = 0; i < chart->n_points; i++) {
        add_to_decades(&layout.x, chart->points[i].flops_per_byte);
        add_to_decades(&layout.y, chart->points[i].tflops_per_s);
    }
    for (int i = 0; i < chart->n_peaks; i++) {
        add_to_decades(&layout.x, ridge_of(chart, chart->peaks[i].tflops_per_s));
        add_to_decades(&layout.y, chart->peaks[i].tflops_per_s);
    }
    limit_decades(&layout.x);
    limit_decades(&layout.y);
    svg_begin(svg, top + PLOT_HEIGHT + 36);
    svg_legend(svg, chart->legend, chart->n_legend, true);
    draw_axes(svg, &layout);
    for (int i = 0; i < chart->n_peaks; i++)
        draw_roof(svg, &layout, chart, &chart->peaks[i]);
    for (uint64_t i = 0; i < chart->n_points; i++) {
        const struct roofline_point *point = &chart->points[i];
        double y = y_of(&layout, point->tflops_per_s);
        double radius = chart->us > 0 ? fmax(MIN_RADIUS, MAX_RADIUS * sqrt(point->us / chart->us)) : MIN_RADIUS;
        svg_shape(svg, point->shape, x_of(&layout, point->flops_per_byte), y, radius);
        svg_attribute(svg, "data-y", y);
        out_format(out, " data-row=\"%llu\" data-value=\"", (unsigned long long)point->row);
        out_number(out, point->tflops_per_s);
        out_add(out, "\"><title>");
        markup_cut(svg->markup, point->name, 120);
        out_format(out, ": %s TFLOP/s at %s FLOPs per byte, ", shown_decimal(point->tflops_per_s, 3).text,
                   shown_decimal(point->flops_per_byte, 2).text);
        out_format(out, "%s</title></path>\n", shown_figure(point->us, UNIT_US).text);
    }
    /* Names of the peaks above their lines, the highest first; overlapping names are omitted. */
    for (int i = 0; i < chart->n_peaks; i++) {
        const struct roofline_peak *peak = &chart->peaks[i];
        double y = y_of(&layout, peak->tflops_per_s) - 4;
        char text[96];
        if (y - last < LINE_HEIGHT - 4)
            continue;
        snprintf(text, sizeof text, "%s: %s TFLOP/s", peak->name, shown_decimal(peak->tflops_per_s, 0).text);
        svg_text(svg, "small halo", ANCHOR_END, PLOT_LEFT + layout.width - 2, y, name_of(text), layout.width - 4);
        last = y;
    }
    svg_end(svg);
}
