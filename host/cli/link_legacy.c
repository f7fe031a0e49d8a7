/*
 * link_legacy.c - `sutra link-legacy`: links two traces without common record-function ids into ET+, by names and
 * order. Also trace_link: the same work with that program's name and command line.
 *
 *     arguments --checks--> both traces --link--> log of trace_link.py, line by line --> ET+, or durations by id
 *                                                                                    --> summary, statistics
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/job.h"
#include "cli/pair.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "sutra/context.h"
#include "sutra/legacy.h"
#include "sutra/sutra.h"

struct legacy_job {
    struct pair_job pair;
    struct sutra_legacy_options options;
    const char *min_match;
    bool compat_exit, compat_path;
    bool is_trace_link;   /* called as trace_link, whose log it prints */
    char *derived_output; /* from the name of the host trace */
    struct sutra_legacy *legacy;
    struct sutra_legacy_report report;
};

/* X(field, words, whether the summary shows a count of 0) */
#define COUNTS(X)                                                                                                      \
    X(n_host_nodes, "nodes in the host trace", true)                                                                   \
    X(n_host_ops, "  operators of the selected iteration", true)                                                       \
    X(n_matched, "    matched to a device trace operator", true)                                                       \
    X(n_matched_twice, "      matched to an operator that another host operator matches too", false)                   \
    X(n_device_ops, "CPU operators of the device trace iteration, including process and threads", true)                \
    X(n_segments, "  iterations in the device trace", false)                                                           \
    X(n_positions, "  steps of the device trace that fit", false)                                                      \
    X(shift, "  positions of offset from the host operators", false)                                                   \
    X(edit_cost, "unmatched operators of both traces", false)                                                          \
    X(n_gpu_ops, "GPU activities in the device trace", true)                                                           \
    X(n_gpu_memory_sets, "  skipped: memset (not part of ET+)", false)                                                 \
    X(n_gpu_without_launch, "  unmatched: no launch with this external id", false)                                     \
    X(n_gpu_without_parent, "  unmatched: no CPU operator of the iteration runs at the launch", false)                 \
    X(n_gpu_unmatched, "  skipped: CPU operator not in the host trace", false)                                         \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  GPU operators", true)

static const struct stage_share stages[] = {
    STAGES_READ("host trace", 6),
    STAGES_READ("device trace", 5),
    {"list operators", 5, false},
    {"match", 3, false},
    {"assemble", 3, false},
    {"write", 78, false},
    {0},
};

