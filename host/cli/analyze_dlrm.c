/*
 * analyze_dlrm.c - `sutra analyze dlrm`: a device trace in; a page on the terminal and a folder of results out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/dlrm_page.h"
#include "cli/figures.h"
#include "cli/message.h"
#include "cli/paths.h"
#include "cli/report_place.h"
#include "cli/run_figures.h"
#include "cli/watch.h"
#include "cli/where.h"

struct dlrm_values {
    struct where where;
    const char *output, *model, *marker, *percentage, *time, *stats;
    uint64_t iters, skip_iters, batch;
    bool compat, whole, no_report, open, lenient, quiet, verbose;
};

#define AT(field) .offset = offsetof(struct dlrm_values, field)

static const struct option_row options[] = {
    {"output", 'o', OPTION_FILE, "DIR", AT(output),
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
    {"no-report", 0, OPTION_FLAG, AT(no_report), .help = "write only the results"},
    {"open", 0, OPTION_FLAG, AT(open), .help = "print the path of the report, and its address for a browser"},
    WHERE_ROWS(where),
    {"lenient", 0, OPTION_FLAG, AT(lenient), .help = "take fields of a wrong type as absent instead of failing"},
    {"stats", 0, OPTION_FILE, "FILE", AT(stats),
     .help = "write counts, seconds of each stage and memory to FILE as JSON; - is standard output"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), .help = "no progress and no page, only warnings and errors"},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), .help = "also say what is done and why"},
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
    struct watch watch;
    double begin;
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_dlrm *dlrm;
    struct run_figures figures;
};

static enum sutra_status write_report(struct job *job, struct sutra_error *error) {
    uint64_t n_bytes = 0;
    enum sutra_status status =
        sutra_report_write_dlrm(job->context, job->dlrm, job->input, job->values->output, &n_bytes, error);
    job->figures.output_bytes += n_bytes;
    return status;
}

static enum sutra_status job_run(struct job *job, const struct sutra_dlrm_options *options_of_dlrm,
                                 struct sutra_error *error) {
    const struct dlrm_values *values = job->values;
    struct sutra_context_options context_options = {.size = sizeof context_options, .lenient = values->lenient};
    where_set(&values->where, &context_options);
    watch_attach(&job->watch, &context_options);
    enum sutra_status status = sutra_context_create(&context_options, &job->context, error);
    if (!status)
        status = sutra_device_trace_read(job->context, job->input, &job->trace, error);
    if (!status)
        status = sutra_dlrm_analyze(job->context, job->trace, options_of_dlrm, &job->dlrm, error);
    if (!status && values->output)
        status =
            sutra_dlrm_write(job->context, job->dlrm, values->output, values->model, &job->figures.output_bytes, error);
    if (!status && values->output && !values->no_report)
        status = write_report(job, error);
    progress_clear(&job->watch.progress);
    return status;
}

/* ---- Figures ---- */

static void print_stats(FILE *file, const void *result) {
    const struct job *job = result;
    struct sutra_dlrm_report report;
    sutra_dlrm_report(job->dlrm, &report);
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
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
    size_t n = sizeof counts / sizeof *counts;
    fprintf(file, "{\n  \"version\": \"%s\",\n  \"counts\": {\n", sutra_version());
    for (size_t i = 0; i < n; i++)
        fprintf(file, "    \"%s\": %" PRIu64 "%s\n", counts[i].name, counts[i].count, i + 1 < n ? "," : "");
    fprintf(file, "  },\n");
    run_figures_print_json(file, &job->figures);
}

static int job_tell(struct job *job) {
    const struct dlrm_values *values = job->values;
    run_figures_take(&job->figures, &job->watch, job->begin, job->context, path_size(job->input));
    job->figures.input_bytes = path_size(job->input);
    job->figures.n_threads = where_threads(&values->where);
    if (!values->quiet) {
        dlrm_page_print(job->dlrm, job->input, values->output);
        fprintf(stderr, "%.3f s, %s of memory at the peak\n", job->figures.seconds,
                bytes_text(job->figures.peak_memory).text);
    }
    if (values->open)
        report_place_print(values->output);
    return values->stats ? (int)stats_write(values->stats, print_stats, job) : SUTRA_OK;
}

/* ---- The command ---- */

static int run_job(struct job *job) {
    const struct dlrm_values *values = job->values;
    struct sutra_dlrm_options options_of_dlrm;
    struct sutra_error error;
    int exit_code = read_options(values, &options_of_dlrm);
    if (exit_code == SUTRA_OK && values->stats && paths_same(values->stats, job->input))
        exit_code = message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", values->stats);
    if (exit_code == SUTRA_OK && values->stats && sutra_output_check(values->stats, &error))
        exit_code = message_error(&error);
    if (exit_code == SUTRA_OK && values->output && !path_make_folder(values->output))
        exit_code = message_fail(SUTRA_NO_OUTPUT, "%s: %s", values->output, strerror(errno));
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
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if ((exit_code = watch_check(values.quiet, values.verbose)) != SUTRA_OK)
        return exit_code;
    if (values.open && (!values.output || values.no_report))
        return message_fail(SUTRA_USAGE, "--open needs --output, and a report");
    struct job job = {.values = &values,
                      .input = operands.words[0],
                      .begin = clock_seconds(),
                      .watch = watch_start(!values.quiet, true, values.verbose)};
    exit_code = run_job(&job);
    sutra_dlrm_free(job.dlrm);
    sutra_device_trace_free(job.trace);
    sutra_context_free(job.context);
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
