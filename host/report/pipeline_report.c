/*
 * pipeline_report.c - writes the page on pipeline bubbles and expert balance of a simulated job.
 *
 *     tables of struct sutra_pipeline --> bubbles of each rank, passes of one step as a timeline, experts
 *
 *     rank 0   F F F      B F B F B      a rectangle per pass; forward and backward passes
 *     rank 1     F B F B F B             differ in color
 *
 * Cost: O(rows).
 */
#include <math.h>
#include <stdio.h>

#include "base/shared.h"
#include "report/charts.h"
#include "report/page.h"
#include "sutra/report.h"

/* Ranks of the timeline, and rows of experts in the chart. */
#define RANKS_SHOWN   32
#define EXPERTS_SHOWN 32

#define ROW_HEIGHT 20.0

/* ---- Bubbles: means over the steps of each rank ---- */

static void show_bubbles(struct page *page, const void *of) {
    static const struct bars_words words = {
        "bubbles",
        "Step of each rank",
        "One bar per rank: compute, gaps between the passes by phase, and the rest of the passes; means over the steps.",
        NULL,
        "Step by rank",
        NULL};
    static const struct column_spec specs[] = {INTEGER("rank"),       REAL("busy_us"),     REAL("warmup_us"),
                                               REAL("steady_us"),     REAL("cooldown_us"), REAL("rest_us"),
                                               REAL("bubble_percent")};
    const struct sutra_table *table = page_find_table(page, SUTRA_RESULT(of), SUTRA_PIPELINE_BUBBLES, "Bubbles", NULL);
    if (!table)
        return;
    const uint32_t rank = table_column(table, "rank"), window = table_column(table, "window_us");
    struct sutra_table means;
    table_init(&means, "pipeline_means", specs, sizeof specs / sizeof *specs);
    for (uint64_t begin = 0, end; begin < table->n_rows; begin = end) {
        double sums[6] = {0}, sum_window = 0;
        for (end = begin;
             end < table->n_rows && table_get_integer(table, rank, end) == table_get_integer(table, rank, begin);
             end++) {
            double rest = table_get_real(table, window, end);
            sum_window += rest;
            for (int i = 0; i < 4; i++) {
                const double value = real_named(table, specs[1 + i].name, end);
                sums[i] += value;
                rest -= value;
            }
            sums[4] += fmax(0, rest);
        }
        const double n = (double)(end - begin);
        table_integer(&means, table_get_integer(table, rank, begin));
        for (int i = 0; i < 5; i++)
            table_real(&means, sums[i] / n);
        table_real(&means, sum_window > 0 ? 100 * (sums[1] + sums[2] + sums[3]) / sum_window : 0);
    }
    const struct bars bars = {.table = &means,
                              .labels = {table_column(&means, "rank")},
                              .n_labels = 1,
                              .values = {{table_column(&means, "busy_us"), "compute", COLOUR_COMPUTE},
                                         {table_column(&means, "warmup_us"), "warm-up", COLOUR_WAIT_DATA},
                                         {table_column(&means, "steady_us"), "steady gaps", COLOUR_IDLE},
                                         {table_column(&means, "cooldown_us"), "cool-down", COLOUR_WAIT_SYNC},
                                         {table_column(&means, "rest_us"), "rest of passes", COLOUR_COMMUNICATION}},
                              .n_values = 5,
                              .unit = UNIT_US};
    page_bars(page, bars, RANKS_AS_BARS, &words);
    page_table(page, table, "Bubbles by step", "pipeline_bubbles");
    table_free(&means);
}

/* ---- Passes: a timeline of the first ranks in one step ---- */

#define COLOUR_FORWARD  (COLOUR_SHADE + 1)
#define COLOUR_BACKWARD (COLOUR_SHADE + 3)

struct pass_timeline {
    const struct sutra_table *table;
    int64_t step;
    uint64_t n_ranks; /* at most RANKS_SHOWN */
    double first_us, last_us;
};

static void passes_draw(const struct svg *svg, const void *chart) {
    static const struct legend_entry entries[] = {{"forward pass", COLOUR_FORWARD, NULL},
                                                  {"backward pass", COLOUR_BACKWARD, NULL}};
    const struct pass_timeline *timeline = chart;
    const struct sutra_table *table = timeline->table;
    const uint32_t rank = table_column(table, "rank"), step = table_column(table, "step");
    const uint32_t start = table_column(table, "start_us"), end = table_column(table, "end_us");
    const uint32_t direction = table_column(table, "direction"), batch = table_column(table, "micro_batch");
    const double first_us = timeline->first_us;
    const double left = 62, width = svg->width - left - 2, top = svg_legend(svg, entries, 2, false);
    const double bottom = top + (double)timeline->n_ranks * ROW_HEIGHT + 4;
    const struct ticks ticks = ticks_make(timeline->last_us - first_us, UNIT_US, (int)(width / 70));
    svg_begin(svg, bottom + 20);
    svg_legend(svg, entries, 2, true);
    svg_axis(svg, &ticks, left, width, top, bottom);
    uint64_t line = 0;
    int64_t last_rank = -1;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        const int64_t own = table_get_integer(table, rank, row);
        size_t length;
        if (table_get_integer(table, step, row) != timeline->step)
            continue;
        if (own != last_rank && line == timeline->n_ranks)
            break;
        line += own != last_rank;
        const double y = top + (double)(line - 1) * ROW_HEIGHT + 3;
        if (own != last_rank) {
            char label[32];
            snprintf(label, sizeof label, "rank %lld", (long long)own);
            svg_text(svg, NULL, ANCHOR_END, left - 8, y + 12, name_of(label), left - 10);
        }
        last_rank = own;
        const double from = table_get_real(table, start, row) - first_us,
                     to = table_get_real(table, end, row) - first_us;
        const char *word = table_get_text(table, direction, row, &length);
        svg_part(svg, *word == 'f' ? COLOUR_FORWARD : COLOUR_BACKWARD, left + from * width / ticks.end, y,
                 (to - from) * width / ticks.end, ROW_HEIGHT - 5);
        chart_data(svg, table, start, row);
        out_format(svg_out(svg), "rank %lld, %s pass of micro-batch %lld: %s</title></rect>\n", (long long)own, word,
                   (long long)table_get_integer(table, batch, row), shown_figure(to - from, UNIT_US).text);
    }
    svg_end(svg);
}

