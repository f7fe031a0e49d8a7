/*
 * svg.c - elements of an SVG drawing (charts.h).
 */
#include "report/charts.h"

#include <math.h>
#include <stdio.h>

#include "report/markup.h"

/* Margin of a drawing in a file, and height of its title. */
#define MARGIN      16.0
#define HEAD_HEIGHT 24.0

#define STRONG_WIDTH 1.12 /* width of bold letters relative to others */

static const char *const form_names[] = {"file", "wide", "narrow"};

double svg_width(enum svg_form form) {
    return form == SVG_NARROW ? 340 : 860;
}

/* The id of an element, unique on the page. */
static void write_id(const struct svg *svg, const char *part) {
    out_format(svg_out(svg), "%s-%s-%s", svg->id, form_names[svg->form], part);
}

static void write_described(const struct svg *svg, const char *tag, const char *words) {
    out_format(svg_out(svg), "<%s id=\"", tag);
    write_id(svg, tag);
    out_add(svg_out(svg), "\">");
    markup_text(svg->markup, words);
    out_format(svg_out(svg), "</%s>\n", tag);
}

void svg_begin(const struct svg *svg, double height) {
    struct text_out *out = svg_out(svg);
    out_format(out, "<svg%s class=\"chart %s\" role=\"img\" aria-labelledby=\"",
               svg->form == SVG_FILE ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", form_names[svg->form]);
    write_id(svg, "title");
    out_add(out, " ");
    write_id(svg, "desc");
    out_add(out, "\"");
    double margin = svg->form == SVG_FILE ? MARGIN : 0, head = svg->form == SVG_FILE ? HEAD_HEIGHT : 0;
    svg_attribute(svg, "width", svg->width + 2 * margin);
    svg_attribute(svg, "height", ceil(height) + 2 * margin + head);
    out_format(out, " viewBox=\"%d %d %d %d\">\n", (int)-margin, (int)-(margin + head), (int)(svg->width + 2 * margin),
               (int)(ceil(height) + 2 * margin + head));
    write_described(svg, "title", svg->title);
    write_described(svg, "desc", svg->description);
    if (svg->form == SVG_FILE) {
        out_format(out, "<style>\n%s%s</style>\n", style_colours, style_charts);
        svg_rectangle(svg, "paper", -margin, -(margin + head), svg->width + 2 * margin,
                      ceil(height) + 2 * margin + head);
        out_add(out, "/>\n");
        svg_text(svg, "title", ANCHOR_START, 0, -12, name_of(svg->title), svg->width * 0.8);
    }
}

void svg_end(const struct svg *svg) {
    out_add(svg_out(svg), "</svg>\n");
}

/* Limit of coordinates, which infinite times would exceed. */
#define FAR_AWAY 1e9

void svg_number(const struct svg *svg, double value) {
    long tenths = isnan(value) ? 0 : lrint(fmax(-FAR_AWAY, fmin(value, FAR_AWAY)) * 10);
    struct text_out *out = svg_out(svg);
    if (tenths < 0) {
        out_add(out, "-");
        tenths = -tenths;
    }
    out_integer(out, tenths / 10);
    if (tenths % 10) {
        out_add(out, ".");
        out_integer(out, tenths % 10);
    }
}

void svg_attribute(const struct svg *svg, const char *name, double value) {
    out_format(svg_out(svg), " %s=\"", name);
    svg_number(svg, value);
    out_add(svg_out(svg), "\"");
}

void svg_rectangle(const struct svg *svg, const char *class_name, double x, double y, double width, double height) {
    out_format(svg_out(svg), "<rect class=\"%s\"", class_name);
    svg_attribute(svg, "x", x);
    svg_attribute(svg, "y", y);
    svg_attribute(svg, "width", width);
    svg_attribute(svg, "height", height);
}

void svg_part(const struct svg *svg, int colour, double x, double y, double width, double height) {
    char classes[16];
    svg->markup->used[colour] |= width > 0 && height > 0;
    snprintf(classes, sizeof classes, "%s%s", svg_colour(colour), fmin(width, height) < 3 ? "" : " part");
    svg_rectangle(svg, classes, x, y, width, height);
}

void svg_line(const struct svg *svg, const char *class_name, double x1, double y1, double x2, double y2) {
    out_format(svg_out(svg), "<line class=\"%s\"", class_name);
    svg_attribute(svg, "x1", x1);
    svg_attribute(svg, "y1", y1);
    svg_attribute(svg, "x2", x2);
    svg_attribute(svg, "y2", y2);
    out_add(svg_out(svg), "/>\n");
}

const char *svg_colour(int colour) {
    static const char *const classes[N_COLOURS] = {"c0",   "c1",   "c2",  "c5",    "c4", "c3", "c6", "c7",
                                                   "grey", "pale", "ink", "count", "s0", "s1", "s2", "s3"};
    return classes[colour];
}

/* ---- Shapes ---- */

/* Corners of shapes, in tenths of the radius. */
static const struct {
    int n;
    int corners[12][2];
} polygons[N_SHAPES] = {
    [SHAPE_SQUARE] = {4, {{-9, -9}, {9, -9}, {9, 9}, {-9, 9}}},
    [SHAPE_DIAMOND] = {4, {{0, -12}, {12, 0}, {0, 12}, {-12, 0}}},
    [SHAPE_UP] = {3, {{0, -12}, {12, 9}, {-12, 9}}},
    [SHAPE_DOWN] = {3, {{0, 12}, {12, -9}, {-12, -9}}},
    [SHAPE_CROSS] = {12,
                     {{-4, -11},
                      {4, -11},
                      {4, -4},
                      {11, -4},
                      {11, 4},
                      {4, 4},
                      {4, 11},
                      {-4, 11},
                      {-4, 4},
                      {-11, 4},
                      {-11, -4},
                      {-4, -4}}},
};

/* A circle as two arcs. */
static void write_circle(const struct svg *svg, double x, double y, double radius) {
    struct text_out *out = svg_out(svg);
    out_add(out, "M");
    svg_number(svg, x - radius);
    out_add(out, " ");
    svg_number(svg, y);
    for (int half = 0; half < 2; half++) {
        out_add(out, "a");
        svg_number(svg, radius);
        out_add(out, " ");
        svg_number(svg, radius);
        out_add(out, " 0 1 0 ");
        svg_number(svg, half ? -2 * radius : 2 * radius);
        out_add(out, " 0");
    }
    out_add(out, "Z");
}

void svg_shape(const struct svg *svg, enum shape shape, double x, double y, double radius) {
    struct text_out *out = svg_out(svg);
    int n = polygons[shape].n;
    svg->markup->used[COLOUR_COMPUTE] = true;
    out_format(out, "<path class=\"%s part\" d=\"", svg_colour(COLOUR_COMPUTE));
    if (n == 0)
        write_circle(svg, x, y, radius);
    if (shape == SHAPE_RING)
        write_circle(svg, x, y, radius / 2);
    for (int i = 0; i < n; i++) {
        out_add(out, i ? "L" : "M");
        svg_number(svg, x + radius * polygons[shape].corners[i][0] / 10);
        out_add(out, " ");
        svg_number(svg, y + radius * polygons[shape].corners[i][1] / 10);
    }
    out_add(out, n ? "Z\" fill-rule=\"evenodd\"" : "\" fill-rule=\"evenodd\"");
}

void svg_text(const struct svg *svg, const char *class_name, enum anchor anchor, double x, double y, struct name name,
              double room) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    struct text_out *out = svg_out(svg);
    bool small = class_name && strncmp(class_name, "small", 5) == 0,
         strong = class_name && strstr(class_name, "strong");
    double size = small ? SMALL_FONT_SIZE : strong ? FONT_SIZE * STRONG_WIDTH : FONT_SIZE;
    bool cut = room > 0 && markup_width(name) * size > room;
    out_add(out, "<text");
    if (class_name)
        out_format(out, " class=\"%s\"", class_name);
    svg_attribute(svg, "x", x);
    svg_attribute(svg, "y", y);
    out_format(out, "%s>", anchors[anchor]);
    if (!cut) {
        markup_name(svg->markup, name);
    } else {
        out_add(out, "<title>");
        markup_title(svg->markup, name);
        out_add(out, "</title>");
        markup_cut(svg->markup, name, room / size);
    }
    out_add(out, "</text>\n");
}

