/*
 * tree.c - `sutra tree`: reads a device trace or a list of profiler events; writes its call tree as JSON, text or a
 * trace.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/terminal.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

/*
 * Common parts of commands on a profile: options, argument checks, reading the trace, closing lines.
 */

extern const char *const torch_versions_profile_job[]; /* in the order of enum sutra_torch_version */

/* First member, `profile`, of the values of such a command. */
struct profile_values {
    const char *trace, *host;
    struct job_values job;
    int torch_version;
    bool rocm;
};

#define PROFILE_ROWS_FILES                                                                                             \
    JOB_ROW_OUTPUT(profile.job), {                                                                                     \
        "host-trace", 0, OPTION_FILE, "ET", AT(profile.host),                                                          \
            .help = "read thread numbers and tensor addresses from the host trace ET of the same run"                  \
    }
#define PROFILE_ROWS_HOW                                                                                               \
    {"torch-version",                                                                                                  \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "VERSION",                                                                                                        \
     AT(profile.torch_version),                                                                                        \
     .choices = torch_versions_profile_job,                                                                            \
     .help = "apply the rules of PyTorch 2 (2), or of PyTorch up to 1.13 (1.13) (default: 2)"},                        \
        {"rocm", 0, OPTION_FLAG, AT(profile.rocm),                                                                     \
         .help = "use the first of several starts of a flow, not the last one before its end"},                        \
        WHERE_ROWS(profile.job.where), JOB_ROW_LENIENT(profile.job), JOB_ROW_INPUT(profile.job.most_input_bytes),      \
        JOB_ROW_STATS(profile.job),                                                                                    \
        {"quiet", 'q', OPTION_FLAG, AT(profile.job.quiet), .help = "print no progress, no summary and no warnings"},   \
        JOB_ROW_VERBOSE(profile.job)

/* What lives while such a command works. */
struct profile_job {
    const struct profile_values *values;
    struct job job;
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_profile *profile;
    enum sutra_status stats_status; /* what writing the statistics came to */
};

/*
 * Creates a profile from a command's options, and prints the closing lines.
 *
 *     device trace [, host trace], or a file of events --> profile --> the command --> summary, statistics
 */

const char *const torch_versions_profile_job[] = {"2", "1.13", NULL};

/* Takes the input (if there is one), and checks that files differ. SUTRA_USAGE after it has said what is wrong. */
static int profile_values_check(struct profile_values *values, const char *input, bool there,
                                const struct command *command) {
    const char *output = values->job.output;
    if (!there)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if (job_check_flags(&values->job) != SUTRA_OK)
        return SUTRA_USAGE;
    values->trace = input;
    if (paths_same(output, input) || (values->host && paths_same(output, values->host)))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", output);
    if (values->host && paths_same(values->host, input))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", input);
    return job_check_stats(values->job.stats, output, (const char *const[]){input, values->host}, 2);
}

static struct profile_job profile_job_start(const struct profile_values *values) {
    bool loud = !values->job.quiet;
    return (struct profile_job){.values = values, .job = job_start(&values->job, loud, loud, values->job.verbose)};
}

static enum sutra_status read_traces(struct profile_job *job, bool inputs, struct sutra_error *error) {
    const struct profile_values *values = job->values;
    struct sutra_context *context = job->job.context;
    const struct sutra_profile_options options = {.size = sizeof options, .rocm = values->rocm, .inputs = inputs};
    enum sutra_status status = sutra_device_trace_read(context, values->trace, &job->device, error);
    if (!status && values->host)
        status = sutra_host_trace_read(context, values->host, &job->host, error);
    return status ? status : sutra_profile_from_trace(context, job->device, job->host, &options, &job->profile, error);
}

/* Reads the profile: that of the trace, with inputs if they are wanted, or of the file `events` if it is not NULL. */
static enum sutra_status profile_job_read(struct profile_job *job, const char *events, bool inputs,
                                          struct sutra_error *error) {
    enum sutra_status status = job_open(&job->job, job->values->job.output, error);
    if (status)
        return status;
    return events ? sutra_profile_read(job->job.context, events, &job->profile, error)
                  : read_traces(job, inputs, error);
}

/* Takes the figures; whether there is to be a summary. */
static bool profile_job_finish(struct profile_job *job) {
    const struct profile_values *values = job->values;
    job_measure_inputs(&job->job, (const char *const[]){values->trace, values->host}, 2);
    return !values->job.quiet && !path_is_stream(values->job.output);
}