static void show_passes(struct page *page, const void *of) {
    const struct sutra_table *table = page_find_table(page, SUTRA_RESULT(of), SUTRA_PIPELINE_PASSES, "Passes", NULL);
    if (!table)
        return;
    /* The last step: the first ones often contain warm-up of the GPU. */
    struct pass_timeline timeline = {.table = table, .first_us = INFINITY};
    for (uint64_t row = 0; row < table->n_rows; row++) {
        const int64_t step = integer_named(table, "step", row);
        timeline.step = MAX(timeline.step, step);
    }
    uint64_t n_ranks = 0;
    int64_t last_rank = -1;
    for (uint64_t row = 0; row < table->n_rows; row++) {
        if (integer_named(table, "step", row) != timeline.step)
            continue;
        n_ranks += integer_named(table, "rank", row) != last_rank;
        last_rank = integer_named(table, "rank", row);
        timeline.first_us = fmin(timeline.first_us, real_named(table, "start_us", row));
        timeline.last_us = fmax(timeline.last_us, real_named(table, "end_us", row));
    }
    timeline.n_ranks = MIN(n_ranks, RANKS_SHOWN);
    char title[64];
    snprintf(title, sizeof title, "Passes of step %lld", (long long)timeline.step);
    page_chart(page, "passes", title, "A line per rank, and a rectangle per forward or backward pass.", passes_draw,
               &timeline);
    page_limit(page, timeline.n_ranks, n_ranks, false, "ranks");
    page_table(page, table, "Passes", "pipeline_passes");
}

/* ---- Experts ---- */

static void show_experts(struct page *page, const void *of) {
    static const struct bars_words words = {
        "experts", "Compute of experts", "One bar per layer and rank: its compute between dispatch and combine.", NULL,
        "Experts", "expert_balance"};
    const struct sutra_table *table = page_find_table(page, SUTRA_RESULT(of), SUTRA_PIPELINE_EXPERTS, "Experts", NULL);
    if (!table)
        return;
    const struct bars bars = {.table = table,
                              .labels = {table_column(table, "layer"), table_column(table, "rank")},
                              .n_labels = 2,
                              .values = {{table_column(table, "compute_us"), "compute", COLOUR_COMPUTE}},
                              .n_values = 1,
                              .unit = UNIT_US};
    page_bars(page, bars, EXPERTS_SHOWN, &words);
}

/* ---- The page ---- */

static void show_cards(struct page *page, const void *of) {
    struct sutra_pipeline_summary summary = {.size = sizeof summary};
    sutra_pipeline_summary(of, &summary);
    if (!isnan(summary.bubble_percent)) {
        page_card(page, "Stages", summary.n_stages, UNIT_COUNT, "");
        page_card(page, "Micro-batches", summary.n_micro_batches, UNIT_COUNT, "per step");
        page_card(page, "Bubble", summary.bubble_percent, UNIT_PERCENT, "mean over ranks and steps");
        page_card(page, "Ideal bubble", summary.ideal_percent, UNIT_PERCENT, "for stages of equal time");
    }
    if (!isnan(summary.experts_lost_us))
        page_card(page, "Lost by experts", summary.experts_lost_us, UNIT_US, "mean wait of a rank, sum of all layers");
}

static const struct page_section sections[] = {
    {"bubbles", "Pipeline bubbles",
     "Time of each stage between its forward and backward passes, in the window of a step. The warm-up ends at the first "
     "backward pass, the cool-down begins after the last forward pass. More micro-batches make the bubbles a smaller "
     "share of the step.",
     show_bubbles},
    {"passes", "Passes", "Compute of each forward and backward pass. Gaps in a line are bubbles.", show_passes},
    {"experts", "Expert balance",
     "Compute of each rank between the all-to-all that dispatches tokens and the one that combines them. All ranks wait "
     "for the slowest one: the lost time of a layer is the largest time less the mean.",
     show_experts},
    {0},
};

enum sutra_status sutra_report_write_pipeline(struct sutra_context *context, const struct sutra_pipeline *pipeline,
                                              const char *path, const char *folder, uint64_t *n_bytes,
                                              struct sutra_error *error) {
    struct page page;
    const struct page_frame frame = {.title = "Pipeline and experts",
                                     .path = path,
                                     .more = "",
                                     .cards = show_cards,
                                     .has_no_key = true,
                                     .sections = sections};
    page_open(&page, context, folder, PAGE_PIPELINE, error);
    return page_write(&page, &frame, pipeline, n_bytes);
}
