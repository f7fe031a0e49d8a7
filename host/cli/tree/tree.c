/*
 * tree.c - `sutra tree`: reads a device trace or a list of profiler events; writes its call tree as JSON, text or a
 * trace.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/tool/screen.h"
#include "cli/tree/profile_job.h"
#include "sutra/sutra.h"

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

static const char *const formats[] = {"json", "text", "chrome", NULL}; /* in the order of enum sutra_tree_format */

static const struct stage_share stages[] = {
    STAGES_READ("device trace", 25),
    STAGES_READ("host trace", 15),
    {"index events", 5, false},
    {"read events", 10, false},
    {"build profile", 40, false},
    {"event tree", 5, false},
    {"write", 15, false},
    {0},
};

#define AT(field) .offset = offsetof(struct tree_values, field)

static const struct option_row options[] = {
    PROFILE_ROWS_FILES,
    {"events", 'e', OPTION_FILE, "CASE", AT(events),
     .help = "read profiler events from CASE instead of a trace; without --format, write parents and tensor ids in "
             "event order"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
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

static void print_summary(const struct profile_job *job, const struct sutra_tree_report *report) {
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

static void tell(struct profile_job *job, const struct sutra_tree *tree) {
    struct sutra_tree_report report = {.size = sizeof report};
    sutra_tree_report(tree, &report);
    const struct named_count counts[] = {
        {"n_roots", report.n_roots},       {"n_adopted", report.n_adopted}, {"max_depth", report.max_depth},
        {"n_borrowed", report.n_borrowed}, {"n_endless", report.n_endless}, {"n_reversed", report.n_reversed},
        {"n_tensors", report.n_tensors},
    };
    if (profile_job_finish(job))
        print_summary(job, &report);
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

static enum sutra_status job_run(struct profile_job *job, const struct tree_values *values, struct sutra_error *error) {
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
        tell(job, tree);
    sutra_tree_free(tree);
    return status;
}

static int run(const struct command *command, int argc, char **argv) {
    struct tree_values values = {
        .profile.job.output = "-", .profile.job.stages = stages, .format = -1, .depth = UNSET, .n_lines = UNSET};
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
    enum sutra_status status = job_run(&job, &values, &error);
    return profile_job_end(&job, status, &error);
}

static const char *const synopses[] = {
    "TRACE [-o OUT] [OPTIONS]",
    "--events CASE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Builds the call tree of the device trace TRACE as PyTorch's profiler does: operators nested by time, runtime "
    "calls below the operator that called them, kernels below the call that launched them. Each event has its parent, "
    "its children, and its self and total time on CPU and GPU. A terminal shows the upper levels as text.",
    "With the host trace, operators of backward threads are attributed to the forward thread that waits for them, and "
    "tensors have ids: equal ids for the same memory, even after its address is reused.",
    NULL,
};
static const struct example examples[] = {
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
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