static const struct option_row options[] = {
    {"et-file", 0, OPTION_FILE, "HOST", AT(pair_job, traces[HOST_TRACE]),
     .help = "read the host trace (PyTorch's execution trace) from HOST: plain, gzip or zstd; - is standard input"},
    {"kineto-file", 0, OPTION_FILE, "DEVICE", AT(pair_job, traces[DEVICE_TRACE]),
     .help = "read the device trace (Kineto trace) from DEVICE: plain, gzip or zstd; - is standard input"},
    {"annotation", 0, OPTION_TEXT, "TEXT", AT(legacy_job, options.annotation),
     .help = "end an iteration at operators whose names contain TEXT, in the device trace only for --exact-match "
             "(default: DataLoader)"},
    {"exact-match", 0, OPTION_FLAG, AT(legacy_job, options.exact),
     .help = "match operators by their positions in both traces"},
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write ET+ to OUT, compressed if it ends in .gz or .zst; - is standard output (default: HOST with its "
             "last .json replaced by _plus.json)"},
    {"min-match", 0, OPTION_TEXT, "SHARE", AT(legacy_job, min_match),
     .help = "fail if approximate match matches less than this share of the host operators (default: 0.5)"},
    {"max-depth", 0, OPTION_NUMBER, "N", AT(legacy_job, options.max_depth), .maximum = UINT32_MAX,
     .help = "limit approximate match to N levels of the call trees, 0 for all (default: 0)"},
    JOB_ROW_MAX_OUTPUT(legacy_job, options.most_bytes, "ET+"),
    {"all-launches", 0, OPTION_FLAG, AT(legacy_job, options.all_launches),
     .help = "use every call that launches GPU activities, not only cudaLaunchKernel and cudaMemcpyAsync"},
    PAIR_ROW_LOG_LEVEL,
    {"compat-approximate", 0, OPTION_FLAG, AT(legacy_job, options.positional),
     .help = "write the durations by id of trace_link.py's approximate match as JSON, for operators at equal positions "
             "of call trees of equal size (default output: -)",
     .group = group_more},
    {"compat-exit", 0, OPTION_FLAG, AT(legacy_job, compat_exit),
     .help = "exit as trace_link.py does: 0 if operators differ, 1 for all errors", .group = group_more},
    {"compat-path", 0, OPTION_FLAG, AT(legacy_job, compat_path),
     .help = "name the output as trace_link.py does: replace every .json in the path", .group = group_more},
    JOB_ROWS_DEVICE,
    {"strict", 0, OPTION_FLAG, AT(job, options.strict),
     .help = "fail instead of warning if the numbers of operators differ, or if operators are of another step or of "
             "several steps",
     .group = group_more},
    {"lenient", 0, OPTION_FLAG, AT(job, options.lenient),
     .help = "repair malformed JSON, skip GPU activities that cannot be attributed, and ignore fields of the wrong "
             "type, instead of failing",
     .group = group_common},
    PAIR_ROWS_STATS,
    {"verbose", 'v', OPTION_FLAG, AT(job, verbose),
     .help = "print notes on each decision, and the summary even if standard error is not a terminal",
     .group = group_common},
    {0},
};

/* The output of trace_link.py: "a/host.json" gives "a/host_plus.json": the last ".json" of the file name is replaced, or
 * every ".json" in the path if `everywhere`; a name without one gets "_plus.json" at its end. The caller frees it;
 * NULL: out of memory. */
static char *derive_output(const char *host, bool everywhere) {
    static const char extension[] = ".json", plus[] = "_plus.json";
    const char *slash = strrchr(host, '/'), *from = host, *next = NULL;
    char *path = malloc(strlen(host) * 2 + sizeof plus);
    if (!path)
        return NULL;
    if (everywhere)
        next = strstr(host, extension);
    else
        for (const char *at = slash ? slash : host; (at = strstr(at, extension)); at++)
            next = at;
    bool found = next != NULL;
    char *to = path;
    for (; next; next = everywhere ? strstr(from, extension) : NULL) {
        to = mempcpy(to, from, (size_t)(next - from));
        to = mempcpy(to, plus, sizeof plus - 1);
        from = next + sizeof extension - 1;
    }
    to = mempcpy(to, from, strlen(from));
    if (!found)
        to = mempcpy(to, plus, sizeof plus - 1);
    *to = 0;
    return path;
}

static int check(struct job *job) {
    struct legacy_job *legacy = (struct legacy_job *)job;
    struct sutra_legacy_options *how = &legacy->options;
    const char *const *traces = legacy->pair.traces;
    TRY_CODE(pair_check_operands(&legacy->pair));
    TRY_CODE(pair_check_named(&legacy->pair));
    for (int i = 0; i < 2; i++)
        if (path_is_folder(traces[i]))
            return message_fail(SUTRA_USAGE,
                                "%s: expected a file, found a directory: to link all ranks of a job, use 'sutra link "
                                "HOSTS DEVICES -o OUT'",
                                traces[i]);
    legacy->is_trace_link = job->command == &older_trace_link_command;
    if (how->exact && how->positional)
        return message_fail(SUTRA_USAGE, "--exact-match and --compat-approximate exclude each other");
    if (!job->output && how->positional)
        job->output = "-";
    if (!job->output && path_is_stream(traces[HOST_TRACE]))
        return message_fail(SUTRA_USAGE,
                            "the output is missing (-o OUT): standard input has no name to derive it from");
    if (legacy->min_match) {
        char *end;
        how->min_match = strtod(legacy->min_match, &end);
        if (end == legacy->min_match || *end || !(how->min_match >= 0 && how->min_match <= 1))
            return message_fail(SUTRA_USAGE, "--min-match: '%s' is not a number from 0 to 1", legacy->min_match);
    }
    if (!job->output &&
        !(job->output = legacy->derived_output = derive_output(traces[HOST_TRACE], legacy->compat_path)))
        return message_fail(SUTRA_SYSTEM, "out of memory");
    return pair_check_files(&legacy->pair);
}

