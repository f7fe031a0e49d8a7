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
#include "cli/analyze/analysis.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

/*
 * Prints the terminal report of `sutra analyze dlrm`: the most important results first, in one to a few
 * lines each.
 */

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

static void print_head_dlrm_page(const struct dlrm_page *page, const char *trace) {
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
static void print_overheads_dlrm_page(const struct dlrm_page *page) {
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

static void print_next_dlrm_page(const char *trace, const char *output) {
    printf("\nnext:\n");
    if (output)
        printf("  tables: %s\n  human-readable: major_device_results.txt\n",
               short_path(output, screen_columns() - 21).text);
    else
        printf("  sutra analyze dlrm %s -o results   all tables\n", typed_path(trace, COMMAND_WIDTH));
    printf("  sutra critical-path %s   critical path of a step\n", typed_path(trace, COMMAND_WIDTH));
}

/* `output` is the folder of the results, or NULL. */
static void dlrm_page_print(const struct sutra_dlrm *dlrm, const char *trace, const char *output) {
    struct dlrm_page page = {.dlrm = dlrm, .report.size = sizeof page.report};
    sutra_dlrm_report(dlrm, &page.report);
    const struct sutra_dlrm_stream *stream = next_fullest(&page.report, NULL);
    print_head_dlrm_page(&page, trace);
    print_queries(&page);
    print_launches(&page);
    print_device(&page);
    if (stream) {
        print_top(&page, stream);
        print_dominating(&page, stream);
    }
    print_overheads_dlrm_page(&page);
    print_next_dlrm_page(trace, output);
}

/*
 * Prints the terminal report of `sutra analyze dlrm` for several ranks: one line per rank, and the
 * overheads over all ranks.
 */

#define N_LINES 16 /* of ranks */

static void print_head_dlrm_ranks_page(const struct sutra_dlrm_ranks *ranks) {
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
}

/* Means of T1..T5, the rest of a line. */
static void print_overheads_dlrm_ranks_page(const double *us) {
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        printf(" %9s", isnan(us[kind]) ? "-" : time_text(us[kind]).text);
    putchar('\n');
}

static void print_rank(const struct sutra_dlrm_rank *rank) {
    const struct sutra_dlrm_report *report = rank->report;
    printf("  %6" PRId64, rank->rank);
    if (isnan(report->qps))
        printf(" %12s %10s", "-", "-");
    else
        printf(" %12.2f %10s", report->qps, time_text(report->host_us / (double)report->iters).text);
    printf(" %7s", report->has_streams ? share_text(report->union_us, report->host_us).text : "-");
    printf(" %7s", report->has_streams ? share_text(report->idle_us, report->span_us).text : "-");
    print_overheads_dlrm_ranks_page(rank->overhead_us);
}

static void print_together(const struct sutra_dlrm_ranks *ranks) {
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
    print_overheads_dlrm_ranks_page(sum);
}

static void print_table(const struct sutra_dlrm_ranks *ranks) {
    const struct sutra_dlrm_rank *rank;
    size_t n = 0;
    printf("  %6s %12s %10s %7s %7s %9s %9s %9s %9s %9s\n", "rank", "queries/s", "iteration", "busy", "idle", "T1",
           "T2", "T3", "T4", "T5");
    for (; (rank = sutra_dlrm_ranks_get(ranks, n)) && !rank->reason; n++)
        if (n < N_LINES)
            print_rank(rank);
    if (n > N_LINES)
        printf("  %6s %zu more\n", "", n - N_LINES);
    print_together(ranks);
}

static void print_next_dlrm_ranks_page(const char *output) {
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

/* `output` is the folder of the results, or NULL. */
static void dlrm_ranks_page_print(const struct sutra_dlrm_ranks *ranks, const char *output) {
    print_head_dlrm_ranks_page(ranks);
    print_table(ranks);
    print_next_dlrm_ranks_page(output);
}

struct dlrm_values {
    struct analysis_values analysis;
    const char *model, *marker, *percentage, *time, *iteration_time;
    uint64_t iters, skip_iters, batch;
    bool compat, whole;
};

#define AT(field) .offset = offsetof(struct dlrm_values, field)

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(analysis.job.output),
     .help = "write the results and dlrm.html with charts into directory DIR; for several traces, write one directory "
             "per rank, and the overheads of all ranks into DIR"},
    {"iters", 'n', OPTION_NUMBER, "N", AT(iters), .minimum = 1, .maximum = UINT32_MAX,
     .help =
         "analyze N iterations; if the trace has fewer, analyze the full trace as N iterations (default: 10, or the "
         "number of detected iterations)"},
    {"skip-iters", 0, OPTION_NUMBER, "M", AT(skip_iters), .maximum = UINT32_MAX,
     .help = "skip the first M iterations (default: 50)"},
    {"percentage", 0, OPTION_TEXT, "FROM:TO", AT(percentage),
     .help = "analyze the events that start between these percentages of the trace time instead"},
    {"time", 0, OPTION_TEXT, "FROM:TO", AT(time),
     .help = "analyze the events that start between these trace timestamps (microseconds) instead"},
    {"full-trace", 0, OPTION_FLAG, AT(whole), .help = "analyze the full trace"},
    {"batch", 'b', OPTION_NUMBER, "B", AT(batch), .minimum = 1, .maximum = UINT32_MAX,
     .help = "set the batch size: B queries per iteration (default: 2048)"},
    {"iteration-time", 0, OPTION_TEXT, "US", AT(iteration_time),
     .help = "set the iteration time without profiler, in microseconds, for the stream shares in summary.log (default: "
             "CPU time in the trace)"},
    {"model", 'm', OPTION_TEXT, "NAME", AT(model),
     .help = "set the model name, for overheads_NAME.json (default: name of the trace)"},
    {"module-marker", 0, OPTION_TEXT, "TEXT", AT(marker),
     .help =
         "find the main thread by labels whose name begins with TEXT, and select threads as the notebook, which skips "
         "some calls (default: '## ', else ProfilerStep, and all threads)"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "reproduce the numbers of the notebook, which confuses operator ids with launch ids"},
    ANALYSIS_ROWS_PART,
    ANALYSIS_ROWS_SHARE,
    ANALYSIS_ROWS_WHERE,
    ANALYSIS_ROWS_HOW,
    {0},
};

/* Reads "FROM:TO". */
static int read_span(const char *option, const char *text, struct sutra_dlrm_options *dlrm) {
    char *end = NULL;
    dlrm->from = strtod(text, &end);
    bool ok = end != text && *end == ':' && end[1];
    if (ok)
        dlrm->to = strtod(end + 1, &end);
    if (!ok || *end || !(dlrm->from < dlrm->to))
        return message_fail(SUTRA_USAGE, "--%s: '%s' is not FROM:TO, two ascending numbers", option, text);
    return SUTRA_OK;
}

static int read_iteration_time(const char *text, struct sutra_dlrm_options *dlrm) {
    char *end = NULL;
    dlrm->iteration_us = strtod(text, &end);
    if (end == text || *end || !(dlrm->iteration_us > 0 && dlrm->iteration_us < 1e18))
        return message_fail(SUTRA_USAGE, "--iteration-time: '%s' is not a time in microseconds", text);
    return SUTRA_OK;
}

static int read_options(const struct dlrm_values *values, struct sutra_dlrm_options *dlrm) {
    *dlrm = (struct sutra_dlrm_options){.size = sizeof *dlrm,
                                        .compat = values->compat,
                                        .module_marker = values->marker,
                                        .iters = values->iters,
                                        .skip_iters = values->skip_iters,
                                        .batch = values->batch};
    if ((values->whole != 0) + (values->percentage != NULL) + (values->time != NULL) > 1)
        return message_fail(SUTRA_USAGE, "--full-trace, --percentage and --time exclude each other");
    if (values->iteration_time && read_iteration_time(values->iteration_time, dlrm) != SUTRA_OK)
        return SUTRA_USAGE;
    if (values->whole)
        dlrm->trim = SUTRA_TRIM_NONE;
    if (values->percentage) {
        dlrm->trim = SUTRA_TRIM_PERCENTAGE;
        return read_span("percentage", values->percentage, dlrm);
    }
    if (values->time) {
        dlrm->trim = SUTRA_TRIM_TIME;
        return read_span("time", values->time, dlrm);
    }
    return SUTRA_OK;
}

/* What lives while traces are analyzed. */
struct dlrm_job {
    struct analysis_run run;
    struct dlrm_values values;
    struct sutra_device_trace *trace; /* of one */
    struct sutra_dlrm *dlrm;
    struct sutra_dlrm_ranks *ranks; /* of several */
    struct sutra_dlrm_options options;
    bool no_report; /* asked for: who leaves the results to another process writes reports, too */
};

static enum sutra_status write_results(struct dlrm_job *job, struct sutra_context *context,
                                       const struct sutra_dlrm *dlrm, const char *trace, const char *folder,
                                       struct sutra_error *error) {
    uint64_t n_bytes = 0, n_report_bytes = 0;
    enum sutra_status status = sutra_dlrm_write(context, dlrm, folder, job->values.model, &n_bytes, error);
    if (!status && !job->no_report)
        status = sutra_report_write_dlrm(context, dlrm, trace, folder, &n_report_bytes, error);
    job->run.job.figures.output_bytes += n_bytes + n_report_bytes;
    return status;
}

static enum sutra_status run_one(struct dlrm_job *job, const struct sutra_dlrm_options *options_of_dlrm,
                                 struct sutra_error *error) {
    const char *output = job->run.results.target, *input = job->run.traces.paths[0];
    struct sutra_context *context = job->run.job.context;
    enum sutra_status status = sutra_device_trace_read(context, input, &job->trace, error);
    if (!status)
        status = sutra_device_trace_restrict(context, job->trace, &job->run.part.restriction, error);
    if (!status)
        status = sutra_dlrm_analyze(context, job->trace, options_of_dlrm, &job->dlrm, error);
    return !status && output ? write_results(job, context, job->dlrm, input, job->run.results.path, error) : status;
}

/* ---- Many ranks ---- */

/* Which rank a trace is of does not matter, unless somebody asks for one. */
static bool is_one(const struct dlrm_job *job) {
    return job->run.traces.n == 1 && job->run.part.restriction.n_ranks == 0;
}

/* One rank is done: here, or (without an analysis) in another process. */
static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                 const struct sutra_dlrm_rank *rank, struct sutra_error *error) {
    struct dlrm_job *job = arg;
    char folder[SHARE_PATH_MAX];
    bool is_left = dlrm && job->run.share.is_on;
    if (is_left)
        analysis_share_files(&job->run.share, rank->place, folder);
    else
        snprintf(folder, sizeof folder, "%s/rank%" PRId64, job->run.results.path, rank->rank);
    if (is_left) /* of a part that was called before */
        result_folder_remove(folder);
    if (!dlrm)
        return analysis_share_copy(&job->run.share, context, rank->place, folder, error);
    if (!path_make_folder(folder))
        return error_file(error, SUTRA_NO_OUTPUT, folder, "cannot create the directory: %s", strerror(errno));
    return write_results(job, context, dlrm, rank->path, folder, error);
}

