/*
 * dlrm_report.c - writes the page on operators and CPU overheads of one trace.
 *
 *     analysis --> table or grid of kernel shares, in the order of its chart --> chart, table
 *
 * O(rows), plus a sort for ordered tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "analyze/table.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "report/charts.h"
#include "report/page.h"
#include "sutra/dlrm.h"
#include "sutra/report.h"
#include "text/quantities.h"

#define BARS_SHOWN 20

/* Cells of one grid. */
#define GRID_CELLS_MAX 48

/* Streams with a grid of dominating operators: the streams with most GPU activity. */
#define GRIDS_SHOWN 6

struct dlrm_source {
    const struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
};

/* A text with its length: it may contain a NUL. */
static struct name text_name(const struct sutra_dlrm *dlrm, uint32_t text) {
    return (struct name){strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text), false};
}

static void add_name(struct sutra_table *table, struct name name) {
    table_text(table, name.bytes, name.length);
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : NAN;
}

/* ---- Streams ---- */

static void show_streams(struct page *page, const void *of) {
    static const struct bars_words words = {
        "streams", "Stream time", "One bar per stream: kernel time, and the rest of the CPU time.",
        NULL,      "Streams",     "breakdown.json"};
    static const struct column_spec specs[] = {TEXT("stream"), REAL("active_us"), REAL("idle_us"), REAL("active_pctg")};
    const struct dlrm_source *source = of;
    struct sutra_table table;
    table_init(&table, "streams", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < source->report.n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &source->report.streams[i];
        add_name(&table, text_name(source->dlrm, stream->name));
        table_real(&table, stream->active_us);
        table_real(&table, stream->idle_us);
        table_real(&table, percent(stream->active_us, source->report.host_us));
    }
    uint32_t active = table_column(&table, "active_us");
    table_sort_descending(&table, active, active);
    const struct bars bars = {.table = &table,
                              .labels = {table_column(&table, "stream")},
                              .n_labels = 1,
                              .label_prefix = "stream ",
                              .values = {{active, "kernels of operators", COLOUR_COUNT},
                                         {table_column(&table, "idle_us"), "rest of CPU time", COLOUR_IDLE}},
                              .n_values = 2,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, BARS_SHOWN, &words))
        page_missing(page, "Streams", "no operator has launched a kernel");
    table_free(&table);
}

/* ---- Operators ---- */

static void show_operators(struct page *page, const void *of) {
    static const struct bars_words words = {
        "operators", "Operators by GPU time", "One bar per operator, descending by time.",
        NULL,        "GPU time of operators", "op_device_time_by_name.json"};
    static const struct column_spec specs[] = {TEXT("name"), REAL("device_us"), REAL("share_pctg"), INTEGER("calls"),
                                               INTEGER("kernels")};
    const struct sutra_dlrm *dlrm = ((const struct dlrm_source *)of)->dlrm;
    struct sutra_table table;
    struct arena arena = {0};
    struct dlrm_operator_time *times = NULL;
    uint32_t n = 0;
    double total = 0;
    table_init(&table, "operators", specs, sizeof specs / sizeof *specs);
    table.failed |= !dlrm_operator_times(dlrm, &arena, &times, &n);
    for (uint32_t i = 0; i < n; i++)
        total += times[i].us;
    for (uint32_t i = 0; i < n; i++) {
        add_name(&table, text_name(dlrm, times[i].name));
        table_real(&table, times[i].us);
        table_real(&table, percent(times[i].us, total));
        table_integer(&table, (int64_t)times[i].calls);
        table_integer(&table, (int64_t)times[i].kernels);
    }
    arena_free(&arena);
    uint32_t time = table_column(&table, "device_us");
    table_sort_descending(&table, time, time);
    struct bars bars = bars_of_value(&table, "name", "device_us", "GPU time", COLOUR_COUNT, UNIT_US);
    bars.by_end = true;
    if (!page_bars(page, bars, BARS_SHOWN, &words))
        page_missing(page, "Operators", "no operator has launched a kernel");
    table_free(&table);
}

/* ---- Dominating operators: the chart of a stream, as a grid ---- */

/* A legend and the sum of its shares. */
struct weight {
    uint32_t legend;
    double share;
};

ORDER_BY(compare_legends, struct weight, ASCENDING(legend))
ORDER_BY(compare_shares, struct weight, DESCENDING(share) ASCENDING(legend))

/* Sums the weights of each legend, and sorts legends in descending order; returns their number. */
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

/* Makes a grid in the arena of the first groups with at most GRID_CELLS_MAX cells together. The legends with most time
 * have shades of their own. Returns false if memory ran out. O(shares log shares). */
