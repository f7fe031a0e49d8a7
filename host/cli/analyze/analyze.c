/*
 * analyze.c - `sutra analyze`: findings and time breakdown of a job; the subcommands, such as `sutra analyze hta
 * TRACE...`, are in files analyze_*.c.
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "sutra/analyze.h"
#include "sutra/overview.h"
#include "sutra/report.h"
#include "text/quantities.h"
#include "write/json.h"

enum overview_format { OVERVIEW_TEXT, OVERVIEW_JSON, OVERVIEW_MARKDOWN };

struct overview_analysis {
    struct analysis analysis;
    struct sutra_overview_options options;
    int format; /* enum overview_format */
    bool details, keep_paths;
    const char *fail_above;
    struct sutra_overview *overview;
    struct role_trend trend; /* of all windows of a run */
};

#define N_TOP      3
#define NAME_WIDTH 40
#define MIN_IDLE   1.0 /* percent of the window: smaller shares of idle time are not printed */

static struct sutra_column column_of(const struct sutra_overview *overview, enum sutra_overview_table id,
                                     const char *name) {
    return column_named(sutra_result_table(SUTRA_RESULT(overview), id, NULL), name);
}

static uint64_t n_rows(const struct sutra_overview *overview, enum sutra_overview_table id) {
    return sutra_table_rows(sutra_result_table(SUTRA_RESULT(overview), id, NULL));
}

/* ---- Details below the verdict: windows, steps, GPU time by kind, operators and kernels ---- */

static void print_ranks(const struct sutra_overview *overview) {
    struct sutra_column ranks = column_of(overview, SUTRA_OVERVIEW_RANKS, "rank"),
                        traces = column_of(overview, SUTRA_OVERVIEW_RANKS, "trace"),
                        windows = column_of(overview, SUTRA_OVERVIEW_RANKS, "window_us"),
                        steps = column_of(overview, SUTRA_OVERVIEW_RANKS, "steps");
    uint64_t n = n_rows(overview, SUTRA_OVERVIEW_RANKS);
    if (n == 0)
        return;
    printf("\nrank %" PRId64 ": %s\n", ranks.integers[0], short_path(sutra_column_text(&traces, 0), 68).text);
    if (n > 1)
        printf("the first of %s ranks; the verdict above is of all ranks\n", count_text(n).text);
    printf("  %-11s %11s %7s  ", "window", time_text(windows.reals[0]).text, "");
    if (steps.integers[0])
        printf("%s, %s each\n", counted_text((uint64_t)steps.integers[0], "step", "steps").text,
               time_text(windows.reals[0] / (double)steps.integers[0]).text);
    else
        puts("full trace: no ProfilerStep");
}

/* Prints the steps of the first rank, if it has several. */
static void print_steps(const struct sutra_overview *overview) {
    const enum sutra_overview_table id = SUTRA_OVERVIEW_STEP_RANKS;
    struct sutra_column counts = column_of(overview, id, "steps"), means = column_of(overview, id, "mean_us"),
                        medians = column_of(overview, id, "median_us"), slowest = column_of(overview, id, "slowest_us"),
                        steps = column_of(overview, id, "slowest_step"), causes = column_of(overview, id, "cause"),
                        more = column_of(overview, id, "more_us");
    if (n_rows(overview, id) == 0 || counts.integers[0] < 2)
        return;
    printf("  %-11s %11s %7s  mean of %s, median %s\n", "steps", time_text(means.reals[0]).text, "",
           counted_text((uint64_t)counts.integers[0], "step", "steps").text, time_text(medians.reals[0]).text);
    printf("  %-11s %11s %7s  %s\n", "slowest", time_text(slowest.reals[0]).text, "",
           short_text(sutra_column_text(&steps, 0), NAME_WIDTH).text);
    if (*sutra_column_text(&causes, 0))
        printf("  %-11s %11s %7s  above the median step (%s)\n", "", time_text(more.reals[0]).text, "",
               sutra_column_text(&causes, 0));
}