static enum sutra_status run_many(struct dlrm_job *job, const struct sutra_dlrm_options *options_of_dlrm,
                                  struct sutra_error *error) {
    const char *output = job->values.analysis.job.output;
    const struct sutra_dlrm_ranks_options ranks_options = {.size = sizeof ranks_options,
                                                           .dlrm = options_of_dlrm,
                                                           .visit = output || job->run.share.is_on ? on_rank : NULL,
                                                           .arg = job,
                                                           .restriction = &job->run.part.restriction};
    uint64_t n_bytes = 0;
    enum sutra_status status = sutra_dlrm_ranks_run(job->run.job.context, (const char *const *)job->run.traces.paths,
                                                    job->run.traces.n, &ranks_options, &job->ranks, error);
    if (!status && output)
        status = sutra_dlrm_ranks_write(job->run.job.context, job->ranks, job->run.results.path, job->values.model,
                                        &n_bytes, error);
    job->run.job.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status work(struct analysis_run *run, struct sutra_error *error) {
    struct dlrm_job *job = (struct dlrm_job *)run;
    return (is_one(job) ? run_one : run_many)(job, &job->options, error);
}

/* ---- Figures ---- */

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

static void print_counts(FILE *file, const struct analysis_run *run) {
    const struct dlrm_job *job = (const struct dlrm_job *)run;
    const struct sutra_dlrm_rank *rank;
    struct named_count of_ranks[] = {{"n_ranks", 0}, {"n_skipped", 0}}, sums[N_COUNTS] = {{0}};
    if (job->ranks) {
        for (size_t i = 0; (rank = sutra_dlrm_ranks_get(job->ranks, i)); i++) {
            of_ranks[rank->reason != NULL].count++;
            add_counts(sums, rank->report);
        }
    } else {
        struct sutra_dlrm_report report = {.size = sizeof report};
        sutra_dlrm_report(job->dlrm, &report);
        add_counts(sums, &report);
    }
    run_counts_print_json(file, of_ranks, job->ranks ? 2 : 0, sums, N_COUNTS);
}

static void print(const struct analysis_run *run) {
    const struct dlrm_job *job = (const struct dlrm_job *)run;
    if (run->values->job.quiet)
        return;
    if (job->ranks)
        dlrm_ranks_page_print(job->ranks, run->values->job.output);
    else
        dlrm_page_print(job->dlrm, run->traces.paths[0], run->values->job.output);
}

/* ---- The command ---- */

/* Takes the options, and tells whether the traces may be worked on so. */
static int check(struct analysis_run *run, bool is_shared) {
    struct dlrm_job *job = (struct dlrm_job *)run;
    int exit_code = read_options(&job->values, &job->options);
    job->no_report = run->values->no_report;
    if (exit_code == SUTRA_OK && run->values->open && !is_one(job))
        exit_code =
            message_fail(SUTRA_USAGE, "--open needs a single trace: for several traces, each rank has its own report");
    if (exit_code == SUTRA_OK && is_shared && is_one(job))
        exit_code =
            message_fail(SUTRA_USAGE, "%s: a single trace cannot be shared between processes", run->traces.paths[0]);
    return exit_code;
}

static const struct analysis_kind kind = {
    .page = PAGE_DLRM, .check = check, .work = work, .print = print, .print_counts = print_counts};

int dlrm_run_shared(const struct command *command, int argc, char **argv, const struct job_team *processes) {
    struct dlrm_job job = {.values = {.analysis.job.stages = analysis_stages, .skip_iters = 50}};
    int exit_code = analysis_run(&kind, &job.run, &job.values.analysis, command, argc, argv, processes);
    sutra_dlrm_free(job.dlrm);
    sutra_device_trace_free(job.trace);
    sutra_dlrm_ranks_free(job.ranks);
    analysis_run_free(&job.run);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    return dlrm_run_shared(command, argc, argv, NULL);
}

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
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = OPERANDS_ANY,
    .run = run,
};
