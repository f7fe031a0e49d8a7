/*
 * dlrm_report.c - writes the page on operators and CPU overheads of one trace.
 */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "report/dlrm_grid.h"
#include "report/dlrm_tables.h"
#include "report/page.h"
#include "sutra/report.h"
#include "text/counted.h"

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
