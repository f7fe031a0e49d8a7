/*
 * convert.c - `sutra convert`: converts ET+ to a Chakra .et file, or a profiler's database to device traces. Also
 * chakra_converter: the same work with that program's name and command line.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/pair.h"
#include "cli/paths.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "sutra/convert.h"
#include "sutra/nsys.h"

struct convert_job {
    struct job job;
    struct sutra_convert_options options; /* keep_times: --faithful */
    struct faithful_values faithful;
    const char *input, *compat_input, *compat_output, *log_file;
    const char *astra; /* directory for the configuration of ASTRA-sim */
    uint64_t n_ranks;
    bool simulate;
    bool is_report;         /* the input is a profiler's database */
    uint64_t rank;          /* of the report, or RANK_UNSET */
    const char *annotation; /* of its steps */
    struct sutra_converted *converted;
    struct sutra_nsys *report;
};

#define RANK_UNSET UINT64_MAX

static const struct stage_share stages[] = {
    {"open", 5, false},         {"index", 10, false},      {"read", 45, false},  {"join", 5, false},
    {"order nodes", 10, false}, {"make nodes", 10, false}, {"write", 15, false}, {0},
};

/* X(field, words, whether the summary shows a count of 0) */
#define COUNTS(X)                                                                                                      \
    X(n_plus_nodes, "nodes in ET+", true)                                                                              \
    X(n_unmade, "  skipped: GPU nodes below no CPU operator", false)                                                   \
    X(n_dangling, "  skipped: nodes without dependencies and dependents", false)                                       \
    X(n_metadata, "  skipped: nodes that define process groups", false)                                                \
    X(n_nodes, "nodes written", true)                                                                                  \
    X(n_gpu_nodes, "  GPU operators", true)                                                                            \
    X(n_collectives, "    collectives", false)                                                                         \
    X(n_sends, "    sends", false)                                                                                     \
    X(n_receives, "    receives", false)                                                                               \
    X(n_unknown, "    collectives of unknown type, written as computation", false)                                     \
    X(n_types, "    collectives of types unknown to chakra_converter", false)                                          \
    X(n_nested, "    communication of nested tensor lists, sizes added", false)                                        \
    X(n_works, "    kernels with operations and bytes", false)                                                         \
    X(n_peers, "    sends and receives with peer and tag", false)                                                      \
    X(n_starts, "  with a start time", false)                                                                          \
    X(n_rootless, "  not below a thread", false)                                                                       \
    X(n_data_deps, "data dependencies", true)                                                                          \
    X(n_inter, "  on other threads", false)                                                                            \
    X(n_ctrl_deps, "control dependencies", true)                                                                       \
    X(n_absent, "dependencies on absent nodes: skipped", false)                                                        \
    X(n_groups, "process groups with other names: numbered", false)                                                    \
    X(n_rings, "dependencies that closed a cycle: skipped", false)                                                     \
    X(n_attributes, "attributes that are missing or of the wrong type: skipped", false)

#define ROWS_OF_CHAKRA_CONVERTER(heading)                                                                              \
    {"input",                                                                                                          \
     0,                                                                                                                \
     OPTION_FILE,                                                                                                      \
     "IN",                                                                                                             \
     AT(convert_job, compat_input),                                                                                    \
     .help = "read ET+ from IN, as chakra_converter does; implies --compat",                                           \
     .group = heading},                                                                                                \
        {"output",                                                                                                     \
         0,                                                                                                            \
         OPTION_FILE,                                                                                                  \
         "OUT",                                                                                                        \
         AT(convert_job, compat_output),                                                                               \
         .help = "write the .et file to OUT, as chakra_converter does; implies --compat",                              \
         .group = heading},                                                                                            \
        {"log-filename",                                                                                               \
         0,                                                                                                            \
         OPTION_FILE,                                                                                                  \
         "FILE",                                                                                                       \
         AT(convert_job, log_file),                                                                                    \
         .help = "accept this option of chakra_converter; sutra does not write to FILE",                               \
         .group = heading},                                                                                            \
    {                                                                                                                  \
        "simulate", 0, OPTION_FLAG, AT(convert_job, simulate),                                                         \
            .help = "accept this option of chakra_converter; it has no effect", .group = heading                       \
    }
