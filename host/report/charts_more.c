/*
 * charts_more.c - draws a heat map for more rows than bars can show: one square per row, in lines of equal length,
 * and one
 * block of lines per value. Larger values have stronger color.
 *
 *     compute, up to 12.3 ms            idle, up to 4.5 ms
 *     rank 0   ########........         rank 0   ..##............
 *     rank 16  ########........         rank 16  ................
 *
 * Values with a negligible share have no block. O(rows x values).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/charts.h"
#include "text/names.h"

/*
 * Draws the rows of a table as a treemap: the areas of a group are adjacent, and its largest area has its
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

static void lay_out_treemap(const struct layout_items *items, struct area left) {
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
    lay_out_treemap(&(struct layout_items){values, areas, n}, area);
    for (uint32_t i = 0; i < n; i++)
        layout->rows[rows[i]] = areas[i];
}

/* ---- Drawing ---- */

/* Columns of a name in the widest area; a name of a kernel has more before it is reduced, those of operators have
 * less. */
#define TREEMAP_NAME_COLUMNS 100
#define LONG_NAME            48

/* A name in as few words as it needs. */
static struct shortened plain_name(const struct sutra_table *table, uint32_t column, uint64_t row) {
    static const char module[] = "nn.Module: ";
    size_t length, n = sizeof module - 1;
    const char *text = table_get_text(table, column, row, &length);
    text += strncmp(text, module, n) == 0 ? n : 0;
    if (strlen(text) < LONG_NAME)
        return short_text(text, TREEMAP_NAME_COLUMNS);
    char reduced[KERNEL_NAME_MAX];
    kernel_name_reduce(text, reduced);
    return short_text(reduced, TREEMAP_NAME_COLUMNS);
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

static void draw_row_treemap(const struct svg *svg, const struct treemap *map, const struct area *area, uint64_t row,
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
    lay_out_treemap(&(struct layout_items){sums, areas, layout.n_groups},
                    (struct area){0, 0, svg->width, TREEMAP_HEIGHT});
    for (uint32_t i = 0; i < layout.n_groups; i++)
        lay_out_group(map, &layout, order[i], areas[i]);
    svg_begin(svg, TREEMAP_HEIGHT);
    for (uint32_t i = 0; i < layout.n_groups; i++)
        for (uint32_t row = 0; row < map->n_rows; row++)
            if (layout.of_row[row] == order[i])
                draw_row_treemap(svg, map, &layout.rows[row], row, colour_of_row(map, row, i),
                                 row == layout.first_row[order[i]]);
    svg_end(svg);
}

/*
 * Draws a roofline chart: FLOPs per byte against FLOP/s, both in powers of ten. Each operator is a
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

#define ROOFLINE_CHART_LEFT 52.0
#define PLOT_HEIGHT         300.0
#define LARGEST             15.0 /* radius of a point that is all of the time */
#define SMALLEST            2.5
#define DECADES_MOST        14

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

static struct roofline_layout lay_out_roofline_chart(const struct svg *svg, const struct roofline_chart *chart,
                                                     double top) {
    struct roofline_layout layout = {.chart = chart, .top = top, .width = svg->width - ROOFLINE_CHART_LEFT - 4};
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
    return ROOFLINE_CHART_LEFT + clamp(share, 0, 1) * layout->width;
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
        svg_line(svg, power == layout->y.first ? "base" : "grid", ROOFLINE_CHART_LEFT, y,
                 ROOFLINE_CHART_LEFT + layout->width, y);
        power_text(power, text, sizeof text);
        svg_text(svg, "small", ANCHOR_END, ROOFLINE_CHART_LEFT - 6, y + 4, name_of(text), 0);
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
    svg_number(svg, ridge > 0 ? x_at(layout, ridge) : ROOFLINE_CHART_LEFT);
    out_add(out, " ");
    svg_number(svg, y_at(layout, peak->tflops_per_s));
    out_add(out, "H");
    svg_number(svg, ROOFLINE_CHART_LEFT + layout->width);
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
        svg_text(svg, "small halo", ANCHOR_END, ROOFLINE_CHART_LEFT + layout->width - 2, y, name_of(text),
                 layout->width - 4);
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
    struct roofline_layout layout = lay_out_roofline_chart(svg, chart, top);
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

/*
 * Draws two-sided bars: increases to the right of a line, decreases to its left.
 *
 *     wide                  -2 ms      |      +2 ms           narrow   gemm                  +1.9 ms
 *     gemm                             |##########  +1.9 ms                  |##########
 *     add                       #######|            -1.2 ms
 *
 * O(rows).
 */

#define BAR_HEIGHT 15.0

/* Columns of a kernel's name, about as many as there is room for. */
#define CHANGES_NAME_COLUMNS 48

/* Where things stand. */
struct changes_layout {
    double left, zero, scale, row_height, value_width, top, bottom;
    bool above;    /* labels stand above their bars */
    bool sides[2]; /* something became less, more */
    struct ticks ticks;
};

static double change_at(const struct changes *changes, uint64_t row) {
    double value = table_get_real(changes->table, changes->value, row);
    return isfinite(value) ? value : 0;
}

static struct name label_at(const struct changes *changes, const struct shortened *shorts, uint64_t row) {
    struct name name = {.by_end = changes->by_end};
    name.bytes = table_get_text(changes->table, changes->label, row, &name.length);
    return shorts ? name_of(shorts[row].text) : name;
}

/* Names of kernels in short; NULL: there are none, or no memory. */
static struct shortened *shorten(const struct changes *changes) {
    struct shortened *shorts = changes->kernels ? calloc(changes->n_rows, sizeof *shorts) : NULL;
    const char **names = changes->kernels ? calloc(changes->n_rows, sizeof *names) : NULL;
    size_t length;
    for (uint64_t row = 0; row < changes->n_rows && names; row++)
        names[row] = table_get_text(changes->table, changes->label, row, &length);
    if (shorts && names)
        short_names(names, changes->n_rows, CHANGES_NAME_COLUMNS, shorts);
    free(names);
    return shorts;
}

static struct changes_layout lay_out_changes(const struct svg *svg, const struct changes *changes,
                                             const struct shortened *shorts) {
    struct changes_layout layout = {.above = svg->form == SVG_NARROW, .value_width = 84, .top = 4};
    double largest = 0, widest = 0;
    for (uint64_t row = 0; row < changes->n_rows; row++) {
        double value = change_at(changes, row);
        widest = fmax(widest, markup_width(label_at(changes, shorts, row)) * FONT_SIZE);
        largest = fmax(largest, fabs(value));
        layout.sides[0] |= value < 0;
        layout.sides[1] |= value > 0;
    }
    layout.row_height = layout.above ? 2 * LINE_HEIGHT + 2 : BAR_HEIGHT + 7;
    layout.bottom = layout.top + (double)changes->n_rows * layout.row_height + 4;
    layout.left = layout.above ? 1 : fmin(widest, svg->width * 0.42) + 12;
    double width = svg->width - layout.left - (layout.above ? 2 : layout.value_width);
    double half = layout.sides[0] && layout.sides[1] ? width / 2 : width;
    layout.zero = layout.left + (layout.sides[0] ? half : 0);
    layout.ticks = ticks_make(largest, changes->unit, (int)(half / 90));
    layout.scale = half / layout.ticks.end;
    return layout;
}

/* The i-th line to the right of the middle, or to its left. */
static void draw_line(const struct svg *svg, const struct changes_layout *layout, int i) {
    double x = layout->zero + i * layout->ticks.step * layout->scale;
    char text[56];
    snprintf(text, sizeof text, "%s%s", i == 0 ? "" : i > 0 ? "+" : "-", ticks_text(&layout->ticks, abs(i)).text);
    double half = markup_width(name_of(text)) * SMALL_FONT_SIZE / 2;
    svg_line(svg, i == 0 ? "base" : "grid", x, layout->top, x, layout->bottom);
    svg_text(svg, "small", ANCHOR_MIDDLE, fmax(half, fmin(x, svg->width - half)), layout->bottom + 15, name_of(text),
             0);
}

static void draw_lines(const struct svg *svg, const struct changes_layout *layout) {
    int n = layout->ticks.n;
    for (int i = layout->sides[0] ? 1 - n : 0; i < (layout->sides[1] ? n : 1); i++)
        draw_line(svg, layout, i);
}

static void draw_row_changes(const struct svg *svg, const struct changes *changes, const struct changes_layout *layout,
                             uint64_t row, struct name label) {
    struct text_out *out = svg_out(svg);
    double y = layout->top + (double)row * layout->row_height, value = change_at(changes, row);
    double bar_y = layout->above ? y + LINE_HEIGHT : y + 3, text_y = layout->above ? y + 13 : y + 15;
    double width = fabs(value) * layout->scale;
    char words[56];
    snprintf(words, sizeof words, "%s%s", value > 0 ? "+" : "", shown_figure(value, changes->unit).text);
    if (layout->above)
        svg_text(svg, NULL, ANCHOR_START, 0, text_y, label, svg->width - layout->value_width);
    else
        svg_text(svg, NULL, ANCHOR_END, layout->left - 8, text_y, label, layout->left - 10);
    svg_text(svg, NULL, ANCHOR_END, svg->width, text_y, name_of(words), 0);
    svg_part(svg, changes->row_colours[row], value < 0 ? layout->zero - width : layout->zero, bar_y, width, BAR_HEIGHT);
    out_format(out, " data-row=\"%llu\" data-column=\"", (unsigned long long)row);
    markup_text(svg->markup, changes->table->columns[changes->value].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(changes->table, changes->value, row));
    out_add(out, "\"><title>");
    markup_cut(svg->markup, label, 80);
    out_format(out, ": %s</title></rect>\n", words);
}

/* The colours that there are, if there are several. */
static int make_legend(const struct changes *changes, struct legend_entry *entries) {
    bool seen[N_COLOURS] = {false};
    int n = 0;
    for (uint64_t row = 0; row < changes->n_rows; row++)
        seen[changes->row_colours[row]] = true;
    for (int colour = 0; colour < N_COLOURS; colour++)
        if (seen[colour] && colour_meaning((enum colour)colour))
            entries[n++] = (struct legend_entry){.name = colour_meaning((enum colour)colour), .colour = colour};
    return n > 1 ? n : 0;
}

void changes_draw(const struct svg *svg, const void *chart) {
    const struct changes *changes = chart;
    struct legend_entry entries[N_COLOURS];
    int n_entries = make_legend(changes, entries);
    struct shortened *shorts = shorten(changes);
    struct changes_layout layout = lay_out_changes(svg, changes, shorts);
    double head = n_entries ? svg_legend(svg, entries, n_entries, false) : 0;
    layout.top += head;
    layout.bottom += head;
    svg_begin(svg, layout.bottom + 20);
    if (n_entries)
        svg_legend(svg, entries, n_entries, true);
    draw_lines(svg, &layout);
    for (uint64_t row = 0; row < changes->n_rows; row++)
        draw_row_changes(svg, changes, &layout, row, label_at(changes, shorts, row));
    svg_out(svg)->out.failed |= changes->kernels && !shorts;
    free(shorts);
    svg_end(svg);
}

#define HEAT_LEFT   70.0
#define CELL_MOST   22.0
#define HEAD_HEIGHT 22.0
#define BLOCK_GAP   10.0
#define FAINTEST    0.05
#define LEAST_SHARE 0.02

/* Where things stand. */
struct heat_layout {
    const struct bars *bars;
    uint64_t per_line, n_lines;
    double cell;
};

static double value_of(const struct bars *bars, uint64_t row, int i) {
    double value = table_get_real(bars->table, bars->values[i].column, row);
    return value > 0 && isfinite(value) ? value : 0;
}

static double largest_of(const struct bars *bars, int i) {
    double largest = 0;
    for (uint64_t row = 0; row < bars->n_rows; row++)
        largest = fmax(largest, value_of(bars, row, i));
    return largest;
}

static struct heat_layout lay_out_heat(const struct svg *svg, const struct bars *bars) {
    struct heat_layout layout = {.bars = bars, .per_line = svg->form == SVG_NARROW ? 16 : 32};
    layout.n_lines = (bars->n_rows + layout.per_line - 1) / layout.per_line;
    layout.cell = fmin(CELL_MOST, (svg->width - HEAT_LEFT) / (double)layout.per_line);
    return layout;
}

static double block_height(const struct heat_layout *layout) {
    return HEAD_HEIGHT + (double)layout->n_lines * layout->cell + BLOCK_GAP;
}

static int64_t label_of(const struct bars *bars, uint64_t row) {
    return table_get_integer(bars->table, bars->labels[0], row);
}

static void draw_cell(const struct svg *svg, const struct heat_layout *layout, int i, uint64_t row, double largest,
                      double top) {
    const struct bars *bars = layout->bars;
    struct text_out *out = svg_out(svg);
    uint64_t line = row / layout->per_line, place = row % layout->per_line;
    double value = value_of(bars, row, i), x = HEAT_LEFT + (double)place * layout->cell;
    double y = top + (double)line * layout->cell;
    svg_rectangle(svg, svg_colour(bars->values[i].colour), x, y, layout->cell - 1, layout->cell - 1);
    out_format(out, " fill-opacity=\"%s\" data-row=\"%llu\" data-column=\"",
               shown_decimal(fmax(FAINTEST, value / largest), 2).text, (unsigned long long)row);
    markup_text(svg->markup, bars->table->columns[bars->values[i].column].spec.name);
    out_add(out, "\" data-value=\"");
    out_number(out, table_get_real(bars->table, bars->values[i].column, row));
    out_format(out, "\"><title>%s %lld: %s</title></rect>\n", bars->table->columns[bars->labels[0]].spec.name,
               (long long)label_of(bars, row), shown_figure(value, bars->unit).text);
}

static void draw_block(const struct svg *svg, const struct heat_layout *layout, int i, double largest, double top) {
    const struct bars *bars = layout->bars;
    char words[160];
    snprintf(words, sizeof words, "%s, up to %s", bars->values[i].name, shown_figure(largest, bars->unit).text);
    svg_text(svg, "strong", ANCHOR_START, 0, top + 14, name_of(words), svg->width);
    for (uint64_t line = 0; line < layout->n_lines; line++) {
        double y = top + HEAD_HEIGHT + (double)line * layout->cell;
        snprintf(words, sizeof words, "%s %lld", bars->table->columns[bars->labels[0]].spec.name,
                 (long long)label_of(bars, line * layout->per_line));
        svg_text(svg, "small", ANCHOR_END, HEAT_LEFT - 8, y + layout->cell / 2 + 4, name_of(words), HEAT_LEFT - 8);
    }
    for (uint64_t row = 0; row < bars->n_rows; row++)
        draw_cell(svg, layout, i, row, largest, top + HEAD_HEIGHT);
}

/* The largest value of each block; 0 of those that are next to nothing of all. */
static int choose_blocks(const struct bars *bars, double *largest) {
    double sums[BAR_VALUES_MAX] = {0}, all = 0;
    int n = 0;
    for (int i = 0; i < bars->n_values; i++)
        for (uint64_t row = 0; row < bars->n_rows; row++) {
            sums[i] += value_of(bars, row, i);
            all += value_of(bars, row, i);
        }
    for (int i = 0; i < bars->n_values; i++) {
        largest[i] = sums[i] > LEAST_SHARE * all ? largest_of(bars, i) : 0;
        n += largest[i] > 0;
    }
    return n;
}

void heat_draw(const struct svg *svg, const void *chart) {
    const struct bars *bars = chart;
    struct heat_layout layout = lay_out_heat(svg, bars);
    double top = 0, largest[BAR_VALUES_MAX] = {0};
    int n_blocks = choose_blocks(bars, largest);
    svg_begin(svg, fmax(1, n_blocks * block_height(&layout)));
    for (int i = 0; i < bars->n_values; i++) {
        if (!(largest[i] > 0))
            continue;
        draw_block(svg, &layout, i, largest[i], top);
        top += block_height(&layout);
    }
    svg_end(svg);
}
