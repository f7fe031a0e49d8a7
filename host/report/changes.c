/*
 * changes.c - draws two-sided bars: increases to the right of a line, decreases to its left.
 *
 *     wide                  -2 ms      |      +2 ms           narrow   gemm                  +1.9 ms
 *     gemm                             |##########  +1.9 ms                  |##########
 *     add                       #######|            -1.2 ms
 *
 * O(rows).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/chart.h"
#include "text/short_name.h"

#define BAR_HEIGHT 15.0

/* Columns of a kernel's name, about as many as there is room for. */
#define NAME_COLUMNS 48

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
        short_names(names, changes->n_rows, NAME_COLUMNS, shorts);
    free(names);
    return shorts;
}

static struct changes_layout lay_out(const struct svg *svg, const struct changes *changes,
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

static void draw_row(const struct svg *svg, const struct changes *changes, const struct changes_layout *layout,
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
    struct changes_layout layout = lay_out(svg, changes, shorts);
    double head = n_entries ? svg_legend(svg, entries, n_entries, false) : 0;
    layout.top += head;
    layout.bottom += head;
    svg_begin(svg, layout.bottom + 20);
    if (n_entries)
        svg_legend(svg, entries, n_entries, true);
    draw_lines(svg, &layout);
    for (uint64_t row = 0; row < changes->n_rows; row++)
        draw_row(svg, changes, &layout, row, label_at(changes, shorts, row));
    svg_out(svg)->out.failed |= changes->kernels && !shorts;
    free(shorts);
    svg_end(svg);
}
