/*
 * charts.h - elements of an SVG drawing, and kinds of charts.
 *
 * All charts draw numbers of tables, which the page also shows. The rectangle of a bar identifies its number by
 * data-row, data-column and data-value, with the value as in the table.
 */
#ifndef REPORT_CHARTS_H
#define REPORT_CHARTS_H

#include "analyze/table.h"
#include "report/markup.h"
#include "text/quantities.h"

/*
 * ---- Elements of an SVG drawing (svg.c) ----
 *
 *     svg_begin(&svg, height), then shapes and texts, then svg_end(&svg)
 *
 * A drawing is written once to a file and twice to a page: wide, and narrow for small windows. Colors are classes,
 * defined by markup.c for light and dark mode. Text stays text, at unscaled size. Coordinates are pixels.
 */

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

/* ---- Charts ---- */

/* Draws a chart of some kind. */
typedef void chart_draw(const struct svg *svg, const void *chart);

/* Appends the attributes of a value of the table to an open element, and begins its title. */
void chart_data(const struct svg *svg, const struct sutra_table *table, uint32_t column, uint64_t row);

/* Short names of the kernels in the first `n` rows, all different, of about `width` characters; the caller frees them.
 * NULL: out of memory. */
struct shortened *table_short_names(const struct sutra_table *table, uint32_t column, uint64_t n, unsigned width);

/* ---- Bars: one bar per row of the table, stacked from its values ---- */

#define BAR_VALUES_MAX 9

struct bar_value {
    uint32_t column;
    const char *name; /* in the legend */
    int colour;
};

/* The first rows of a table. Negative values and NaN have no length. */
struct bars {
    const struct sutra_table *table;
    uint64_t n_rows;
    uint32_t labels[2], n_labels; /* columns that name a row; integers follow the name of their column, */
    const char *label_prefix;     /* and texts follow this prefix; NULL: none */
    bool by_end;                  /* see struct name */
    bool kernels;                 /* labels are names of kernels, and are shortened so that they stay different */
    struct bar_value values[BAR_VALUES_MAX];
    int n_values;
    const int *row_colours;   /* for a chart with one value: a color per row, with a legend; NULL: the value's color */
    bool labels_name_colours; /* each row has its own color, so the labels are the legend */
    enum unit unit;
};
chart_draw bars_draw;

/* Bars of one value, with one label; both are named by their column. */
static inline struct bars bars_of_value(const struct sutra_table *table, const char *label, const char *column,
                                        const char *name, int colour, enum unit unit) {
    return (struct bars){.table = table,
                         .labels = {table_column(table, label)},
                         .n_labels = 1,
                         .values = {{table_column(table, column), name, colour}},
                         .n_values = 1,
                         .unit = unit};
}

/* The length of the bar of a row. */
double bars_sum(const struct bars *bars, uint64_t row);

/* The same for rows with one integer as label, as squares: for the ranks of large jobs. */
#define HEAT_ROWS_MAX 512
chart_draw heat_draw;

/* Two-sided bars of rows with a text as label and one value, which may be negative, and with row_colours. */
chart_draw changes_draw;

/* ---- Lines: how a number changes over time, a panel for each series ---- */

/* Values of `n` equal bins of a time range. */
struct line_series {
    int64_t rank, stream;
    double begin_us, end_us;
    const double *max, *mean; /* of each bin */
    uint32_t n;
};

struct chart_lines {
    const struct line_series *series;
    uint64_t n_series;
};
chart_draw lines_draw;

/* ---- Points joined by lines: how values change from row to row of a table ---- */

/* The rows of a table, at equal distances; NaN has no point and interrupts its line. More than POINTS_MAX rows have
 * lines only, and points at the marks. */
#define POINTS_MAX 400
struct chart_points {
    const struct sutra_table *table;
    uint32_t label; /* column: name of a row */
    struct bar_value lines[BAR_VALUES_MAX];
    int n_lines;
    uint32_t spread;       /* column: half the height of a bar through each point of the first line; n_columns: none */
    const uint64_t *marks; /* rows with a vertical line */
    size_t n_marks;
    enum unit unit; /* UNIT_PERCENT: the axis of values begins at 0, else near the smallest value */
};
chart_draw points_draw;

/* ---- Stacked areas: how the terms of a sum change over time, and a line ---- */

#define AREA_LAYERS_MAX 8

/* Layers from the bottom; each has `n` values at equal distances from 0 to `end`, none below 0. */
struct chart_areas {
    struct {
        const char *name; /* in the legend */
        int colour;
        const double *values;
    } layers[AREA_LAYERS_MAX];
    int n_layers;
    const double *line; /* of `n` values, or NULL */
    const char *line_name;
    uint32_t n;
    double end;
    enum unit unit, end_unit;
};
chart_draw areas_draw;

/* ---- Grid: a small bar of shares in each cell, cells of one group next to each other ---- */

struct grid_part {
    struct name name, legend;
    double share;
    int colour;
};

struct grid_cell {
    const struct grid_part *parts; /* in descending order of share */
    uint64_t n_parts;
};

struct grid_group {
    struct name name;
    double us;
    const struct grid_cell *cells;
    uint64_t n_cells;
};

struct grid {
    const struct grid_group *groups;
    uint64_t n_groups;
};
chart_draw grid_draw;

/* ---- Treemap: rows of a table in descending order of value, grouped ---- */

#define TREEMAP_ROWS_MAX 64

struct treemap {
    const struct sutra_table *table;
    uint32_t n_rows;              /* at most TREEMAP_ROWS_MAX */
    uint32_t label, group, value; /* columns */
    enum unit unit;
};
chart_draw treemap_draw;

/* ---- Roofline: operators as points below the peak rates of the GPU ---- */

struct roofline_point {
    struct name name;
    double flops_per_byte, tflops_per_s; /* above 0 */
    double us;                           /* time of the operator, shown by the size of the point */
    enum shape shape;
    uint64_t row; /* of the table */
};

/* Of a unit in a precision. */
struct roofline_peak {
    const char *name;
    double tflops_per_s;
};

struct roofline_chart {
    const struct roofline_point *points; /* the largest first */
    uint64_t n_points;
    double us;                         /* of all time */
    const struct roofline_peak *peaks; /* the highest first */
    int n_peaks;
    double tbytes_per_s; /* of memory; 0: unknown */
    const struct legend_entry *legend;
    int n_legend;
};
chart_draw roofline_draw;

/* ---- Timeline: an excerpt with threads and streams, in which the time of a finding is shaded ---- */

/* The rows of one finding in the table `evidence` (analyze/overview/excerpt.c). */
struct timeline {
    const struct sutra_table *table;
    uint64_t first, n;
    const char *marked; /* name of the shaded time: "GPU idle" */
};
chart_draw timeline_draw;

#endif
