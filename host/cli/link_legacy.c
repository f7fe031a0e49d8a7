/*
 * link_legacy.c - `sutra link-legacy`: links two traces without common record-function ids into ET+, by names and
 * order. Also trace_link: the same work with that program's name and command line.
 *
 *     arguments --checks--> both traces --link--> log of the older program, line by line --> ET+, or durations by id
 *                                                                                       --> summary, statistics
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/link.h"
#include "cli/paths.h"
#include "sutra/context.h"
#include "sutra/legacy.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

/*
 * Closing lines and --stats of `sutra link-legacy`.
 */

struct legacy_result {
    struct sutra_legacy_report report;
    const struct run_figures *figures;
};

/*
 * Prints the closing lines and --stats of `sutra link-legacy`, in the format of `sutra link`.
 */

/* X(field, words, whether it stands in the summary even if it is 0) */
#define COUNTS(X)                                                                                                      \
    X(n_host_nodes, "nodes in the host trace", true)                                                                   \
    X(n_host_ops, "  operators of the selected iteration", true)                                                       \
    X(n_matched, "    matched to a device trace operator", true)                                                       \
    X(n_matched_twice, "      matched to an operator that another host operator matches too", false)                   \
    X(n_device_ops, "CPU operators of the device trace iteration, including process and threads", true)                \
    X(n_segments, "  iterations in the device trace", false)                                                           \
    X(shift, "  positions of offset from the host operators", false)                                                   \
    X(edit_cost, "unmatched operators of both traces", false)                                                          \
    X(n_gpu_ops, "GPU activities in the device trace", true)                                                           \
    X(n_gpu_memory_sets, "  skipped: memset (not part of ET+)", false)                                                 \
    X(n_gpu_without_launch, "  unmatched: no launch with this external id", false)                                     \
    X(n_gpu_without_parent, "  unmatched: no CPU operator of the iteration runs at the launch", false)                 \
    X(n_gpu_unmatched, "  skipped: CPU operator not in the host trace", false)                                         \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  GPU operators", true)

static const char *matching(const struct sutra_legacy_report *report) {
    return report->aligned ? "approximate" : "exact";
}

/* Prints a few aligned lines on standard error. */
static void legacy_summary_print(const struct legacy_result *result) {
    const struct summary_row rows[] = {
#define ROW(field, words, always) {result->report.field, words, always},
        COUNTS(ROW)
#undef ROW
    };
    fprintf(stderr, "sutra: linked into %s by %s match\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output,
            matching(&result->report));
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct legacy_result *result = data;
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, result->report.field},
        COUNTS(COUNT)
