/*
 * link.c - `sutra link`: links a host trace and a device trace into ET+. Also chakra_trace_link: the same work with
 * that program's name and command line.
 *
 * First checks that need no input (arguments, writable output), then the library call, then summary and statistics.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link/link_job.h"
#include "cli/link/link_result.h"
#include "cli/tool/advice.h"
#include "cli/tool/faithful.h"
#include "cli/tool/figures.h"
#include "cli/tool/message.h"
#include "sutra/sutra.h"

#define RANK_NONE UINT64_MAX

#define STAGES_LINK                                                                                                    \
    STAGES_READ("host trace", 19), STAGES_READ("device trace", 17), {"sort events", 3, false},                         \
        {"exclusive durations", 1, false}, {"order between threads", 1, false}, {"find parents", 2, false},            \
        {"link", 1, false}, {                                                                                          \
        "synchronization", 4, false                                                                                    \
    }

static const struct stage_share stages[] = {STAGES_LINK, {"write", 52, false}, {0}};
static const struct stage_share stages_of_et[] = {STAGES_LINK,
                                                  {"read nodes", 23, false},
                                                  {"order nodes", 3, false},
                                                  {"make nodes", 5, false},
                                                  {"measured times", 11, false},
                                                  {"simulate", 5, false},
                                                  {"write", 9, false},
                                                  {0}};

#define AT(field) .offset = offsetof(struct link_values, field)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(pair.job.output),
     .help = "write ET+ to OUT, or a Chakra file for simulators if OUT ends in .et; add .gz or .zst to compress; - is "
             "standard output"},
    {"chakra-host-trace", 0, OPTION_FILE, "HOST", AT(pair.host),
     .help = "read the host trace (PyTorch's execution trace) from HOST: plain, gzip or zstd; - is standard input"},
    {"chakra-device-trace", 0, OPTION_FILE, "DEVICE", AT(pair.device),
     .help = "read the device trace (Kineto trace) from DEVICE: plain, gzip or zstd; - is standard input"},
    {"rank", 0, OPTION_NUMBER, "N", AT(rank), .maximum = INT64_MAX,
     .help = "accept the rank that recorded the traces, as chakra_trace_link requires; the output does not depend on "
             "it"},
    WHERE_ROWS(pair.job.where),
    {"no-sync", 0, OPTION_FLAG, AT(no_sync), .help = "omit synchronization dependencies"},
    {"hta-pandas3", 0, OPTION_FLAG, AT(hta_pandas3),
     .help = "find only the synchronization dependencies that chakra_trace_link finds with pandas 3"},
    PAIR_ROW_MAX_OUTPUT,
    {"plain", 0, OPTION_FLAG, AT(plain), .help = "write the .et file of 'sutra convert', without the measured times"},
    {"compat", 0, OPTION_FLAG, AT(compat), .help = "write the .et file of chakra_converter"},
    FAITHFUL_ROWS(how, ".et output"),
    {"no-flops", 0, OPTION_FLAG, AT(no_work), .help = "omit the operations and bytes of kernels from .et output"},
    {"ranks", 0, OPTION_FILE, "TABLE", AT(table),
     .help = "read the ranks of a job from TABLE instead of directories; each line contains rank, host trace and "
             "device trace, separated by tabs"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = link_formats,
     .help = "write one file rank.N.FORMAT per rank of a job: json, json.gz, json.zst, et, et.gz, et.zst (default: "
             "json)"},
    {"astra", 0, OPTION_FLAG, AT(astra),
     .help = "write the .et files of a job for ASTRA-sim: collectives match by ASTRA-sim's rules, and its "
             "configuration is added"},
    {"dry-run", 0, OPTION_FLAG, AT(dry_run),
     .help = "print the pairs of traces of a job as a table for --ranks, without linking"},
    {"relink", 0, OPTION_FLAG, AT(again), .help = "also link the ranks of a job that are already linked"},
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(memory), .maximum = UINT64_MAX,
     .help = "limit the estimated memory of concurrently linked ranks of a job to BYTES, for example 16G (default: no "
             "limit)"},
    {"shard", 0, OPTION_TEXT, "K/N", AT(part),
     .help = "link every N-th rank of a job, beginning with the K-th; 'slurm' reads K/N from the variables of a Slurm "
             "array task"},
    {"combine", 0, OPTION_FILE, "DIR", AT(finish),
     .help = "combine the results of all shards of a job in DIR, and write its job.json"},
    {"strict", 0, OPTION_FLAG, AT(pair.job.strict),
     .help = "fail instead of repairing a trace with a warning, or if nothing matches"},
    {"lenient", 0, OPTION_FLAG, AT(pair.job.lenient),
     .help = "repair malformed JSON and ignore fields of the wrong type instead of failing"},
    PAIR_ROWS_STATS,
    {"verbose", 'v', OPTION_FLAG, AT(pair.job.verbose), .help = "print notes on each decision, as --log-level DEBUG"},
    PAIR_ROW_LOG_LEVEL,
    {0},
};

/* Whether a name says that the file is for simulators: it ends in .et, and a compression's ending may stand behind. */
static bool names_et(const char *path) {
    static const char *const packed[] = {".gz", ".zst"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t n = strlen(packed[i]);
        if (length > n && strcmp(path + length - n, packed[i]) == 0) {
            length -= n;
            break;
        }
    }
    return length > 3 && memcmp(path + length - 3, ".et", 3) == 0;
}

