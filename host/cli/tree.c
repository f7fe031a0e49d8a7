/*
 * tree.c - `sutra tree`: reads a device trace or a list of profiler events; writes its call tree as JSON, text or a
 * trace. And `sutra correlate`: writes pairs of forward and backward operators, and of launches and kernels.
 *
 *     device trace [, host trace], or a file of events --> profile --> tree or pairs --> output, summary, statistics
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "read/device_trace.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

/* ---- Common parts: a profile of a trace ---- */

enum { DEVICE, HOST };

/* First member of both commands. */
struct profile_job {
    struct job job;
    const char *traces[2]; /* by DEVICE, HOST; the device trace may be a file of events */
    struct sutra_profile_options options;
    int torch_version; /* enum sutra_torch_version */
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_profile *profile;
};

static const char *const torch_versions[] = {"2", "1.13", NULL}; /* in the order of enum sutra_torch_version */

#define PROFILE_ROWS_FILES                                                                                             \
    JOB_ROW_OUTPUT, {                                                                                                  \
        "host-trace", 0, OPTION_FILE, "ET", AT(profile_job, traces[HOST]),                                             \
            .help = "read thread numbers and tensor addresses from the host trace ET of the same run"                  \
    }
#define PROFILE_ROWS_HOW                                                                                               \
    {"torch-version",                                                                                                  \
     0,                                                                                                                \
     OPTION_CHOICE,                                                                                                    \
     "VERSION",                                                                                                        \
     AT(profile_job, torch_version),                                                                                   \
     .choices = torch_versions,                                                                                        \
     .help = "apply the rules of PyTorch 2 (2), or of PyTorch up to 1.13 (1.13) (default: 2)",                         \
     .group = group_more},                                                                                             \
        {"rocm",                                                                                                       \
         0,                                                                                                            \
         OPTION_FLAG,                                                                                                  \
         AT(profile_job, options.rocm),                                                                                \
         .help = "use the first of several starts of a flow, not the last one before its end",                         \
         .group = group_more},                                                                                         \
        JOB_ROWS_DEVICE, JOB_ROW_LENIENT, JOB_ROW_INPUT, JOB_ROW_STATS, JOB_ROW_QUIET, JOB_ROW_VERBOSE

/* Makes `input` and the host trace the inputs. */
static int check_traces(struct profile_job *profile, const char *input) {
    struct job *job = &profile->job;
    const char *host = profile->traces[HOST];
    if (host && paths_same(host, input))
        return message_fail(SUTRA_USAGE, "%s: the host trace is the device trace", input);
    profile->traces[DEVICE] = input;
    job->inputs = profile->traces;
    job->n_inputs = 2;
    return SUTRA_OK;
}

/* Reads the profile of the traces, or of a file of events. */
static enum sutra_status read_profile(struct profile_job *profile, bool is_events, struct sutra_error *error) {
    struct job *job = &profile->job;
    const char *trace = profile->traces[DEVICE], *host = profile->traces[HOST];
    TRY(job_open(job, job->output, error));
    if (is_events)
        return sutra_profile_read(job->context, trace, &profile->profile, error);
    TRY(sutra_device_trace_read(job->context, trace, &profile->device, error));
    TRY(device_trace_check_events(profile->device, error));
    if (host)
        TRY(sutra_host_trace_read(job->context, host, &profile->host, error));
    return sutra_profile_from_trace(job->context, profile->device, profile->host, &profile->options, &profile->profile,
                                    error);
}

/* Prints the summary and writes --stats: the counts of the profile, then `rows` and `counts` of the command. `verb`:
 * "tree written to". */
static int report_counts(struct profile_job *profile, const char *verb, const struct summary_row *more_rows,
                         size_t n_rows, const struct named_count *counts, size_t n_counts) {
    static const char *const sources[] = {
        [SUTRA_THREADS_HOST] = "the host trace",
        [SUTRA_THREADS_FLOWS] = "the forward-to-backward flows of the trace",
        [SUTRA_THREADS_SEQUENCES] = "sequence numbers and names of forward and backward operators",
    };
    struct job *job = &profile->job;
    struct sutra_profile_report report = {.size = sizeof report};
    sutra_profile_report(profile->profile, &report);
    job_measure_inputs(job);
    if (!job->quiet && !path_is_stream(job->output)) {
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
        fprintf(stderr, "sutra: %s %s\n", verb, job->output);
        summary_print(rows, COUNT_OF(rows));
        if (report.threads != SUTRA_THREADS_GIVEN)
            fprintf(stderr, "%16s  threads matched to autograd's numbers by %s\n", count_text(report.n_threads).text,
                    sources[report.threads]);
        summary_print(more_rows, n_rows);
        run_figures_print(&job->figures);
    }
    const struct named_count profile_counts[] = {
        {"n_events", report.n_events}, {"n_operators", report.n_operators}, {"n_python", report.n_python},
        {"n_memory", report.n_memory}, {"n_kineto", report.n_kineto},       {"n_launched", report.n_launched},
        {"n_linked", report.n_linked}, {"n_other", report.n_other},         {"n_threads", report.n_threads},
    };
    return job_write_stats(job, NULL, profile_counts, COUNT_OF(profile_counts), counts, n_counts);
}

