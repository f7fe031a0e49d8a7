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

#include "report/chart.h"
#include "text/kernel_name.h"
#include "text/short_name.h"

#define TREEMAP_HEIGHT 320.0
#define ROOM_LEAST     70.0 /* for a name that is cut: a dozen letters */
#define WORDS_HEIGHT   (LINE_HEIGHT - 2)
#define LINES_MOST     4

struct area {
    double x, y, width, height;
};

/* Values that are to be laid out, falling. */
struct layout_items {
    const double *values;
    struct area *areas;
    uint32_t n;
};

/* The worst ratio of sides in a strip of this length that has these areas. */
static double worst_ratio(double length, double sum, double least, double most) {
    double width = sum / length;
    return fmax(width * width / least, most / (width * width));
}

/* Lays values first .. last - 1 out as a strip, and takes it off what is left. */
static void place_strip(const struct layout_items *items, uint32_t first, uint32_t last, double sum, double scale,
                        struct area *left) {
    bool upright = left->width >= left->height; /* the strip stands at the left side */
    double length = upright ? left->height : left->width, width = length > 0 ? sum * scale / length : 0, at = 0;
    for (uint32_t i = first; i < last; i++) {
        double part = sum > 0 ? items->values[i] / sum * length : 0;
        items->areas[i] = upright ? (struct area){left->x, left->y + at, width, part}
                                  : (struct area){left->x + at, left->y, part, width};
        at += part;
    }
    left->x += upright ? width : 0;
    left->y += upright ? 0 : width;
    left->width = fmax(0, left->width - (upright ? width : 0));
    left->height = fmax(0, left->height - (upright ? 0 : width));
}

static void lay_out(const struct layout_items *items, struct area left) {
    double all = 0;
    for (uint32_t i = 0; i < items->n; i++)
        all += items->values[i];
    double scale = all > 0 ? left.width * left.height / all : 0;
    for (uint32_t first = 0; first < items->n;) {
        double length = fmin(left.width, left.height), sum = items->values[first], most = sum * scale;
        double ratio = worst_ratio(length, sum * scale, most, most);
        uint32_t last = first + 1;
        for (; last < items->n && items->values[last] > 0; last++) {
            double longer = sum + items->values[last];
            double then = worst_ratio(length, longer * scale, items->values[last] * scale, most);
            if (then > ratio)
                break;
            ratio = then;
            sum = longer;
        }
        place_strip(items, first, last, sum, scale, &left);
        first = last;
    }
}

/* ---- Groups ---- */

/* Rows by group: groups by falling value, rows in their order. */
struct treemap_layout {
    uint32_t n_groups;
    uint32_t of_row[TREEMAP_ROWS_MAX], first_row[TREEMAP_ROWS_MAX]; /* first_row: of each group */
    double sums[TREEMAP_ROWS_MAX];
    struct area rows[TREEMAP_ROWS_MAX];
};

static double value_at(const struct treemap *map, uint64_t row) {
    double value = table_get_real(map->table, map->value, row);
    return value > 0 && isfinite(value) ? value : 0;
}

static bool same_text(const struct sutra_table *table, uint32_t column, uint64_t a, uint64_t b) {
    size_t n_a, n_b;
    const char *text_a = table_get_text(table, column, a, &n_a), *text_b = table_get_text(table, column, b, &n_b);
    return n_a == n_b && memcmp(text_a, text_b, n_a) == 0;
}

static void find_groups(const struct treemap *map, struct treemap_layout *layout) {
    for (uint32_t row = 0; row < map->n_rows; row++) {
        uint32_t group = 0;
        while (group < layout->n_groups && !same_text(map->table, map->group, layout->first_row[group], row))
            group++;
        if (group == layout->n_groups) {
            layout->first_row[layout->n_groups++] = row;
            layout->sums[group] = 0;
        }
        layout->of_row[row] = group;
        layout->sums[group] += value_at(map, row);
    }
}

/* Groups in the order of their sums, the largest first. */
static void order_groups(const struct treemap_layout *layout, uint32_t *order) {
    for (uint32_t group = 0; group < layout->n_groups; group++) {
        uint32_t at = group;
        for (; at > 0 && layout->sums[order[at - 1]] < layout->sums[group]; at--)
            order[at] = order[at - 1];
        order[at] = group;
    }
}

static void lay_out_group(const struct treemap *map, struct treemap_layout *layout, uint32_t group, struct area area) {
    double values[TREEMAP_ROWS_MAX];
    struct area areas[TREEMAP_ROWS_MAX];
    uint32_t rows[TREEMAP_ROWS_MAX], n = 0;
    for (uint32_t row = 0; row < map->n_rows; row++)
        if (layout->of_row[row] == group) {
            values[n] = value_at(map, row);
            rows[n++] = row;
        }
    lay_out(&(struct layout_items){values, areas, n}, area);
    for (uint32_t i = 0; i < n; i++)
        layout->rows[rows[i]] = areas[i];
}

/* ---- Drawing ---- */

/* Columns of a name in the widest area; a name of a kernel has more before it is reduced, those of operators have
 * less. */
#define NAME_COLUMNS 100
#define LONG_NAME    48

/* A name in as few words as it needs. */
static struct shortened plain_name(const struct sutra_table *table, uint32_t column, uint64_t row) {
    static const char module[] = "nn.Module: ";
    size_t length, n = sizeof module - 1;
    const char *text = table_get_text(table, column, row, &length);
    text += strncmp(text, module, n) == 0 ? n : 0;
    if (strlen(text) < LONG_NAME)
        return short_text(text, NAME_COLUMNS);
    char reduced[KERNEL_NAME_MAX];
    kernel_name_reduce(text, reduced);
    return short_text(reduced, NAME_COLUMNS);
}

