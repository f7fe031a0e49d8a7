/*
 * dlrm_report.c - writes the page on operators and CPU overheads of one trace.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/dlrm/dlrm.h"
#include "analyze/table.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "report/charts.h"
#include "report/page.h"
#include "report/page_table.h"
#include "sutra/dlrm.h"
#include "sutra/report.h"
#include "text/quantities.h"

/*
 * Chart "dominating op breakdown" of a stream as a grid of cells.
 */

/* Cells of one chart. */
#define GRID_CELLS_MAX 48

struct dlrm_grid {
    struct grid grid;
    struct grid_group *groups;
    struct grid_cell *cells;
    struct grid_part *parts;
    uint64_t n_all_groups;
};

/*
 * Draws the chart "dominating op breakdown" of a stream as a grid of cells.
 */

/* A legend and the sum of its shares. */
struct weight {
    uint32_t legend;
    double share;
};

ORDER_BY(compare_legends, struct weight, ASCENDING(legend))

static int compare_shares(const void *left, const void *right) {
    const struct weight *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return compare_legends(left, right);
}

/* Adds up the weights of each legend; returns how many legends there are. */
static uint64_t sum_weights(struct weight *weights, uint64_t n) {
    uint64_t n_legends = 0;
    if (n > 0)
        qsort(weights, n, sizeof *weights, compare_legends);
    for (uint64_t i = 0; i < n; i++)
        if (n_legends > 0 && weights[n_legends - 1].legend == weights[i].legend)
            weights[n_legends - 1].share += weights[i].share;
        else
            weights[n_legends++] = weights[i];
    if (n_legends > 0)
        qsort(weights, n_legends, sizeof *weights, compare_shares);
    return n_legends;
}

/* The shares of the groups that are shown, which lie one after the other. */
struct column_span {
    uint64_t n_groups, n_cells, first_share, n_shares;
};

static struct column_span span_of(const struct sutra_dlrm_report *report, const struct sutra_dlrm_stream *stream) {
    struct column_span span = {0};
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        if (span.n_cells + group->n_variants > GRID_CELLS_MAX)
            break;
        for (uint64_t k = 0; k < group->n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant + k];
            if (span.n_cells++ == 0)
                span.first_share = variant->first_share;
            span.n_shares += variant->n_shares;
        }
        span.n_groups++;
    }
    return span;
}

/* A text with its length: it may hold a NUL. */
static struct name dlrm_text_name(const struct sutra_dlrm *dlrm, uint32_t text) {
    return (struct name){strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text), false};
}

/* What each share weighs: its time, as if all bars of a group took the same; nothing in the group of labels. */
static void weigh(struct weight *weights, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                  const struct sutra_dlrm_group *groups, uint64_t n_groups) {
    for (uint64_t i = 0; i < n_groups; i++) {
        double us = dlrm_text_name(dlrm, groups[i].name).length > 0 ? groups[i].us / (double)groups[i].n_variants : 0;
        for (uint64_t k = 0; k < groups[i].n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &report->variants[groups[i].first_variant + k];
            for (uint64_t share = 0; share < variant->n_shares; share++) {
                const struct sutra_dlrm_share *from = &report->shares[variant->first_share + share];
                *weights++ = (struct weight){from->legend, from->share * us};
            }
        }
    }
}

static void fill_parts(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_share *shares,
                       uint64_t n, struct weight *weights) {
    uint64_t n_legends = sum_weights(weights, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = 0;
        struct name name = dlrm_text_name(dlrm, shares[i].name);
        while (place < COLOUR_SHADES - 1 && place < n_legends && weights[place].legend != shares[i].legend)
            place++;
        int colour = (int)colour_of_work(name.bytes, name.length);
        made->parts[i] = (struct grid_part){name, dlrm_text_name(dlrm, shares[i].legend), shares[i].share,
                                            colour == COLOUR_COMPUTE ? COLOUR_SHADE + (int)place : colour};
    }
}