/* Prints a line of the log: as sutra's warning or note, or, called as trace_link, as that program does: to the same
 * stream, unless the output is written to it. */
static void on_line(void *arg, enum sutra_legacy_line kind, const char *text, size_t length) {
    struct legacy_job *legacy = arg;
    struct job *job = &legacy->pair.job;
    progress_clear(&job->watch.progress);
    if (!legacy->is_trace_link && kind == SUTRA_LEGACY_WARNING) {
        /* Approximate match finds the step without annotations. */
        if (job->log_level <= LOG_WARNING && (legacy->options.exact || legacy->options.positional))
            message_warn(
                "%s: no operator name contains %s: the whole trace is treated as one iteration; select the end of an "
                "iteration with --annotation",
                legacy->pair.traces[DEVICE_TRACE],
                legacy->options.annotation ? legacy->options.annotation : "DataLoader");
        return;
    }
    if (!legacy->is_trace_link) {
        char line[600];
        if (job->log_level > LOG_DEBUG)
            return;
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
        message_note(line);
        return;
    }
    if ((kind == SUTRA_LEGACY_INFO && job->log_level > LOG_INFO) ||
        (kind == SUTRA_LEGACY_WARNING && job->log_level > LOG_WARNING))
        return;
    bool discarded = kind == SUTRA_LEGACY_DISCARDED;
    FILE *stream = discarded && !path_is_stream(job->output) ? stdout : stderr;
    fputs(discarded ? "" : kind == SUTRA_LEGACY_INFO ? "[INFO]: " : "[WARNING]: ", stream);
    fwrite(text, 1, length, stream);
    fputc('\n', stream);
}

