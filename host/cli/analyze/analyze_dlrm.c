/*
 * analyze_dlrm.c - `sutra analyze dlrm`: reads device traces of one or many ranks; prints a report and writes a
 * directory of results, with one subdirectory per rank for many ranks.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "facts/processes.h"
#include "read/device_trace.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

struct dlrm_analysis {
    struct analysis analysis;
    struct sutra_dlrm_options options;
    const char *model, *percentage, *time, *iteration_time;
    bool full_trace;
    bool no_report;                   /* as requested: a process without results also writes the reports of ranks */
    struct sutra_device_trace *trace; /* of a single rank */
    struct sutra_dlrm *dlrm;
    struct sutra_dlrm_ranks *ranks; /* of several ranks */
};

/* ---- The page for one rank: the most important results first, in one to a few lines each ---- */

#define N_TOP         5
#define STREAM_WIDTH  12
#define TOP_WIDTH     27 /* of operators, before their counts */
#define GROUP_WIDTH   31 /* of operators, before their largest share */
#define SHARE_WIDTH   8
#define COMMAND_WIDTH 26 /* of a path in a command */

struct dlrm_page {
    const struct sutra_dlrm *dlrm;
    struct sutra_dlrm_report report;
};

/* Begins a row with its title. */
static void begin_row(const char *title) {
    printf("  %-15s", title);
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

    begin_row("queries");
    if (isnan(report->qps)) {
        printf("unknown: the CPU events have no duration\n");
    } else {
        printf("%.2f per second: %" PRIu64 " x %" PRIu64 " in %s", report->qps, report->iters, report->batch,
               time_text(report->host_us).text);
        if (report->skipped_us > 0)
            printf(",\n  %15s%s of data loading excluded", "", time_text(report->skipped_us).text);
        putchar('\n');
    }
    begin_row("launches");
    printf("%s of ", count_text(report->n_launches_executed).text);
    printf("%s have GPU activity\n", count_text(report->n_launches).text);
}

/* Whether stream a has more GPU time of operators than b; of equal streams the first one. */
static bool is_busier(const struct sutra_dlrm_stream *a, const struct sutra_dlrm_stream *b) {
    return a->active_us != b->active_us ? a->active_us > b->active_us : a < b;
}

/* The busiest stream after `last` (NULL: of all) by descending GPU time, or NULL. */
static const struct sutra_dlrm_stream *next_busiest(const struct sutra_dlrm_report *report,
                                                    const struct sutra_dlrm_stream *last) {
    const struct sutra_dlrm_stream *found = NULL;
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        if ((!last || is_busier(last, stream)) && (!found || is_busier(stream, found)))
            found = stream;
    }
    return found;
}

static struct shortened stream_name(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    return short_name(sutra_dlrm_text(page->dlrm, stream->name), STREAM_WIDTH + screen_columns_more());
}