/* What goes with an output for simulators only; `path` is one of its names. */
static int check_output(struct link_values *values, const struct command *command, const char *path) {
    values->et = command == &link_command && names_et(path);
    if ((values->plain || values->compat || faithful_is_asked(&values->how) || values->no_work) && !values->et)
        return message_fail(SUTRA_USAGE,
                            "--plain, --compat, --gpu, --min-idle-us and --no-flops need an output that ends in .et");
    values->faithful = values->et && !values->plain && !values->compat;
    values->pair.job.stages = values->et ? stages_of_et : stages;
    if (values->astra && (!link_is_job(values) || !values->faithful))
        return message_fail(SUTRA_USAGE, "--astra needs a job with .et output, without --plain and --compat");
    if (values->astra && values->how.gpu == GPU_STREAMS)
        return message_fail(SUTRA_USAGE,
                            "--astra and --gpu streams exclude each other: ASTRA-sim simulates one GPU resource");
    return faithful_check(&values->how);
}

/* Options of a job say nothing about a pair. */
static int check_no_job(const struct link_values *values) {
    const char *of_job = values->dry_run  ? "--dry-run"
                         : values->again  ? "--relink"
                         : values->memory ? "--memory"
                         : values->part   ? "--shard"
                         : values->format ? "--format"
                                          : NULL;
    if (!of_job || !values->pair.host)
        return SUTRA_OK;
    return message_fail(SUTRA_USAGE, "%s needs a job: %s is not a directory of traces", of_job, values->pair.host);
}

static int check_values(struct link_values *values, const struct command *command) {
    int exit_code = pair_check_flags(&values->pair);
    if (exit_code == SUTRA_OK)
        exit_code = check_no_job(values);
    if (exit_code == SUTRA_OK && values->pair.job.verbose)
        values->pair.log_level = LOG_DEBUG;
    if (exit_code == SUTRA_OK)
        exit_code = pair_check_named(&values->pair, command);
    if (exit_code == SUTRA_OK && !values->pair.job.output)
        return message_fail(SUTRA_USAGE, "the output is missing (-o OUT); see '%s --help'", command->called);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if ((exit_code = check_output(values, command, values->pair.job.output)) != SUTRA_OK)
        return exit_code;
    return pair_check_files(&values->pair);
}

/* What lives while two files are linked. */
struct link_job {
    const struct link_values *values;
    struct pair pair;
    struct sutra_linked *linked;
    struct link_result result;
    struct sutra_faithful_report faithful;
};