static bool make_grid(struct grid *grid, const struct dlrm_source *source, const struct sutra_dlrm_stream *stream,
                      struct arena *arena) {
    const struct sutra_dlrm *dlrm = source->dlrm;
    const struct sutra_dlrm_report *report = &source->report;
    const struct sutra_dlrm_group *from = report->groups + stream->first_group;
    uint64_t n_groups = 0, n_cells = 0, n_shares = 0;
    for (; n_groups < stream->n_groups && n_cells + from[n_groups].n_variants <= GRID_CELLS_MAX; n_groups++)
        for (uint64_t k = 0; k < from[n_groups].n_variants; k++, n_cells++)
            n_shares += report->variants[from[n_groups].first_variant + k].n_shares;
    struct grid_group *groups = arena_alloc(arena, n_groups, sizeof *groups);
    struct grid_cell *cells = arena_alloc(arena, n_cells, sizeof *cells);
    struct grid_part *parts = arena_alloc(arena, n_shares, sizeof *parts);
    struct weight *weights = arena_alloc(arena, n_shares, sizeof *weights), *weight = weights;
    *grid = (struct grid){0};
    if (arena->failed)
        return false;
    *grid = (struct grid){groups, n_groups};
    for (uint64_t i = 0; i < n_groups; i++) {
        /* The weight of a share is its time if all bars of the group have the same time; 0 in the group of labels. */
        struct name name = text_name(dlrm, from[i].name); /* labels, which begin with '#', have no name */
        double us = name.length > 0 ? from[i].us / (double)from[i].n_variants : 0;
        groups[i] = (struct grid_group){name.length > 0 ? name : name_of("labels (## ...)"), from[i].us, cells,
                                        from[i].n_variants};
        for (uint64_t k = 0; k < from[i].n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &report->variants[from[i].first_variant + k];
            const struct sutra_dlrm_share *shares = report->shares + variant->first_share;
            *cells++ = (struct grid_cell){parts, variant->n_shares};
            for (uint64_t share = 0; share < variant->n_shares; share++) {
                *parts++ =
                    (struct grid_part){text_name(dlrm, shares[share].name), text_name(dlrm, shares[share].legend),
                                       shares[share].share, (int)shares[share].legend};
                *weight++ = (struct weight){shares[share].legend, shares[share].share * us};
            }
        }
    }
    /* Replace the legends by their colors. */
    uint64_t n_legends = sum_weights(weights, n_shares);
    for (struct grid_part *part = parts - n_shares; part < parts; part++) {
        int shade = 0, colour = (int)colour_of_work(part->name.bytes, part->name.length);
        while (shade < COLOUR_SHADES - 1 && (uint64_t)shade < n_legends &&
               weights[shade].legend != (uint32_t)part->colour)
            shade++;
        part->colour = colour == COLOUR_COMPUTE ? COLOUR_SHADE + shade : colour;
    }
    return true;
}

static void show_grid(struct page *page, const struct dlrm_source *source, uint64_t number) {
    static const struct column_spec specs[] = {TEXT("operator"), INTEGER("variant"), TEXT("kernel"), TEXT("legend"),
                                               REAL("share_pctg")};
    const struct sutra_dlrm_stream *stream = &source->report.streams[number];
    struct arena arena = {0};
    struct grid grid;
    struct sutra_table table;
    char name[96], title[160];
    snprintf(title, sizeof title, "Dominating operators of stream %.80s", sutra_dlrm_text(source->dlrm, stream->name));
    /* The name of the chart has letters, digits and '-'. If a character is replaced, the number of the stream makes the
     * name unique. */
    struct name stream_name = text_name(source->dlrm, stream->name);
    size_t at = (size_t)snprintf(name, sizeof name, "dominating_op_breakdown.stream"), n_used = 0;
    for (; n_used < stream_name.length && n_used < 32; n_used++) {
        char c = stream_name.bytes[n_used];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
        name[at++] = '_';
        if (plain)
            name[at - 1] = c;
    }
    name[at] = '\0';
    if (stream_name.length == 0 || n_used < stream_name.length || strchr(name + 30, '_'))
        snprintf(name + at, sizeof name - at, ".%llu", (unsigned long long)number);
    if (!make_grid(&grid, source, stream, &arena) && !page->status)
        page->status = error_memory(page->error);
    /* The table lists the shares of the bars. */
    table_init(&table, "shares", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < grid.n_groups; i++)
        for (uint64_t k = 0; k < grid.groups[i].n_cells; k++)
            for (uint64_t part = 0; part < grid.groups[i].cells[k].n_parts; part++) {
                const struct grid_part *share = &grid.groups[i].cells[k].parts[part];
                add_name(&table, grid.groups[i].name);
                table_integer(&table, (int64_t)k + 1);
                add_name(&table, share->name);
                add_name(&table, share->legend);
                table_real(&table, 100 * share->share);
            }
    page_check(page, &table);
    page_subtitle(page, title);
    if (!page->status && grid.n_groups > 0)
        page_chart(page, name, title,
                   "A group of bars per operator, descending by time; one bar per set of kernels, with their shares.",
                   grid_draw, &grid);
    page_limit(page, grid.n_groups, stream->n_groups, true, "operators");
    page_table(page, &table, "Kernel shares", "chart.json");
    table_free(&table);
    arena_free(&arena);
}

