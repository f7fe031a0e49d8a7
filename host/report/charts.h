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