/* The name of a group; labels, whose name begins with '#', are a group without one. */
static struct name dlrm_group_label(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_group *group) {
    struct name name = dlrm_text_name(dlrm, group->name);
    return name.length > 0 ? name : name_of("labels (## ...)");
}

static void fill_groups(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                        const struct sutra_dlrm_stream *stream, const struct column_span *span) {
    uint64_t n_cells = 0, n_parts = 0;
    for (uint64_t i = 0; i < span->n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        made->groups[i] =
            (struct grid_group){dlrm_group_label(dlrm, group), group->us, &made->cells[n_cells], group->n_variants};
        for (uint64_t k = 0; k < group->n_variants; k++) {
            uint64_t n = report->variants[group->first_variant + k].n_shares;
            made->cells[n_cells++] = (struct grid_cell){&made->parts[n_parts], n};
            n_parts += n;
        }
    }
}

/* The first groups that have no more than GRID_CELLS_MAX cells together. The eight legends with most time have colours.
 * It lies in the arena. False: memory ran out. O(parts log parts). */
static bool dlrm_grid_make(struct dlrm_grid *made, const struct sutra_dlrm *dlrm,
                           const struct sutra_dlrm_report *report, const struct sutra_dlrm_stream *stream,
                           struct arena *arena) {
    struct column_span span = span_of(report, stream);
    struct weight *weights = arena_take(arena, span.n_shares, sizeof *weights);
    *made = (struct dlrm_grid){.groups = arena_take(arena, span.n_groups, sizeof *made->groups),
                               .cells = arena_take(arena, span.n_cells, sizeof *made->cells),
                               .parts = arena_take(arena, span.n_shares, sizeof *made->parts),
                               .n_all_groups = stream->n_groups};
    if (arena->failed)
        return false;
    weigh(weights, dlrm, report, report->groups + stream->first_group, span.n_groups);
    fill_parts(made, dlrm, report->shares + span.first_share, span.n_shares, weights);
    fill_groups(made, dlrm, report, stream, &span);
    made->grid = (struct grid){made->groups, span.n_groups};
    return true;
}

/*
 * Tables that the page on operators derives from the analysis, for its charts.
 *
 * The caller frees each table with table_free(); `failed` is set if memory ran out.
 */

/* Streams in the order of the analysis: stream, active_us, idle_us, active_pctg of the host's time. */
enum { STREAM_NAME, STREAM_ACTIVE, STREAM_IDLE };

/* Operators by falling device time: name, device_us, share_pctg, calls, kernels. */
enum { OPERATOR_NAME, OPERATOR_TIME };

/* Overheads of the host by kind, T1 to T5: kind, what, samples, mean_us, total_us. */
enum { KIND_NAME, KIND_WHAT, KIND_SAMPLES, KIND_MEAN, KIND_TOTAL };

/*
 * Computes the tables for the page on operators. O(rows), plus a sort for ordered tables.
 */

static void add_name(struct sutra_table *table, struct name name) {
    table_text(table, name.bytes, name.length);
}

static void add_text(struct sutra_table *table, const char *text) {
    add_name(table, name_of(text));
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : NAN;
}

static void dlrm_streams_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                               const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"stream", SUTRA_COLUMN_TEXT},
                                               {"active_us", SUTRA_COLUMN_REAL},
                                               {"idle_us", SUTRA_COLUMN_REAL},
                                               {"active_pctg", SUTRA_COLUMN_REAL}};
    table_init(table, "streams", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        add_name(table, dlrm_text_name(dlrm, stream->name));
        table_real(table, stream->active_us);
        table_real(table, stream->idle_us);
        table_real(table, percent(stream->active_us, report->host_us));
    }
    table_sort_falling(table, STREAM_ACTIVE, STREAM_ACTIVE);
}