/* The next stream with a chart: the stream with most GPU activity that is not among the `n_done` before; UINT64_MAX:
 * none. */
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

static const char *const kind_names[SUTRA_N_OVERHEADS] = {"T1", "T2", "T3", "T4", "T5"};

static void show_overheads(struct page *page, const void *of) {
    static const struct column_spec kind_specs[] = {TEXT("kind"), TEXT("description"), INTEGER("samples"),
                                                    REAL("mean_us"), REAL("total_us")};
    static const char *const descriptions[] = {"between operators", "operator to first launch", "last launch to end",
                                               "launch", "between launches, or no launch"};
    static const struct bars_words words = {"overheads", "Mean overheads",    "One bar per kind, T1 to T5.",
                                            NULL,        "Overheads by kind", NULL};
    static const struct column_spec specs[] = {TEXT("kind"),    TEXT("name"),   INTEGER("samples"),
                                               REAL("mean_us"), REAL("std_us"), REAL("total_us")};
    const struct dlrm_source *source = of;
    struct sutra_table kinds, table;
    uint64_t n[SUTRA_N_OVERHEADS] = {0};
    double us[SUTRA_N_OVERHEADS] = {0};
    table_init(&kinds, "overhead_kinds", kind_specs, sizeof kind_specs / sizeof *kind_specs);
    for (uint64_t i = 0; i < source->report.n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &source->report.overheads[i];
        n[row->kind] += row->n;
        us[row->kind] += row->n > 0 ? row->mean_us * (double)row->n : 0;
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        table_words(&kinds, kind_names[kind]);
        table_words(&kinds, descriptions[kind]);
        table_integer(&kinds, (int64_t)n[kind]);
        table_real(&kinds, n[kind] > 0 ? us[kind] / (double)n[kind] : NAN);
        table_real(&kinds, us[kind]);
    }
    table_init(&table, "overheads", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < source->report.n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &source->report.overheads[i];
        if (row->n == 0)
            continue;
        table_words(&table, kind_names[row->kind]);
        add_name(&table, row->name == SUTRA_DLRM_NONE ? name_of("all operators") : text_name(source->dlrm, row->name));
        table_integer(&table, (int64_t)row->n);
        table_real(&table, row->mean_us);
        table_real(&table, row->std_us);
        table_real(&table, row->mean_us * (double)row->n);
    }
    uint32_t total = table_column(&table, "total_us");
    table_sort_descending(&table, total, total);
    page_check(page, &table);
    const struct bars bars = {.table = &kinds,
                              .labels = {table_column(&kinds, "kind"), table_column(&kinds, "description")},
                              .n_labels = 2,
                              .values = {{table_column(&kinds, "mean_us"), "mean", COLOUR_COUNT}},
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

/* ---- The page ---- */

static void warn(struct page *page, const void *of) {
    const struct sutra_dlrm_report *report = &((const struct dlrm_source *)of)->report;
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
    if (report->n_loaders != report->n_forwards && report->n_loaders > 0)
        page_warning(page, "Data loading is not skipped: the numbers of DataLoader and ## Forward ## events differ.");
    if (report->tolerant)
        page_warning(page, "The notebook raises an exception on this trace.");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        page_warning_count(page, counts[i].n, counts[i].one, counts[i].several);
}

static struct shown percent_text(double part, double whole) {
    return shown_figure(percent(part, whole), UNIT_PERCENT);
}

static void show_cards(struct page *page, const void *of) {
    const struct sutra_dlrm_report *report = &((const struct dlrm_source *)of)->report;
    char note[200];
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
    const struct page_frame frame = {.title = "Operators and overheads",
                                     .path = path,
                                     .more = source.report.trimmed ? ", part of the iterations" : "",
                                     .warnings = warn,
                                     .cards = show_cards,
                                     .sections = sections};
    page_open(&page, context, folder, PAGE_DLRM, error);
    return page_write(&page, &frame, &source, n_bytes);
}