/* Prints the GPU time of the first rank by kind. */
static void print_timeline(const struct sutra_overview *overview) {
    struct sutra_column ranks = column_of(overview, SUTRA_OVERVIEW_TIMELINE, "rank"),
                        names = column_of(overview, SUTRA_OVERVIEW_TIMELINE, "kind"),
                        times = column_of(overview, SUTRA_OVERVIEW_TIMELINE, "time_us"),
                        shares = column_of(overview, SUTRA_OVERVIEW_TIMELINE, "percent");
    for (uint64_t row = 0; row < n_rows(overview, SUTRA_OVERVIEW_TIMELINE); row++) {
        const char *name = sutra_column_text(&names, row);
        bool is_idle = strncmp(name, "idle: ", 6) == 0;
        if (ranks.integers[row] != ranks.integers[0] || (is_idle && !(shares.reals[row] >= MIN_IDLE)))
            continue;
        printf("  %-11s %11s %7s  %s%s\n", row ? "" : "timeline", time_text(times.reals[row]).text,
               share_text(shares.reals[row], isnan(shares.reals[row]) ? 0 : 100).text, is_idle ? "  " : "",
               is_idle ? name + 6 : name);
    }
}

static void print_names(const struct sutra_overview *overview, enum sutra_overview_table id, const char *title) {
    struct sutra_column ranks = column_of(overview, id, "rank"), names = column_of(overview, id, "name"),
                        times = column_of(overview, id, "device_us"), shares = column_of(overview, id, "percent"),
                        counts = column_of(overview, id, "kernels");
    for (uint64_t row = 0; row < n_rows(overview, id) && row < N_TOP && ranks.integers[row] == ranks.integers[0];
         row++) {
        printf("  %-11s %11s %7s  ", row ? "" : title, time_text(times.reals[row]).text,
               share_text(shares.reals[row], 100).text);
        struct shortened name = short_name(sutra_column_text(&names, row), NAME_WIDTH);
        shortened_print(&name, NAME_WIDTH);
        printf(" %s\n", count_text((uint64_t)counts.integers[row]).text);
    }
}

/* Prints the tables of the first rank below the verdict. */
static void print_details(const struct sutra_overview *overview) {
    print_ranks(overview);
    print_steps(overview);
    print_timeline(overview);
    print_names(overview, SUTRA_OVERVIEW_OPERATORS, "operators");
    print_names(overview, SUTRA_OVERVIEW_KERNELS, "kernels");
    if (n_rows(overview, SUTRA_OVERVIEW_GRAPHS))
        print_graphs(sutra_result_table(SUTRA_RESULT(overview), SUTRA_OVERVIEW_GRAPHS, NULL),
                     column_of(overview, SUTRA_OVERVIEW_RANKS, "rank").integers[0]);
}

/* Prints the object as JSON, or the Markdown document. */
static enum sutra_status print_text(const struct sutra_overview *overview, bool is_json, bool keep_paths,
                                    struct sutra_error *error) {
    char *text;
    size_t length;
    TRY(is_json ? sutra_overview_json(overview, &text, &length, error)
                : sutra_overview_markdown(overview, keep_paths, &text, &length, error));
    fwrite(text, 1, length, stdout);
    free(text);
    return SUTRA_OK;
}

/* ---- The analysis ---- */

/* A gate selects all windows. */
static int list_traces(struct analysis *analysis) {
    struct overview_analysis *self = (struct overview_analysis *)analysis;
    struct job *job = &analysis->job;
    struct role_trend *trend = &self->trend;
    const char *window = job->selection.window;
    trend->has_gate = self->fail_above || trend->fail_on_unclear;
    trend->fail_above = (double)NAN;
    if (self->fail_above)
        TRY_CODE(fail_above_parse(self->fail_above, &trend->fail_above));
    if (trend->has_gate && !window)
        window = job->selection.window = "all";
    if ((trend->has_gate || trend->baseline) && !window_is_all(window))
        return message_fail(SUTRA_USAGE,
                            "--baseline, --fail-above and --fail-on-unclear compare all windows: use --window all");
    return job_list_inputs(job, analysis->names);
}

static enum sutra_status work(struct analysis *analysis, struct sutra_error *error) {
    struct overview_analysis *self = (struct overview_analysis *)analysis;
    struct job *job = &analysis->job;
    uint64_t n_bytes = 0;
    self->options.tables = job->output || analysis->is_shared;
    self->options.companion = self->options.tables ? sutra_hta_companion() : NULL;
    self->options.restriction = &analysis->restriction;
    self->options.captures = (const char *const *)analysis->capture_files.paths;
    self->options.n_captures = analysis->capture_files.n;
    if (analysis->role) {
        self->trend.options = &self->options;
        self->trend.overview = &self->overview;
        TRY(role_trend_run(analysis, &self->trend, error));
        if (job->output)
            TRY(role_trend_write(analysis, &self->trend, error));
    } else {
        TRY(sutra_overview_run(job->context, job->inputs, job->n_inputs, &self->options, &self->overview, error));
    }
    if (!job->output)
        return SUTRA_OK;
    /* The tables that cover all ranks: of this analysis, of operators, and of HTA. */
    const struct sutra_result *const results[3] = {SUTRA_RESULT(self->overview),
                                                   SUTRA_RESULT(sutra_overview_operators(self->overview)),
                                                   SUTRA_RESULT(sutra_overview_companion(self->overview))};
    for (size_t i = 0; i < 3; i++)
        TRY(analysis_write_tables(analysis, results[i], RANK_ALL, error));
    if (!analysis->no_report)
        TRY(sutra_report_write_overview(job->context, self->overview, analysis->results.path, &n_bytes, error));
    job->figures.output_bytes += n_bytes;
    return SUTRA_OK;
}