static void print_device(const struct dlrm_page *page) {
    const struct sutra_dlrm_report *report = &page->report;
    begin_row("GPU");
    if (!report->has_streams) {
        printf("no GPU activity with a known launch\n");
        return;
    }
    printf("%s busy; ", time_text(report->union_us).text);
    printf("%s (%s) idle between kernels\n", time_text(report->idle_us).text,
           share_text(report->idle_us, report->span_us).text);
    begin_row("attributed");
    printf("%s of %s to operators (%s)\n", time_text(report->attributed_us).text, time_text(report->device_us).text,
           share_text(report->attributed_us, report->device_us).text);
    begin_row("overlap");
    printf("%s of activities overlap with others (%s of busy time)\n", time_text(report->overlap_us).text,
           share_text(report->overlap_us, report->union_us).text);
    const struct sutra_dlrm_stream *last = NULL;
    for (uint64_t i = 0; i < report->n_streams && i < N_TOP; i++) {
        const struct sutra_dlrm_stream *stream = next_busiest(report, last);
        last = stream;
        begin_row(i ? "" : "streams");
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
    uint32_t n = MIN(stream->n_rows, N_TOP);
    for (uint32_t i = 0; i < n; i++) {
        rows[i] = &page->report.rows[page->report.by_time[stream->first_row + i]];
        names[i] = sutra_dlrm_text(page->dlrm, rows[i]->name);
    }
    short_names(names, n, TOP_WIDTH + screen_columns_more(), shorts);
    begin_row("top");
    printf("root operators of stream %s\n", stream_name(page, stream).text);
    for (uint32_t i = 0; i < n; i++) {
        begin_row("");
        printf("%12s %8s  ", time_text(rows[i]->us).text, share_text(rows[i]->us, stream->active_us).text);
        printf("%s, %s\n", shorts[i].text, counted_text(rows[i]->count, "time", "times").text);
    }
}

static void print_dominating(const struct dlrm_page *page, const struct sutra_dlrm_stream *stream) {
    const struct sutra_dlrm_report *report = &page->report;
    const struct sutra_dlrm_group *groups = &report->groups[stream->first_group];
    const char *names[N_TOP];
    struct shortened shorts[N_TOP];
    uint64_t n = MIN(stream->n_groups, N_TOP);
    for (uint64_t i = 0; i < n; i++) {
        const char *name = sutra_dlrm_text(page->dlrm, groups[i].name);
        names[i] = *name ? name : "labels";
    }
    short_names(names, n, GROUP_WIDTH + screen_columns_more(), shorts);
    for (uint64_t i = 0; i < n; i++) {
        const struct sutra_dlrm_variant *variant = &report->variants[groups[i].first_variant];
        begin_row(i ? "" : "dominating");
        printf("%12s  %s", time_text(groups[i].us).text, shorts[i].text);
        if (variant->n_shares) {
            const struct sutra_dlrm_share *share = &report->shares[variant->first_share];
            const char *legend = sutra_dlrm_text(page->dlrm, share->legend);
            printf(": %s %s", share_text(share->share, 1).text, short_text(legend, SHARE_WIDTH).text);
        }
        putchar('\n');
    }
}

/* Prints the means over all samples of each kind. */
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
        begin_row(kind ? "" : "overheads");
        if (n)
            printf("%12s  T%d %s, mean of %s\n", time_text(sum / (double)n).text, kind + 1, what[kind],
                   count_text(n).text);
        else
            printf("%12s  T%d %s\n", "none", kind + 1, what[kind]);
    }
}

/* `output`: directory of the results, or NULL. */
static void print_page(const struct sutra_dlrm *dlrm, const char *trace, const char *output) {
    struct dlrm_page page = {.dlrm = dlrm, .report.size = sizeof page.report};
    sutra_dlrm_report(dlrm, &page.report);
    const struct sutra_dlrm_stream *stream = next_busiest(&page.report, NULL);
    print_head(&page, trace);
    print_device(&page);
    if (stream) {
        print_top(&page, stream);
        print_dominating(&page, stream);
    }
    print_overheads(&page);
    printf("\nnext:\n");
    if (output)
        printf("  tables: %s\n  human-readable: major_device_results.txt\n",
               short_path(output, screen_columns() - 21).text);
    else
        printf("  sutra analyze dlrm %s -o results   all tables\n", typed_path(trace, COMMAND_WIDTH));
    printf("  sutra critical-path %s   critical path of a step\n", typed_path(trace, COMMAND_WIDTH));
}

/* ---- The page for several ranks: one line per rank, and the overheads over all ranks ---- */

#define N_LINES 16 /* ranks shown */

/* Prints means of T1 to T5, and ends the line. */
static void print_means(const double *us) {
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        printf(" %9s", isnan(us[kind]) ? "-" : time_text(us[kind]).text);
    putchar('\n');
}

