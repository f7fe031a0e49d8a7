/*
 * trend_report.c - writes trend.html: the step times and shares of the windows of a run as lines, and its changes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/sections.h"
#include "text/quantities.h"

struct trend_source {
    const struct trend *trend;
    struct chart_points chart; /* of the table of windows, without lines */
};

static void show_changes(struct page *page, const void *of) {
    const struct trend *trend = ((const struct trend_source *)of)->trend;
    page_findings_begin(page);
    for (size_t i = 0; i < trend->n_changes && i < PAGE_ROWS_FEW; i++)
        page_finding(page, trend->changes[i].kind == TREND_SHIFT ? "shift" : "spike", trend->changes[i].percent,
                     trend->sentences[i]);
    page_findings_end(page);
    if (trend->n_changes == 0)
        page_words(page, trend->sentences[0]);
}

static void show_steps(struct page *page, const void *of) {
    const struct trend_source *source = of;
    struct chart_points chart = source->chart;
    chart.lines[chart.n_lines++] =
        (struct bar_value){table_column(source->chart.table, "step_us"), "median step", COLOUR_COMPUTE};
    chart.spread = table_column(source->chart.table, "spread_us");
    chart.unit = UNIT_US;
    page_chart(page, "step", "Step time by window",
               "One point per profiling window, with the spread of its steps. A vertical line precedes each change.",
               points_draw, &chart);
}

static void show_shares(struct page *page, const void *of) {
    static const struct bar_value lines[] = {{SUTRA_PART_COMPUTE, "compute", COLOUR_COMPUTE},
                                             {SUTRA_PART_EXPOSED_COMM, "exposed communication", COLOUR_COMMUNICATION},
                                             {SUTRA_PART_EXPOSED_COPY, "exposed memcpy", COLOUR_COPIES},
                                             {SUTRA_PART_HOST, "host", COLOUR_WAIT_HOST},
                                             {SUTRA_PART_DATA, "data loading", COLOUR_WAIT_DATA},
                                             {SUTRA_PART_SYNC, "synchronizing", COLOUR_WAIT_SYNC},
                                             {SUTRA_PART_QUEUED, "launched before", COLOUR_WAIT_DEVICE},
                                             {SUTRA_PART_AFTER, "after the last activity", COLOUR_IDLE}};
    const struct trend_source *source = of;
    const uint32_t compute = table_column(source->chart.table, "compute_percent");
    struct chart_points chart = source->chart;
    chart.unit = UNIT_PERCENT;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        double largest = 0;
        for (size_t k = 0; k < source->trend->n_windows; k++)
            largest = fmax(largest, source->trend->windows[k].shares[lines[i].column]);
        if (largest >= 1) {
            chart.lines[chart.n_lines] = lines[i];
            chart.lines[chart.n_lines++].column += compute;
        }
    }
    if (chart.n_lines)
        page_chart(page, "shares", "Shares of a step by window",
                   "A line per part of the step with 1 % or more in a window. A vertical line precedes each change.",
                   points_draw, &chart);
    page_table(page, source->chart.table, "Windows", "windows");
}

static void show_cards(struct page *page, const void *of) {
    const struct trend *trend = ((const struct trend_source *)of)->trend;
    const struct trend_window *window = &trend->windows[trend->default_window];
    char note[64];
    page_card(page, "Windows", (double)trend->n_windows, UNIT_COUNT, "");
    snprintf(note, sizeof note, "of window %zu", trend->default_window);
    page_card(page, "Step", window->step_us, UNIT_US, note);
    page_card(page, "Noise", trend->noise_us, UNIT_US, "of a window's step time");
    page_card(page, "Changes", (double)trend->n_changes, UNIT_COUNT, "");
}

static const struct page_section sections[] = {
    {"changes", "Changes",
     "Windows at which the step time changes beyond its noise. A shift lasts, a spike is a single window; the part of the "
     "step with the largest difference is its cause.",
     show_changes},
    {"steps", "Step time",
     "Median step of each window, and the spread of its steps. A step lasts as long as on the slowest rank. The spread is "
     "1.4826 times the median absolute deviation.",
     show_steps},
    {"shares", "Shares", "Parts of a step of each window, in percent of the step.", show_shares},
    {0},
};

enum sutra_status trend_page_write(struct sutra_context *context, const struct trend *trend,
                                   const struct sutra_table *windows, const char *path, const char *folder,
                                   uint64_t *n_bytes, struct sutra_error *error) {
    struct arena arena = {0};
    struct page page;
    uint64_t *marks = arena_alloc(&arena, trend->n_changes, sizeof *marks);
    TRY_ALLOC(marks, error);
    for (size_t i = 0; i < trend->n_changes; i++)
        marks[i] = trend->changes[i].window;
    const struct trend_source source = {.trend = trend,
                                        .chart = {.table = windows,
                                                  .label = table_column(windows, "label"),
                                                  .spread = windows->n_columns,
                                                  .marks = marks,
                                                  .n_marks = trend->n_changes}};
    const bool has_roles = strcmp(trend->role, "main") != 0; /* the name of the role of a run without roles */
    const struct page_frame frame = {.title = "Step times of a run",
                                     .path = path,
                                     .more = has_roles ? arena_format(&arena, ", role %.100s", trend->role) : "",
                                     .lead = trend->sentences[0],
                                     .cards = show_cards,
                                     .note = trend->no_limit,
                                     .has_no_key = true,
                                     .sections = sections};
    enum sutra_status status = arena_status(&arena, error);
    if (!status) {
        page_open(&page, context, folder, PAGE_TREND, error);
        status = page_write(&page, &frame, &source, n_bytes);
    }
    arena_free(&arena);
    return status;
}