static void dlrm_operators_table(struct sutra_table *table, const struct sutra_dlrm *dlrm) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL},
                                               {"calls", SUTRA_COLUMN_INTEGER},
                                               {"kernels", SUTRA_COLUMN_INTEGER}};
    struct arena arena = {0};
    struct dlrm_operator_time *times = NULL;
    uint32_t n = 0;
    double total = 0;
    table_init(table, "operators", specs, sizeof specs / sizeof *specs);
    table->failed |= !dlrm_operator_times(dlrm, &arena, &times, &n);
    for (uint32_t i = 0; i < n; i++)
        total += times[i].us;
    for (uint32_t i = 0; i < n; i++) {
        add_name(table, dlrm_text_name(dlrm, times[i].name));
        table_real(table, times[i].us);
        table_real(table, percent(times[i].us, total));
        table_integer(table, (int64_t)times[i].calls);
        table_integer(table, (int64_t)times[i].kernels);
    }
    arena_free(&arena);
    table_sort_falling(table, OPERATOR_TIME, OPERATOR_TIME);
}

static const char *const kind_names[SUTRA_N_OVERHEADS] = {"T1", "T2", "T3", "T4", "T5"};

static void dlrm_kinds_table(struct sutra_table *table, const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"kind", SUTRA_COLUMN_TEXT},
                                               {"description", SUTRA_COLUMN_TEXT},
                                               {"samples", SUTRA_COLUMN_INTEGER},
                                               {"mean_us", SUTRA_COLUMN_REAL},
                                               {"total_us", SUTRA_COLUMN_REAL}};
    static const char *const what[] = {"between operators", "operator to first launch", "last launch to end", "launch",
                                       "between launches, or no launch"};
    uint64_t n[SUTRA_N_OVERHEADS] = {0};
    double us[SUTRA_N_OVERHEADS] = {0};
    table_init(table, "overhead_kinds", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &report->overheads[i];
        n[row->kind] += row->n;
        us[row->kind] += row->n > 0 ? row->mean_us * (double)row->n : 0;
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        add_text(table, kind_names[kind]);
        add_text(table, what[kind]);
        table_integer(table, (int64_t)n[kind]);
        table_real(table, n[kind] > 0 ? us[kind] / (double)n[kind] : NAN);
        table_real(table, us[kind]);
    }
}

/* The same by kind and operator, those that take most first: kind, name, samples, mean_us, std_us, total_us. */
static void dlrm_overheads_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                                 const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"kind", SUTRA_COLUMN_TEXT},       {"name", SUTRA_COLUMN_TEXT},
                                               {"samples", SUTRA_COLUMN_INTEGER}, {"mean_us", SUTRA_COLUMN_REAL},
                                               {"std_us", SUTRA_COLUMN_REAL},     {"total_us", SUTRA_COLUMN_REAL}};
    table_init(table, "overheads", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &report->overheads[i];
        if (row->n == 0)
            continue;
        add_text(table, kind_names[row->kind]);
        add_name(table, row->name == SUTRA_DLRM_NONE ? name_of("all operators") : dlrm_text_name(dlrm, row->name));
        table_integer(table, (int64_t)row->n);
        table_real(table, row->mean_us);
        table_real(table, row->std_us);
        table_real(table, row->mean_us * (double)row->n);
    }
    table_sort_falling(table, 5, 5);
}

static void add_variant(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                        const struct sutra_dlrm_report *report, const struct sutra_dlrm_group *group, uint64_t number) {
    const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant + number];
    for (uint64_t i = 0; i < variant->n_shares; i++) {
        const struct sutra_dlrm_share *share = &report->shares[variant->first_share + i];
        add_name(table, dlrm_group_label(dlrm, group));
        table_integer(table, (int64_t)number + 1);
        add_name(table, dlrm_text_name(dlrm, share->name));
        add_name(table, dlrm_text_name(dlrm, share->legend));
        table_real(table, 100 * share->share);
    }
}

/* What the bars of the first `n_groups` groups of a stream's chart consist of: operator, variant, kernel, legend,
 * share_pctg. */