static enum sutra_status write_output(struct legacy_job *legacy, struct sutra_error *error) {
    struct job *job = &legacy->pair.job;
    uint64_t *n_bytes = &job->figures.output_bytes;
    if (legacy->options.positional)
        return sutra_legacy_write_durations(job->context, legacy->legacy, job->output, n_bytes, error);
    char text[4200];
    int length = snprintf(text, sizeof text, "Enhanced execution trace dumped to %s.", job->output);
    if (legacy->is_trace_link)
        on_line(legacy, SUTRA_LEGACY_INFO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    return sutra_legacy_write(job->context, legacy->legacy, job->output, n_bytes, error);
}

static struct link_coverage coverage_of_names(const struct legacy_job *legacy) {
    const struct sutra_legacy_report *report = &legacy->report;
    /* If one iteration or step of the trace is linked, GPU activities that the others launch do not count. */
    const bool is_step = report->n_segments > 0 || (report->aligned && !legacy->options.positional);
    const uint64_t n_outside = is_step ? 0 : report->n_gpu_without_parent;
    struct link_coverage coverage = {
        .n_cpu = report->n_host_ops,
        .n_cpu_linked = report->n_matched,
        .n_gpu_linked = report->n_gpu_ops - report->n_gpu_memory_sets - report->n_gpu_without_launch -
                        report->n_gpu_without_parent - report->n_gpu_unmatched,
    };
    coverage.n_gpu = coverage.n_gpu_linked + report->n_gpu_without_launch + report->n_gpu_unmatched + n_outside;
    const struct link_cause causes[] = {
        {false, report->n_host_ops - report->n_matched,
         "not in the iteration of the device trace: check that both traces are of one run, or try another --annotation"},
        {true, report->n_gpu_unmatched,
         "below CPU operators that are not in the host trace: record both traces in one window"},
        {true, report->n_gpu_without_launch, "without a launch in the device trace: try --all-launches"},
        {true, n_outside, "launched outside of CPU operators: record with ProfilerActivity.CPU and all threads"},
    };
    if (legacy->options.positional)
        coverage.n_gpu = coverage.n_gpu_linked = 0; /* the output has no GPU operators */
    coverage_classify(&coverage, causes, COUNT_OF(causes));
    return coverage;
}

static int run_link(struct job *job) {
    struct legacy_job *legacy = (struct legacy_job *)job;
    struct pair_job *pair = &legacy->pair;
    struct sutra_legacy_report *report = &legacy->report;
    struct sutra_error error;
    job->watch.notes = job->verbose;
    legacy->options.line = on_line;
    legacy->options.arg = legacy;
    enum sutra_status status = pair_read(pair, &error);
    if (!status)
        status = sutra_legacy_link(job->context, pair->host, pair->device, &legacy->options, report, &legacy->legacy,
                                   &error);
    progress_clear(&job->watch.progress);
    if (!status)
        status = write_output(legacy, &error);
    if (status) {
        job_fail(job, &error);
        if (!legacy->compat_exit)
            return (int)status;
        /* trace_link.py exits with 0 if operators differ, unless its list of them exceeds the shorter side. */
        return report->mismatch && report->n_device_ops <= report->n_host_ops ? 0 : 1;
    }
    job_measure_inputs(job);
    const char *match = report->aligned ? "approximate" : "exact";
    if (job->log_level <= LOG_INFO && (!legacy->is_trace_link || isatty(STDERR_FILENO) || job->verbose)) {
        const struct summary_row rows[] = {
#define ROW(field, words, always) {report->field, words, always},
            COUNTS(ROW)
#undef ROW
        };
        const struct link_coverage coverage = coverage_of_names(legacy);
        if (coverage.result != LINK_NOTHING || job->log_level <= LOG_DEBUG) {
            fprintf(stderr, "sutra: linked into %s by %s match\n", output_name(job->output), match);
            summary_print(rows, COUNT_OF(rows));
            run_figures_print(&job->figures);
        }
        fprintf(stderr, "sutra: ");
        coverage_print(&coverage, output_name(job->output));
    }
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, report->field},
        COUNTS(COUNT)
#undef COUNT
    };
    return job_write_stats(job, match, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    struct legacy_job *legacy = (struct legacy_job *)job;
    sutra_legacy_free(legacy->legacy);
    pair_release(&legacy->pair);
    free(legacy->derived_output);
}

static const struct legacy_job defaults = {
    .pair.job.stages = stages,
    .options = {.size = sizeof(struct sutra_legacy_options), .min_match = 0.5},
    .report.size = sizeof(struct sutra_legacy_report),
};

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
    "identical too. Without --exact-match, exact match is tried first. If it does not fit, or if sequence numbers "
    "contradict, operators match by names, order and numbers per thread, as with 'sutra link --match names'. They "
    "determine the step of the device trace, and operators may be missing in either trace.",
    "The last line of the summary is the result, as of 'sutra link'. Under the name trace_link, the summary is printed "
    "only on a terminal or with --verbose.",
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

/* Fields of the command under both names. */
#define LEGACY_WORK                                                                                                    \
    .summary = "link two traces without common ids, by operator names and order", .size = sizeof(struct legacy_job),   \
    .defaults = &defaults, .check = check, .work = run_link, .release = release

const struct command link_legacy_command = {
    .name = "link-legacy",
    .called = "sutra link-legacy",
    .writes = ".json",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 2,
    LEGACY_WORK,
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
    .synopses = older_synopses,
    .description = older_description,
    .options = options,
    .examples = older_examples,
    LEGACY_WORK,
};
