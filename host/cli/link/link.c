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
        "synchronisation", 4, false                                                                                    \
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
     .help = "write ET+ to OUT, or a Chakra file for simulators if it ends in .et; compressed if .gz or .zst stands "
             "behind that; - is standard output"},
    {"chakra-host-trace", 0, OPTION_FILE, "HOST", AT(pair.host),
     .help = "the host trace (PyTorch's execution trace), plain, gzip or zstd; - is standard input"},
    {"chakra-device-trace", 0, OPTION_FILE, "DEVICE", AT(pair.device),
     .help = "the device trace (Kineto's timeline), plain, gzip or zstd; - is standard input"},
    {"rank", 0, OPTION_NUMBER, "N", AT(rank), .maximum = INT64_MAX,
     .help = "the rank that recorded the traces; for chakra_trace_link's command line, the output is the same for any"},
    WHERE_ROWS(pair.job.where),
    {"no-sync", 0, OPTION_FLAG, AT(no_sync), .help = "leave synchronisation dependencies out"},
    {"hta-pandas3", 0, OPTION_FLAG, AT(hta_pandas3),
     .help = "find the synchronisation dependencies that the reference finds with pandas 3, which are few"},
    PAIR_ROW_MAX_OUTPUT,
    {"plain", 0, OPTION_FLAG, AT(plain),
     .help = "for an OUT that ends in .et: the file that 'sutra convert' makes of ET+, without the measured times"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "for an OUT that ends in .et: the file that chakra_converter makes of ET+"},
    FAITHFUL_ROWS(how, "for an OUT that ends in .et"),
    {"no-work", 0, OPTION_FLAG, AT(no_work),
     .help = "for an OUT that ends in .et: do not write how many operations kernels do and bytes they move"},
    {"ranks", 0, OPTION_FILE, "TABLE", AT(table),
     .help = "for a job: instead of folders, a line for each rank: its number, host trace and device trace with tabs "
             "between"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = link_formats,
     .help =
         "for a job: write a file rank.N.FORMAT for each rank: json, json.gz, json.zst, et, et.gz, et.zst (default: "
         "json)"},
    {"astra", 0, OPTION_FLAG, AT(astra),
     .help =
         "for a job of .et files: files in which ranks meet as ASTRA-sim lets them, and its configuration beside them"},
    {"dry-run", 0, OPTION_FLAG, AT(dry_run),
     .help = "for a job: print which traces are of one rank, as such a table, and do nothing"},
    {"again", 0, OPTION_FLAG, AT(again), .help = "for a job: also link the ranks that are done already"},
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(memory), .maximum = UINT64_MAX,
     .help = "for a job: begin a rank only where it should fit into BYTES with those under way; 16G is a number too "
             "(default: any)"},
    {"part", 0, OPTION_TEXT, "K/N", AT(part),
     .help = "for a job: link every N-th rank, from the K-th on; 'slurm' reads K/N from the variables of a Slurm array "
             "task"},
    {"finish", 0, OPTION_FILE, "DIR", AT(finish),
     .help = "for a job: sum up what the parts have done in DIR, and write its job.json"},
    {"strict", 0, OPTION_FLAG, AT(pair.job.strict),
     .help = "fail where a trace would otherwise be mended with a warning, or where nothing matches"},
    {"lenient", 0, OPTION_FLAG, AT(pair.job.lenient),
     .help = "mend text that is no JSON, and take fields of a wrong type as absent and count them, instead of failing"},
    PAIR_ROWS_STATS,
    {"verbose", 'v', OPTION_FLAG, AT(pair.job.verbose),
     .help = "also say what is done and why; like --log-level DEBUG"},
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
                            "--plain, --compat, --gpu, --rest and --no-work are for an output that ends in .et");
    values->faithful = values->et && !values->plain && !values->compat;
    values->pair.job.stages = values->et ? stages_of_et : stages;
    if (values->astra && (!link_is_job(values) || !values->faithful))
        return message_fail(SUTRA_USAGE, "--astra is for a job of files that end in .et and take the measured times");
    if (values->astra && values->how.gpu == GPU_STREAMS)
        return message_fail(SUTRA_USAGE, "--astra and --gpu streams exclude each other: ASTRA-sim has one GPU");
    return faithful_check(&values->how);
}

/* Options of a job say nothing about a pair. */
static int check_no_job(const struct link_values *values) {
    const char *of_job = values->dry_run  ? "--dry-run"
                         : values->again  ? "--again"
                         : values->memory ? "--memory"
                         : values->part   ? "--part"
                         : values->format ? "--format"
                                          : NULL;
    if (!of_job || !values->pair.host)
        return SUTRA_OK;
    return message_fail(SUTRA_USAGE, "%s is for a job, which has folders of traces: %s is none", of_job,
                        values->pair.host);
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
    char text[700] = "these can be linked by names, with: ";
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
    char text[600];
    snprintf(text, sizeof text,
             "none of %s GPU operators is linked: %s have no launch, %s no CPU operator, %s no host operator",
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
        return message_fail(SUTRA_USAGE, "several processes link a job: give folders; see 'sutra link --help'");
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
    "Joins the host trace HOST and the device trace DEVICE of one rank into ET+: the host trace, with durations and "
    "dependencies added, and with a node for each GPU operator below the operator that launched it. The rules are "
    "those of chakra_trace_link of MLCommons Chakra; where that program succeeds the output is the same, byte for "
    "byte.",
    "A summary on standard error counts what was linked and all that was left out. An old OUT stays as it is until the "
    "new one is whole.",
    "An OUT that ends in .et becomes a Chakra file for simulators such as ASTRA-sim, whose nodes take the measured time: "
    "the processor's as one chain, its waits for the GPU as dependencies, kernels after what they waited for. The "
    "summary tells the simulated time beside the measured one; 'sutra simulate' runs the file.",
    "Folders instead of files are those of a job: HOSTS has the host traces of its ranks, DEVICES the device traces (both "
    "may be one folder). Traces of one rank are found by the rank that the device trace tells, by the process that both "
    "tell, and by numbers in their names; what does not fit is told and left out. DIR gets a file for each rank, "
    "job.json, which tells what was done and what is wrong across ranks, and comm_groups.json for files that end in .et. "
    "Ranks that are done are not linked again unless their traces or the options have changed, so that a job that was "
    "interrupted goes on where it stopped. A rank that cannot be linked does not keep the others from it: the exit code "
    "is 65 then, or 71, 73 or 74 where memory or the disk is to blame.",
    "Files of a job that end in .et let its ranks meet when they are simulated: clocks are aligned by the ends of "
    "collectives, and no wait for another rank is in a duration. They are for a GPU with a resource for each stream; "
    "--gpu one and --astra make files for one.",
    NULL,
};
static const struct example examples[] = {
    {"sutra link host.json device.json -o linked.json", "link two traces"},
    {"sutra link host.json device.json -o trace.0.et", "make a file for simulators at once"},
    {"sutra link host.json.gz device.json.gz -o linked.json.zst --stats stats.json",
     "read and write compressed files, and keep the figures"},
    {"sutra link hosts devices -o linked --format et", "link all ranks of a job"},
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
    "name. The first four of the options must be there.",
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