static void release_profile(struct profile_job *profile) {
    sutra_profile_free(profile->profile);
    sutra_host_trace_free(profile->host);
    sutra_device_trace_free(profile->device);
}

/* ---- sutra correlate ---- */

struct correlate_job {
    struct profile_job profile;
    struct sutra_correlation_options options;
    int format; /* enum sutra_correlation_format */
    struct sutra_correlation *correlation;
};

/* In the order of enum sutra_correlation_format and enum sutra_correlation_kind. */
static const char *const formats_correlate[] = {"json", "csv", "chrome", NULL};
static const char *const kinds[] = {"fwdbwd", "ac2g", "all", NULL};

static const struct stage_share stages_correlate[] = {
    STAGES_READ("device trace", 40), STAGES_READ("host trace", 25), {"build profile", 50, false},
    {"correlate", 5, false},         {"write", 5, false},           {0},
};

static const struct option_row options_correlate[] = {
    PROFILE_ROWS_FILES,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(correlate_job, format), .choices = formats_correlate,
     .help = "write json or csv with one row per pair, or chrome, the trace with its flows of the same kind replaced "
             "(default: json)"},
    {"kind", 'k', OPTION_CHOICE, "KIND", AT(correlate_job, options.kind), .choices = kinds,
     .help = "pair forward with backward operators (fwdbwd), GPU activities with their launches and operators (ac2g), "
             "or both (all) (default: fwdbwd)"},
    PROFILE_ROWS_HOW,
    {0},
};

static int check_correlate(struct job *job) {
    static const char *const writes[] = {".json", ".csv", ".json or .pftrace"}; /* by format */
    const int format = ((const struct correlate_job *)job)->format;
    if (path_ends_in(job->output, ".csv") && format != 1)
        return message_fail(SUTRA_USAGE, "%s: add --format csv", job->output);
    TRY_CODE(path_check_format(job->output, writes[format]));
    return check_traces((struct profile_job *)job, job->operands.words[0]);
}

static int correlate(struct job *job) {
    struct correlate_job *correlate = (struct correlate_job *)job;
    struct profile_job *profile = &correlate->profile;
    struct sutra_correlation_report report = {.size = sizeof report};
    struct sutra_error error;
    correlate->options.torch_version = (enum sutra_torch_version)profile->torch_version;
    if (read_profile(profile, false, &error) ||
        sutra_correlation_find(job->context, profile->profile, &correlate->options, &correlate->correlation, &error) ||
        sutra_correlation_write(job->context, correlate->correlation, (enum sutra_correlation_format)correlate->format,
                                job->output, &job->figures.output_bytes, &error))
        return job_fail(job, &error);
    sutra_correlation_report(correlate->correlation, &report);
    const struct summary_row rows[] = {
        {report.n_fwdbwd, "pairs of forward and backward operators", true},
        {report.pairs->n_unmatched, "  backward operators without their own forward operator", false},
        {report.pairs->n_overwritten, "  pairs replaced by a later backward operator", false},
        {report.n_launches, "GPU activities paired with their launch", false},
        {report.n_operators, "GPU activities paired with their launching operator", false},
    };
    const struct named_count counts[] = {
        {"n_fwdbwd", report.n_fwdbwd},
        {"n_launches", report.n_launches},
        {"n_operators_of_launches", report.n_operators},
        {"n_unmatched", report.pairs->n_unmatched},
        {"n_overwritten", report.pairs->n_overwritten},
    };
    return report_counts(profile, "correlations written to", rows, COUNT_OF(rows), counts, COUNT_OF(counts));
}

static void release_correlate(struct job *job) {
    sutra_correlation_free(((struct correlate_job *)job)->correlation);
    release_profile((struct profile_job *)job);
}

static const struct correlate_job correlate_defaults = {
    .profile = {.job = {.output = "-", .stages = stages_correlate},
                .options.size = sizeof(struct sutra_profile_options)},
    .options.size = sizeof(struct sutra_correlation_options),
};

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
    {"sutra correlate device.json --format chrome -o flows.pftrace", "the same in Perfetto's format"},
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
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the trace is missing",
    .size = sizeof(struct correlate_job),
    .defaults = &correlate_defaults,
    .check = check_correlate,
    .work = correlate,
    .release = release_correlate,
};

/* ---- sutra tree ---- */

struct tree_job {
    struct profile_job profile;
    struct sutra_tree_write_options write;
    const char *events;
    int format; /* enum sutra_tree_format, or -1 */
    struct sutra_tree *tree;
};

#define UNSET UINT64_MAX

/* Defaults on a terminal. */
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

