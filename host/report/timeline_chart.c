/*
 * timeline_chart.c - draws the excerpt of a timeline: the picture of a finding.
 *
 *                    GPU idle 5.5 ms
 *     thread 7   |CompiledFunctionBackward|         |      lane of units
 *                  [l]   :          : [l]                  lane of calls
 *     stream 7   [gemm]  :  shaded  :   '->[gemm]
 *                | 168.70 ms      | 168.75 ms              after the start of ProfilerStep#3
 *
 * Input: rows of the table `evidence` of one finding (analyze/overview/excerpt.c). A name is inside its rectangle if it
 * fits; all rectangles have it as a title. Cost: O(rows).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/charts.h"
#include "text/names.h"

#define LANE_HEIGHT   17.0
#define BOX_HEIGHT    15.0
#define TRACK_GAP     18.0 /* has room for the arrow */
#define TRACK_LANES   8    /* more than an excerpt has */
#define LABEL_WIDTH   96.0 /* of tracks, in a wide drawing */
#define LETTER_WIDTH  7.0  /* pixels per character of a name in its rectangle */
#define LETTERS_MIN   4
#define TITLE_COLUMNS 56

/* The columns of the table. */
struct timeline_columns {
    uint32_t track, lane, kind, name, start, duration, events;
};

struct timeline_scale {
    double left, width, from_us, to_us;
};

static double x_of(const struct timeline_scale *scale, double us) {
    double share = (us - scale->from_us) / (scale->to_us - scale->from_us);
    return scale->left + scale->width * fmax(0, fmin(share, 1));
}

static int colour_of_kind(const char *kind) {
    static const struct {
        const char *kind;
        int colour;
    } colours[] = {{"compute", COLOUR_COMPUTE},    {"communication", COLOUR_COMMUNICATION},
                   {"memcpy", COLOUR_COPIES},      {"synchronizing call", COLOUR_WAIT_SYNC},
                   {"operator", COLOUR_SHADE + 3}, {"call", COLOUR_COUNT}};
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (strcmp(kind, colours[i].kind) == 0)
            return colours[i].colour;
    return COLOUR_IDLE;
}

/* The style of a name on a color: of the paper, of ink, or dark in any mode, whichever has the best contrast. */
static const char *name_style(int colour) {
    return colour == COLOUR_COMMUNICATION ? "on dark" : colour == COLOUR_SHADE + 3 ? "on" : "on light";
}

/* Marks at round times after `zero_us`, with as many decimals as their distance needs. */
static void draw_axis(const struct svg *svg, const struct timeline_scale *scale, double zero_us, double top,
                      double bottom) {
    const double from = scale->from_us - zero_us, to = scale->to_us - zero_us, range = to - from;
    const struct ticks ticks = ticks_make(range, UNIT_US, (int)(scale->width / 110));
    const double largest = fmax(fabs(from), fabs(to));
    const double unit = largest >= 2e6 ? 1e6 : largest >= 2e3 ? 1e3 : 1;
    const int decimals = (int)fmax(0, fmin(6, ceil(-log10(ticks.step / unit) - 1e-9)));
    double free_from = -svg->width;
    for (double k = ceil(from / ticks.step - 1e-9); k * ticks.step <= to * (1 + 1e-12); k++) {
        char text[48];
        double x = x_of(scale, zero_us + k * ticks.step);
        snprintf(text, sizeof text, "%.*f %s", decimals, k * ticks.step / unit + 0.0,
                 unit >= 1e6   ? "s"
                 : unit >= 1e3 ? "ms"
                               : "µs");
        double width = markup_width(name_of(text)) * SMALL_FONT_SIZE;
        double start = fmax(scale->left, fmin(x - width / 2, svg->width - width));
        svg_line(svg, "grid", x, top, x, bottom);
        if (start < free_from)
            continue;
        svg_text(svg, "small", ANCHOR_START, start, bottom + 14, name_of(text), 0);
        free_from = start + width + 8;
        if (k > 1e15) /* adding 1 has no effect */
            break;
    }
}