/* Roles as one JSON object, or one screen after another. */
static void between_roles(const struct analysis *analysis, size_t i, size_t n) {
    const struct overview_analysis *self = (const struct overview_analysis *)analysis;
    const char *run = analysis->job.run.run.path;
    if (analysis->shard) /* the process that combines the results prints them */
        return;
    if (self->format == OVERVIEW_JSON) {
        struct text_out text = {.file = stdout};
        struct json_out json = {.text = &text, .indent = JSON_ONE_LINE};
        if (i == 0) {
            out_add(&text, "{\"run\": ");
            json_string(&json, run, strlen(run));
        }
        out_add(&text, i == 0 ? ", \"roles\": [\n" : i < n ? ",\n" : "]}\n");
        out_flush(&text);
        buffer_free(&text.out);
    } else if (i < n && (self->format == OVERVIEW_MARKDOWN || !analysis->job.quiet)) {
        printf(self->format == OVERVIEW_MARKDOWN ? "%s# %s\n\n" : "%sROLE %s\n", i ? "\n" : "",
               analysis->job.run.run.picks[i].role->name);
    }
}

static int report_trend(struct analysis *analysis) {
    const struct overview_analysis *self = (const struct overview_analysis *)analysis;
    const struct role_trend *trend = &self->trend;
    struct sutra_error error;
    enum sutra_status status = SUTRA_OK;
    const bool is_only_object = self->format == OVERVIEW_JSON && analysis->job.run.run.n_picks == 1;
    if (is_only_object)
        between_roles(analysis, 0, 1);
    if (self->format == OVERVIEW_JSON) {
        status = role_trend_print_json(trend, &error);
    } else if (self->format == OVERVIEW_MARKDOWN) {
        role_trend_print_markdown(analysis, trend);
        status = print_text(self->overview, false, self->keep_paths, &error);
    } else if (!analysis->job.quiet) {
        role_trend_print(analysis, trend);
    }
    if (status)
        return message_error(&error);
    if (is_only_object)
        between_roles(analysis, 1, 1);
    const struct named_count counts[] = {{"n_windows", trend->trend.n_windows}, {"n_changes", trend->trend.n_changes}};
    TRY_CODE(analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0));
    return role_trend_report_gate(analysis, trend);
}

