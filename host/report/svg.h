/*
 * svg.h - elements of an SVG drawing.
 *
 *     svg_begin(&svg, height), then shapes and texts, then svg_end(&svg)
 *
 * A drawing is written once to a file and twice to a page: wide, and narrow for small windows. Colors are classes,
 * defined by markup.c for light and dark mode. Text stays text, at unscaled size. Coordinates are pixels.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include "report/markup.h"
#include "text/quantities.h"

/* Points of different kinds. */
enum shape { SHAPE_CIRCLE, SHAPE_SQUARE, SHAPE_DIAMOND, SHAPE_UP, SHAPE_DOWN, SHAPE_CROSS, SHAPE_RING, N_SHAPES };

#define FONT_SIZE       12.0
#define SMALL_FONT_SIZE 11.0
#define LINE_HEIGHT     18.0

enum svg_form { SVG_FILE, SVG_WIDE, SVG_NARROW };

struct svg {
    struct markup *markup;
    enum svg_form form;
    const char *id; /* of letters, digits, dots, "-" and "_" */
    const char *title, *description;
    double width;
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

static inline struct text_out *svg_out(const struct svg *svg) {
    return &svg->markup->out;
}

/* The width of drawings of this form. */
double svg_width(enum svg_form form);

void svg_begin(const struct svg *svg, double height);
void svg_end(const struct svg *svg);

/* A coordinate, rounded to a tenth of a pixel. */
void svg_number(const struct svg *svg, double value);

/* name="value" */
void svg_attribute(const struct svg *svg, const char *name, double value);

/* Opens a rectangle of this class, without its ">" or "/>". */
void svg_rectangle(const struct svg *svg, const char *class_name, double x, double y, double width, double height);

/* The same for a part of a bar; if it is wide enough, a line of the paper's color separates it from the next part. */
void svg_part(const struct svg *svg, int colour, double x, double y, double width, double height);

void svg_line(const struct svg *svg, const char *class_name, double x1, double y1, double x2, double y2);

/* Opens a path of this shape, about as large as a circle of this radius. */
void svg_shape(const struct svg *svg, enum shape shape, double x, double y, double radius);

/* The class of a color. */
const char *svg_colour(int colour);

/* A text of this class (NULL: plain). A text wider than `room` pixels (0: unlimited) is shortened, with the full text
 * as title. */
void svg_text(const struct svg *svg, const char *class_name, enum anchor anchor, double x, double y, struct name name,
              double room);

/* Draws a legend in lines from the top; returns its height. `draw` false: only measures it. */
struct legend_entry {
    const char *name;
    int colour;
    const enum shape *shape; /* NULL: a square, for bars */
};
double svg_legend(const struct svg *svg, const struct legend_entry *entries, int n, bool draw);

/* Lines of a horizontal axis from `top` to `bottom`, with numbers below; the axis starts at `left`. */
void svg_axis(const struct svg *svg, const struct ticks *ticks, double left, double width, double top, double bottom);

#endif