/* The style of words on an area: those of the paper, of ink, or dark in any theme, whichever is read best on it. */
static const char *words_on(int colour, bool strong) {
    if (colour == COLOUR_SHADE + 1 || colour == COLOUR_COMMUNICATION)
        return strong ? "on dark strong" : "on dark";
    if (colour >= COLOUR_SHADE + 2)
        return strong ? "on strong" : "on";
    return strong ? "on light strong" : "on light";
}

/* The bytes of a name that fit on a line, up to the last place where it can be broken; 0: none. */
static size_t line_length(struct name name, double room) {
    size_t length = 0;
    for (size_t i = 1; i < name.length; i++)
        if (strchr(":_<,. /-", name.bytes[i - 1]) && name.bytes[i] != name.bytes[i - 1] &&
            markup_width((struct name){name.bytes, i, false}) * FONT_SIZE <= room)
            length = i;
    return length;
}

/* Writes a name that fits, if need be on several lines, or of which enough is left to know it by; how many lines. */
static int draw_name(const struct svg *svg, const char *style, double x, double y, struct name name, double room,
                     int most) {
    int n = 0;
    size_t length;
    for (; n + 1 < most && markup_width(name) * FONT_SIZE > room && (length = line_length(name, room)); n++) {
        svg_text(svg, style, ANCHOR_START, x, y + n * WORDS_HEIGHT, (struct name){name.bytes, length, false}, 0);
        name = (struct name){name.bytes + length, name.length - length, false};
    }
    if (name.length == 0 || (n == 0 && room < ROOM_LEAST && markup_width(name) * FONT_SIZE > room))
        return n;
    svg_text(svg, style, ANCHOR_START, x, y + n * WORDS_HEIGHT, name, room);
    return n + 1;
}

/* The name of a group stands on its largest area. */
static void draw_words(const struct svg *svg, const struct treemap *map, const struct area *area, uint64_t row,
                       int colour, bool first) {
    double x = area->x + 5, y = area->y + 14, room = area->width - 10;
    int n = 0, n_lines = 1 + (int)fmin((area->height - LINE_HEIGHT) / WORDS_HEIGHT, LINES_MOST - 1);
    if (area->height <= LINE_HEIGHT)
        return;
    struct shortened names[] = {plain_name(map->table, map->label, row), plain_name(map->table, map->group, row)};
    bool same = strcmp(names[0].text, names[1].text) == 0;
    if (first && n_lines > 1)
        n = draw_name(svg, words_on(colour, true), x, y, name_of(names[1].text), room, same ? n_lines : n_lines - 1);
    if (n_lines > n && !(n && same))
        draw_name(svg, words_on(colour, false), x, y + n * WORDS_HEIGHT, name_of(names[0].text), room, n_lines - n);
}

static void draw_row(const struct svg *svg, const struct treemap *map, const struct area *area, uint64_t row,
                     int colour, bool first) {
    struct text_out *out = svg_out(svg);
    struct name name = {0}, group = {0};
    name.bytes = table_get_text(map->table, map->label, row, &name.length);
    group.bytes = table_get_text(map->table, map->group, row, &group.length);
    svg_part(svg, colour, area->x, area->y, area->width, area->height);
    out_format(out, " data-row=\"%llu\" data-column=\"", (unsigned long long)row);
    markup_text(svg->markup, map->table->columns[map->value].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(map->table, map->value, row));
    out_add(out, "\"><title>");
    markup_cut(svg->markup, group, 40);
    out_add(out, ": ");
    markup_cut(svg->markup, name, 80);
    out_format(out, ": %s</title></rect>\n", shown_figure(value_at(map, row), map->unit).text);
    draw_words(svg, map, area, row, colour, first);
}

/* Groups have shades of computation in turn; communication and copies have colours of their own. */
static int colour_of_row(const struct treemap *map, uint64_t row, uint32_t group) {
    size_t n_name, n_group;
    const char *name = table_get_text(map->table, map->label, row, &n_name);
    const char *of_group = table_get_text(map->table, map->group, row, &n_group);
    enum colour colour = colour_of_operator(of_group, n_group);
    if (colour == COLOUR_COMPUTE)
        colour = colour_of_operator(name, n_name);
    return colour == COLOUR_COMPUTE ? COLOUR_SHADE + (int)(group % COLOUR_SHADES) : (int)colour;
}

void treemap_draw(const struct svg *svg, const void *chart) {
    const struct treemap *map = chart;
    struct treemap_layout layout = {0};
    struct area areas[TREEMAP_ROWS_MAX];
    double sums[TREEMAP_ROWS_MAX];
    uint32_t order[TREEMAP_ROWS_MAX];
    find_groups(map, &layout);
    order_groups(&layout, order);
    for (uint32_t i = 0; i < layout.n_groups; i++)
        sums[i] = layout.sums[order[i]];
    lay_out(&(struct layout_items){sums, areas, layout.n_groups}, (struct area){0, 0, svg->width, TREEMAP_HEIGHT});
    for (uint32_t i = 0; i < layout.n_groups; i++)
        lay_out_group(map, &layout, order[i], areas[i]);
    svg_begin(svg, TREEMAP_HEIGHT);
    for (uint32_t i = 0; i < layout.n_groups; i++)
        for (uint32_t row = 0; row < map->n_rows; row++)
            if (layout.of_row[row] == order[i])
                draw_row(svg, map, &layout.rows[row], row, colour_of_row(map, row, i),
                         row == layout.first_row[order[i]]);
    svg_end(svg);
}