static int report(struct analysis *analysis) {
    const struct overview_analysis *self = (const struct overview_analysis *)analysis;
    struct sutra_finding finding;
    uint64_t n_findings = 0;
    struct sutra_error error;
    enum sutra_status status = SUTRA_OK;
    if (analysis->role)
        return report_trend(analysis);
    if (self->format == OVERVIEW_JSON || self->format == OVERVIEW_MARKDOWN)
        status = print_text(self->overview, self->format == OVERVIEW_JSON, self->keep_paths, &error);
    else if (!analysis->job.quiet)
        status = verdict_screen_print(self->overview, analysis->job.output != NULL, &error);
    if (status)
        return message_error(&error);
    if (self->format == OVERVIEW_TEXT && self->details && !analysis->job.quiet)
        print_details(self->overview);
    if (self->format == OVERVIEW_TEXT && !analysis->job.quiet && n_rows(self->overview, SUTRA_OVERVIEW_GRAPHS))
        print_unmatched_graphs(sutra_result_table(SUTRA_RESULT(self->overview), SUTRA_OVERVIEW_GRAPHS, NULL),
                               column_of(self->overview, SUTRA_OVERVIEW_RANKS, "rank").integers[0]);
    while (sutra_overview_finding(self->overview, n_findings, &finding))
        n_findings++;
    const struct named_count counts[] = {{"n_ranks", n_rows(self->overview, SUTRA_OVERVIEW_RANKS)},
                                         {"n_findings", n_findings}};
    return analysis_close(analysis, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    struct overview_analysis *self = (struct overview_analysis *)job;
    trace_list_free(&self->analysis.capture_files);
    sutra_overview_free(self->overview);
    arena_free(&self->trend.trend.arena);
}

/* ---- The command ---- */

static const struct analysis_kind kind = {.page = PAGE_FIRST,
                                          .reads_captures = true,
                                          .between_roles = between_roles,
                                          .list = list_traces,
                                          .work = work,
                                          .report = report};
static const struct overview_analysis defaults = {.analysis = {.kind = &kind, .job.stages = analysis_stages},
                                                  .options.size = sizeof(struct sutra_overview_options)};

static const struct command *const analyses[] = {
    &analyze_collectives_command, &analyze_dlrm_command,      &analyze_hang_command,
    &analyze_hta_command,         &analyze_kernels_command,   &analyze_memory_command,
    &analyze_nsys_command,        &analyze_operators_command, NULL};

static const char *const formats[] = {"text", "json", "markdown", NULL}; /* in the order of enum overview_format */

static const char *const synopses[] = {"TRACE... [OPTIONS]", "ANALYSIS TRACE... [OPTIONS]", NULL};
static const char *const description[] = {
    "Reports why a step is slow, and what it could be, from the device traces of one or many ranks: one screen. At most "
    "five findings, in the order of their savings, name the evidence, the place, the fix and the number to check. The "
    "screen also lists popular suspects that are not the cause, and the time that no finding explains. The rules "
    "prefer a missed finding to a wrong one.",
    "With ANALYSIS, computes the tables and the page of one analysis; see 'sutra analyze ANALYSIS --help'.",
    NULL,
};
static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(job, output),
     .help = "write report.html with charts and a file for each table into directory DIR"},
    {"details", 0, OPTION_FLAG, AT(overview_analysis, details),
     .help = "also print the time breakdown, steps, operators and kernels of the first rank"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(overview_analysis, format), .choices = formats,
     .help = "print text, json with all numbers, or markdown for an issue or an agent (default: text)"},
    {"keep-paths", 0, OPTION_FLAG, AT(overview_analysis, keep_paths),
     .help = "keep absolute paths in markdown (default: file names only)", .group = group_more},
    ANALYSIS_ROW_TABLE_FORMAT,
    {"annotation", 'a', OPTION_TEXT, "NAME", AT(overview_analysis, options.annotation),
     .help = "use the annotations NAME as steps (default: ProfilerStep, or repeating kernel sequences)"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(overview_analysis, options.peaks),
     .help = "read peak rates of the GPU from FILE (default: data sheet of the GPU in the trace)", .group = group_more},
    ANALYSIS_ROW_CAPTURE,
    ANALYSIS_ROWS,
    {"baseline", 0, OPTION_TEXT, "WINDOW", AT(overview_analysis, trend.baseline),
     .help =
         "of all windows of a run, compare with this one: a number, a label, first, or previous, the one before the "
         "default window (default: first)"},
    {"fail-above", 0, OPTION_TEXT, "PERCENT", AT(overview_analysis, fail_above),
     .help = "exit with 1 if the step time of the default window exceeds the baseline by more than PERCENT, beyond "
             "noise; warn if the step time is too noisy to decide; implies --window all"},
    {"fail-on-unclear", 0, OPTION_FLAG, AT(overview_analysis, trend.fail_on_unclear),
     .help = "exit with 1 if the step time is too noisy to decide, and print how many steps to record"},
    {0},
};
static const struct example examples[] = {
    {"sutra analyze device.json.gz", "find the bottlenecks of one rank"},
    {"sutra analyze traces/", "find the bottlenecks of a job, and its straggler"},
    {"sutra analyze traces/ -o why --print-path", "write a report with steps, operators, kernels and all tables"},
    {"sutra analyze device.json.gz --format markdown", "print the verdict for an issue or an agent"},
    {"sutra analyze device.json.gz --format json", "print the verdict and all numbers as JSON"},
    {"sutra analyze device.json.gz --capture capture.json.gz -o why",
     "attribute the kernels of CUDA graphs to operators"},
    {"sutra analyze run/ --window all", "compare the profiling windows of a run: when did the step time change?"},
    {"sutra analyze run/ --fail-above 5% --baseline previous -q", "fail a CI job on a regression of the last window"},
    {"sutra analyze hta traces/ -o tables", "write the tables of Holistic Trace Analysis for all ranks of a job"},
    {0},
};

const struct command analyze_command = {
    .name = "analyze",
    .called = "sutra analyze",
    .summary = "find bottlenecks: why is training slow?",
    .commands = analyses,
    .is_shared = true,
    ANALYSIS_WORK,
    .release = release,
};