/* `output`: directory of the results, or NULL. */
static void print_ranks_page(const struct sutra_dlrm_ranks *ranks, const char *output) {
    const struct sutra_dlrm_rank *rank;
    uint64_t n_ranks = 0, n_skipped = 0, n_events = 0, n_ops = 0;
    for (size_t i = 0; (rank = sutra_dlrm_ranks_get(ranks, i)); i++) {
        n_ranks += !rank->reason;
        n_skipped += rank->reason != NULL;
        n_events += rank->report->n_events;
        n_ops += rank->report->n_ops;
    }
    printf("%s: ", counted_text(n_ranks, "rank", "ranks").text);
    printf("%s, ", counted_text(n_events, "event", "events").text);
    printf("%s\n", counted_text(n_ops, "operator", "operators").text);
    if (n_skipped > 0)
        printf("%s skipped; see the warnings\n", counted_text(n_skipped, "trace", "traces").text);
    putchar('\n');

    size_t n_shown = 0;
    printf("  %6s %12s %10s %7s %7s %9s %9s %9s %9s %9s\n", "rank", "queries/s", "iteration", "busy", "idle", "T1",
           "T2", "T3", "T4", "T5");
    for (; (rank = sutra_dlrm_ranks_get(ranks, n_shown)) && !rank->reason; n_shown++) {
        if (n_shown >= N_LINES)
            continue;
        const struct sutra_dlrm_report *report = rank->report;
        printf("  %6" PRId64, rank->rank);
        if (isnan(report->qps))
            printf(" %12s %10s", "-", "-");
        else
            printf(" %12.2f %10s", report->qps, time_text(report->host_us / (double)report->iters).text);
        printf(" %7s", report->has_streams ? share_text(report->union_us, report->host_us).text : "-");
        printf(" %7s", report->has_streams ? share_text(report->idle_us, report->span_us).text : "-");
        print_means(rank->overhead_us);
    }
    if (n_shown > N_LINES)
        printf("  %6s %zu more\n", "", n_shown - N_LINES);

    /* Means over all ranks. */
    uint64_t n_rows;
    const struct sutra_dlrm_overhead *rows = sutra_dlrm_ranks_overheads(ranks, &n_rows);
    double sum[SUTRA_N_OVERHEADS] = {0}, n[SUTRA_N_OVERHEADS] = {0};
    for (uint64_t i = 0; i < n_rows; i++) {
        if (rows[i].n == 0)
            continue;
        sum[rows[i].kind] += rows[i].mean_us * (double)rows[i].n;
        n[rows[i].kind] += (double)rows[i].n;
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        sum[kind] = n[kind] > 0 ? sum[kind] / n[kind] : NAN;
    printf("  %6s %12s %10s %7s %7s", "all", "", "", "", "");
    print_means(sum);

    printf("\n  iteration: CPU time without data loading; busy: any stream, share of CPU time\n"
           "  idle: share of the time between first and last kernel; T1 between operators,\n"
           "  T2 operator start to first launch, T3 last launch to operator end,\n"
           "  T4 launch call, T5 between launches\n"
           "\nnext:\n");
    if (output)
        printf("  tables: %s, with one directory per rank\n"
               "  overheads of all ranks: overheads_merged.json; this table: ranks.csv\n",
               output);
    else
        printf("  sutra analyze dlrm TRACE... -o results   all tables\n");
    printf("  sutra analyze dlrm TRACE   time of one rank\n");
}

/* ---- The analysis ---- */

/* A single trace has no rank, unless it has several, or ranks are selected, or processes share them. */
static bool may_be_single(const struct dlrm_analysis *self) {
    return self->analysis.job.n_inputs == 1 && self->analysis.restriction.n_ranks == 0 &&
           !analysis_is_shared(&self->analysis);
}

static const char several_reports[] =
    "--print-path needs a single trace: for several traces, each rank has its own report";

/* Parses "FROM:TO". */
static int parse_range(const char *option, const char *text, struct sutra_dlrm_options *dlrm) {
    char *end = NULL;
    dlrm->from = strtod(text, &end);
    bool ok = end != text && *end == ':' && end[1];
    if (ok)
        dlrm->to = strtod(end + 1, &end);
    if (!ok || *end || !(dlrm->from < dlrm->to))
        return message_fail(SUTRA_USAGE, "--%s: '%s' is not FROM:TO, two ascending numbers", option, text);
    return SUTRA_OK;
}

static int check(struct analysis *analysis) {
    struct dlrm_analysis *self = (struct dlrm_analysis *)analysis;
    struct sutra_dlrm_options *dlrm = &self->options;
    self->no_report = analysis->no_report;
    if (self->full_trace + (self->percentage != NULL) + (self->time != NULL) > 1)
        return message_fail(SUTRA_USAGE, "--full-trace, --percentage and --time exclude each other");
    if (self->iteration_time) {
        char *end = NULL;
        dlrm->iteration_us = strtod(self->iteration_time, &end);
        if (end == self->iteration_time || *end || !(dlrm->iteration_us > 0 && dlrm->iteration_us < 1e18))
            return message_fail(SUTRA_USAGE, "--iteration-time: '%s' is not a time in microseconds",
                                self->iteration_time);
    }
    if (self->full_trace)
        dlrm->trim = SUTRA_TRIM_NONE;
    if (self->percentage) {
        dlrm->trim = SUTRA_TRIM_PERCENTAGE;
        TRY_CODE(parse_range("percentage", self->percentage, dlrm));
    } else if (self->time) {
        dlrm->trim = SUTRA_TRIM_TIME;
        TRY_CODE(parse_range("time", self->time, dlrm));
    }
    return analysis->print_path && !may_be_single(self) ? message_fail(SUTRA_USAGE, "%s", several_reports) : SUTRA_OK;
}

/* Writes the results and the report of a rank. */
static enum sutra_status write_rank(struct dlrm_analysis *self, struct sutra_context *context,
                                    const struct sutra_dlrm *dlrm, const char *trace, const char *folder,
                                    struct sutra_error *error) {
    uint64_t n_bytes = 0, n_report_bytes = 0;
    TRY(sutra_dlrm_write(context, dlrm, folder, self->model, &n_bytes, error));
    if (!self->no_report)
        TRY(sutra_report_write_dlrm(context, dlrm, trace, folder, &n_report_bytes, error));
    self->analysis.job.figures.output_bytes += n_bytes + n_report_bytes;
    return SUTRA_OK;
}

/* A rank is analyzed: by this process, or (dlrm NULL) by another one, which has written its files. */
static enum sutra_status on_rank_done(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                      const struct sutra_dlrm_rank *rank, struct sutra_error *error) {
    struct dlrm_analysis *self = arg;
    struct analysis *analysis = &self->analysis;
    char folder[SHARE_PATH_MAX];
    if (dlrm && analysis->is_shared) {
        analysis_share_files(analysis, rank->place, folder);
        result_folder_remove(folder); /* of an earlier run */
    } else {
        snprintf(folder, sizeof folder, "%s/rank%" PRId64, analysis->results.path, rank->rank);
    }
    if (!dlrm)
        return analysis_share_copy(analysis, rank->place, folder, error);
    if (!path_make_folder(folder))
        return error_os(error, SUTRA_NO_OUTPUT, folder, errno, "cannot create the directory");
    return write_rank(self, context, dlrm, rank->path, folder, error);
}

/* Reads a single trace; one with several ranks is freed, to be read as a job. */
static enum sutra_status read_single(struct dlrm_analysis *self, struct sutra_error *error) {
    struct sutra_context *context = self->analysis.job.context;
    context->keeps_processes = true;
    enum sutra_status status = sutra_device_trace_read(context, self->analysis.job.inputs[0], &self->trace, error);
    context->keeps_processes = false;
    if (status || !processes_are_ranks(self->trace->processes))
        return status;
    sutra_device_trace_free(self->trace);
    self->trace = NULL;
    return self->analysis.print_path ? error_set(error, SUTRA_USAGE, "%s", several_reports) : SUTRA_OK;
}

static enum sutra_status analyze_single(struct dlrm_analysis *self, struct sutra_error *error) {
    const struct analysis *analysis = &self->analysis;
    struct sutra_context *context = analysis->job.context;
    TRY(device_trace_check_events(self->trace, error));
    TRY(sutra_device_trace_restrict(context, self->trace, &analysis->restriction, error));
    TRY(sutra_dlrm_analyze(context, self->trace, &self->options, &self->dlrm, error));
    if (!analysis->results.target)
        return SUTRA_OK;
    return write_rank(self, context, self->dlrm, analysis->job.inputs[0], analysis->results.path, error);
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct dlrm_analysis *self = (struct dlrm_analysis *)analysis;
    struct job *job = &analysis->job;
    struct sutra_context *context = job->context;
    if (may_be_single(self))
        TRY(read_single(self, error));
    if (self->trace)
        return analyze_single(self, error);
    const struct sutra_dlrm_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                           .dlrm = &self->options,
                                                           .visit =
                                                               job->output || analysis->is_shared ? on_rank_done : NULL,
                                                           .arg = self,
                                                           .restriction = &analysis->restriction};
    uint64_t n_bytes = 0;
    TRY(sutra_dlrm_ranks_run(context, job->inputs, job->n_inputs, &ranks_options, &self->ranks, error));
    if (job->output)
        TRY(sutra_dlrm_ranks_write(context, self->ranks, analysis->results.path, self->model, &n_bytes, error));
    job->figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

/* ---- Counts of --stats ---- */

static const struct {
    const char *name;
    size_t offset;
} counts[] = {
#define COUNT(name, field)                                                                                             \
    { name, offsetof(struct sutra_dlrm_report, field) }
    COUNT("n_events", n_events),
    COUNT("n_host_events", n_nodes),
    COUNT("n_operators", n_ops),
    COUNT("n_launches", n_launches),
    COUNT("n_launches_executed", n_launches_executed),
    COUNT("n_streams", n_streams),
    COUNT("n_without_ts", n_without_ts),
    COUNT("n_negative", n_negative),
    COUNT("n_odd_tid", n_odd_tid),
    COUNT("n_crossing", n_crossing),
    COUNT("n_hidden", n_hidden),
    COUNT("n_orphans", n_orphans),
    COUNT("n_without_stream", n_without_stream),
#undef COUNT
};

#define N_COUNTS (sizeof counts / sizeof *counts)

static void add_counts(struct named_count *sums, const struct sutra_dlrm_report *report) {
    for (size_t i = 0; i < N_COUNTS; i++) {
        uint64_t count;
        memcpy(&count, (const char *)report + counts[i].offset, sizeof count);
        sums[i].name = counts[i].name;
        sums[i].count += count;
    }
}

static int report(struct analysis *analysis) {
    const struct dlrm_analysis *self = (const struct dlrm_analysis *)analysis;
    const struct job *job = &analysis->job;
    const struct sutra_dlrm_rank *rank;
    struct named_count rank_counts[] = {{"n_ranks", 0}, {"n_skipped", 0}}, sums[N_COUNTS] = {{0}};
    if (self->ranks) {
        if (!job->quiet)
            print_ranks_page(self->ranks, job->output);
        for (size_t i = 0; (rank = sutra_dlrm_ranks_get(self->ranks, i)); i++) {
            rank_counts[rank->reason != NULL].count++;
            add_counts(sums, rank->report);
        }
        return analysis_close(analysis, rank_counts, COUNT_OF(rank_counts), sums, N_COUNTS);
    }
    struct sutra_dlrm_report report = {.size = sizeof report};
    if (!job->quiet)
        print_page(self->dlrm, job->inputs[0], job->output);
    sutra_dlrm_report(self->dlrm, &report);
    add_counts(sums, &report);
    return analysis_close(analysis, sums, N_COUNTS, NULL, 0);
}

static void release(struct job *job) {
    struct dlrm_analysis *self = (struct dlrm_analysis *)job;
    sutra_dlrm_free(self->dlrm);
    sutra_device_trace_free(self->trace);
    sutra_dlrm_ranks_free(self->ranks);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {
    .page = PAGE_DLRM, .rereads = true, .check = check, .work = work, .report = report};
static const struct dlrm_analysis defaults = {.analysis = {.kind = &kind, .job.stages = analysis_stages},
                                              .options = {.size = sizeof(struct sutra_dlrm_options), .skip_iters = 50}};

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(job, output),
     .help = "write the results and dlrm.html with charts into directory DIR; for several traces, write one directory "
             "per rank, and the overheads of all ranks into DIR"},
    {"iters", 'n', OPTION_NUMBER, "N", AT(dlrm_analysis, options.iters), .minimum = 1, .maximum = UINT32_MAX,
     .help =
         "analyze N iterations; if the trace has fewer, analyze the full trace as N iterations (default: 10, or the "
         "number of detected iterations)"},
    {"skip-iters", 0, OPTION_NUMBER, "M", AT(dlrm_analysis, options.skip_iters), .maximum = UINT32_MAX,
     .help = "skip the first M iterations (default: 50)"},
    {"percentage", 0, OPTION_TEXT, "FROM:TO", AT(dlrm_analysis, percentage),
     .help = "analyze the events that start between these percentages of the trace time instead"},
    {"time", 0, OPTION_TEXT, "FROM:TO", AT(dlrm_analysis, time),
     .help = "analyze the events that start between these trace timestamps (microseconds) instead"},
    {"full-trace", 0, OPTION_FLAG, AT(dlrm_analysis, full_trace), .help = "analyze the full trace"},
    {"batch", 'b', OPTION_NUMBER, "B", AT(dlrm_analysis, options.batch), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the batch size: B queries per iteration (default: 2048)"},
    {"iteration-time", 0, OPTION_TEXT, "US", AT(dlrm_analysis, iteration_time),
     .help = "set the iteration time without profiler, in microseconds, for the stream shares in summary.log (default: "
             "CPU time in the trace)",
     .group = group_more},
    {"model", 'm', OPTION_TEXT, "NAME", AT(dlrm_analysis, model),
     .help = "set the model name, for overheads_NAME.json (default: name of the trace)", .group = group_more},
    {"module-marker", 0, OPTION_TEXT, "TEXT", AT(dlrm_analysis, options.module_marker),
     .help =
         "find the main thread by labels whose name begins with TEXT, and select threads as the notebook, which skips "
         "some calls (default: '## ', else ProfilerStep, and all threads)",
     .group = group_more},
    {"compat", 0, OPTION_FLAG, AT(dlrm_analysis, options.compat),
     .help = "reproduce the numbers of the notebook, which confuses operator ids with launch ids"},
    ANALYSIS_ROWS,
    {0},
};

static const char *const synopses[] = {"TRACE... [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Computes the analysis of ml_perf_model's DLRM notebook from a device trace: queries per second, GPU time of "
    "operators, labels and modules, the dominating operators of each stream, idle and overlapping time of streams, and "
    "the CPU overheads T1 to T5.",
    "Iterations begin with events named DataLoader or ## Forward ##. Launches and kernels are matched by correlation. "
    "The notebook matches them by external id, which in many traces is also an operator id. For GPU time of any model "
    "by operator, shape, category and module, see 'sutra analyze operators'.",
    "For several ranks (plain or compressed files, or directories), prints one line per rank, and the overheads of all "
    "ranks together. The rank of a trace comes from distributedInfo, else from the number after the last 'rank' in the "
    "file name, else from the order of the arguments. A trace that cannot be read is skipped with a warning.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze dlrm device.json.gz", "print the summary"},
    {"sutra analyze dlrm device.json.gz --iters 10 --skip-iters 50 -o results",
     "write all tables of ten iterations after the first fifty"},
    {"sutra analyze dlrm traces/ -o results", "write the tables of each rank, and of all ranks together"},
    {"sutra analyze dlrm device.json.gz --compat -o results", "write the numbers of the notebook"},
    {0},
};

const struct command analyze_dlrm_command = {
    .name = "dlrm",
    .called = "sutra analyze dlrm",
    .summary = "report queries per second, GPU time by operator, CPU overheads",
    .is_shared = true,
    ANALYSIS_WORK,
    .release = release,
};
