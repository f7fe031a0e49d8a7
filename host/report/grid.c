/*
 * grid.c - draws the parts of operators: one bar of shares per variant of an operator, all variants next to each other
 * below the operator's name.
 *
 *     aten::linear                             aten::add
 *     12.3 ms                                  4 ms
 *     --------------------------------------   -------------------
 *     ## elwt    10 %      ## splitK   30 %    ## elwt     100 %
 *     ## gemm    90 %      ## gemm     70 %    ##
 *
 * A line has as many cells as fit; a group that does not fit continues on the next line. Shares descend from bottom to
 * top. O(parts).
 */
#include <math.h>
#include <stdio.h>

#include "report/chart.h"

#define CELL_WIDTH  168.0
#define BAR_WIDTH   26.0
#define PLOT_HEIGHT 112.0
#define HEAD_HEIGHT 44.0
#define LINE_STEP   (HEAD_HEIGHT + PLOT_HEIGHT + 20)
#define TEXT_STEP   14.0
#define TEXTS_MAX   8

static int columns_of(const struct svg *svg) {
    return (int)(svg->width / CELL_WIDTH);
}

static uint64_t count_cells(const struct grid *grid) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < grid->n_groups; i++)
        n += grid->groups[i].n_cells;
    return n;
}

/* The shares as texts from the bottom, the smallest ones as one. */
static void draw_texts(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    bool whole = cell->n_parts <= TEXTS_MAX;
    uint64_t n = whole ? cell->n_parts : TEXTS_MAX - 1;
    double rest = 0, right = x + CELL_WIDTH - 14;
    char words[48];
    for (uint64_t i = 0; i <= n && i < cell->n_parts; i++) {
        double y = bottom - 3 - (double)i * TEXT_STEP;
        for (uint64_t k = n; i == n && k < cell->n_parts; k++)
            rest += cell->parts[k].share;
        snprintf(words, sizeof words, "%llu more", (unsigned long long)(cell->n_parts - n));
        bool last = i == n;
        svg_rectangle(svg, svg_colour(last ? COLOUR_SHADE + COLOUR_SHADES - 1 : cell->parts[i].colour),
                      x + BAR_WIDTH + 8, y - 8, 8, 8);
        out_add(svg_out(svg), "/>\n");
        svg_text(svg, "small", ANCHOR_START, x + BAR_WIDTH + 20, y, last ? name_of(words) : cell->parts[i].legend, 66);
        svg_text(svg, "small", ANCHOR_END, right, y,
                 name_of(shown_figure(100 * (last ? rest : cell->parts[i].share), UNIT_PERCENT).text), 0);
    }
}

static void draw_cell(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    struct text_out *out = svg_out(svg);
    double y = bottom;
    for (uint64_t i = 0; i < cell->n_parts; i++) {
        const struct grid_part *part = &cell->parts[i];
        double height = isfinite(part->share) ? fmax(part->share, 0) * PLOT_HEIGHT : 0;
        y -= height;
        svg_part(svg, part->colour, x, y, BAR_WIDTH, height);
        out_add(out, " data-value=\"");
        out_number(out, part->share);
        out_add(out, "\"><title>");
        markup_cut(svg->markup, part->name, 80);
        out_format(out, ": %s</title></rect>\n", shown_figure(100 * part->share, UNIT_PERCENT).text);
    }
    svg_line(svg, "base", x, bottom, x + BAR_WIDTH, bottom);
    draw_texts(svg, cell, x, bottom);
}

/* The name and time of a group above `n` of its cells. */
static void draw_head(const struct svg *svg, const struct grid_group *group, bool again, double x, double y,
                      uint64_t n) {
    double width = (double)n * CELL_WIDTH - 14;
    char words[64];
    if (again)
        snprintf(words, sizeof words, "continued");
    else
        snprintf(words, sizeof words, "%s", shown_figure(group->us, UNIT_US).text);
    struct name name = group->name;
    name.by_end = true;
    svg_text(svg, "strong", ANCHOR_START, x, y + 14, name, width);
    svg_text(svg, "small", ANCHOR_START, x, y + 28, name_of(words), width);
    svg_line(svg, "base", x, y + 34, x + width, y + 34);
}

static void draw_group(const struct svg *svg, const struct grid_group *group, uint64_t first) {
    uint64_t columns = (uint64_t)columns_of(svg);
    for (uint64_t i = 0; i < group->n_cells; i++) {
        uint64_t line = (first + i) / columns, column = (first + i) % columns, left = group->n_cells - i;
        double x = (double)column * CELL_WIDTH, y = (double)line * LINE_STEP;
        if (i == 0 || column == 0)
            draw_head(svg, group, i > 0, x, y, left < columns - column ? left : columns - column);
        draw_cell(svg, &group->cells[i], x, y + HEAD_HEIGHT + PLOT_HEIGHT);
    }
}

void grid_draw(const struct svg *svg, const void *chart) {
    const struct grid *grid = chart;
    uint64_t columns = (uint64_t)columns_of(svg), n_lines = (count_cells(grid) + columns - 1) / columns, first = 0;
    svg_begin(svg, (double)n_lines * LINE_STEP);
    for (uint64_t i = 0; i < grid->n_groups; i++) {
        draw_group(svg, &grid->groups[i], first);
        first += grid->groups[i].n_cells;
    }
    svg_end(svg);
}
