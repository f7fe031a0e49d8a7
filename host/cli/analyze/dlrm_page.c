/*
 * dlrm_page.c - the page that `sutra analyze dlrm` prints: what to know first, a line or a few for each.
 */
#include "cli/analyze/dlrm_page.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"

#define N_TOP       5
#define NAME_WIDTH  58
#define TRACE_WIDTH 40

struct dlrm_page {
    const struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
};

/* A text in at most `width` columns, cut with dots; characters stay whole. */
static void print_text(const char *text, size_t width) {
    size_t n = 0, bytes = 0, cut = 0;
    for (; text[bytes]; bytes++) {
        bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (begins && n == width)
            break;
        if (begins && n == width - 3)
            cut = bytes;
        n += begins;
    }
    if (text[bytes])
        printf("%.*s...", (int)cut, text);
    else
        fputs(text, stdout);
}

static void begin(const char *what) {
    printf("  %-15s", what);
}

static void print_head(const struct dlrm_page *page, const char *trace) {
    const struct sutra_dlrm_report *report = &page->report;
    print_text(trace, TRACE_WIDTH);
    printf(": %s events, %s operators, ", count_text(report->n_events).text, count_text(report->n_ops).text);
    printf("%s of %s launches did work\n", count_text(report->n_launches_executed).text,
           count_text(report->n_launches).text);
    if (report->trimmed)
        printf("only a part of the trace is looked at (--whole takes all of it)\n");
    putchar('\n');
}

static void print_queries(const struct dlrm_page *page) {
    const struct sutra_dlrm_report *report = &page->report;
    begin("queries");
    if (isnan(report->qps)) {
        printf("unknown: the host's events take no time\n");
        return;
    }
    printf("%.2f per second: %" PRIu64 " x %" PRIu64 " in %s", report->qps, report->iters, report->batch,
           time_text(report->host_us).text);
    if (report->skipped_us > 0)
        printf(", %s of loading data left out", time_text(report->skipped_us).text);
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

static void print_device(const struct dlrm_page *page) {
    const struct sutra_dlrm_report *report = &page->report;
    begin("device");
    if (!report->has_streams) {
        printf("no work that a launch is known of\n");
        return;
    }
    printf("%s busy, ", time_text(report->union_us).text);
    printf("%s idle between first and last kernel (%s)\n", time_text(report->idle_us).text,
           share_text(report->idle_us, report->span_us).text);
    begin("charged");
    printf("%s of %s device time to the operators that launched it (%s)\n", time_text(report->attributed_us).text,
           time_text(report->device_us).text, share_text(report->attributed_us, report->device_us).text);
    begin("overlap");
    printf("%s of work ran beside other work (%s of busy time)\n", time_text(report->overlap_us).text,
           share_text(report->overlap_us, report->union_us).text);
    const struct sutra_dlrm_stream *last = NULL;
    for (uint64_t i = 0; i < report->n_streams && i < N_TOP; i++) {
        const struct sutra_dlrm_stream *stream = next_fullest(report, last);
        last = stream;
        begin(i ? "" : "streams");
        printf("%12s %8s of the host's time on stream ", time_text(stream->active_us).text,
               share_text(stream->active_us, report->host_us).text);
        print_text(sutra_dlrm_text(page->dlrm, stream->name), 20);
        putchar('\n');
    }
    if (report->n_streams > N_TOP)
        printf("  %15s%12" PRIu64 " more\n", "", report->n_streams - N_TOP);
}

static void print_top(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    begin("top");
    printf("of stream ");
    print_text(sutra_dlrm_text(page->dlrm, stream->name), 20);
    printf(", by what stands below no other\n");
    for (uint32_t i = 0; i < stream->n_rows && i < N_TOP; i++) {
        const struct sutra_dlrm_row *row = &page->report.rows[page->report.by_time[stream->first_row + i]];
        begin("");
        printf("%12s %8s  ", time_text(row->us).text, share_text(row->us, stream->active_us).text);
        print_text(sutra_dlrm_text(page->dlrm, row->name), NAME_WIDTH - 16);
        printf(", %s times\n", count_text(row->count).text);
    }
}

static void print_dominating(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    const struct sutra_dlrm_report *report = &page->report;
    for (uint64_t i = 0; i < stream->n_groups && i < N_TOP; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant];
        const char *name = sutra_dlrm_text(page->dlrm, group->name);
        begin(i ? "" : "dominating");
        printf("%12s           ", time_text(group->us).text);
        print_text(*name ? name : "labels", NAME_WIDTH - 16);
        if (variant->n_shares) {
            const struct sutra_dlrm_share *share = &report->shares[variant->first_share];
            printf(": %s ", share_text(share->share, 1).text);
            print_text(sutra_dlrm_text(page->dlrm, share->legend), 8);
        }
        putchar('\n');
    }
}

/* Means over all samples of a kind. */
static void print_overheads(const struct dlrm_page *page) {
    static const char *const what[] = {"between operators", "from an operator's start to its first launch",
                                       "from the last launch to the operator's end", "of a launch",
                                       "between launches, or an operator without"};
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
    trace = strlen(trace) > TRACE_WIDTH ? "TRACE" : trace;
    printf("\nnext:\n");
    if (output)
        printf("  the tables are in %s; major_device_results.txt is for people\n", output);
    else
        printf("  sutra analyze dlrm %s -o results   all tables\n", trace);
    printf("  sutra critical-path %s   where the time of a step goes\n", trace);
}

void dlrm_page_print(const struct sutra_dlrm *dlrm, const char *trace, const char *output) {
    struct dlrm_page page = {.dlrm = dlrm, .report.size = sizeof page.report};
    sutra_dlrm_report(dlrm, &page.report);
    const struct sutra_dlrm_stream *stream = next_fullest(&page.report, NULL);
    print_head(&page, trace);
    print_queries(&page);
    print_device(&page);
    if (stream) {
        print_top(&page, stream);
        print_dominating(&page, stream);
    }
    print_overheads(&page);
    print_next(trace, output);
}
