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
    struct sutra_table windows;
    const uint64_t *marks; /* windows with changes */
};

static struct chart_points chart_of(const struct trend_source *source, enum unit unit) {
    return (struct chart_points){.table = &source->windows,
                                 .label = table_column(&source->windows, "label"),
                                 .spread = source->windows.n_columns,
                                 .marks = source->marks,
                                 .n_marks = source->trend->n_changes,
                                 .unit = unit};
}

static void show_changes(struct page *page, const void *of) {
    const struct trend *trend = ((const struct trend_source *)of)->trend;
    page_findings_begin(page);
    for (size_t i = 0; i < trend->n_changes && i < PAGE_ROWS_FEW; i++)
        page_finding(page, trend->changes[i].kind == TREND_SHIFT ? "shift" : "spike",
                     (trend->changes[i].to_us / trend->changes[i].from_us - 1) * 100, trend->sentences[i]);
    page_findings_end(page);
    if (trend->n_changes == 0)
        page_words(page, trend->sentences[0]);
}

static void show_steps(struct page *page, const void *of) {
    const struct trend_source *source = of;
    struct chart_points chart = chart_of(source, UNIT_US);
    chart.lines[0] = (struct bar_value){table_column(&source->windows, "step_us"), "median step", COLOUR_COMPUTE};
    chart.n_lines = 1;
    chart.spread = table_column(&source->windows, "spread_us");
    page_chart(page, "step", "Step time by window",
               "One point per profiling window, with the spread of its steps. A vertical line precedes each change.",
               points_draw, &chart);
}

static void show_shares(struct page *page, const void *of) {
    static const int colours[SUTRA_N_PARTS] = {
        [SUTRA_PART_COMPUTE] = COLOUR_COMPUTE,     [SUTRA_PART_EXPOSED_COMM] = COLOUR_COMMUNICATION,
        [SUTRA_PART_EXPOSED_COPY] = COLOUR_COPIES, [SUTRA_PART_HOST] = COLOUR_WAIT_HOST,
        [SUTRA_PART_DATA] = COLOUR_WAIT_DATA,      [SUTRA_PART_SYNC] = COLOUR_WAIT_SYNC,
        [SUTRA_PART_QUEUED] = COLOUR_WAIT_DEVICE,  [SUTRA_PART_AFTER] = COLOUR_IDLE};
    static const char *const names[SUTRA_N_PARTS] = {[SUTRA_PART_COMPUTE] = "compute",
                                                     [SUTRA_PART_EXPOSED_COMM] = "exposed communication",
                                                     [SUTRA_PART_EXPOSED_COPY] = "exposed memcpy",
                                                     [SUTRA_PART_HOST] = "host",
                                                     [SUTRA_PART_DATA] = "data loading",
                                                     [SUTRA_PART_SYNC] = "synchronizing",
                                                     [SUTRA_PART_QUEUED] = "launched before",
                                                     [SUTRA_PART_AFTER] = "after the last activity"};
    const struct trend_source *source = of;
    const uint32_t first = table_column(&source->windows, "compute_percent");
    struct chart_points chart = chart_of(source, UNIT_PERCENT);
    chart.from_zero = true;
    for (uint32_t part = 0; part < SUTRA_N_PARTS; part++) {
        double largest = 0;
        for (uint64_t row = 0; row < source->windows.n_rows; row++)
            largest = fmax(largest, table_get_real(&source->windows, first + part, row));
        if (names[part] && largest >= 1)
            chart.lines[chart.n_lines++] = (struct bar_value){first + part, names[part], colours[part]};
    }
    if (chart.n_lines)
        page_chart(page, "shares", "Shares of a step by window",
                   "A line per part of the step with 1 % or more in a window. A vertical line precedes each change.",
                   points_draw, &chart);
    page_table(page, &source->windows, "Windows", "windows");
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

enum sutra_status trend_page_write(struct sutra_context *context, const struct trend *trend, const char *path,
                                   const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct trend_source source = {.trend = trend};
    struct arena arena = {0};
    struct page page;
    char more[160] = "";
    uint64_t *marks = arena_alloc(&arena, trend->n_changes, sizeof *marks);
    for (size_t i = 0; i < trend->n_changes && marks; i++)
        marks[i] = trend->changes[i].window;
    source.marks = marks;
    trend_table(trend, &source.windows);
    if (strcmp(trend->role, "main") != 0) /* the name of the role of a run without roles */
        snprintf(more, sizeof more, ", role %.100s", trend->role);
    const struct page_frame frame = {.title = "Step times of a run",
                                     .path = path,
                                     .more = more,
                                     .lead = trend->sentences[0],
                                     .cards = show_cards,
                                     .note = *trend_no_limit(trend) ? trend_no_limit(trend) : NULL,
                                     .has_no_key = true,
                                     .sections = sections};
    enum sutra_status status = arena.failed || source.windows.failed ? error_memory(error) : SUTRA_OK;
    if (!status) {
        page_open(&page, context, folder, PAGE_TREND, error);
        status = page_write(&page, &frame, &source, n_bytes);
    }
    table_free(&source.windows);
    arena_free(&arena);
    return status;
}