#define ROWS_HOW JOB_ROW_THREADS, JOB_ROW_INPUT, JOB_ROW_FORCE, JOB_ROW_STATS, JOB_ROW_QUIET, JOB_ROW_VERBOSE

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write the .et file (protobuf), or the device trace of a report, to OUT, compressed if OUT ends in .gz or "
             ".zst; - is standard output"},
    {"rank", 0, OPTION_NUMBER, "N", AT(convert_job, rank), .maximum = INT64_MAX,
     .help = "write only rank N of a report (default: its only rank; all ranks if OUT is a directory)"},
    {"annotation", 'a', OPTION_TEXT, "TEXT", AT(convert_job, annotation),
     .help = "use the NVTX ranges TEXT of a report as steps (default: ranges such as iteration_3, step 3, batch#3)"},
    {"compat", 0, OPTION_FLAG, AT(convert_job, options.compat),
     .help = "write the same bytes as chakra_converter, even if no simulator can read the file"},
    {"faithful", 0, OPTION_FLAG, AT(convert_job, options.keep_times),
     .help = "reproduce the measured time as far as ET+ allows; ET+ lacks launches and most waits, which "
             "'sutra link HOST DEVICE -o OUT.et' reads from the device trace"},
    FAITHFUL_ROWS(convert_job, "--faithful output", NULL),
    {"astra", 0, OPTION_FILE, "DIR", AT(convert_job, astra),
     .help = "also write ASTRA-sim's comm_group.json, system.json, network.yml and memory.json to DIR"},
    {"ranks", 0, OPTION_NUMBER, "N", AT(convert_job, n_ranks), .maximum = 1000000,
     .help = "write the files of --astra for N ranks, or for the ranks in the trace if N is 0 (default: 0)"},
    {"keep-absent", 0, OPTION_FLAG, AT(convert_job, options.keep_absent),
     .help = "keep dependencies on absent nodes, which ASTRA-sim rejects", .group = group_more},
    {"keep-metadata", 0, OPTION_FLAG, AT(convert_job, options.keep_metadata),
     .help = "keep nodes that define process groups, which stop ASTRA-sim", .group = group_more},
    {"drop-rootless", 0, OPTION_FLAG, AT(convert_job, options.drop_rootless),
     .help = "omit nodes that are not below a thread", .group = group_more},
    {"keep-group-names", 0, OPTION_FLAG, AT(convert_job, options.keep_group_names),
     .help = "keep names of process groups that are not numbers", .group = group_more},
    {"no-start-times", 0, OPTION_FLAG, AT(convert_job, options.no_start_times), .help = "omit start times of nodes",
     .group = group_more},
    {"no-peers", 0, OPTION_FLAG, AT(convert_job, options.no_peers), .help = "omit peers and tags of sends and receives",
     .group = group_more},
    {"no-flops", 0, OPTION_FLAG, AT(convert_job, options.no_work),
     .help = "omit operations and bytes of kernels (num_ops, tensor_size)", .group = group_more},
    {"refuse-types", 0, OPTION_FLAG, AT(convert_job, options.refuse_types),
     .help = "fail on collectives unknown to chakra_converter: reduce, gather, scatter, unknown names",
     .group = group_more},
    {"refuse-nested", 0, OPTION_FLAG, AT(convert_job, options.refuse_nested),
     .help =
         "fail on communication of lists of lists of tensors, as chakra_converter does, instead of adding their sizes",
     .group = group_more},
    {"strict", 0, OPTION_FLAG, AT(job, options.strict),
     .help = "fail on a dependency cycle instead of removing a dependency", .group = group_more},
    ROWS_OF_CHAKRA_CONVERTER(group_more),
    ROWS_HOW,
    {0},
};

static const struct option_row converter_options[] = {
    ROWS_OF_CHAKRA_CONVERTER(NULL),
    ROWS_HOW,
    {0},
};

/* Checks the options of a report. */
static int check_report(const struct convert_job *convert) {
    const struct job *job = &convert->job;
    if (paths_same(job->output, convert->input))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", job->output);
    if (convert->options.compat || convert->options.keep_times || convert->astra)
        return message_fail(SUTRA_USAGE, "%s: --compat, --faithful and --astra need ET+, found a report",
                            convert->input);
    if (path_ends_in(job->output, ".et"))
        return message_fail(SUTRA_USAGE, "%s: convert writes a report as a device trace; use -o NAME.json.gz",
                            job->output);
    return path_is_folder(job->output) ? SUTRA_OK : path_check_format(job->output, ".json or .pftrace");
}

