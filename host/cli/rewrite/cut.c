/*
 * cut.c - `sutra cut`: writes a part of a device trace, or of a pair of traces.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/rewrite/selection_rows.h"
#include "cli/tool/arguments.h"
#include "cli/tool/job.h"
#include "cli/tool/paths.h"

struct cut_values {
    struct job_values job;
    const char *trace, *host, *host_output;
    struct selection_values selection;
};

static const struct stage_share stages[] = {
    STAGES_READ("device trace", 70), STAGES_READ("host trace", 40), {"cut", 10, false}, {"write", 20, false}, {0}};

#define AT(field) .offset = offsetof(struct cut_values, field)

static const struct option_row options[] = {
    JOB_ROW_OUTPUT(job),
    SELECTION_ROWS(selection),
    {"from-us", 0, OPTION_NUMBER, "US", AT(selection.from_us), .maximum = UINT32_MAX,
     .help = "keep events from US microseconds after the first event on; GPU activity is selected by its launch"},
    {"to-us", 0, OPTION_NUMBER, "US", AT(selection.to_us), .minimum = 1, .maximum = UINT32_MAX,
     .help = "keep events before US microseconds after the first event; GPU activity is selected by its launch"},
    {"host", 0, OPTION_FILE, "ET", AT(host), .help = "also cut the host trace ET of the same run"},
    {"host-out", 0, OPTION_FILE, "OUT", AT(host_output), .help = "write the cut host trace to OUT"},
    {"threads", 'T', OPTION_NUMBER, "N", AT(job.where.n_threads), .maximum = 256,
     .help = "use N threads, 0 for one per available CPU (default: 0)"},
    JOB_ROW_LENIENT(job),
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_STATS(job),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress, no summary and no warnings"},
    JOB_ROW_VERBOSE(job),
    {0},
};

/* What lives while a trace is cut. */
struct cut_job {
    const struct cut_values *values;
    struct job job;
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_cut *cut;
};

static enum sutra_status cut_traces(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    const struct sutra_selection selection = selection_of(&values->selection);
    struct sutra_context *context = cut->job.context;
    enum sutra_status status = sutra_device_trace_read(context, values->trace, &cut->device, error);
    if (!status && values->host)
        status = sutra_host_trace_read(context, values->host, &cut->host, error);
    return status ? status : sutra_cut_run(context, cut->device, cut->host, &selection, &cut->cut, error);
}

static enum sutra_status write_traces(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    uint64_t n_bytes = 0, n_host_bytes = 0;
    enum sutra_status status = sutra_cut_write(cut->job.context, cut->cut, values->job.output, &n_bytes, error);
    if (!status && values->host)
        status = sutra_cut_write_host(cut->job.context, cut->cut, values->host_output, &n_host_bytes, error);
    cut->job.figures.output_bytes = n_bytes + n_host_bytes;
    return status;
}

static enum sutra_status job_run(struct cut_job *cut, struct sutra_error *error) {
    const struct cut_values *values = cut->values;
    enum sutra_status status = job_open(&cut->job, values->job.output, error);
    if (!status && values->host && !values->job.force)
        status = sutra_output_check(values->host_output, error);
    if (!status)
        status = cut_traces(cut, error);
    return status ? status : write_traces(cut, error);
}

static void print_stats(FILE *file, const void *result) {
    const struct cut_job *cut = result;
    struct sutra_cut_report report = {.size = sizeof report};
    sutra_cut_report(cut->cut, &report);
    const struct named_count counts[] = {
        {"n_events", report.n_events},
        {"n_events_kept", report.n_events_kept},
        {"n_operators", report.n_operators},
        {"n_operators_kept", report.n_operators_kept},
        {"n_work", report.n_work},
        {"n_work_kept", report.n_work_kept},
        {"n_arrow_ends", report.n_arrow_ends},
        {"n_arrow_ends_kept", report.n_arrow_ends_kept},
        {"n_broken_ends", report.n_broken_ends},
        {"n_nodes", report.n_nodes},
        {"n_nodes_kept", report.n_nodes_kept},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, &cut->job.figures);
}

static void print_summary(const struct cut_job *cut) {
    struct sutra_cut_report report = {.size = sizeof report};
    sutra_cut_report(cut->cut, &report);
    const struct summary_row rows[] = {
        {report.n_events_kept, "events kept", true},
        {report.n_events - report.n_events_kept, "events omitted", true},
        {report.n_broken_ends, "  flow events whose other end is omitted", false},
        {report.n_nodes_kept, "host trace nodes kept", false},
        {report.n_nodes - report.n_nodes_kept, "host trace nodes omitted", false},
    };
    fprintf(stderr, "sutra: cut to %s\n", cut->values->job.output);
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(&cut->job.figures);
}

