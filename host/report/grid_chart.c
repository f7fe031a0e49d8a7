/*
 * grid_chart.c - draws the kernel shares of operators: one bar of shares per variant of an operator, all variants next
 * to each other below the operator's name.
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

#include "base/shared.h"
#include "report/charts.h"

#define CELL_WIDTH  168.0
#define BAR_WIDTH   26.0
#define PLOT_HEIGHT 112.0
#define HEAD_HEIGHT 44.0
#define LINE_STEP   (HEAD_HEIGHT + PLOT_HEIGHT + 20)
#define TEXT_STEP   14.0
#define TEXTS_MAX   8

/* Draws a line of the legend of a cell: color, name and share. */
static void draw_text(const struct svg *svg, double x, double y, int colour, struct name name, double share) {
    svg_rectangle(svg, svg_colour(colour), x + BAR_WIDTH + 8, y - 8, 8, 8);
    out_add(svg_out(svg), "/>\n");
    svg_text(svg, "small", ANCHOR_START, x + BAR_WIDTH + 20, y, name, 66);
    svg_text(svg, "small", ANCHOR_END, x + CELL_WIDTH - 14, y, name_of(shown_figure(100 * share, UNIT_PERCENT).text),
             0);
}

static void draw_cell(const struct svg *svg, const struct grid_cell *cell, double x, double bottom) {
    struct text_out *out = svg_out(svg);
    double y = bottom, rest = 0;
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
    /* Texts of the shares from the bottom; the smallest shares have one text. */
    uint64_t n = cell->n_parts <= TEXTS_MAX ? cell->n_parts : TEXTS_MAX - 1;
    y = bottom - 3;
    for (uint64_t i = 0; i < n; i++, y -= TEXT_STEP)
        draw_text(svg, x, y, cell->parts[i].colour, cell->parts[i].legend, cell->parts[i].share);
    if (n == cell->n_parts)
        return;
    char words[48];
    for (uint64_t i = n; i < cell->n_parts; i++)
        rest += cell->parts[i].share;
    snprintf(words, sizeof words, "%llu more", (unsigned long long)(cell->n_parts - n));
    draw_text(svg, x, y, COLOUR_SHADE + COLOUR_SHADES - 1, name_of(words), rest);
}

void grid_draw(const struct svg *svg, const void *chart) {
    const struct grid *grid = chart;
    uint64_t n_columns = (uint64_t)(int)(svg->width / CELL_WIDTH), n_cells = 0, cell = 0;
    for (uint64_t i = 0; i < grid->n_groups; i++)
        n_cells += grid->groups[i].n_cells;
    uint64_t n_lines = (n_cells + n_columns - 1) / n_columns;
    svg_begin(svg, (double)n_lines * LINE_STEP);
    for (uint64_t g = 0; g < grid->n_groups; g++) {
        const struct grid_group *group = &grid->groups[g];
        for (uint64_t i = 0; i < group->n_cells; i++, cell++) {
            uint64_t column = cell % n_columns, line = cell / n_columns;
            uint64_t n_left = group->n_cells - i, room = n_columns - column;
            double x = (double)column * CELL_WIDTH, y = (double)line * LINE_STEP;
            if (i == 0 || column == 0) { /* the name and time of the group, above its cells of this line */
                double width = (double)MIN(n_left, room) * CELL_WIDTH - 14;
                struct shown time = shown_figure(group->us, UNIT_US);
                struct name name = group->name;
                name.by_end = true;
                svg_text(svg, "strong", ANCHOR_START, x, y + 14, name, width);
                svg_text(svg, "small", ANCHOR_START, x, y + 28, name_of(i > 0 ? "continued" : time.text), width);
                svg_line(svg, "base", x, y + 34, x + width, y + 34);
            }
            draw_cell(svg, &group->cells[i], x, y + HEAD_HEIGHT + PLOT_HEIGHT);
        }
    }
    svg_end(svg);
}
