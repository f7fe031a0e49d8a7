/*
 * dlrm_page.c - prints the terminal report of `sutra analyze dlrm`: the most important results first, in one to a few
 * lines each.
 */
#include "cli/analyze/dlrm_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/screen.h"

#define N_TOP         5
#define STREAM_WIDTH  12
#define TOP_WIDTH     27 /* of operators, before how often they ran */
#define GROUP_WIDTH   31 /* of operators, before what most of their time goes to */
#define SHARE_WIDTH   8
#define COMMAND_WIDTH 26 /* of a trace in a command that people may type */

struct dlrm_page {
    const struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
};

static void begin(const char *what) {
    printf("  %-15s", what);
}

static void print_head(const struct dlrm_page *page, const char *trace) {
    const struct sutra_dlrm_report *report = &page->report;
    char line[80];
    int n = snprintf(line, sizeof line, ": %s, ", counted_text(report->n_events, "event", "events").text);
    snprintf(line + n, sizeof line - (size_t)n, "%s", counted_text(report->n_ops, "operator", "operators").text);
    printf("%s%s\n", short_path(trace, screen_columns() - (unsigned)strlen(line)).text, line);
    if (report->trimmed)
        printf("part of the trace is analyzed (--full-trace: full trace)\n");
    putchar('\n');
}

static void print_queries(const struct dlrm_page *page) {
    const struct sutra_dlrm_report *report = &page->report;
    begin("queries");
    if (isnan(report->qps)) {
        printf("unknown: the CPU events have no duration\n");
        return;
    }
    printf("%.2f per second: %" PRIu64 " x %" PRIu64 " in %s", report->qps, report->iters, report->batch,
           time_text(report->host_us).text);
    if (report->skipped_us > 0)
        printf(",\n  %15s%s of data loading excluded", "", time_text(report->skipped_us).text);
    putchar('\n');
}

/* Whether a stream has more work below operators than another, or is the first of those with as much. */
static bool is_fuller(const struct sutra_dlrm_stream *a, const struct sutra_dlrm_stream *b) {
    return a->active_us != b->active_us ? a->active_us > b->active_us : a < b;
}

/* The fullest stream of those that are less full than `last`, or of all; NULL: there is none. */
static const struct sutra_dlrm_stream *next_fullest(const struct sutra_dlrm_report *report,
                                                    const struct sutra_dlrm_stream *last) {
    const struct sutra_dlrm_stream *found = NULL;
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        if ((!last || is_fuller(last, stream)) && (!found || is_fuller(stream, found)))
            found = stream;
    }
    return found;
}

static struct shortened stream_name(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    return short_name(sutra_dlrm_text(page->dlrm, stream->name), STREAM_WIDTH + screen_columns_more());
}

static void print_launches(const struct dlrm_page *page) {
    begin("launches");
    printf("%s of ", count_text(page->report.n_launches_executed).text);
    printf("%s have GPU activity\n", count_text(page->report.n_launches).text);
}

static void print_device(const struct dlrm_page *page) {
    const struct sutra_dlrm_report *report = &page->report;
    begin("GPU");
    if (!report->has_streams) {
        printf("no GPU activity with a known launch\n");
        return;
    }
    printf("%s busy; ", time_text(report->union_us).text);
    printf("%s (%s) idle between kernels\n", time_text(report->idle_us).text,
           share_text(report->idle_us, report->span_us).text);
    begin("attributed");
    printf("%s of %s to operators (%s)\n", time_text(report->attributed_us).text, time_text(report->device_us).text,
           share_text(report->attributed_us, report->device_us).text);
    begin("overlap");
    printf("%s of activities overlap with others (%s of busy time)\n", time_text(report->overlap_us).text,
           share_text(report->overlap_us, report->union_us).text);
    const struct sutra_dlrm_stream *last = NULL;
    for (uint64_t i = 0; i < report->n_streams && i < N_TOP; i++) {
        const struct sutra_dlrm_stream *stream = next_fullest(report, last);
        last = stream;
        begin(i ? "" : "streams");
        printf("%12s %8s of CPU time on stream %s\n", time_text(stream->active_us).text,
               share_text(stream->active_us, report->host_us).text, stream_name(page, stream).text);
    }
    if (report->n_streams > N_TOP)
        printf("  %15s%12" PRIu64 " more\n", "", report->n_streams - N_TOP);
}

