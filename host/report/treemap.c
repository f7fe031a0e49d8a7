/*
 * treemap.c - draws the rows of a table as a treemap: the areas of a group are adjacent, and its largest area has its
 * name.
 *
 *     +-----------------+--------+
 *     | GEMM            | other  |      Squarified (Bruls, Huizing and van Wijk, 2000): areas in descending order fill
 *     |  aten::mm       |        |      strips along the shorter side of the remaining rectangle. A strip grows as long
 *     |  aten::addmm    +--------+      as its areas become more square.
 *     |                 | reduce |
 *     +-----------------+--------+
 *
 * Cost: O(rows) with two passes, plus a sort of the groups.
 */
#include <math.h>
#include <stdio.h>

#include "report/charts.h"
#include "text/names.h"

#define TREEMAP_HEIGHT 320.0
#define MIN_NAME_WIDTH 70.0 /* of a shortened name: a dozen letters */
#define WORDS_HEIGHT   (LINE_HEIGHT - 2)
#define LINES_MAX      4

struct area {
    double x, y, width, height;
};

/* ---- Layout ---- */

/* The worst ratio of sides in a strip of this length with these areas. */
static double worst_ratio(double length, double sum, double smallest, double largest) {
    double width = sum / length;
    return fmax(width * width / smallest, largest / (width * width));
}

/* Lays out `n` values in descending order as areas of the rectangle `rest`. */
static void lay_out(const double *values, struct area *areas, uint32_t n, struct area rest) {
    double all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += values[i];
    double scale = all > 0 ? rest.width * rest.height / all : 0;
    for (uint32_t first = 0; first < n;) {
        /* The values of the next strip: first .. last - 1. */
        double length = fmin(rest.width, rest.height), sum = values[first], largest = sum * scale;
        double ratio = worst_ratio(length, sum * scale, largest, largest);
        uint32_t last = first + 1;
        for (; last < n && values[last] > 0; last++) {
            double longer = sum + values[last];
            double then = worst_ratio(length, longer * scale, values[last] * scale, largest);
            if (then > ratio)
                break;
            ratio = then;
            sum = longer;
        }
        /* The strip, at the left or top side of the rectangle. */
        bool upright = rest.width >= rest.height;
        double across = length > 0 ? sum * scale / length : 0, along = 0;
        for (uint32_t i = first; i < last; i++) {
            double side = sum > 0 ? values[i] / sum * length : 0;
            areas[i] = upright ? (struct area){rest.x, rest.y + along, across, side}
                               : (struct area){rest.x + along, rest.y, side, across};
            along += side;
        }
        rest.x += upright ? across : 0;
        rest.y += upright ? 0 : across;
        rest.width = fmax(0, rest.width - (upright ? across : 0));
        rest.height = fmax(0, rest.height - (upright ? 0 : across));
        first = last;
    }
}

/* ---- Drawing ---- */

static double value_of(const struct treemap *map, uint64_t row) {
    double value = table_get_real(map->table, map->value, row);
    return value > 0 && isfinite(value) ? value : 0;
}

static struct name text_of(const struct treemap *map, uint32_t column, uint64_t row) {
    struct name name = {0};
    name.bytes = table_get_text(map->table, column, row, &name.length);
    return name;
}

/* Characters of a name in the widest area; longer names are reduced as names of kernels. */
#define NAME_COLUMNS 100
#define LONG_NAME    48

/* A name without parts that need not be shown. */
static struct shortened reduced_name(const char *text) {
    static const char module[] = "nn.Module: ";
    size_t n = sizeof module - 1;
    char reduced[KERNEL_NAME_MAX];
    text += strncmp(text, module, n) == 0 ? n : 0;
    if (strlen(text) < LONG_NAME)
        return short_text(text, NAME_COLUMNS);
    kernel_name_reduce(text, reduced);
    return short_text(reduced, NAME_COLUMNS);
}

/* The style of text on a color: color of the paper, of ink, or dark in any mode, whichever has the best contrast. */
static const char *text_style(int colour, bool strong) {
    if (colour == COLOUR_SHADE + 1 || colour == COLOUR_COMMUNICATION)
        return strong ? "on dark strong" : "on dark";
    if (colour >= COLOUR_SHADE + 2)
        return strong ? "on strong" : "on";
    return strong ? "on light strong" : "on light";
}

/* The bytes of a name that fit on a line, up to the last position where it can be broken; 0: none. */
static size_t line_length(struct name name, double room) {
    size_t length = 0;
    for (size_t i = 1; i < name.length; i++)
        if (strchr(":_<,. /-", name.bytes[i - 1]) && name.bytes[i] != name.bytes[i - 1] &&
            markup_width((struct name){name.bytes, i, false}) * FONT_SIZE <= room)
            length = i;
    return length;
}

