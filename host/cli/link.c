/*
 * link.c - `sutra link`: a host trace and a device trace in, ET+ out. The same work under the name and with the command
 * line of chakra_trace_link.
 *
 * Checks that need no input come first (arguments, whether the output can be written), then the library does the work,
 * then the summary and the statistics tell about it.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/advice.h"
#include "cli/arguments.h"
#include "cli/figures.h"
#include "cli/link_result.h"
#include "cli/message.h"
#include "cli/paths.h"
#include "cli/processors.h"
#include "cli/watch.h"
#include "sutra/sutra.h"

#define RANK_NONE UINT64_MAX

/* Places in the table of words below; each level shows what is at it and above. */
enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_CRITICAL };

struct link_values {
    const char *host, *device, *output, *stats;
    uint64_t rank, n_threads;
    int engine, log_level;
    bool no_sync, hta_pandas3, strict, lenient, quiet, verbose;
};

static const char *const levels[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", NULL};
static const char *const engines[] = {"auto", "cpu", "cuda", NULL}; /* in the order of enum sutra_device */

#define AT(field) .offset = offsetof(struct link_values, field)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(output),
     .help = "write ET+ to OUT; compressed if it ends in .gz or .zst; - is standard output"},
    {"chakra-host-trace", 0, OPTION_FILE, "HOST", AT(host),
     .help = "the host trace (PyTorch's execution trace), plain, gzip or zstd; - is standard input"},
    {"chakra-device-trace", 0, OPTION_FILE, "DEVICE", AT(device),
     .help = "the device trace (Kineto's timeline), plain, gzip or zstd; - is standard input"},
    {"rank", 0, OPTION_NUMBER, "N", AT(rank), .maximum = INT64_MAX,
     .help = "the rank that recorded the traces; for chakra_trace_link's command line, the output is the same for any"},
    {"device", 'd', OPTION_CHOICE, "WHERE", AT(engine), .choices = engines,
     .help = "where to compute; auto takes a GPU if there is one, cuda fails without one (default: auto)"},
    {"threads", 'T', OPTION_NUMBER, "N", AT(n_threads), .maximum = 256,
     .help = "how many threads, 0 for one per processor (default: 0)"},
    {"no-sync", 0, OPTION_FLAG, AT(no_sync), .help = "leave synchronisation dependencies out"},
    {"hta-pandas3", 0, OPTION_FLAG, AT(hta_pandas3),
     .help = "find the synchronisation dependencies that the reference finds with pandas 3, which are few"},
    {"strict", 0, OPTION_FLAG, AT(strict),
     .help = "fail where a trace would otherwise be mended with a warning, or where nothing matches"},
    {"lenient", 0, OPTION_FLAG, AT(lenient),
     .help = "take fields of a wrong type as absent, and count them, instead of failing"},
    {"stats", 0, OPTION_FILE, "FILE", AT(stats),
     .help = "write counts, seconds of each stage and memory to FILE as JSON; - is standard output"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), .help = "no progress and no summary, only warnings and errors"},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), .help = "also say what is done and why; like --log-level DEBUG"},
    {"log-level", 0, OPTION_CHOICE, "LEVEL", AT(log_level), .choices = levels,
     .help = "DEBUG, INFO, WARNING (like --quiet), ERROR or CRITICAL (no warnings either) (default: INFO)"},
    {0},
};

/* Joins the words for the files: each is an option, or else the next operand. */
static int take_operands(struct link_values *values, const struct operands *operands) {
    unsigned next = 0;
    if (!values->host && next < operands->n)
        values->host = operands->words[next++];
    if (!values->device && next < operands->n)
        values->device = operands->words[next++];
    if (next < operands->n)
        return message_fail(SUTRA_USAGE, "'%s' is one trace too many", operands->words[next]);
    return SUTRA_OK;
}