double svg_legend(const struct svg *svg, const struct legend_entry *entries, int n, bool draw) {
    double x = 0, y = LINE_HEIGHT;
    for (int i = 0; i < n; i++) {
        double width = 16 + markup_width(name_of(entries[i].name)) * FONT_SIZE + 16;
        if (x > 0 && x + width > svg->width) {
            x = 0;
            y += LINE_HEIGHT;
        }
        if (draw) {
            if (entries[i].shape)
                svg_shape(svg, *entries[i].shape, x + 5.5, y - 6.5, 5);
            else
                svg_rectangle(svg, svg_colour(entries[i].colour), x, y - 12, 11, 11);
            out_add(svg_out(svg), "/>\n");
            svg_text(svg, NULL, ANCHOR_START, x + 16, y - 2, name_of(entries[i].name), svg->width - 16);
        }
        x += width;
    }
    return y + 6;
}

void svg_axis(const struct svg *svg, const struct ticks *ticks, double left, double width, double top, double bottom) {
    double free_from = -svg->width;
    for (int i = 0; i < ticks->n; i++) {
        double x = left + width * i * ticks->step / ticks->end;
        struct shown shown = ticks_text(ticks, i);
        double text_width = markup_width(name_of(shown.text)) * SMALL_FONT_SIZE;
        double from = fmin(i == 0 ? x : x - text_width / 2, svg->width - text_width);
        svg_line(svg, i == 0 ? "base" : "grid", x, top, x, bottom);
        if (from < free_from)
            continue;
        svg_text(svg, "small", ANCHOR_START, from, bottom + 15, name_of(shown.text), 0);
        free_from = from + text_width + 6;
    }
}
