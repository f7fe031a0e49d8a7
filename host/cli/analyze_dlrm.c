/*
 * analyze_dlrm.c - `sutra analyze dlrm`: a device trace in; a page on the terminal and a folder of results out.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/analysis_job.h"
#include "cli/dlrm_page.h"
#include "cli/paths.h"

struct dlrm_values {
    struct analysis_values analysis;
    const char *model, *marker, *percentage, *time;
    uint64_t iters, skip_iters, batch;
    bool compat, whole;
};

#define AT(field) .offset = offsetof(struct dlrm_values, field)

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(analysis.output),
     .help = "write the results into the folder DIR, which is made, and report.html with its charts"},
    {"iters", 'n', OPTION_NUMBER, "N", AT(iters), .minimum = 1, .maximum = UINT32_MAX,
     .help = "cut N iterations out of the trace, or, if it has not as many, say that it has N (default: 10 if it has, "
             "else as many as it shows)"},
    {"skip-iters", 0, OPTION_NUMBER, "M", AT(skip_iters), .maximum = UINT32_MAX,
     .help = "iterations before those that are cut out (default: 50)"},
    {"percentage", 0, OPTION_TEXT, "FROM:TO", AT(percentage),
     .help = "cut out the events that begin between these percentages of the time instead"},
    {"time", 0, OPTION_TEXT, "FROM:TO", AT(time),
     .help = "cut out the events that begin between these times instead, in microseconds as in the trace"},
    {"whole", 0, OPTION_FLAG, AT(whole), .help = "cut nothing out"},
    {"batch", 'b', OPTION_NUMBER, "B", AT(batch), .minimum = 1, .maximum = UINT32_MAX,
     .help = "queries in an iteration (default: 2048)"},
    {"model", 'm', OPTION_TEXT, "NAME", AT(model),
     .help = "the model's name, for overheads_NAME.json (default: the trace's name)"},
    {"module-marker", 0, OPTION_TEXT, "TEXT", AT(marker),
     .help = "how names of labels begin, by which the main thread is found (default: '## ', or ProfilerStep where no "
             "name begins so)"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "reproduce the numbers of the original, which takes ids of operators for ids of launches"},
    {"no-report", 0, OPTION_FLAG, AT(analysis.no_report), .help = "write only the results"},
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
        return message_fail(SUTRA_USAGE, "--%s: '%s' is not FROM:TO, two rising numbers", option, text);
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
        return message_fail(SUTRA_USAGE, "only one of --whole, --percentage and --time can be given");
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

/* What lives while a trace is analyzed. */
struct job {
    const struct dlrm_values *values;
    const char *input;
    struct analysis_job analysis;
    struct sutra_device_trace *trace;
    struct sutra_dlrm *dlrm;
};

static enum sutra_status write_report(struct job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status = sutra_report_write_dlrm(job->analysis.context, job->dlrm, job->input,
                                                       job->values->analysis.output, &n_bytes, error);
    job->analysis.figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status job_run(struct job *job, const struct sutra_dlrm_options *options_of_dlrm,
                                 struct sutra_error *error) {
    const char *output = job->values->analysis.output;
    struct analysis_job *analysis = &job->analysis;
    enum sutra_status status = analysis_job_open(analysis, error);
    if (!status)
        status = sutra_device_trace_read(analysis->context, job->input, &job->trace, error);
    if (!status)
        status = sutra_dlrm_analyze(analysis->context, job->trace, options_of_dlrm, &job->dlrm, error);
    if (!status && output)
        status = sutra_dlrm_write(analysis->context, job->dlrm, output, job->values->model,
                                  &analysis->figures.output_bytes, error);
    if (!status && output && !job->values->analysis.no_report)
        status = write_report(job, error);
    progress_clear(&analysis->watch.progress);
    return status;
}

/* ---- Figures ---- */

static void print_stats(FILE *file, const void *result) {
    const struct job *job = result;
    struct sutra_dlrm_report report;
    sutra_dlrm_report(job->dlrm, &report);
    const struct named_count counts[] = {
        {"n_events", report.n_events},
        {"n_host_events", report.n_nodes},
        {"n_operators", report.n_ops},
        {"n_launches", report.n_launches},
        {"n_launches_executed", report.n_launches_executed},
        {"n_streams", report.n_streams},
        {"n_without_ts", report.n_without_ts},
        {"n_negative", report.n_negative},
        {"n_odd_tid", report.n_odd_tid},
        {"n_crossing", report.n_crossing},
        {"n_hidden", report.n_hidden},
        {"n_orphans", report.n_orphans},
        {"n_without_stream", report.n_without_stream},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &job->analysis.figures);
}

static int job_tell(struct job *job) {
    analysis_job_measure(&job->analysis, path_size(job->input), path_size(job->input));
    if (!job->values->analysis.quiet)
        dlrm_page_print(job->dlrm, job->input, job->values->analysis.output);
    return analysis_job_close(&job->analysis, print_stats, job);
}

/* ---- The command ---- */

static int run_job(struct job *job) {
    struct sutra_dlrm_options options_of_dlrm;
    struct sutra_error error;
    int exit_code = read_options(job->values, &options_of_dlrm);
    if (exit_code == SUTRA_OK)
        exit_code = analysis_values_place(&job->values->analysis, &job->input, 1);
    if (exit_code == SUTRA_OK && job_run(job, &options_of_dlrm, &error))
        exit_code = message_error(&error);
    return exit_code == SUTRA_OK ? job_tell(job) : exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct dlrm_values values = {.skip_iters = 50};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = analysis_values_check(&values.analysis, &operands, command)) != SUTRA_OK)
        return exit_code;
    struct job job = {.values = &values, .input = operands.words[0], .analysis = analysis_job_start(&values.analysis)};
    exit_code = run_job(&job);
    sutra_dlrm_free(job.dlrm);
    sutra_device_trace_free(job.trace);
    sutra_context_free(job.analysis.context);
    return exit_code;
}

static const char *const synopses[] = {"TRACE [-o DIR] [OPTIONS]", NULL};
static const char *const description[] = {
    "Says where host and device time goes in the device trace TRACE: queries per second, device time of operators and "
    "of labels and modules, the operators that dominate each stream, idle and overlapping time of streams, and the "
    "overheads of the host, T1 to T5. The analysis is that of ml_perf_model's notebook for DLRM.",
    "Iterations begin with events named DataLoader or ## Forward ##. Launches and kernels are matched by their "
    "correlation; the original matches them by external ids, which in many traces are those of operators too.",
    NULL,
};
static const struct example examples[] = {
    {"sutra analyze dlrm device.json.gz", "print the page"},
    {"sutra analyze dlrm device.json.gz --iters 10 --skip-iters 50 -o results",
     "ten iterations after fifty, with all tables"},
    {"sutra analyze dlrm device.json.gz --compat -o results", "the numbers of the original"},
    {0},
};

const struct command analyze_dlrm_command = {
    .name = "dlrm",
    .called = "sutra analyze dlrm",
    .summary = "queries per second, device time by operator, host overheads",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