static void dlrm_shares_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                              const struct sutra_dlrm_report *report, const struct sutra_dlrm_stream *stream,
                              uint64_t n_groups) {
    static const struct column_spec specs[] = {{"operator", SUTRA_COLUMN_TEXT},
                                               {"variant", SUTRA_COLUMN_INTEGER},
                                               {"kernel", SUTRA_COLUMN_TEXT},
                                               {"legend", SUTRA_COLUMN_TEXT},
                                               {"share_pctg", SUTRA_COLUMN_REAL}};
    table_init(table, "shares", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        for (uint64_t k = 0; k < group->n_variants; k++)
            add_variant(table, dlrm, report, group, k);
    }
}

#define BARS_SHOWN 20

/* Streams whose dominating operators are drawn: those with most work. */
#define GRIDS_SHOWN 6

/* What a section is made from. */
struct dlrm_source {
    const struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
};

static struct shown percent_text(double part, double whole) {
    return shown_figure(whole > 0 ? 100 * part / whole : NAN, UNIT_PERCENT);
}

static void show_cards(struct page *page, const struct dlrm_source *source) {
    const struct sutra_dlrm_report *report = &source->report;
    char note[200];
    page_cards_begin(page);
    snprintf(note, sizeof note, "%s x %s queries", shown_decimal((double)report->iters, 0).text,
             shown_decimal((double)report->batch, 0).text);
    page_card(page, "Queries per second", report->qps, UNIT_COUNT,
              isnan(report->qps) ? "the CPU events have no duration" : note);
    page_card(page, "CPU time", report->host_us, UNIT_US, report->skipped_us > 0 ? "without data loading" : "");
    snprintf(note, sizeof note, "of %s", counted_text(report->n_events, "event", "events").text);
    page_card(page, "Operators", (double)report->n_ops, UNIT_COUNT, note);
    page_card(page, "Launches with GPU activity", (double)report->n_launches_executed, UNIT_COUNT, "");
    if (report->has_streams) {
        snprintf(note, sizeof note, "%s of the time span of all kernels",
                 percent_text(report->union_us, report->span_us).text);
        page_card(page, "GPU busy", report->union_us, UNIT_US, note);
        page_card(page, "GPU idle", report->idle_us, UNIT_US, "between first and last kernel");
        page_card(page, "Overlap", report->overlap_us, UNIT_US, "of GPU activity on several streams");
    } else {
        page_card_words(page, "GPU", "no activity", "no launch of the trace has a kernel");
    }
    snprintf(note, sizeof note, "%s of launched GPU activity",
             percent_text(report->attributed_us, report->executed_us).text);
    page_card(page, "Attributed to operators", report->attributed_us, UNIT_US, note);
    page_cards_end(page);
}

static void show_streams(struct page *page, const void *of) {
    const struct dlrm_source *source = of;
    static const struct bars_words words = {
        "streams", "Stream time", "One bar per stream: kernel time, and the rest of the CPU time.",
        NULL,      "Streams",     "breakdown.json"};
    struct sutra_table table;
    dlrm_streams_table(&table, source->dlrm, &source->report);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .label_prefix = "stream ",
                              .values = {{STREAM_ACTIVE, "kernels of operators", COLOUR_COUNT},
                                         {STREAM_IDLE, "rest of CPU time", COLOUR_IDLE}},
                              .n_values = 2,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, BARS_SHOWN, &words))
        page_missing(page, "Streams", "no operator has launched a kernel");
    table_free(&table);
}

static void show_operators(struct page *page, const void *of) {
    const struct dlrm_source *source = of;
    static const struct bars_words words = {
        "operators", "Operators by GPU time", "One bar per operator, descending by time.",
        NULL,        "GPU time of operators", "op_device_time_by_name.json"};
    struct sutra_table table;
    dlrm_operators_table(&table, source->dlrm);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .by_end = true,
                              .values = {{OPERATOR_TIME, "GPU time", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, BARS_SHOWN, &words))
        page_missing(page, "Operators", "no operator has launched a kernel");
    table_free(&table);
}