/* Draws a name on at most `n_max` lines, unless too little of it would be left; returns the number of lines. */
static int draw_name(const struct svg *svg, const char *style, double x, double y, struct name name, double room,
                     int n_max) {
    int n = 0;
    size_t length;
    for (; n + 1 < n_max && markup_width(name) * FONT_SIZE > room && (length = line_length(name, room)); n++) {
        svg_text(svg, style, ANCHOR_START, x, y + n * WORDS_HEIGHT, (struct name){name.bytes, length, false}, 0);
        name = (struct name){name.bytes + length, name.length - length, false};
    }
    if (name.length == 0 || (n == 0 && room < MIN_NAME_WIDTH && markup_width(name) * FONT_SIZE > room))
        return n;
    svg_text(svg, style, ANCHOR_START, x, y + n * WORDS_HEIGHT, name, room);
    return n + 1;
}

/* Draws a row of the number-th group; the first row of a group also shows the group's name. */
static void draw_row(const struct svg *svg, const struct treemap *map, const struct area *area, uint64_t row,
                     uint32_t number, bool is_first) {
    struct name name = text_of(map, map->label, row), group = text_of(map, map->group, row);
    /* Groups have alternating shades of compute; communication and memcpy have colors of their own. */
    int colour = (int)colour_of_operator(group.bytes, group.length);
    if (colour == COLOUR_COMPUTE)
        colour = (int)colour_of_operator(name.bytes, name.length);
    if (colour == COLOUR_COMPUTE)
        colour = COLOUR_SHADE + (int)(number % COLOUR_SHADES);
    svg_part(svg, colour, area->x, area->y, area->width, area->height);
    chart_data(svg, map->table, map->value, row);
    markup_cut(svg->markup, group, 40);
    out_add(svg_out(svg), ": ");
    markup_cut(svg->markup, name, 80);
    out_format(svg_out(svg), ": %s</title></rect>\n", shown_figure(value_of(map, row), map->unit).text);
    if (area->height <= LINE_HEIGHT)
        return;
    double x = area->x + 5, y = area->y + 14, room = area->width - 10;
    int n = 0, n_lines = 1 + (int)fmin((area->height - LINE_HEIGHT) / WORDS_HEIGHT, LINES_MAX - 1);
    struct shortened name_text = reduced_name(name.bytes), group_text = reduced_name(group.bytes);
    bool same = strcmp(name_text.text, group_text.text) == 0;
    if (is_first && n_lines > 1)
        n = draw_name(svg, text_style(colour, true), x, y, name_of(group_text.text), room,
                      same ? n_lines : n_lines - 1);
    if (n_lines > n && !(n && same))
        draw_name(svg, text_style(colour, false), x, y + n * WORDS_HEIGHT, name_of(name_text.text), room, n_lines - n);
}

void treemap_draw(const struct svg *svg, const void *chart) {
    const struct treemap *map = chart;
    /* Groups in the order of their first rows. */
    uint32_t n_groups = 0, of_row[TREEMAP_ROWS_MAX], first_row[TREEMAP_ROWS_MAX];
    double sums[TREEMAP_ROWS_MAX] = {0};
    struct area areas[TREEMAP_ROWS_MAX], of_rows[TREEMAP_ROWS_MAX];
    double values[TREEMAP_ROWS_MAX] = {0};
    uint32_t order[TREEMAP_ROWS_MAX], rows[TREEMAP_ROWS_MAX];
    for (uint32_t row = 0; row < map->n_rows; row++) {
        struct name name = text_of(map, map->group, row);
        uint32_t group = 0;
        for (; group < n_groups; group++) {
            struct name other = text_of(map, map->group, first_row[group]);
            if (other.length == name.length && memcmp(other.bytes, name.bytes, name.length) == 0)
                break;
        }
        if (group == n_groups)
            first_row[n_groups++] = row;
        of_row[row] = group;
        sums[group] += value_of(map, row);
    }
    /* Insert groups in descending order of their sums. */
    for (uint32_t group = 0; group < n_groups; group++) {
        uint32_t at = group;
        for (; at > 0 && sums[order[at - 1]] < sums[group]; at--)
            order[at] = order[at - 1];
        order[at] = group;
    }
    for (uint32_t i = 0; i < n_groups; i++)
        values[i] = sums[order[i]];
    lay_out(values, areas, n_groups, (struct area){0, 0, svg->width, TREEMAP_HEIGHT});
    svg_begin(svg, TREEMAP_HEIGHT);
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t n = 0;
        for (uint32_t row = 0; row < map->n_rows; row++)
            if (of_row[row] == order[i]) {
                values[n] = value_of(map, row);
                rows[n++] = row;
            }
        lay_out(values, of_rows, n, areas[i]);
        for (uint32_t k = 0; k < n; k++)
            draw_row(svg, map, &of_rows[k], rows[k], i, k == 0);
    }
    svg_end(svg);
}