/* The first lines of the summary, on standard error. */
static void profile_job_print(const struct profile_job *job, const char *done) {
    static const char *const sources[] = {
        [SUTRA_THREADS_HOST] = "the host trace",
        [SUTRA_THREADS_FLOWS] = "the forward-to-backward flows of the trace",
        [SUTRA_THREADS_SEQUENCES] = "sequence numbers and names of forward and backward operators",
    };
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(job->profile, &report);
    const struct summary_row rows[] = {
        {report.n_events, "events", true},
        {report.n_operators, "  operators and annotations", false},
        {report.n_python, "  Python functions", false},
        {report.n_memory, "  memory events", false},
        {report.n_kineto, "  runtime calls and GPU activities", false},
        {report.n_launched, "    with their launch as parent", false},
        {report.n_linked, "    with the operator of their external id as parent", false},
        {report.n_other, "skipped: other types of events", false},
    };
    fprintf(stderr, "sutra: %s %s\n", done, job->values->job.output);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (report.threads != SUTRA_THREADS_GIVEN)
        fprintf(stderr, "%16s  threads matched to autograd's numbers by %s\n", count_text(report.n_threads).text,
                sources[report.threads]);
}

struct profile_stats {
    const struct profile_job *job;
    const struct named_count *counts;
    size_t n;
};

static void print_stats(FILE *file, const void *result) {
    const struct profile_stats *stats = result;
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(stats->job->profile, &report);
    const struct named_count counts[] = {
        {"n_events", report.n_events}, {"n_operators", report.n_operators}, {"n_python", report.n_python},
        {"n_memory", report.n_memory}, {"n_kineto", report.n_kineto},       {"n_launched", report.n_launched},
        {"n_linked", report.n_linked}, {"n_other", report.n_other},         {"n_threads", report.n_threads},
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, stats->counts, stats->n);
    run_figures_print_json(file, &stats->job->job.figures);
}

/* Writes the statistics if they are wanted: counts of the profile, then those of what the command made of it. */
static void profile_job_write_stats(struct profile_job *job, const struct named_count *counts, size_t n) {
    const struct profile_stats stats = {job, counts, n};
    if (job->values->job.stats)
        job->stats_status = stats_write(job->values->job.stats, print_stats, &stats);
}

/* Prints the error if there is one, and frees all; returns the exit code. */
static int profile_job_end(struct profile_job *job, enum sutra_status status, const struct sutra_error *error) {
    sutra_profile_free(job->profile);
    sutra_host_trace_free(job->host);
    sutra_device_trace_free(job->device);
    int exit_code = job_end(&job->job, status, error);
    return exit_code ? exit_code : (int)job->stats_status;
}

/*
 * `sutra correlate`: reads a device trace; writes pairs of forward and backward operators, and of
 * launches and kernels.
 */

struct correlate_values {
    struct profile_values profile;
    int format, kind;
};

/* In the order of enum sutra_correlation_format and enum sutra_correlation_kind. */
static const char *const formats_correlate[] = {"json", "csv", "chrome", NULL};
static const char *const kinds[] = {"fwdbwd", "ac2g", "all", NULL};

static const struct stage_share stages_correlate[] = {
    STAGES_READ("device trace", 40), STAGES_READ("host trace", 25), {"build profile", 50, false},
    {"correlate", 5, false},         {"write", 5, false},           {0},
};

#define AT(field) .offset = offsetof(struct correlate_values, field)

static const struct option_row options_correlate[] = {
    PROFILE_ROWS_FILES,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats_correlate,
     .help = "write json or csv with one row per pair, or chrome, the trace with its flows of the same kind replaced "
             "(default: json)"},
    {"kind", 'k', OPTION_CHOICE, "KIND", AT(kind), .choices = kinds,
     .help = "pair forward with backward operators (fwdbwd), GPU activities with their launches and operators (ac2g), "
             "or both (all) (default: fwdbwd)"},
    PROFILE_ROWS_HOW,
    {0},
};

