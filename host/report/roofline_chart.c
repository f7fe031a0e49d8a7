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

#include "report/chart.h"

#define LEFT         52.0
#define PLOT_HEIGHT  300.0
#define LARGEST      15.0 /* radius of a point that is all of the time */
#define SMALLEST     2.5
#define DECADES_MOST 14

/* Powers of ten along an axis. */
struct decades {
    int first, last;
};

/* Where things stand. */
struct roofline_layout {
    const struct roofline_chart *chart;
    struct decades x, y;
    double top, width;
};

static void decades_add(struct decades *decades, double value, bool *any) {
    if (!(value > 0) || !isfinite(value))
        return;
    int below = (int)floor(log10(value)), above = (int)ceil(log10(value));
    decades->first = *any && decades->first < below ? decades->first : below;
    decades->last = *any && decades->last > above ? decades->last : above;
    *any = true;
}

/* At least one, and not so many that nothing is seen: the lowest are given up. */
static void decades_end(struct decades *decades) {
    if (decades->last <= decades->first)
        decades->last = decades->first + 1;
    if (decades->last - decades->first > DECADES_MOST)
        decades->first = decades->last - DECADES_MOST;
}

static double ridge_of(const struct roofline_chart *chart, double tflops_per_s) {
    return chart->tbytes_per_s > 0 ? tflops_per_s / chart->tbytes_per_s : 0;
}

static struct roofline_layout lay_out(const struct svg *svg, const struct roofline_chart *chart, double top) {
    struct roofline_layout layout = {.chart = chart, .top = top, .width = svg->width - LEFT - 4};
    bool any_x = false, any_y = false;
    for (uint64_t i = 0; i < chart->n_points; i++) {
        decades_add(&layout.x, chart->points[i].flops_per_byte, &any_x);
        decades_add(&layout.y, chart->points[i].tflops_per_s, &any_y);
    }
    for (int i = 0; i < chart->n_peaks; i++) {
        decades_add(&layout.x, ridge_of(chart, chart->peaks[i].tflops_per_s), &any_x);
        decades_add(&layout.y, chart->peaks[i].tflops_per_s, &any_y);
    }
    decades_end(&layout.x);
    decades_end(&layout.y);
    return layout;
}

static double clamp(double value, double least, double most) {
    return fmin(fmax(value, least), most);
}

static double x_at(const struct roofline_layout *layout, double flops_per_byte) {
    double share = (log10(flops_per_byte) - layout->x.first) / (layout->x.last - layout->x.first);
    return LEFT + clamp(share, 0, 1) * layout->width;
}

static double y_at(const struct roofline_layout *layout, double tflops_per_s) {
    double share = (log10(tflops_per_s) - layout->y.first) / (layout->y.last - layout->y.first);
    return layout->top + (1 - clamp(share, 0, 1)) * PLOT_HEIGHT;
}

/* ---- Axes ---- */

static void power_text(int power, char *text, size_t size) {
    if (power >= -3 && power <= 5)
        snprintf(text, size, "%s", shown_decimal(pow(10, power), power < 0 ? -power : 0).text);
    else
        snprintf(text, size, "1e%d", power);
}

/* The last number of the axis ends where the axis does, so that it takes more room towards the one before. */
#define LAST_ROOM 66

static void draw_axes(const struct svg *svg, const struct roofline_layout *layout) {
    char text[64];
    double bottom = layout->top + PLOT_HEIGHT, room = layout->width / (layout->x.last - layout->x.first);
    int every = room < 44 ? (int)ceil(44 / room) : 1, all = layout->x.last - layout->x.first;
    for (int power = layout->x.first; power <= layout->x.last; power++) {
        double x = x_at(layout, pow(10, power));
        enum anchor anchor = power == layout->x.last ? ANCHOR_END : ANCHOR_MIDDLE;
        svg_line(svg, power == layout->x.first ? "base" : "grid", x, layout->top, x, bottom);
        power_text(power, text, sizeof text);
        bool below_last = power < layout->x.last && all % every == 0 && (layout->x.last - power) * room < LAST_ROOM;
        if ((power - layout->x.first) % every == 0 && !below_last)
            svg_text(svg, "small", anchor, x, bottom + 15, name_of(text), 0);
    }
    for (int power = layout->y.first; power <= layout->y.last; power++) {
        double y = y_at(layout, pow(10, power));
        svg_line(svg, power == layout->y.first ? "base" : "grid", LEFT, y, LEFT + layout->width, y);
        power_text(power, text, sizeof text);
        svg_text(svg, "small", ANCHOR_END, LEFT - 6, y + 4, name_of(text), 0);
    }
    svg_text(svg, "small", ANCHOR_START, 0, layout->top - 8, name_of("TFLOP/s"), 0);
    svg_text(svg, "small", ANCHOR_END, svg->width, bottom + 30, name_of("FLOPs per byte"), 0);
}