static int check(struct job *job) {
    struct convert_job *convert = (struct convert_job *)job;
    const struct command *command = job->command;
    const char *format = job->operands.n > 0 ? job->operands.words[0] : "";
    if (command == &converter_command && strcmp(format, "PyTorch") != 0)
        return message_fail(SUTRA_USAGE, "missing format: expected PyTorch; see '%s --help'", command->called);
    bool *compat = &convert->options.compat, faithful = convert->options.keep_times;
    *compat |= convert->compat_input || convert->compat_output || command == &converter_command;

    /* Input and output: the operand and -o, or --input and --output. */
    if (command == &convert_command && job->operands.n > 0)
        convert->input = job->operands.words[0];
    if (convert->compat_input && convert->input)
        return message_fail(SUTRA_USAGE, "two inputs: --input and '%s'; pass only one", convert->input);
    if (convert->compat_output && job->output)
        return message_fail(SUTRA_USAGE, "--output and --output-file exclude each other");
    if (convert->compat_input)
        convert->input = convert->compat_input;
    if (convert->compat_output)
        job->output = convert->compat_output;
    if (!convert->input)
        return message_fail(SUTRA_USAGE, "missing input; see '%s --help'", command->called);
    if (!job->output)
        return message_fail(SUTRA_USAGE, "missing output; see '%s --help'", command->called);
    job->inputs = &convert->input;
    job->n_inputs = 1;

    /* The kind of the input, by its first bytes. Errors of an input that cannot be opened follow from reading it. */
    int exit_code = SUTRA_OK;
    struct source source;
    if (!convert->compat_input) {
        TRY_CODE(job_spool_operand(job));
        convert->input = job->operands.words[0];
    }
    if ((!convert->compat_input || path_size(convert->input) > 0) &&
        !source_open_format(&source, convert->input, is_sqlite, job->options.most_input_bytes, NULL)) {
        struct sutra_error error;
        convert->is_report = is_sqlite(source.bytes, source.size);
        const bool is_et_json = file_kind(source.name, source.bytes, source.size).format == FILE_ET_JSON;
        if ((is_et_json || !may_be_trace(source.bytes, source.size)) &&
            source_refuse(&source, 0, "ET+ or the SQLite database of a report",
                          ": 'sutra link HOST DEVICE -o LINKED.json' writes ET+", &error))
            exit_code = message_error(&error);
        source_close(&source);
        TRY_CODE(exit_code);
    }
    if (convert->is_report)
        return check_report(convert);
    if (convert->rank != RANK_UNSET || convert->annotation)
        return message_fail(SUTRA_USAGE,
                            "--rank and --annotation need a report of Nsight Systems, rocprofv3 or rocmProfileData");

    if (paths_same(job->output, convert->input))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", job->output);
    if (!*compat && path_ends_in(job->output, ".json"))
        return message_fail(SUTRA_USAGE,
                            "%s: convert writes protobuf, not JSON; use -o NAME.et, then 'sutra jsonize NAME.et -o %s'",
                            job->output, job->output);
    if (!*compat)
        TRY_CODE(path_check_format(job->output, ".et"));
    if (faithful && *compat)
        return message_fail(SUTRA_USAGE, "--faithful and --compat exclude each other");
    if (faithful_is_requested(&convert->faithful) && !faithful)
        return message_fail(SUTRA_USAGE, "--gpu and --min-idle-us need --faithful");
    if (convert->astra)
        TRY_CODE(path_check_format(convert->astra, ""));
    if (convert->astra && *compat)
        return message_fail(SUTRA_USAGE,
                            "--astra and --compat exclude each other: ASTRA-sim rejects the files of --compat");
    return faithful_check(&convert->faithful);
}

/* Writes all ranks, or the selected one, of a report. */
static enum sutra_status write_ranks(struct convert_job *convert, const struct sutra_nsys_info *info,
                                     struct sutra_error *error) {
    struct job *job = &convert->job;
    struct sutra_nsys_rank rank;
    size_t length = strlen(job->output);
    if (!path_is_folder(job->output) && job->output[length - 1] != '/') {
        int64_t only = info->rank;
        if (convert->rank != RANK_UNSET)
            only = (int64_t)convert->rank;
        else if (only < 0 && sutra_nsys_rank(convert->report, 0, &rank))
            only = rank.rank;
        return sutra_nsys_write_trace(job->context, convert->report, only, job->output, &job->figures.output_bytes,
                                      error);
    }
    enum sutra_status status = folder_create(job->output, error);
    for (uint32_t i = 0; !status && sutra_nsys_rank(convert->report, i, &rank); i++) {
        char *path = NULL;
        uint64_t n_bytes = 0;
        if ((convert->rank != RANK_UNSET && rank.rank != (int64_t)convert->rank) ||
            (info->rank >= 0 && rank.rank != info->rank))
            continue;
        TRY_ALLOC(asprintf(&path, "%s/rank%" PRId64 ".json.gz", job->output, rank.rank) >= 0, error);
        status = sutra_nsys_write_trace(job->context, convert->report, rank.rank, path, &n_bytes, error);
        job->figures.output_bytes += n_bytes;
        free(path);
    }
    return status;
}