static const struct option_row options_tree[] = {
    PROFILE_ROWS_FILES,
    {"events", 'e', OPTION_FILE, "CASE", AT(tree_job, events),
     .help = "read profiler events from CASE instead of a trace; without --format, write parents and tensor ids in "
             "event order"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(tree_job, format), .choices = formats_tree,
     .help = "write json with all columns, human-readable text, or chrome, the trace with flows to children on other "
             "threads and streams (default: json, on a terminal text)"},
    {"depth", 0, OPTION_NUMBER, "N", AT(tree_job, write.max_depth), .maximum = UINT32_MAX,
     .help = "print N levels as text, 0 for all (default: 0, on a terminal 3)"},
    {"lines", 0, OPTION_NUMBER, "N", AT(tree_job, write.max_lines), .maximum = UINT32_MAX,
     .help = "print N lines as text, 0 for all (default: 0, on a terminal 45)"},
    {"min-us", 0, OPTION_REAL, "N", AT(tree_job, write.min_us), .maximum = UINT32_MAX,
     .help = "omit events shorter than N microseconds on CPU and GPU from text (default: 0)"},
    PROFILE_ROWS_HOW,
    {0},
};

static int check_tree(struct job *job) {
    struct tree_job *tree = (struct tree_job *)job;
    if (tree->events && job->operands.n)
        return message_fail(SUTRA_USAGE, "--events and a trace exclude each other");
    if (tree->events && tree->profile.traces[HOST])
        return message_fail(SUTRA_USAGE, "--host-trace and --events exclude each other");
    if (!tree->events && job->operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", job->command->called);
    return check_traces(&tree->profile, tree->events ? tree->events : job->operands.words[0]);
}

static int build_tree(struct job *job) {
    struct tree_job *tree = (struct tree_job *)job;
    struct profile_job *profile = &tree->profile;
    struct sutra_tree_write_options *write = &tree->write;
    struct sutra_tree_report report = {.size = sizeof report};
    struct sutra_error error;

    /* Defaults: JSON, lists of parents and ids for events; on a terminal text that fits on the screen. */
    bool screen = screen_shows(job->output);
    enum sutra_tree_format format = tree->format >= 0 ? (enum sutra_tree_format)tree->format
                                    : tree->events    ? SUTRA_TREE_EVENTS
                                    : screen          ? SUTRA_TREE_TEXT
                                                      : SUTRA_TREE_JSON;
    bool is_limited = write->max_depth == UNSET || write->max_lines == UNSET;
    if (write->max_depth == UNSET)
        write->max_depth = screen ? SCREEN_DEPTH : 0;
    if (write->max_lines == UNSET)
        write->max_lines = screen ? SCREEN_LINES : 0;
    write->n_columns = screen ? screen_columns() : 0;

    profile->options.inputs = format == SUTRA_TREE_JSON;
    if (read_profile(profile, tree->events != NULL, &error) ||
        sutra_tree_build(job->context, profile->profile, (enum sutra_torch_version)profile->torch_version, &tree->tree,
                         &error) ||
        sutra_tree_write(job->context, tree->tree, format, write, job->output, &job->figures.output_bytes, &error))
        return job_fail(job, &error);
    if (format == SUTRA_TREE_TEXT && screen && is_limited)
        printf("limited to %u levels and %u lines on a terminal; --depth 0 --lines 0 prints all\n", SCREEN_DEPTH,
               SCREEN_LINES);
    sutra_tree_report(tree->tree, &report);
    const struct summary_row rows[] = {
        {report.n_roots, "root events", true},
        {report.max_depth, "levels", true},
        {report.n_adopted, "events with a parent on another thread", false},
        {report.n_borrowed, "events without an end, ended with their parent", false},
        {report.n_tensors, "tensor ids", false},
    };
    const struct named_count counts[] = {
        {"n_roots", report.n_roots},       {"n_adopted", report.n_adopted}, {"max_depth", report.max_depth},
        {"n_borrowed", report.n_borrowed}, {"n_endless", report.n_endless}, {"n_reversed", report.n_reversed},
        {"n_tensors", report.n_tensors},
    };
    return report_counts(profile, "tree written to", rows, COUNT_OF(rows), counts, COUNT_OF(counts));
}

static void release_tree(struct job *job) {
    sutra_tree_free(((struct tree_job *)job)->tree);
    release_profile((struct profile_job *)job);
}

static const struct tree_job tree_defaults = {
    .profile = {.job = {.output = "-", .stages = stages_tree}, .options.size = sizeof(struct sutra_profile_options)},
    .write = {.size = sizeof(struct sutra_tree_write_options), .max_depth = UNSET, .max_lines = UNSET},
    .format = -1,
};

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
    {"sutra tree device.json --format chrome -o flows.pftrace", "the same in Perfetto's format"},
    {0},
};

const struct command tree_command = {
    .name = "tree",
    .called = "sutra tree",
    .summary = "build the call tree of a device trace",
    .writes = ".json, .txt or .pftrace",
    .synopses = synopses_tree,
    .description = description_tree,
    .options = options_tree,
    .examples = examples_tree,
    .n_operands_max = 1,
    .size = sizeof(struct tree_job),
    .defaults = &tree_defaults,
    .check = check_tree,
    .work = build_tree,
    .release = release_tree,
};