/* ---- Roofs ---- */

/* From where memory is the limit to where computing is. */
static void draw_roof(const struct svg *svg, const struct roofline_layout *layout, const struct roofline_peak *peak) {
    const struct roofline_chart *chart = layout->chart;
    struct text_out *out = svg_out(svg);
    double left = pow(10, layout->x.first), lowest = pow(10, layout->y.first);
    double ridge = ridge_of(chart, peak->tflops_per_s);
    double from = fmax(left, chart->tbytes_per_s > 0 ? lowest / chart->tbytes_per_s : left);
    out_add(out, "<path class=\"mean\" d=\"M");
    if (chart->tbytes_per_s > 0 && from < ridge) {
        svg_number(svg, x_at(layout, from));
        out_add(out, " ");
        svg_number(svg, y_at(layout, from * chart->tbytes_per_s));
        out_add(out, "L");
    }
    svg_number(svg, ridge > 0 ? x_at(layout, ridge) : LEFT);
    out_add(out, " ");
    svg_number(svg, y_at(layout, peak->tflops_per_s));
    out_add(out, "H");
    svg_number(svg, LEFT + layout->width);
    out_add(out, "\"/>\n");
}

/* Names of peaks above their lines, the highest first; one that would lie on another one is left out. */
static void name_roofs(const struct svg *svg, const struct roofline_layout *layout) {
    double last = -LINE_HEIGHT;
    for (int i = 0; i < layout->chart->n_peaks; i++) {
        const struct roofline_peak *peak = &layout->chart->peaks[i];
        double y = y_at(layout, peak->tflops_per_s) - 4;
        char text[96];
        if (y - last < LINE_HEIGHT - 4)
            continue;
        snprintf(text, sizeof text, "%s: %s TFLOP/s", peak->name, shown_decimal(peak->tflops_per_s, 0).text);
        svg_text(svg, "small halo", ANCHOR_END, LEFT + layout->width - 2, y, name_of(text), layout->width - 4);
        last = y;
    }
}

/* ---- Points ---- */

static double radius_of(const struct roofline_chart *chart, const struct roofline_point *point) {
    return chart->us > 0 ? fmax(SMALLEST, LARGEST * sqrt(point->us / chart->us)) : SMALLEST;
}

static void draw_point(const struct svg *svg, const struct roofline_layout *layout,
                       const struct roofline_point *point) {
    struct text_out *out = svg_out(svg);
    double y = y_at(layout, point->tflops_per_s);
    svg_shape(svg, point->shape, x_at(layout, point->flops_per_byte), y, radius_of(layout->chart, point));
    svg_attribute(svg, "data-y", y);
    out_format(out, " data-row=\"%llu\" data-value=\"", (unsigned long long)point->row);
    out_number(out, point->tflops_per_s);
    out_add(out, "\"><title>");
    markup_cut(svg->markup, point->name, 120);
    out_format(out, ": %s TFLOP/s at %s FLOPs per byte, ", shown_decimal(point->tflops_per_s, 3).text,
               shown_decimal(point->flops_per_byte, 2).text);
    out_format(out, "%s</title></path>\n", shown_figure(point->us, UNIT_US).text);
}

void roofline_draw(const struct svg *svg, const void *of) {
    const struct roofline_chart *chart = of;
    double top = svg_legend(svg, chart->legend, chart->n_legend, false) + 18;
    struct roofline_layout layout = lay_out(svg, chart, top);
    svg_begin(svg, top + PLOT_HEIGHT + 36);
    svg_legend(svg, chart->legend, chart->n_legend, true);
    draw_axes(svg, &layout);
    for (int i = 0; i < chart->n_peaks; i++)
        draw_roof(svg, &layout, &chart->peaks[i]);
    for (uint64_t i = 0; i < chart->n_points; i++)
        draw_point(svg, &layout, &chart->points[i]);
    name_roofs(svg, &layout);
    svg_end(svg);
}