/* The closing lines, and the statistics. */
static enum sutra_status job_tell(struct cut_job *cut) {
    const struct cut_values *values = cut->values;
    job_measure_inputs(&cut->job, (const char *const[]){values->trace, values->host}, 2);
    if (!values->job.quiet && !path_is_stream(values->job.output))
        print_summary(cut);
    return values->job.stats ? stats_write(values->job.stats, print_stats, cut) : SUTRA_OK;
}

static int check_files(const struct cut_values *values) {
    const char *const files[] = {values->trace, values->host, values->job.output, values->host_output};
    if (!values->host != !values->host_output)
        return message_fail(SUTRA_USAGE, "--host and --host-out need each other");
    for (size_t output = 2; output < 4; output++)
        for (size_t input = 0; input < output; input++)
            if (files[output] && files[input] && paths_same(files[output], files[input]))
                return message_fail(SUTRA_USAGE, "%s: %s", files[output],
                                    input < 2 ? "output and input are the same file"
                                              : "both outputs are the same file");
    if (values->host && path_is_stream(values->job.output) && path_is_stream(values->host_output))
        return message_fail(SUTRA_USAGE, "only one of the outputs can be standard output");
    if (values->host && paths_same(values->host, values->trace))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", values->trace);
    int wrong = job_check_stats(values->job.stats, values->job.output, files, 2);
    return wrong ? wrong : job_check_stats(values->job.stats, values->host_output, NULL, 0);
}

static int check_values(const struct cut_values *values) {
    if (values->host && (values->selection.only || values->selection.min_us))
        return message_fail(SUTRA_USAGE, "--host and %s exclude each other: linking needs all events of the time range",
                            values->selection.only ? "--side" : "--min-us");
    if (values->selection.to_us && values->selection.to_us <= values->selection.from_us)
        return message_fail(SUTRA_USAGE, "--to-us is not after --from-us");
    return check_files(values);
}

static int run(const struct command *command, int argc, char **argv) {
    struct cut_values values = {.job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    values.trace = operands.words[0];
    if ((exit_code = job_check_flags(&values.job)) != SUTRA_OK ||
        (exit_code = job_check_terminal(&values.job)) != SUTRA_OK || (exit_code = check_values(&values)) != SUTRA_OK)
        return exit_code;
    bool loud = !values.job.quiet;
    struct cut_job cut = {.values = &values, .job = job_start(&values.job, loud, loud, values.job.verbose)};
    struct sutra_error error;
    enum sutra_status status = job_run(&cut, &error), told = status ? SUTRA_OK : job_tell(&cut);
    sutra_cut_free(cut.cut);
    sutra_host_trace_free(cut.host);
    sutra_device_trace_free(cut.device);
    exit_code = job_end(&cut.job, status, &error);
    return exit_code ? exit_code : (int)told;
}

static const char *const synopses[] = {
    "TRACE -o SMALL [OPTIONS]",
    "TRACE -o SMALL --host ET --host-out SMALL_ET [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Writes a part of the device trace TRACE as a trace: some steps, a time range, one side, without Python functions, "
    "without short events. Kept events and the fields outside the list of events stay byte-identical.",
    "GPU activity is selected by the start of its launch, an annotation on a stream by the start of its CPU "
    "annotation, all "
    "other events by their own start. Operators, annotations and Python functions that run at the start of the range "
    "are also kept, so that GPU activity keeps its operator and module. Metadata is always kept. A flow is kept only "
    "if both of its ends are kept.",
    "With the host trace of the same run, both parts can be linked: nodes of kept operators and annotations are kept, "
    "with their ancestors.",
    NULL,
};
static const struct example examples[] = {
    {"sutra cut device.json --step 3 -o step3.json.gz", "extract one step, for a viewer"},
    {"sutra cut device.json --from-us 2M --to-us 2500k -o part.json",
     "extract half a second, from the third second on"},
    {"sutra cut device.json --no-python --min-us 5 -o small.json.zst", "write a smaller file of the whole run"},
    {"sutra cut device.json --step 3-5 -o d.json --host host.json --host-out h.json",
     "extract three steps of a pair, to link"},
    {0},
};

const struct command cut_command = {
    .name = "cut",
    .called = "sutra cut",
    .summary = "extract steps, a time range, or one side of a trace",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