/* ---- Dominating operators ---- */

/* The name of a stream's chart: plain characters only; where one had to go, with the stream's place, so that names
 * differ. */
static void chart_name(struct name stream, uint64_t place, char name[96]) {
    size_t at = (size_t)snprintf(name, 96, "dominating_op_breakdown.stream"), i = 0;
    for (; i < stream.length && i < 32; i++) {
        char c = stream.bytes[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
        name[at++] = '_';
        if (plain)
            name[at - 1] = c;
    }
    name[at] = '\0';
    if (stream.length == 0 || i < stream.length || strchr(name + 30, '_'))
        snprintf(name + at, 96 - at, ".%llu", (unsigned long long)place);
}

static void show_grid(struct page *page, const struct dlrm_source *source, uint64_t number) {
    const struct sutra_dlrm_stream *stream = &source->report.streams[number];
    struct arena arena = {0};
    struct dlrm_grid grid;
    struct sutra_table table;
    char name[96], title[160];
    snprintf(title, sizeof title, "Dominating operators of stream %.80s", sutra_dlrm_text(source->dlrm, stream->name));
    chart_name(dlrm_text_name(source->dlrm, stream->name), number, name);
    if (!dlrm_grid_make(&grid, source->dlrm, &source->report, stream, &arena) && !page->status)
        page->status = error_memory(page->error);
    dlrm_shares_table(&table, source->dlrm, &source->report, stream, grid.grid.n_groups);
    page_check(page, &table);
    page_subtitle(page, title);
    if (!page->status && grid.grid.n_groups > 0)
        page_chart(page, name, title,
                   "A group of bars per operator, descending by time; one bar per set of kernels, with their shares.",
                   grid_draw, &grid.grid);
    if (grid.grid.n_groups < grid.n_all_groups) {
        char words[160];
        snprintf(words, sizeof words, "The chart shows %s of %s operators, descending by time.",
                 shown_decimal((double)grid.grid.n_groups, 0).text, shown_decimal((double)grid.n_all_groups, 0).text);
        page_words(page, words);
    }
    page_table(page, &table, "Kernel shares", "chart.json");
    table_free(&table);
    arena_free(&arena);
}

/* The stream with the most work that is drawn next, of those that are not yet; `done` has a bit for each. */
static uint64_t next_stream(const struct sutra_dlrm_report *report, const uint64_t *done, unsigned n_done) {
    uint64_t found = UINT64_MAX;
    for (uint64_t i = 0; i < report->n_streams; i++) {
        bool is_done = report->streams[i].n_groups == 0;
        for (unsigned k = 0; k < n_done; k++)
            is_done |= done[k] == i;
        if (!is_done && (found == UINT64_MAX || report->streams[i].active_us > report->streams[found].active_us))
            found = i;
    }
    return found;
}

static void show_dominating(struct page *page, const void *of) {
    const struct dlrm_source *source = of;
    uint64_t shown[GRIDS_SHOWN];
    unsigned n = 0;
    for (; n < GRIDS_SHOWN && (shown[n] = next_stream(&source->report, shown, n)) != UINT64_MAX; n++)
        show_grid(page, source, shown[n]);
    if (n == 0)
        page_missing(page, "Dominating operators", "no operator has launched a kernel");
    else if (n == GRIDS_SHOWN && next_stream(&source->report, shown, n) != UINT64_MAX)
        page_words(page, "Streams with less GPU activity are not drawn; chart.json contains all streams.");
}

/* ---- Overheads ---- */

static void show_overheads(struct page *page, const void *of) {
    const struct dlrm_source *source = of;
    static const struct bars_words words = {"overheads", "Mean overheads",    "One bar per kind, T1 to T5.",
                                            NULL,        "Overheads by kind", NULL};
    struct sutra_table kinds, table;
    dlrm_kinds_table(&kinds, &source->report);
    dlrm_overheads_table(&table, source->dlrm, &source->report);
    page_check(page, &table);
    const struct bars bars = {.table = &kinds,
                              .labels = {KIND_NAME, KIND_WHAT},
                              .n_labels = 2,
                              .values = {{KIND_MEAN, "mean", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_US};
    if (table.n_rows > 0) {
        page_bars(page, bars, BARS_SHOWN, &words);
        page_table(page, &table, "Overheads by operator, descending by total", "overheads.json");
    } else {
        page_missing(page, "Overheads", "no operator in the trace");
    }
    table_free(&kinds);
    table_free(&table);
}

/* ---- What is missing, and warnings ---- */

static void say_counts(struct page *page, const struct sutra_dlrm_report *report) {
    const struct {
        uint64_t n;
        const char *one, *several;
    } counts[] = {{report->n_without_ts, "event without a time: skipped.", "events without a time: skipped."},
                  {report->n_negative, "negative duration.", "negative durations."},
                  {report->n_odd_tid, "call skipped: its tid is more than twice its pid.",
                   "calls skipped: their tid is more than twice their pid."},
                  {report->n_crossing, "CPU event overlaps another one without being nested in it.",
                   "CPU events overlap another one without being nested in it."},
                  {report->n_hidden, "event overlaps an event of another thread: in no operator.",
                   "events overlap events of another thread: in no operator."},
                  {report->n_orphans, "GPU activity without a launch.", "GPU activities without a launch."},
                  {report->n_without_stream, "GPU activity without a stream.", "GPU activities without a stream."},
                  {report->n_colliding, "operator has the id of a launch (compat).",
                   "operators have the id of a launch (compat)."}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        page_warning_count(page, counts[i].n, counts[i].one, counts[i].several);
}

static void show_warnings(struct page *page, const struct dlrm_source *source) {
    const struct sutra_dlrm_report *report = &source->report;
    if (report->n_loaders != report->n_forwards && report->n_loaders > 0)
        page_warning(page, "Data loading is not skipped: the numbers of DataLoader and ## Forward ## events differ.");
    if (report->tolerant)
        page_warning(page, "The notebook raises an exception on this trace.");
    say_counts(page, report);
}

static const struct page_section sections[] = {
    {"streams", "Streams", "Time of kernels launched by operators, per stream, and the rest of the CPU time.",
     show_streams},
    {"operators", "Operators",
     "Total GPU time of operators by name: kernels launched by the operator and its child operators.", show_operators},
    {"dominating", "Dominating operators",
     "Kernels of the operators with most GPU time. Only the first occurrence of each operator counts; calls with the "
     "same set of kernels share one bar. Shares descend from bottom to top.",
     show_dominating},
    {"overheads", "CPU overheads",
     "CPU time before, between and after operators and launches, minus 2 µs of profiler overhead per CPU event. T4 is a constant of "
     "the model. Means may be negative if events are shorter than the profiler overhead.",
     show_overheads},
    {"missing", "More analyses",
     "Findings, time by compute, communication and memcpy, idle time, queues and other ranks: sutra analyze TRACE... -o "
     "DIR.",
     NULL},
    {0},
};

enum sutra_status sutra_report_write_dlrm(struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                          const char *path, const char *folder, uint64_t *n_bytes,
                                          struct sutra_error *error) {
    struct dlrm_source source = {.dlrm = dlrm, .report.size = sizeof source.report};
    struct page page;
    sutra_dlrm_report(dlrm, &source.report);
    page_open(&page, context, folder, PAGE_DLRM, error);
    page_head(&page, "Operators and overheads", path, source.report.trimmed ? ", part of the iterations" : "",
              sections);
    show_warnings(&page, &source);
    show_cards(&page, &source);
    page_sections(&page, sections, &source);
    enum sutra_status status = page_close(&page);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