void timeline_draw(const struct svg *svg, const void *chart) {
    const struct timeline *timeline = chart;
    const struct sutra_table *table = timeline->table;
    const struct timeline_columns at = {.track = table_column(table, "track"),
                                        .lane = table_column(table, "lane"),
                                        .kind = table_column(table, "kind"),
                                        .name = table_column(table, "name"),
                                        .start = table_column(table, "start_us"),
                                        .duration = table_column(table, "duration_us"),
                                        .events = table_column(table, "events")};
    const bool is_narrow = svg->form == SVG_NARROW;
    struct timeline_scale scale = {.left = is_narrow ? 0 : LABEL_WIDTH};
    struct text_out *out = svg_out(svg);
    size_t length;
    double zero_us = 0, marked_begin = 0, marked_us = 0, sum_us = 0;
    const char *zero_name = "", *code = "";
    scale.width = svg->width - scale.left - 1;

    /* The y coordinates of lanes, from the order of tracks. */
    double y_of[TRACK_LANES] = {0}, top = 18, bottom;
    const char *labels[TRACK_LANES] = {NULL};
    int n_lanes = 0;
    for (uint64_t row = timeline->first; row < timeline->first + timeline->n; row++) {
        const char *kind = table_get_text(table, at.kind, row, &length);
        const double start = table_get_real(table, at.start, row), duration = table_get_real(table, at.duration, row);
        const int64_t lane = table_get_integer(table, at.lane, row);
        if (strcmp(kind, "range") == 0) {
            scale.from_us = start;
            scale.to_us = start + fmax(duration, 0.001);
        } else if (strcmp(kind, "step") == 0) {
            zero_us = start;
            zero_name = table_get_text(table, at.name, row, &length);
        } else if (strcmp(kind, "code") == 0) {
            code = table_get_text(table, at.name, row, &length);
        } else if (strcmp(kind, "marked") == 0) {
            sum_us += duration;
            marked_begin = duration > marked_us ? start : marked_begin;
            marked_us = fmax(duration, marked_us);
        }
        if (lane >= 0 && lane < TRACK_LANES) {
            labels[lane] = table_get_text(table, at.track, row, &length);
            n_lanes = (int)fmax(n_lanes, (double)lane + 1);
        }
    }
    double y = top;
    for (int lane = 0; lane < n_lanes; lane++) {
        bool is_new = lane == 0 || !labels[lane] || !labels[lane - 1] || strcmp(labels[lane], labels[lane - 1]) != 0;
        y += is_new ? (lane ? TRACK_GAP : is_narrow ? 14 : 0) : 0;
        y_of[lane] = y;
        y += LANE_HEIGHT;
    }
    bottom = y + 2;
    svg_begin(svg, bottom + 36);

    /* Shaded time, and its name above the longest interval. */
    draw_axis(svg, &scale, zero_us, top, bottom);
    for (uint64_t row = timeline->first; row < timeline->first + timeline->n; row++) {
        const char *kind = table_get_text(table, at.kind, row, &length);
        if (strcmp(kind, "marked") != 0)
            continue;
        double start = table_get_real(table, at.start, row), duration = table_get_real(table, at.duration, row);
        double x = x_of(&scale, start);
        svg_rectangle(svg, "mark", x, top, fmax(0.6, x_of(&scale, start + duration) - x), bottom - top);
        out_add(out, "/>\n");
    }
    if (marked_us > 0) {
        const bool is_sum = sum_us > 1.05 * marked_us;
        char text[1280];
        snprintf(text, sizeof text, "%s%s %s%s%s%s", timeline->marked, is_sum ? ":" : "",
                 shown_figure(is_sum ? sum_us : marked_us, UNIT_US).text, is_sum ? " in this range" : "",
                 *code ? ", " : "", short_path(code, TITLE_COLUMNS).text);
        double width = markup_width(name_of(text)) * FONT_SIZE;
        double middle = (x_of(&scale, marked_begin) + x_of(&scale, marked_begin + marked_us)) / 2;
        svg_text(svg, NULL, ANCHOR_START, fmax(scale.left, fmin(middle - width / 2, svg->width - width)), 12,
                 name_of(text), svg->width - scale.left);
    }

    for (int lane = 0; lane < n_lanes; lane++)
        if (labels[lane] && (lane == 0 || !labels[lane - 1] || strcmp(labels[lane], labels[lane - 1]) != 0))
            svg_text(svg, "small", ANCHOR_START, 0, is_narrow ? y_of[lane] - 3 : y_of[lane] + 12, name_of(labels[lane]),
                     is_narrow ? svg->width : LABEL_WIDTH - 6);
    double arrow_x = 0, arrow_y = 0;
    for (uint64_t row = timeline->first; row < timeline->first + timeline->n; row++) {
        const char *kind = table_get_text(table, at.kind, row, &length);
        const int64_t lane = table_get_integer(table, at.lane, row), events = table_get_integer(table, at.events, row);
        if (lane < 0 || lane >= n_lanes || strcmp(kind, "track") == 0)
            continue;
        const double start = table_get_real(table, at.start, row), duration = table_get_real(table, at.duration, row);
        const double x = x_of(&scale, start), width = fmax(0.6, x_of(&scale, start + duration) - x);
        if (strcmp(kind, "arrow from") == 0) {
            arrow_x = x + fmin(width / 2, 4);
            arrow_y = y_of[lane] + BOX_HEIGHT;
            svg_rectangle(svg, "ink", x, y_of[lane], fmax(1.5, width), BOX_HEIGHT);
            out_add(out, "><title>The launch after the shaded time: ");
            markup_text(svg->markup, short_name(table_get_text(table, at.name, row, &length), TITLE_COLUMNS).text);
            out_add(out, "</title></rect>\n");
            continue;
        }
        if (strcmp(kind, "arrow to") == 0) {
            svg_line(svg, "arrow", arrow_x, arrow_y, x, y_of[lane]);
            out_add(out, "<path class=\"ink\" d=\"M");
            const double dx = x - arrow_x, dy = y_of[lane] - arrow_y, size = 6 / fmax(1, hypot(dx, dy));
            const double corners[3][2] = {{x, y_of[lane]},
                                          {x - (dx - dy / 2) * size, y_of[lane] - (dy + dx / 2) * size},
                                          {x - (dx + dy / 2) * size, y_of[lane] - (dy - dx / 2) * size}};
            for (int i = 0; i < 3; i++) {
                out_add(out, i ? "L" : "");
                svg_number(svg, corners[i][0]);
                out_add(out, " ");
                svg_number(svg, corners[i][1]);
            }
            out_add(out, "Z\"/>\n");
            continue;
        }
        const int colour = colour_of_kind(kind);
        const struct shortened name = short_name(table_get_text(table, at.name, row, &length), TITLE_COLUMNS);
        svg_part(svg, colour, x, y_of[lane], width, BOX_HEIGHT);
        out_add(out, "><title>");
        if (events > 1)
            out_format(out, "%s events, first: ", count_text((uint64_t)events).text);
        markup_text(svg->markup, name.text);
        out_format(out, ": %s</title></rect>\n", shown_figure(duration, UNIT_US).text);
        const double room = width - 4;
        if (events == 1 && room >= LETTERS_MIN * LETTER_WIDTH) {
            const struct shortened shown = short_name(name.text, (unsigned)fmax(8, fmin(room / LETTER_WIDTH, 100)));
            if (shown.n_columns * LETTER_WIDTH <= room + LETTER_WIDTH)
                svg_text(svg, name_style(colour), ANCHOR_START, x + 3, y_of[lane] + 11.5, name_of(shown.text), 0);
        }
    }
    char caption[128] = "Time after the first event of the trace";
    if (*zero_name)
        snprintf(caption, sizeof caption, "Time after the start of %.64s", zero_name);
    svg_text(svg, "small", ANCHOR_START, scale.left, bottom + 30, name_of(caption), scale.width);
    svg_end(svg);
}