static int check_files(const struct link_values *values, const struct command *command) {
    if (!values->host || !values->device)
        return message_fail(SUTRA_USAGE, "the %s trace is missing; see '%s --help'", values->host ? "device" : "host",
                            command->called);
    if (!values->output)
        return message_fail(SUTRA_USAGE, "the output is missing (-o OUT); see '%s --help'", command->called);
    if (path_is_stream(values->host) && path_is_stream(values->device))
        return message_fail(SUTRA_USAGE, "only one of the traces can be standard input");
    if (paths_same(values->output, values->host) || paths_same(values->output, values->device))
        return message_fail(SUTRA_USAGE, "%s: the output is one of the inputs", values->output);
    const char *stats = values->stats;
    if (!stats)
        return SUTRA_OK;
    if (paths_same(stats, values->host) || paths_same(stats, values->device))
        return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (paths_same(stats, values->output) || (path_is_stream(stats) && path_is_stream(values->output)))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

static int check_values(struct link_values *values, const struct command *command) {
    if (values->quiet && values->verbose)
        return message_fail(SUTRA_USAGE, "--quiet and --verbose exclude each other");
    if (values->strict && values->lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    if (values->verbose)
        values->log_level = LOG_DEBUG;
    if (values->quiet && values->log_level < LOG_WARNING)
        values->log_level = LOG_WARNING;
    if (values->n_threads == 0)
        values->n_threads = processors_usable();
    return check_files(values, command);
}

/* What lives while two files are linked. */
struct job {
    const struct link_values *values;
    struct watch watch;
    double begin;
    struct sutra_context *context;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
    struct sutra_linked *linked;
    struct link_result result;
};

/* The command that links the pair by names; false if that does not fit either. */
static bool find_command(const struct job *job, char *text, size_t size) {
    struct sutra_advice advice;
    return sutra_advise(job->context, job->host, job->device, &advice, NULL) == SUTRA_OK &&
           advice.linker != SUTRA_LINKER_IDS &&
           advice_command(&advice, job->values->host, job->values->device, job->values->output, text, size);
}

/* Says that nothing matched, if so: the output is then the host trace alone, which a person would not notice. */
static int check_matches(const struct job *job, bool strict) {
    const struct sutra_link_report *report = &job->result.report;
    if (report->n_host_linked > 0 && (report->n_gpu_nodes > 0 || report->n_gpu_ops == 0))
        return SUTRA_OK;
    char text[1200], command[600];
    if (report->n_host_linked == 0) {
        bool known = find_command(job, command, sizeof command);
        snprintf(text, sizeof text,
                 "nothing matches: of %s host operators %s have no rf_id and the device trace lacks the rf_id of %s; "
                 "%s%s",
                 count_text(report->n_host_ops).text, count_text(report->n_host_without_rf).text,
                 count_text(report->n_host_rf_unmatched).text,
                 known ? "these can be linked by names, with: " : "are these traces of the same run and rank?",
                 known ? command : "");
    } else
        snprintf(text, sizeof text,
                 "none of %s GPU operators is linked: %s have no launch, %s no CPU operator, %s no host operator",
                 count_text(report->n_gpu_ops).text, count_text(report->n_gpu_without_launch).text,
                 count_text(report->n_gpu_without_parent).text, count_text(report->n_gpu_host_unmatched).text);
    if (strict)
        return message_fail(SUTRA_STRICT, "%s", text);
    message_warn("%s", text);
    return SUTRA_OK;
}

static enum sutra_status job_context(struct job *job, struct sutra_error *error) {
    struct sutra_context_options context_options = {
        .size = sizeof context_options,
        .n_threads = (unsigned)job->values->n_threads,
        .device = (enum sutra_device)job->values->engine,
        .strict = job->values->strict,
        .lenient = job->values->lenient,
    };
    watch_attach(&job->watch, &context_options);
    return sutra_context_create(&context_options, &job->context, error);
}

static enum sutra_status job_link(struct job *job, struct sutra_error *error) {
    const struct link_values *values = job->values;
    struct sutra_link_options link_options = {
        .size = sizeof link_options, .no_sync = values->no_sync, .hta_pandas3 = values->hta_pandas3};
    enum sutra_status status = sutra_output_check(values->output, error);
    if (!status && values->stats)
        status = sutra_output_check(values->stats, error);
    if (!status)
        status = job_context(job, error);
    if (!status)
        status = sutra_host_trace_read(job->context, values->host, &job->host, error);
    if (!status)
        status = sutra_device_trace_read(job->context, values->device, &job->device, error);
    if (!status)
        status = sutra_link(job->context, job->host, job->device, &link_options, &job->linked, error);
    return status;
}

static void job_measure(struct job *job) {
    const struct link_values *values = job->values;
    struct run_figures *figures = &job->result.figures;
    run_figures_take(figures, &job->watch, job->begin, job->context, values->host, values->device);
    figures->n_threads = (unsigned)values->n_threads;
    figures->output = values->output;
}

static int job_run(struct job *job) {
    const struct link_values *values = job->values;
    struct sutra_error error;
    enum sutra_status status = job_link(job, &error);
    progress_clear(&job->watch.progress);
    if (status)
        return message_error(&error);
    sutra_linked_report(job->linked, &job->result.report);
    if (values->log_level <= LOG_WARNING || values->strict) {
        int matches = check_matches(job, values->strict);
        if (matches != SUTRA_OK)
            return matches;
    }
    status = sutra_linked_write(job->context, job->linked, values->output, &job->result.figures.output_bytes, &error);
    progress_clear(&job->watch.progress);
    if (status)
        return message_error(&error);
    job_measure(job);
    if (values->log_level <= LOG_INFO)
        link_summary_print(&job->result);
    return values->stats ? (int)link_stats_write(&job->result, values->stats) : SUTRA_OK;
}

static int link_files(const struct link_values *values) {
    struct job job = {.values = values, .begin = clock_seconds()};
    job.watch =
        watch_start(values->log_level <= LOG_INFO, values->log_level <= LOG_WARNING, values->log_level <= LOG_DEBUG);
    int exit_code = job_run(&job);
    sutra_linked_free(job.linked);
    sutra_device_trace_free(job.device);
    sutra_host_trace_free(job.host);
    sutra_context_free(job.context);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct link_values values = {.rank = RANK_NONE, .log_level = LOG_INFO};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (command == &trace_link_command && values.rank == RANK_NONE)
        return message_fail(SUTRA_USAGE, "the rank is missing (--rank N); see '%s --help'", command->called);
    if ((exit_code = take_operands(&values, &operands)) != SUTRA_OK)
        return exit_code;
    if ((exit_code = check_values(&values, command)) != SUTRA_OK)
        return exit_code;
    return link_files(&values);
}

static const char *const synopses[] = {
    "HOST DEVICE -o OUT [OPTIONS]",
    "--chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Joins the host trace HOST and the device trace DEVICE of one rank into ET+: the host trace, with durations and "
    "dependencies added, and with a node for each GPU operator below the operator that launched it. The rules are "
    "those "
    "of chakra_trace_link of MLCommons Chakra; where that program succeeds the output is the same, byte for byte.",
    "A summary on standard error counts what was linked and all that was left out. An old OUT stays as it is until the "
    "new one is whole.",
    NULL,
};
static const struct example examples[] = {
    {"sutra link host.json device.json -o linked.json", "link two traces"},
    {"sutra link host.json.gz device.json.gz -o linked.json.zst --stats stats.json",
     "read and write compressed files, and keep the figures"},
    {"zcat host.json.gz | sutra link - device.json -o - --quiet | less", "in a pipe"},
    {0},
};

const struct command link_command = {
    .name = "link",
    .called = "sutra link",
    .summary = "link a host trace and a device trace into ET+",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 2,
    .run = run,
};

static const char *const trace_link_synopses[] = {
    "--rank N --chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const trace_link_description[] = {
    "The program 'sutra' under another name: 'sutra link' with the command line of MLCommons Chakra's tool of this "
    "name. "
    "The first four of the options must be there.",
    NULL,
};
static const struct example trace_link_examples[] = {
    {"chakra_trace_link --rank 0 --chakra-host-trace host.json --chakra-device-trace device.json --output-file "
     "out.json",
     "link two traces"},
    {0},
};

const struct command trace_link_command = {
    .name = "chakra_trace_link",
    .called = "chakra_trace_link",
    .summary = "link a host trace and a device trace into ET+",
    .synopses = trace_link_synopses,
    .description = trace_link_description,
    .options = options,
    .examples = trace_link_examples,
    .run = run,
};