#undef COUNT
    };
    fprintf(file, "{\n  \"version\": \"%s\",\n  \"match\": \"%s\",\n", sutra_version(), matching(&result->report));
    run_counts_print_list(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
static enum sutra_status legacy_stats_write(const struct legacy_result *result, const char *path) {
    return stats_write(path, print_all, result);
}

struct legacy_values {
    struct pair_values pair;
    const char *annotation, *min_match;
    uint64_t max_depth;
    bool exact, all_launches, compat_approximate, compat_exit, compat_path;
    double least; /* --min-match as a number */
    bool older;   /* called as the older program, whose log it writes */
    bool free;    /* no option tells how to match, and the traces are not named as the older program has them */
};

static const struct stage_share stages[] = {
    STAGES_READ("host trace", 6),
    STAGES_READ("device trace", 5),
    {"list operators", 5, false},
    {"match", 3, false},
    {"assemble", 3, false},
    {"write", 78, false},
    {0},
};

#define AT(field) .offset = offsetof(struct legacy_values, field)

static const struct option_row options[] = {
    {"et-file", 0, OPTION_FILE, "HOST", AT(pair.host),
     .help = "read the host trace (PyTorch's execution trace) from HOST: plain, gzip or zstd; - is standard input"},
    {"kineto-file", 0, OPTION_FILE, "DEVICE", AT(pair.device),
     .help = "read the device trace (Kineto trace) from DEVICE: plain, gzip or zstd; - is standard input"},
    {"annotation", 0, OPTION_TEXT, "TEXT", AT(annotation),
     .help = "end an iteration at operators whose names contain TEXT (default: DataLoader)"},
    {"exact-match", 0, OPTION_FLAG, AT(exact), .help = "match operators by their positions in both traces"},
    {"output-file", 'o', OPTION_FILE, "OUT", AT(pair.job.output),
     .help = "write ET+ to OUT, compressed if it ends in .gz or .zst; - is standard output (default: HOST with its "
             "last .json replaced by _plus.json)"},
    {"min-match", 0, OPTION_TEXT, "SHARE", AT(min_match),
     .help = "fail if approximate match matches less than this share of the host operators (default: 0.5)"},
    {"max-depth", 0, OPTION_NUMBER, "N", AT(max_depth), .maximum = UINT32_MAX,
     .help = "limit approximate match to N levels of the call trees, 0 for all (default: 0)"},
    PAIR_ROW_MAX_OUTPUT,
    {"all-launches", 0, OPTION_FLAG, AT(all_launches),
     .help = "use every call that launches GPU activities, not only cudaLaunchKernel and cudaMemcpyAsync"},
    {"compat-approximate", 0, OPTION_FLAG, AT(compat_approximate),
     .help = "write the durations by id of trace_link.py's approximate match as JSON, for operators at equal positions "
             "of call trees of equal size (default output: -)"},
    {"compat-exit", 0, OPTION_FLAG, AT(compat_exit),
     .help = "exit as trace_link.py does: 0 if operators differ, 1 for all errors"},
    {"compat-path", 0, OPTION_FLAG, AT(compat_path),
     .help = "name the output as trace_link.py does: replace every .json in the path"},
    WHERE_ROWS(pair.job.where),
    {"strict", 0, OPTION_FLAG, AT(pair.job.strict),
     .help = "fail instead of warning if the numbers of operators differ"},
    {"lenient", 0, OPTION_FLAG, AT(pair.job.lenient),
     .help = "repair malformed JSON, skip GPU activities that cannot be attributed, and ignore fields of the wrong "
             "type, instead of failing"},
    PAIR_ROWS_STATS,
    {"verbose", 'v', OPTION_FLAG, AT(pair.job.verbose),
     .help = "print notes on each decision, and the summary even if standard error is not a terminal"},
    PAIR_ROW_LOG_LEVEL,
    {0},
};

static const char share_default[] = "0.5";

/* Whether no option tells how to match. */
static bool says_nothing(const struct legacy_values *values) {
    return !values->annotation && !values->exact && !values->compat_approximate && values->max_depth == 0 &&
           values->min_match == share_default;
}

static int check_share(struct legacy_values *values) {
    char *end;
    values->least = strtod(values->min_match, &end);
    if (end == values->min_match || *end || !(values->least >= 0 && values->least <= 1))
        return message_fail(SUTRA_USAGE, "--min-match: '%s' is not a number from 0 to 1", values->min_match);
    return SUTRA_OK;
}

static int check_values(struct legacy_values *values, const struct command *command) {
    int exit_code = pair_check_named(&values->pair, command);
    if (exit_code == SUTRA_OK)
        exit_code = pair_check_flags(&values->pair);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (values->exact && values->compat_approximate)
        return message_fail(SUTRA_USAGE, "--exact-match and --compat-approximate exclude each other");
    if (!values->pair.job.output && values->compat_approximate)
        values->pair.job.output = "-";
    if (!values->pair.job.output && path_is_stream(values->pair.host))
        return message_fail(SUTRA_USAGE,
                            "the output is missing (-o OUT): standard input has no name to derive it from");
    return check_share(values);
}

/* What lives while two files are linked. */
struct legacy_job {
    const struct legacy_values *values;
    struct pair pair;
    struct sutra_legacy *legacy;
    struct legacy_result result;
    const char *annotation; /* that ends iterations */
};

/* A line of the log as the program's other commands would say it. */
static void speak(const struct legacy_job *job, enum sutra_legacy_line kind, const char *text, size_t length) {
    const struct pair_values *values = &job->values->pair;
    char line[600];
    if (kind == SUTRA_LEGACY_WARNING && values->log_level <= LOG_WARNING)
        message_warn(
            "%s: no operator name contains %s: the whole trace is treated as one iteration; select the end of an "
            "iteration with --annotation",
            values->device, job->annotation);
    if (kind == SUTRA_LEGACY_WARNING || !(values->job.verbose || values->log_level <= LOG_DEBUG))
        return;
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
    message_note(line);
}

/* A line of the older program's log: to the stream that it has there, unless that is the output's. */
static void on_line(void *arg, enum sutra_legacy_line kind, const char *text, size_t length) {
    struct legacy_job *job = arg;
    int level = job->values->pair.log_level;
    progress_clear(&job->pair.job.watch.progress);
    if (!job->values->older) {
        speak(job, kind, text, length);
        return;
    }
    if ((kind == SUTRA_LEGACY_INFO && level > LOG_INFO) || (kind == SUTRA_LEGACY_WARNING && level > LOG_WARNING))
        return;
    bool discarded = kind == SUTRA_LEGACY_DISCARDED;
    FILE *stream = discarded && !path_is_stream(job->values->pair.job.output) ? stdout : stderr;
    fputs(discarded ? "" : kind == SUTRA_LEGACY_INFO ? "[INFO]: " : "[WARNING]: ", stream);
    fwrite(text, 1, length, stream);
    fputc('\n', stream);
}

/* Where no option says how to match, what `sutra info` would advise, if all operators match so; *advice holds its
 * annotation. */
static enum sutra_status take_advice(struct legacy_job *job, struct sutra_advice *advice,
                                     struct sutra_legacy_options *how, struct sutra_error *error) {
    enum sutra_status status = sutra_advise(job->pair.job.context, job->pair.host, job->pair.device, advice, error);
    if (status || advice->linker != SUTRA_LINKER_EXACT || advice->n_matched != advice->n_host_ops)
        return status;
    char text[300];
    snprintf(text, sizeof text,
             "all %" PRIu64 " operators match by position with --annotation %.128s: using exact match",
             advice->n_matched, advice->annotation);
    if (job->values->pair.log_level <= LOG_INFO)
        message_note(text);
    how->annotation = advice->annotation;
    how->exact = true;
    return SUTRA_OK;
}

static enum sutra_status job_link(struct legacy_job *job, struct sutra_error *error) {
    const struct legacy_values *values = job->values;
    struct sutra_advice advice = {.size = sizeof advice};
    struct sutra_legacy_options legacy_options = {
        .size = sizeof legacy_options,
        .annotation = values->annotation,
        .exact = values->exact,
        .positional = values->compat_approximate,
        .all_launches = values->all_launches,
        .max_depth = (uint32_t)values->max_depth,
        .min_match = values->least,
        .line = on_line,
        .arg = job,
        .most_bytes = values->pair.most_bytes,
    };
    enum sutra_status status = pair_read(&job->pair, error);
    if (!status && values->free)
        status = take_advice(job, &advice, &legacy_options, error);
    job->annotation = legacy_options.annotation ? legacy_options.annotation : "DataLoader";
    if (!status)
        status = sutra_legacy_link(job->pair.job.context, job->pair.host, job->pair.device, &legacy_options,
                                   &job->result.report, &job->legacy, error);
    return status;
}

static enum sutra_status job_write(struct legacy_job *job, struct sutra_error *error) {
    const struct legacy_values *values = job->values;
    if (values->compat_approximate)
        return sutra_legacy_write_durations(job->pair.job.context, job->legacy, values->pair.job.output,
                                            &job->pair.job.figures.output_bytes, error);
    char text[4200];
    int length = snprintf(text, sizeof text, "Enhanced execution trace dumped to %s.", values->pair.job.output);
    if (values->older)
        on_line(job, SUTRA_LEGACY_INFO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    return sutra_legacy_write(job->pair.job.context, job->legacy, values->pair.job.output,
                              &job->pair.job.figures.output_bytes, error);
}

/* The exit code of a failure; the older program ends with 0 after operators that differ, unless its list of them runs
 * past the end of the shorter side. */
static int exit_code_of(const struct legacy_job *job, enum sutra_status status) {
    const struct sutra_legacy_report *report = &job->result.report;
    if (!job->values->compat_exit)
        return (int)status;
    return report->mismatch && report->n_device_ops <= report->n_host_ops ? 0 : 1;
}

static int job_run(struct legacy_job *job) {
    const struct legacy_values *values = job->values;
    struct sutra_error error;
    enum sutra_status status = job_link(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (!status)
        status = job_write(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (status) {
        message_error(&error);
        return exit_code_of(job, status);
    }
    pair_measure(&job->pair);
    job->result.figures = &job->pair.job.figures;
    bool asked = isatty(STDERR_FILENO) || values->pair.job.verbose;
    if (values->pair.log_level <= LOG_INFO && (asked || !values->older))
        legacy_summary_print(&job->result);
    return values->pair.job.stats ? (int)legacy_stats_write(&job->result, values->pair.job.stats) : SUTRA_OK;
}

static int link_files(const struct legacy_values *values) {
    struct legacy_job job = {.values = values, .result.report.size = sizeof job.result.report};
    job.pair = pair_start(&values->pair, values->pair.job.verbose);
    int exit_code = job_run(&job);
    sutra_legacy_free(job.legacy);
    pair_end(&job.pair);
    return exit_code;
}

static int run(const struct command *command, int argc, char **argv) {
    struct legacy_values values = {.pair.job.stages = stages, .pair.log_level = LOG_INFO, .min_match = share_default};
    values.older = command == &older_trace_link_command;
    struct operands operands;
    char *made = NULL;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if ((exit_code = pair_take_operands(&values.pair, &operands)) != SUTRA_OK)
        return exit_code;
    if ((exit_code = check_values(&values, command)) != SUTRA_OK)
        return exit_code;
    values.free = operands.n > 0 && says_nothing(&values);
    if (!values.pair.job.output && !(values.pair.job.output = made = plus_path(values.pair.host, values.compat_path)))
        return message_fail(SUTRA_SYSTEM, "out of memory");
    exit_code = pair_check_files(&values.pair);
    if (exit_code == SUTRA_OK)
        exit_code = link_files(&values);
    free(made);
    return exit_code;
}

static const char *const synopses[] = {
    "HOST DEVICE [-o OUT] [OPTIONS]",
    "--et-file HOST --kineto-file DEVICE [--exact-match] [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Links the host trace HOST and the device trace DEVICE into ET+ by the names and the order of operators, for older "
    "traces without common record-function ids. 'sutra info HOST DEVICE' recommends the command for a pair of traces.",
    "With --exact-match, the output is byte-identical to the output of the older trace_link.py of MLCommons Chakra: "
    "the n-th operators of both traces match, within 20 positions. Under the name trace_link, the messages are "
    "identical too. Without --exact-match, exact match is tried first. If it does not fit, the call trees are aligned, "
    "and operators may be missing in either trace.",
    "If no option selects how to match and the traces are given as HOST DEVICE, sutra uses the annotation that 'sutra "
    "info' recommends, provided that all operators match by position.",
    "With --verbose, prints the messages of the log of trace_link.py. The name trace_link prints the log in its "
    "original form.",
    NULL,
};
static const struct example examples[] = {
    {"sutra link-legacy --et-file host.json --kineto-file device.json --annotation ProfilerStep --exact-match",
     "link two traces into host_plus.json"},
    {"sutra link-legacy host.json.gz device.json.gz -o linked.json.zst", "link compressed traces"},
    {0},
};

const struct command link_legacy_command = {
    .name = "link-legacy",
    .called = "sutra link-legacy",
    .summary = "link two traces without common ids, by operator names and order",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 2,
    .run = run,
};

static const char *const older_synopses[] = {
    "--et-file HOST --kineto-file DEVICE [--annotation TEXT] [--exact-match] [OPTIONS]",
    NULL,
};
static const char *const older_description[] = {
    "Runs 'sutra link-legacy' with the command line of the older trace_link.py of MLCommons Chakra.",
    NULL,
};
static const struct example older_examples[] = {
    {"trace_link --et-file host.json --kineto-file device.json --exact-match", "link two traces into host_plus.json"},
    {0},
};

const struct command older_trace_link_command = {
    .name = "trace_link",
    .called = "trace_link",
    .summary = "link two traces without common ids, by operator names and order",
    .synopses = older_synopses,
    .description = older_description,
    .options = options,
    .examples = older_examples,
    .run = run,
};