static void print_top(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    const struct sutra_dlrm_row *rows[N_TOP];
    uint32_t n = stream->n_rows < N_TOP ? stream->n_rows : N_TOP;
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = &page->report.rows[page->report.by_time[stream->first_row + i]];
        names[i] = sutra_dlrm_text(page->dlrm, rows[i]->name);
    }
    short_names(names, n, TOP_WIDTH + screen_columns_more(), shorts);
    begin("top");
    printf("root operators of stream %s\n", stream_name(page, stream).text);
    for (uint32_t i = 0; i < n; i++) {
        begin("");
        printf("%12s %8s  ", time_text(rows[i]->us).text, share_text(rows[i]->us, stream->active_us).text);
        printf("%s, %s\n", shorts[i].text, counted_text(rows[i]->count, "time", "times").text);
    }
}

static void print_dominating(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    const struct sutra_dlrm_report *report = &page->report;
    const struct sutra_dlrm_group *groups = &report->groups[stream->first_group];
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = stream->n_groups < N_TOP ? stream->n_groups : N_TOP;
    for (uint64_t i = 0; i < n; i++) {
        const char *name = sutra_dlrm_text(page->dlrm, groups[i].name);
        names[i] = *name ? name : "labels";
    }
    short_names(names, n, GROUP_WIDTH + screen_columns_more(), shorts);
    for (uint64_t i = 0; i < n; i++) {
        const struct sutra_dlrm_variant *variant = &report->variants[groups[i].first_variant];
        begin(i ? "" : "dominating");
        printf("%12s  %s", time_text(groups[i].us).text, shorts[i].text);
        if (variant->n_shares) {
            const struct sutra_dlrm_share *share = &report->shares[variant->first_share];
            const char *legend = sutra_dlrm_text(page->dlrm, share->legend);
            printf(": %s %s", share_text(share->share, 1).text, short_text(legend, SHARE_WIDTH).text);
        }
        putchar('\n');
    }
}

/* Means over all samples of a kind. */
static void print_overheads(const struct dlrm_page *page) {
    static const char *const what[] = {"between operators", "operator start to first launch",
                                       "last launch to operator end", "launch call", "between launches, or no launch"};
    const struct sutra_dlrm_report *report = &page->report;
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        double sum = 0;
        uint64_t n = 0;
        for (uint64_t i = 0; i < report->n_overheads; i++)
            if ((int)report->overheads[i].kind == kind && report->overheads[i].n) {
                n += report->overheads[i].n;
                sum += report->overheads[i].mean_us * (double)report->overheads[i].n;
            }
        begin(kind ? "" : "overheads");
        if (n)
            printf("%12s  T%d %s, mean of %s\n", time_text(sum / (double)n).text, kind + 1, what[kind],
                   count_text(n).text);
        else
            printf("%12s  T%d %s\n", "none", kind + 1, what[kind]);
    }
}

static void print_next(const char *trace, const char *output) {
    printf("\nnext:\n");
    if (output)
        printf("  tables: %s\n  human-readable: major_device_results.txt\n",
               short_path(output, screen_columns() - 21).text);
    else
        printf("  sutra analyze dlrm %s -o results   all tables\n", typed_path(trace, COMMAND_WIDTH));
    printf("  sutra critical-path %s   critical path of a step\n", typed_path(trace, COMMAND_WIDTH));
}

void dlrm_page_print(const struct sutra_dlrm *dlrm, const char *trace, const char *output) {
    struct dlrm_page page = {.dlrm = dlrm, .report.size = sizeof page.report};
    sutra_dlrm_report(dlrm, &page.report);
    const struct sutra_dlrm_stream *stream = next_fullest(&page.report, NULL);
    print_head(&page, trace);
    print_queries(&page);
    print_launches(&page);
    print_device(&page);
    if (stream) {
        print_top(&page, stream);
        print_dominating(&page, stream);
    }
    print_overheads(&page);
    print_next(trace, output);
}