/* The command that links the pair by names; false if that does not fit either. */
static bool find_command(const struct link_job *job, char *text, size_t size) {
    struct sutra_advice advice = {.size = sizeof advice};
    return sutra_advise(job->pair.job.context, job->pair.host, job->pair.device, &advice, NULL) == SUTRA_OK &&
           advice.linker != SUTRA_LINKER_IDS &&
           advice_command(&advice, job->values->pair.host, job->values->pair.device, job->values->pair.job.output, text,
                          size);
}

/* Names the command that fits, where the library has said that few operators are linked. */
static void tell_command(const struct link_job *job) {
    char text[700] = "these traces can be linked by operator names, with: ";
    const struct sutra_link_report *report = &job->result.report;
    size_t length = strlen(text);
    if (2 * report->n_host_linked < report->n_host_ops && find_command(job, text + length, sizeof text - length))
        message_note(text);
}

/* Says that no GPU operator is linked, if so, which a person would not notice in the output. */
static int check_matches(const struct link_job *job, bool strict) {
    const struct sutra_link_report *report = &job->result.report;
    tell_command(job);
    if (report->n_host_linked == 0 || report->n_gpu_nodes > 0 || report->n_gpu_ops == 0)
        return SUTRA_OK;
    char text[640];
    snprintf(text, sizeof text,
             "none of %s GPU activities is linked: %s without a launch, %s without a CPU operator, %s without a host "
             "operator",
             count_text(report->n_gpu_ops).text, count_text(report->n_gpu_without_launch).text,
             count_text(report->n_gpu_without_parent).text, count_text(report->n_gpu_host_unmatched).text);
    if (strict)
        return message_fail(SUTRA_STRICT, "%s", text);
    message_warn("%s", text);
    return SUTRA_OK;
}

static enum sutra_status job_write(struct link_job *job, struct sutra_error *error) {
    const struct link_output output = link_output_of(job->values);
    const struct linked_traces spent = {job->linked, job->pair.host, job->pair.device};
    return link_output_write(job->pair.job.context, &spent, &output, NULL, job->values->pair.job.output,
                             &job->pair.job.figures.output_bytes, &job->faithful, error);
}

static enum sutra_status job_link(struct link_job *job, struct sutra_error *error) {
    const struct sutra_link_options link_options = link_options_of(job->values);
    enum sutra_status status = pair_read(&job->pair, error);
    if (!status)
        status =
            sutra_link(job->pair.job.context, job->pair.host, job->pair.device, &link_options, &job->linked, error);
    return status;
}