static int convert_report(struct convert_job *convert) {
    static const struct stage_share report_stages[] = {{"read report", 70, false}, {"write", 30, false}, {0}};
    struct job *job = &convert->job;
    struct sutra_error error;
    const struct sutra_nsys_options reading = {
        .size = sizeof reading, .annotation = convert->annotation, .no_tables = true};
    struct sutra_nsys_info info = {.size = sizeof info};
    bool is_folder = path_is_folder(job->output) || job->output[strlen(job->output) - 1] == '/';
    job->watch.progress.stages = report_stages;
    if (job_open(job, is_folder ? NULL : job->output, &error) ||
        sutra_nsys_read(job->context, convert->input, &reading, &convert->report, &error))
        return job_fail(job, &error);
    sutra_nsys_info(convert->report, &info);
    if (!is_folder && convert->rank == RANK_UNSET && info.rank < 0 && info.n_ranks != 1) {
        progress_clear(&job->watch.progress);
        return message_fail(SUTRA_USAGE,
                            "%s: %u ranks in the report: select one with --rank, or write a directory (-o DIR/)",
                            convert->input, info.n_ranks);
    }
    if (write_ranks(convert, &info, &error))
        return job_fail(job, &error);
    job_measure_inputs(job);
    const struct named_count counts[] = {{"n_events", info.n_events}, {"n_ranks", info.n_ranks}};
    if (!job->quiet) {
        fprintf(stderr, "sutra: converted into %s\n", output_name(job->output));
        summary_print(&(const struct summary_row){info.n_events, "events read", true}, 1);
        run_figures_print(&job->figures);
    }
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

/* Prints the summary, one count per line, and writes --stats. `faithful`: NULL without measured times. */
static int report_counts(const struct job *job, const struct sutra_convert_report *report,
                         const struct sutra_faithful_report *faithful) {
    const struct summary_row rows[] = {
#define ROW(field, words, always) {report->field, words, always},
        COUNTS(ROW)
#undef ROW
    };
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, report->field},
        COUNTS(COUNT)
#undef COUNT
    };
    _Static_assert(COUNT_OF(counts) == (sizeof(struct sutra_convert_report) - sizeof(size_t)) / sizeof(uint64_t),
                   "every field of the report is printed");
    if (faithful)
        faithful_warn(faithful);
    if (!job->quiet) {
        fprintf(stderr, "sutra: converted into %s\n", output_name(job->output));
        summary_print(rows, COUNT_OF(rows));
        if (faithful) {
            faithful_summary_print(faithful);
            fputs(
                "sutra: not modeled, because ET+ does not record them: launches, most synchronizing calls, and\n"
                "streams that wait for each other. 'sutra link HOST DEVICE -o X.et' reads them from the device trace\n",
                stderr);
        }
        run_figures_print(&job->figures);
    }
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

static int convert_file(struct job *job) {
    struct convert_job *convert = (struct convert_job *)job;
    struct sutra_faithful_report faithful = {.size = sizeof faithful};
    struct sutra_convert_report report = {.size = sizeof report};
    struct sutra_error error;
    if (convert->is_report)
        return convert_report(convert);
    if (job_open(job, job->output, &error) ||
        sutra_convert(job->context, convert->input, &convert->options, &convert->converted, &error))
        return job_fail(job, &error);
    sutra_converted_report(convert->converted, &report);
    if ((!report.n_plus_nodes && !convert->options.compat &&
         error_file(&error, SUTRA_DATA, convert->input, "the trace has no nodes: link a trace with operators")) ||
        (convert->options.keep_times && sutra_converted_run_faithful(job->context, convert->converted, NULL,
                                                                     &convert->faithful.options, &faithful, &error)) ||
        (convert->astra && folder_create(convert->astra, &error)) ||
        sutra_converted_write(job->context, convert->converted, job->output, &job->figures.output_bytes, &error) ||
        (convert->astra && sutra_converted_write_astra(job->context, convert->converted, convert->astra,
                                                       (uint32_t)convert->n_ranks, &error)))
        return job_fail(job, &error);
    job_measure_inputs(job);
    sutra_converted_report(convert->converted, &report);
    return report_counts(job, &report, convert->options.keep_times ? &faithful : NULL);
}

