/*
 * critical_path.c - `sutra critical-path`: a device trace in, its critical path out, as text, JSON or a marked trace.
 */
#include <stddef.h>
#include <stdio.h>

#include "cli/tool/arguments.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "cli/tool/watch.h"
#include "cli/tool/where.h"
#include "sutra/sutra.h"

struct path_values {
    const char *annotation, *output;
    uint64_t instance;
    struct where where;
    int format;
    bool lenient, quiet, verbose;
};

static const char *const formats[] = {"text", "json", "chrome", NULL}; /* in the order of enum sutra_path_format */

#define AT(field) .offset = offsetof(struct path_values, field)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(output),
     .help = "write to OUT; compressed if it ends in .gz or .zst; - is standard output (default: -)"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "text for people, json with map, nodes, edges and path, or chrome, the trace itself with the path marked "
             "(default: text)"},
    {"annotation", 'a', OPTION_TEXT, "NAME", AT(annotation),
     .help = "look for the path in the time of an event whose name contains NAME (default: ProfilerStep if there is "
             "one, else the whole trace)"},
    {"instance", 'i', OPTION_NUMBER, "N", AT(instance), .maximum = UINT32_MAX,
     .help = "which of the events of that name, the first is 0 (default: 0)"},
    WHERE_ROWS(where),
    {"lenient", 0, OPTION_FLAG, AT(lenient), .help = "take fields of a wrong type as absent instead of failing"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), .help = "no progress and no warnings"},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), .help = "also say what is done and why"},
    {0},
};

/* What lives while a path is looked for. */
struct path_job {
    struct watch watch;
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_critical_path *path;
};

static enum sutra_status job_run(struct path_job *job, const struct path_values *values, const char *trace,
                                 struct sutra_error *error) {
    struct sutra_context_options context_options = {.size = sizeof context_options, .lenient = values->lenient};
    struct sutra_critical_path_options path_options = {
        .size = sizeof path_options, .annotation = values->annotation, .instance = values->instance};
    where_set(&values->where, &context_options);
    watch_attach(&job->watch, &context_options);
    enum sutra_status status = sutra_output_check(values->output, error);
    if (!status)
        status = sutra_context_create(&context_options, &job->context, error);
    if (!status)
        status = sutra_device_trace_read(job->context, trace, &job->trace, error);
    if (!status)
        status = sutra_critical_path_find(job->context, job->trace, &path_options, &job->path, error);
    if (!status)
        status = sutra_critical_path_write(job->context, job->path, (enum sutra_path_format)values->format,
                                           values->output, error);
    progress_clear(&job->watch.progress);
    return status;
}

static int run(const struct command *command, int argc, char **argv) {
    struct path_values values = {.output = "-", .format = SUTRA_PATH_TEXT};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "the trace is missing; see '%s --help'", command->called);
    if ((exit_code = watch_check(values.quiet, values.verbose)) != SUTRA_OK)
        return exit_code;
    if (paths_same(values.output, operands.words[0]))
        return message_fail(SUTRA_USAGE, "%s: the output is the input", values.output);
    struct path_job job = {.watch = watch_start(!values.quiet, !values.quiet, values.verbose)};
    struct sutra_error error;
    enum sutra_status status = job_run(&job, &values, operands.words[0], &error);
    if (status)
        message_error(&error);
    sutra_critical_path_free(job.path);
    sutra_device_trace_free(job.trace);
    sutra_context_free(job.context);
    return (int)status;
}

static const char *const synopses[] = {
    "TRACE [-o OUT] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Finds the critical path of the device trace TRACE: the longest chain of work and waiting from operator to "
    "operator, from launch to kernel, from kernel to kernel and through synchronisation. Tells what its time went to, "
    "by operator, by kernel and by delay.",
    "The rules are those of Holistic Trace Analysis. Where those fail a warning tells why, and extended rules are "
    "used, which also know stream 0, streams with names, equal streams of several devices and HIP.",
    NULL,
};
static const struct example examples[] = {
    {"sutra critical-path device.json", "print where the time of the first step went"},
    {"sutra critical-path device.json --format chrome -o marked.json.gz", "mark the path in the trace, for Perfetto"},
    {"sutra critical-path device.json --annotation forward --instance 3 --format json -o path.json",
     "the path of one span, for a program"},
    {0},
};

const struct command critical_path_command = {
    .name = "critical-path",
    .called = "sutra critical-path",
    .summary = "find the critical path of a device trace",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