static int job_run(struct link_job *job) {
    const struct link_values *values = job->values;
    struct sutra_error error;
    enum sutra_status status = job_link(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (status)
        return message_error(&error);
    sutra_linked_report(job->linked, &job->result.report);
    if (values->pair.log_level <= LOG_WARNING || values->pair.job.strict) {
        int matches = check_matches(job, values->pair.job.strict);
        if (matches != SUTRA_OK)
            return matches;
    }
    status = job_write(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (status)
        return message_error(&error);
    pair_measure(&job->pair);
    job->result.figures = &job->pair.job.figures;
    if (values->faithful && values->pair.log_level <= LOG_WARNING)
        faithful_warn(&job->faithful);
    if (values->pair.log_level <= LOG_INFO)
        link_summary_print(&job->result);
    if (values->faithful && values->pair.log_level <= LOG_INFO)
        faithful_summary_print(&job->faithful);
    return values->pair.job.stats ? (int)link_stats_write(&job->result, values->pair.job.stats) : SUTRA_OK;
}

static int link_files(const struct link_values *values) {
    struct link_job job = {
        .values = values, .result.report.size = sizeof job.result.report, .faithful.size = sizeof job.faithful};
    job.pair = pair_start(&values->pair, values->pair.log_level <= LOG_DEBUG);
    int exit_code = job_run(&job);
    sutra_linked_free(job.linked);
    pair_end(&job.pair);
    return exit_code;
}

/* Reads the words; false: there is nothing more to do. */
static bool read_words(const struct command *command, int argc, char **argv, struct link_values *values,
                       int *exit_code) {
    struct operands operands;
    *values = (struct link_values){.rank = RANK_NONE, .pair.log_level = LOG_INFO, .how.gpu = GPU_UNSAID};
    if (!arguments_parse(command, argc, argv, values, &operands, exit_code))
        return false;
    if (command == &trace_link_command && values->rank == RANK_NONE)
        *exit_code = message_fail(SUTRA_USAGE, "the rank is missing (--rank N); see '%s --help'", command->called);
    else
        *exit_code = pair_take_operands(&values->pair, &operands);
    return *exit_code == SUTRA_OK;
}

static int link_job_words(struct link_values *values, const struct command *command, const struct job_team *team) {
    char name[RANK_FILE_MAX];
    rank_file_name(0, link_endings[values->format], name);
    int exit_code = check_output(values, command, name);
    return exit_code == SUTRA_OK ? link_whole_job(values, command, team) : exit_code;
}

int link_run_team(int argc, char **argv, const struct job_team *team) {
    struct link_values values;
    int exit_code;
    if (!read_words(&link_command, argc, argv, &values, &exit_code))
        return exit_code;
    if (!link_is_job(&values))
        return message_fail(
            SUTRA_USAGE, "several processes can only link a job: name directories of traces; see 'sutra link --help'");
    return link_job_words(&values, &link_command, team);
}

static int run(const struct command *command, int argc, char **argv) {
    struct link_values values;
    int exit_code;
    if (!read_words(command, argc, argv, &values, &exit_code))
        return exit_code;
    if (link_is_job(&values))
        return link_job_words(&values, command, NULL);
    if ((exit_code = check_values(&values, command)) != SUTRA_OK)
        return exit_code;
    return link_files(&values);
}

static const char *const synopses[] = {
    "HOST DEVICE -o OUT [OPTIONS]",
    "HOSTS DEVICES -o DIR [OPTIONS]",
    "--chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Links the host trace HOST and the device trace DEVICE of one rank into ET+: the host trace with durations, "
    "dependencies, and a node for each GPU operator below the operator that launched it. ET+ is byte-identical to the "
    "output of chakra_trace_link (MLCommons Chakra) wherever chakra_trace_link succeeds.",
    "A summary on standard error counts linked, unmatched and skipped events. OUT is replaced atomically.",
    "An OUT that ends in .et is a Chakra file for simulators such as ASTRA-sim. Its nodes replay with the measured "
    "time: CPU work is one chain, waits for the GPU are dependencies, and kernels follow the work that they waited "
    "for. The summary reports the simulated and the measured time. 'sutra simulate' replays the file.",
    "Directories instead of files are a job: HOSTS contains the host traces of its ranks, DEVICES the device traces. "
    "Both may be the same directory. Traces are paired by the rank in the device trace, by the process id in both "
    "traces, and by numbers in file names. Files without a partner are reported and skipped.",
    "DIR receives one file per rank, job.json, and comm_groups.json for .et files. job.json reports results and "
    "problems across ranks. Ranks are linked again only if their traces or the options change, so an interrupted job "
    "continues. If a rank cannot be linked, sutra links the other ranks and exits with code 65, or with 71, 73 or 74 if "
    "memory or the disk is the cause.",
    "The .et files of a job synchronize ranks at collectives when they are simulated: clocks are aligned by the ends "
    "of collectives, and durations exclude waits for other ranks. The files are for a GPU with one resource per "
    "stream; --gpu one and --astra write files for a GPU with one resource.",
    NULL,
};
static const struct example examples[] = {
    {"sutra link host.json device.json -o linked.json", "link two traces"},
    {"sutra link host.json device.json -o trace.0.et", "write a Chakra file for simulators"},
    {"sutra link host.json.gz device.json.gz -o linked.json.zst --stats stats.json",
     "read and write compressed files, and write statistics"},
    {"sutra link hosts devices -o linked --format et", "link all ranks of a job"},
    {"zcat host.json.gz | sutra link - device.json -o - --quiet | less", "link in a pipe"},
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
    "Runs 'sutra link' with the command line of chakra_trace_link of MLCommons Chakra. The first four options are "
    "required.",
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