static void print_summary_correlate(const struct profile_job *job, const struct sutra_correlation_report *report) {
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

static void tell_correlate(struct profile_job *job, const struct sutra_correlation *correlation) {
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
        print_summary_correlate(job, &report);
    profile_job_write_stats(job, counts, sizeof counts / sizeof *counts);
}

static enum sutra_status job_run_correlate(struct profile_job *job, const struct correlate_values *values,
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
        tell_correlate(job, correlation);
    sutra_correlation_free(correlation);
    return status;
}

static int run_correlate(const struct command *command, int argc, char **argv) {
    struct correlate_values values = {.profile.job.output = "-", .profile.job.stages = stages_correlate};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    int wrong = profile_values_check(&values.profile, operands.words[0], operands.n, command);
    if (wrong)
        return wrong;
    struct profile_job job = profile_job_start(&values.profile);
    struct sutra_error error;
    enum sutra_status status = job_run_correlate(&job, &values, &error);
    return profile_job_end(&job, status, &error);
}

static const char *const synopses_correlate[] = {
    "TRACE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description_correlate[] = {
    "Pairs the forward operators of the device trace TRACE with their backward operators by thread and sequence "
    "number, as PyTorch's profiler does. --kind also pairs GPU activities with their launches and launching operators.",
    "Autograd numbers threads on its own. sutra maps these numbers to threads with the host trace, else with the flows "
    "of the trace, else with its sequence numbers and operator names.",
    NULL,
};
static const struct example examples_correlate[] = {
    {"sutra correlate device.json --format csv -o pairs.csv", "write a table of forward and backward operators"},
    {"sutra correlate device.json --host-trace host.json --kind all -o pairs.json", "write all pairs as JSON"},
    {"sutra correlate device.json --format chrome -o flows.json.gz", "draw arrows in the trace, for Perfetto"},
    {0},
};

const struct command correlate_command = {
    .name = "correlate",
    .called = "sutra correlate",
    .summary = "pair forward and backward operators of a device trace",
    .synopses = synopses_correlate,
    .description = description_correlate,
    .options = options_correlate,
    .examples = examples_correlate,
    .n_operands_max = 1,
    .run = run_correlate,
};

struct tree_values {
    struct profile_values profile;
    const char *events;
    uint64_t depth, min_us, n_lines;
    int format;
};

#define UNSET UINT64_MAX

/* What a terminal shows without a word about it. */
#define SCREEN_DEPTH 3u
#define SCREEN_LINES 45u

static const char *const formats_tree[] = {"json", "text", "chrome", NULL}; /* in the order of enum sutra_tree_format */

static const struct stage_share stages_tree[] = {
    STAGES_READ("device trace", 25),
    STAGES_READ("host trace", 15),
    {"index events", 5, false},
    {"read events", 10, false},
    {"build profile", 40, false},
    {"event tree", 5, false},
    {"write", 15, false},
    {0},
};

#undef AT
#define AT(field) .offset = offsetof(struct tree_values, field)

static const struct option_row options_tree[] = {
    PROFILE_ROWS_FILES,
    {"events", 'e', OPTION_FILE, "CASE", AT(events),
     .help = "read profiler events from CASE instead of a trace; without --format, write parents and tensor ids in "
             "event order"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats_tree,
     .help = "write json with all columns, human-readable text, or chrome, the trace with flows to children on other "
             "threads and streams (default: json, on a terminal text)"},
    {"depth", 0, OPTION_NUMBER, "N", AT(depth), .maximum = UINT32_MAX,
     .help = "print N levels as text, 0 for all (default: 0, on a terminal 3)"},
    {"lines", 0, OPTION_NUMBER, "N", AT(n_lines), .maximum = UINT32_MAX,
     .help = "print N lines as text, 0 for all (default: 0, on a terminal 45)"},
    {"min-us", 0, OPTION_NUMBER, "N", AT(min_us), .maximum = UINT32_MAX,
     .help = "omit events shorter than N microseconds on CPU and GPU from text (default: 0)"},
    PROFILE_ROWS_HOW,
    {0},
};

static void print_summary_tree(const struct profile_job *job, const struct sutra_tree_report *report) {
    const struct summary_row rows[] = {
        {report->n_roots, "root events", true},
        {report->max_depth, "levels", true},
        {report->n_adopted, "events with a parent on another thread", false},
        {report->n_borrowed, "events without an end, ended with their parent", false},
        {report->n_tensors, "tensor ids", false},
    };
    profile_job_print(job, "tree written to");
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(&job->job.figures);
}

static void tell_tree(struct profile_job *job, const struct sutra_tree *tree) {
    struct sutra_tree_report report = {.size = sizeof report};
    sutra_tree_report(tree, &report);
    const struct named_count counts[] = {
        {"n_roots", report.n_roots},       {"n_adopted", report.n_adopted}, {"max_depth", report.max_depth},
        {"n_borrowed", report.n_borrowed}, {"n_endless", report.n_endless}, {"n_reversed", report.n_reversed},
        {"n_tensors", report.n_tensors},
    };
    if (profile_job_finish(job))
        print_summary_tree(job, &report);
    profile_job_write_stats(job, counts, sizeof counts / sizeof *counts);
}

/* Without a word about it, a trace's tree is written as JSON, and that of a list of events as lists. */
static enum sutra_tree_format format_of(const struct tree_values *values) {
    if (values->format >= 0)
        return (enum sutra_tree_format)values->format;
    if (values->events)
        return SUTRA_TREE_EVENTS;
    return screen_shows(values->profile.job.output) ? SUTRA_TREE_TEXT : SUTRA_TREE_JSON;
}

/* How much of it; on a terminal only what is seen at once, unless more is asked for. */
static struct sutra_tree_write_options extent_of(const struct tree_values *values) {
    bool screen = screen_shows(values->profile.job.output);
    struct sutra_tree_write_options how = {.size = sizeof how, .min_us = (double)values->min_us};
    how.max_depth = values->depth != UNSET ? values->depth : screen ? SCREEN_DEPTH : 0;
    how.max_lines = values->n_lines != UNSET ? values->n_lines : screen ? SCREEN_LINES : 0;
    how.n_columns = screen ? screen_columns() : 0;
    return how;
}

static void tell_of_more(const struct tree_values *values) {
    if (values->depth == UNSET || values->n_lines == UNSET)
        printf("limited to %u levels and %u lines on a terminal; --depth 0 --lines 0 prints all\n", SCREEN_DEPTH,
               SCREEN_LINES);
}

static enum sutra_status job_run_tree(struct profile_job *job, const struct tree_values *values,
                                      struct sutra_error *error) {
    struct sutra_tree *tree = NULL;
    const struct sutra_tree_write_options how = extent_of(values);
    enum sutra_tree_format format = format_of(values);
    enum sutra_torch_version torch_version = (enum sutra_torch_version)values->profile.torch_version;
    enum sutra_status status = profile_job_read(job, values->events, format == SUTRA_TREE_JSON, error);
    if (!status)
        status = sutra_tree_build(job->job.context, job->profile, torch_version, &tree, error);
    if (!status)
        status = sutra_tree_write(job->job.context, tree, format, &how, values->profile.job.output,
                                  &job->job.figures.output_bytes, error);
    if (!status && format == SUTRA_TREE_TEXT && how.n_columns)
        tell_of_more(values);
    if (!status)
        tell_tree(job, tree);
    sutra_tree_free(tree);
    return status;
}

static int run_tree(const struct command *command, int argc, char **argv) {
    struct tree_values values = {
        .profile.job.output = "-", .profile.job.stages = stages_tree, .format = -1, .depth = UNSET, .n_lines = UNSET};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (values.events && operands.n)
        return message_fail(SUTRA_USAGE, "--events and a trace exclude each other");
    if (values.events && values.profile.host)
        return message_fail(SUTRA_USAGE, "--host-trace and --events exclude each other");
    int wrong = profile_values_check(&values.profile, values.events ? values.events : operands.words[0],
                                     values.events || operands.n, command);
    if (wrong)
        return wrong;
    struct profile_job job = profile_job_start(&values.profile);
    struct sutra_error error;
    enum sutra_status status = job_run_tree(&job, &values, &error);
    return profile_job_end(&job, status, &error);
}

static const char *const synopses_tree[] = {
    "TRACE [-o OUT] [OPTIONS]",
    "--events CASE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description_tree[] = {
    "Builds the call tree of the device trace TRACE as PyTorch's profiler does: operators nested by time, runtime "
    "calls below the operator that called them, kernels below the call that launched them. Each event has its parent, "
    "its children, and its self and total time on CPU and GPU. A terminal shows the upper levels as text.",
    "With the host trace, operators of backward threads are attributed to the forward thread that waits for them, and "
    "tensors have ids: equal ids for the same memory, even after its address is reused.",
    NULL,
};
static const struct example examples_tree[] = {
    {"sutra tree device.json --format text --depth 4 --min-us 100",
     "print four levels of the tree, without short events"},
    {"sutra tree device.json --host-trace host.json -o tree.json.gz", "write the whole tree, with tensor ids"},
    {"sutra tree device.json --format chrome -o flows.json.gz", "draw arrows across threads and streams, for Perfetto"},
    {0},
};

const struct command tree_command = {
    .name = "tree",
    .called = "sutra tree",
    .summary = "build the call tree of a device trace",
    .synopses = synopses_tree,
    .description = description_tree,
    .options = options_tree,
    .examples = examples_tree,
    .n_operands_max = 1,
    .run = run_tree,
};
