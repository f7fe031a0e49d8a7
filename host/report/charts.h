/*
 * charts.h - kinds of charts.
 *
 * All charts draw numbers of tables, which the page also shows. The rectangle of a bar identifies its number by
 * data-row, data-column and data-value, with the value as in the table.
 */
#ifndef REPORT_CHARTS_H
#define REPORT_CHARTS_H

#include "analyze/table.h"
#include "report/svg.h"

/* Draws a chart of some kind. */
typedef void chart_draw(const struct svg *svg, const void *chart);

/* ---- Bars: a row of the table is a bar, which its values stack up to ---- */

#define BAR_VALUES_MAX 9

struct bar_value {
    uint32_t column;
    const char *name; /* in the legend */
    int colour;
};

/* Rows of a table from the first. Negative values and those that could not be computed have no length. */
struct bars {
    const struct sutra_table *table;
    uint64_t n_rows;
    uint32_t labels[2], n_labels; /* columns that name a row; integers stand behind the name of their column, */
    const char *label_prefix;     /* and texts behind this; NULL: nothing */
    bool by_end;                  /* see struct name */
    bool kernels;                 /* names are those of kernels, and shortened so that they stay different */
    struct bar_value values[BAR_VALUES_MAX];
    int n_values;
    const int *row_colours; /* of a chart with one value, whose legend says what they mean; NULL: that of the value */
    enum unit unit;
};
chart_draw bars_draw;

/* The same of rows with one number as their label, as squares: for as many as ranks of a job. */
#define HEAT_ROWS_MAX 512
chart_draw heat_draw;

/* ---- Changes: bars to both sides of a line ---- */

/* Rows of a table from the first, by a number that may be negative. */
struct changes {
    const struct sutra_table *table;
    uint64_t n_rows;
    uint32_t label, value; /* columns */
    bool by_end, kernels;  /* as those of struct bars */
    const int *row_colours;
    enum unit unit;
};
chart_draw changes_draw;

/* ---- Lines: how a number changes over time, a panel for each series ---- */

/* Values of `n` equal stretches of time between two moments. */
struct line_series {
    int64_t rank, stream;
    double begin_us, end_us;
    const double *most, *mean; /* in each stretch */
    uint32_t n;
};

struct chart_lines {
    const struct line_series *series;
    uint64_t n_series;
};
chart_draw lines_draw;

/* ---- Stacked areas: how the parts of a sum change over time, and a line ---- */

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

/* ---- Grid: a small bar of shares in each cell, cells of one group side by side ---- */

struct grid_part {
    struct name name, legend;
    double share;
    int colour;
};

struct grid_cell {
    const struct grid_part *parts; /* by falling share */
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

/* ---- Areas: rows of a table by falling value, those of a group together ---- */

#define TREEMAP_ROWS_MAX 64

struct treemap {
    const struct sutra_table *table;
    uint32_t n_rows;              /* at most TREEMAP_ROWS_MAX */
    uint32_t label, group, value; /* columns */
    enum unit unit;
};
chart_draw treemap_draw;

/* ---- Roofline: operators as points below what the device can do ---- */

struct roofline_point {
    struct name name;
    double flops_per_byte, tflops_per_s; /* above 0 */
    double us;                           /* of its time, which the size of the point tells */
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
    double tbytes_per_s; /* of memory; 0: not known */
    const struct legend_entry *legend;
    int n_legend;
};
chart_draw roofline_draw;

#endif