static void release(struct job *job) {
    struct convert_job *convert = (struct convert_job *)job;
    sutra_converted_free(convert->converted);
    sutra_nsys_free(convert->report);
}

static const struct convert_job defaults = {.job = {.device.choice = SUTRA_DEVICE_CPU, .stages = stages},
                                            .rank = RANK_UNSET,
                                            .options.size = sizeof(struct sutra_convert_options),
                                            .faithful.options.size = sizeof(struct sutra_faithful_options)};

static const char *const synopses[] = {
    "ET+ -o OUT [OPTIONS]",
    "REPORT -o TRACE.json.gz [OPTIONS]",
    "--input ET+ --output OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Converts ET+, the output of 'sutra link', to a Chakra file for simulators (protobuf, .et). Each operator and GPU "
    "operator becomes a node with a duration. It depends on the previous node of its thread, and on the node of "
    "another thread that it waited for.",
    "--compat, --input and --output follow the rules of chakra_converter of MLCommons Chakra. Where chakra_converter "
    "succeeds, the output is byte-identical. Its files can have dependencies on absent nodes, which ASTRA-sim rejects. "
    "Without --compat, sutra drops these dependencies and nodes that only define process groups, keeps nodes that are "
    "not below a thread, numbers the process groups, and breaks dependency cycles.",
    "--faithful models CPU time as one chain of nodes, and the dependencies of kernels, so that a simulation takes the "
    "measured time. ET+ does not record launches, waits of streams for each other, and most synchronizing calls. A "
    "file that 'sutra link HOST DEVICE -o OUT.et' writes has these, and gives more accurate what-ifs. ET+ of 'sutra "
    "link-legacy' does not record when GPU operators start, so --faithful fails.",
    "REPORT is an SQLite database of Nsight Systems (nsys export --type sqlite), rocprofv3 (rocpd) or rocmProfileData "
    "(.rpd). The output is a device trace in Kineto's format, with all digits of the times, steps as ProfilerStep#N, and NVTX ranges of "
    "emit_nvtx() as operators. Each process with GPU activity is a rank.",
    "A summary on standard error counts written and skipped nodes. The output file is written atomically.",
    NULL,
};
static const struct example examples[] = {
    {"sutra convert linked.json -o trace.0.et", "write a file of rank 0 for ASTRA-sim"},
    {"sutra convert linked.json.gz --compat -o trace.0.et", "write the same bytes as chakra_converter"},
    {"sutra convert linked.json --faithful -o trace.0.et", "reproduce the measured time as far as ET+ allows"},
    {"sutra convert linked.json -o job.0.et --astra astra --ranks 8", "also write the configuration of ASTRA-sim"},
    {"sutra link host.json device.json -o - --quiet | sutra convert - -o trace.0.et", "link and convert in a pipe"},
    {"sutra convert report.sqlite -o trace.json.gz", "convert a report of Nsight Systems to a device trace"},
    {"sutra convert report.sqlite -o traces/", "write the device trace of each rank of a report"},
    {0},
};

/* Fields of the command under both names. */
#define CONVERT_WORK                                                                                                   \
    .n_operands_max = 1, .size = sizeof(struct convert_job), .defaults = &defaults, .check = check,                    \
    .work = convert_file, .release = release

const struct command convert_command = {
    .name = "convert",
    .called = "sutra convert",
    .summary = "convert ET+ to Chakra .et, or an Nsight Systems report to a trace",
    COMMAND_TEXTS,
    CONVERT_WORK,
};

static const char *const formats[] = {"PyTorch", NULL};
static const char *const converter_synopses[] = {
    "PyTorch --input ET+ --output OUT [OPTIONS]",
    NULL,
};
static const char *const converter_description[] = {
    "Runs 'sutra convert --compat' with the command line of MLCommons Chakra's chakra_converter.",
    NULL,
};
static const struct example converter_examples[] = {
    {"chakra_converter PyTorch --input linked.json --output trace.0.et", "convert ET+ for simulators"},
    {0},
};

const struct command converter_command = {
    .name = "chakra_converter",
    .called = "chakra_converter",
    .summary = "convert ET+ to a Chakra .et file for simulators",
    .synopses = converter_synopses,
    .description = converter_description,
    .options = converter_options,
    .examples = converter_examples,
    .operand_kind = OPERAND_WORD,
    .operand_words = formats,
    CONVERT_WORK,
};
