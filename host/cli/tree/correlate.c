/*
 * correlate.c - `sutra correlate`: reads a device trace; writes pairs of forward and backward operators, and of
 * launches and kernels.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/tree/profile_job.h"
#include "sutra/sutra.h"

struct correlate_values {
    struct profile_values profile;
    int format, kind;
};

/* In the order of enum sutra_correlation_format and enum sutra_correlation_kind. */
static const char *const formats[] = {"json", "csv", "chrome", NULL};
static const char *const kinds[] = {"fwdbwd", "ac2g", "all", NULL};

static const struct stage_share stages[] = {
    STAGES_READ("device trace", 40), STAGES_READ("host trace", 25), {"build profile", 50, false},
    {"correlate", 5, false},         {"write", 5, false},           {0},
};

#define AT(field) .offset = offsetof(struct correlate_values, field)

static const struct option_row options[] = {
    PROFILE_ROWS_FILES,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "write json or csv with one row per pair, or chrome, the trace with its flows of the same kind replaced "
             "(default: json)"},
    {"kind", 'k', OPTION_CHOICE, "KIND", AT(kind), .choices = kinds,
     .help = "pair forward with backward operators (fwdbwd), GPU activities with their launches and operators (ac2g), "
             "or both (all) (default: fwdbwd)"},
    PROFILE_ROWS_HOW,
    {0},
};

static void print_summary(const struct profile_job *job, const struct sutra_correlation_report *report) {
    const struct summary_row rows[] = {
        {report->n_fwdbwd, "pairs of forward and backward operators", true},
        {report->pairs->n_unmatched, "  backward operators without their own forward operator", false},
        {report->pairs->n_overwritten, "  pairs replaced by a later backward operator", false},
        {report->n_launches, "GPU activities paired with their launch", false},
        {report->n_operators, "GPU activities paired with their launching operator", false},
    };
    profile_job_print(job, "correlations written to");
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(&job->job.figures);
}

static void tell(struct profile_job *job, const struct sutra_correlation *correlation) {
    struct sutra_correlation_report report = {.size = sizeof report};
    sutra_correlation_report(correlation, &report);
    const struct named_count counts[] = {
        {"n_fwdbwd", report.n_fwdbwd},
        {"n_launches", report.n_launches},
        {"n_operators_of_launches", report.n_operators},
        {"n_unmatched", report.pairs->n_unmatched},
        {"n_overwritten", report.pairs->n_overwritten},
    };
    if (profile_job_finish(job))
        print_summary(job, &report);
    profile_job_write_stats(job, counts, sizeof counts / sizeof *counts);
}

static enum sutra_status job_run(struct profile_job *job, const struct correlate_values *values,
                                 struct sutra_error *error) {
    struct sutra_correlation *correlation = NULL;
    const struct sutra_correlation_options what = {.size = sizeof what,
                                                   .torch_version =
                                                       (enum sutra_torch_version)values->profile.torch_version,
                                                   .kind = (enum sutra_correlation_kind)values->kind};
    enum sutra_status status = profile_job_read(job, NULL, false, error);
    if (!status)
        status = sutra_correlation_find(job->job.context, job->profile, &what, &correlation, error);
    if (!status)
        status = sutra_correlation_write(job->job.context, correlation, (enum sutra_correlation_format)values->format,
                                         values->profile.job.output, &job->job.figures.output_bytes, error);
    if (!status)
        tell(job, correlation);
    sutra_correlation_free(correlation);
    return status;
}

static int run(const struct command *command, int argc, char **argv) {
    struct correlate_values values = {.profile.job.output = "-", .profile.job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    int wrong = profile_values_check(&values.profile, operands.words[0], operands.n, command);
    if (wrong)
        return wrong;
    struct profile_job job = profile_job_start(&values.profile);
    struct sutra_error error;
    enum sutra_status status = job_run(&job, &values, &error);
    return profile_job_end(&job, status, &error);
}

static const char *const synopses[] = {
    "TRACE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Pairs the forward operators of the device trace TRACE with their backward operators by thread and sequence "
    "number, as PyTorch's profiler does. --kind also pairs GPU activities with their launches and launching operators.",
    "Autograd numbers threads on its own. sutra maps these numbers to threads with the host trace, else with the flows "
    "of the trace, else with its sequence numbers and operator names.",
    NULL,
};
static const struct example examples[] = {
    {"sutra correlate device.json --format csv -o pairs.csv", "write a table of forward and backward operators"},
    {"sutra correlate device.json --host-trace host.json --kind all -o pairs.json", "write all pairs as JSON"},
    {"sutra correlate device.json --format chrome -o flows.json.gz", "draw arrows in the trace, for Perfetto"},
    {0},
};

const struct command correlate_command = {
    .name = "correlate",
    .called = "sutra correlate",
    .summary = "pair forward and backward operators of a device trace",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
