/*
 * convert.c - `sutra convert`: converts ET+ to a Chakra .et file. Also chakra_converter: the same work with that
 * program's name and command line.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/simulate/convert_lines.h"
#include "cli/simulate/convert_result.h"
#include "cli/tool/arguments.h"
#include "cli/tool/faithful.h"
#include "cli/tool/job.h"
#include "cli/tool/paths.h"

struct convert_values {
    struct job_values job;
    const char *input, *compat_input, *compat_output, *log_file;
    const char *astra;
    uint64_t n_ranks;
    struct faithful_values how;
    bool compat, simulate, lines, faithful;
    bool keep_absent, keep_metadata, drop_rootless, keep_group_names, no_start_times;
    bool no_peers, no_work, refuse_types, refuse_nested;
};

static const struct stage_share stages[] = {
    {"open", 5, false},         {"index", 10, false},      {"read", 45, false},  {"join", 5, false},
    {"order nodes", 10, false}, {"make nodes", 10, false}, {"write", 15, false}, {0},
};

#define AT(field) .offset = offsetof(struct convert_values, field)

#define ROWS_OF_ORIGINAL                                                                                               \
    {"input",          0,                                                                                              \
     OPTION_FILE,      "IN",                                                                                           \
     AT(compat_input), .help = "ET+, in the words of chakra_converter, with its rules (see --compat)"},                \
        {"output",          0,                                                                                         \
         OPTION_FILE,       "OUT",                                                                                     \
         AT(compat_output), .help = "the .et file, in the words of chakra_converter, with its rules"},                 \
        {"log-filename", 0,                                                                                            \
         OPTION_FILE,    "FILE",                                                                                       \
         AT(log_file),   .help = "taken for chakra_converter's command line; nothing is written there"},               \
    {                                                                                                                  \
        "simulate", 0, OPTION_FLAG, AT(simulate),                                                                      \
            .help = "taken for chakra_converter's command line, where it only adds to the log"                         \
    }
#define ROWS_HOW                                                                                                       \
    {"threads",                                                                                                        \
     'T',                                                                                                              \
     OPTION_NUMBER,                                                                                                    \
     "N",                                                                                                              \
     AT(job.where.n_threads),                                                                                          \
     .maximum = 256,                                                                                                   \
     .help = "how many threads, 0 for one per processor (default: 0)"},                                                \
        JOB_ROW_INPUT(job.most_input_bytes), JOB_ROW_FORCE(job.force), JOB_ROW_STATS(job),                             \
        {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "no progress and no summary, only warnings and errors"},    \
        JOB_ROW_VERBOSE(job)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job.output),
     .help = "write the .et file (protobuf) to OUT; compressed if it ends in .gz or .zst; - is standard output; a name "
             "that ends in .json is refused: 'sutra jsonize' writes JSON"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "write the very bytes of chakra_converter, also where no simulator can read them"},
    {"faithful", 0, OPTION_FLAG, AT(faithful),
     .help = "the nodes take the measured times, as far as ET+ tells them: launches and most waits it does not; both "
             "traces do, with 'sutra link HOST DEVICE -o OUT.et'"},
    FAITHFUL_ROWS(how, "with --faithful"),
    {"lines", 'l', OPTION_FLAG, AT(lines),
     .help = "the input is what 'sutra jsonize --lines' wrote, as a file that is not compressed tells by itself"},
    {"astra", 0, OPTION_FILE, "DIR", AT(astra),
     .help = "also write comm_group.json, system.json, network.yml and memory.json to DIR, which ASTRA-sim needs"},
    {"ranks", 0, OPTION_NUMBER, "N", AT(n_ranks), .maximum = 1000000,
     .help = "how many ranks there are, for --astra; 0 for as many as the trace tells (default: 0)"},
    {"keep-absent", 0, OPTION_FLAG, AT(keep_absent),
     .help = "keep dependencies on nodes that are not in the file, which ASTRA-sim refuses"},
    {"keep-metadata", 0, OPTION_FLAG, AT(keep_metadata),
     .help = "keep nodes that describe process groups, at which ASTRA-sim stops"},
    {"drop-rootless", 0, OPTION_FLAG, AT(drop_rootless), .help = "leave out nodes that stand below no thread"},
    {"keep-group-names", 0, OPTION_FLAG, AT(keep_group_names),
     .help = "leave process groups the names that they have, also where these are no numbers"},
    {"no-start-times", 0, OPTION_FLAG, AT(no_start_times), .help = "do not write when nodes start"},
    {"no-peers", 0, OPTION_FLAG, AT(no_peers), .help = "do not write between which ranks messages go, and their tags"},
    {"no-work", 0, OPTION_FLAG, AT(no_work),
     .help = "do not write how many operations kernels do and bytes they move (num_ops, tensor_size)"},
    {"refuse-types", 0, OPTION_FLAG, AT(refuse_types),
     .help = "fail at collectives that chakra_converter does not know: reduce, gather, scatter, unknown names"},
    {"refuse-nested", 0, OPTION_FLAG, AT(refuse_nested),
     .help = "fail at communication of lists of lists of tensors, as chakra_converter does, instead of summing them"},
    {"strict", 0, OPTION_FLAG, AT(job.strict), .help = "fail where dependencies in a ring would be opened"},
    ROWS_OF_ORIGINAL,
    ROWS_HOW,
    {0},
};

static const struct option_row converter_options[] = {
    ROWS_OF_ORIGINAL,
    ROWS_HOW,
    {0},
};

/* Joins the words for the files: operands and -o, or --input and --output. */
static int take_files(struct convert_values *values, const struct operands *operands, const struct command *command) {
    values->compat |= values->compat_input || values->compat_output || command == &converter_command;
    if (command == &convert_command && operands->n > 0)
        values->input = operands->words[0];
    if (values->compat_input && values->input)
        return message_fail(SUTRA_USAGE, "'%s' is one input too many", values->input);
    if (values->compat_output && values->job.output)
        return message_fail(SUTRA_USAGE, "--output and --output-file exclude each other");
    if (values->compat_input)
        values->input = values->compat_input;
    if (values->compat_output)
        values->job.output = values->compat_output;
    if (!values->input)
        return message_fail(SUTRA_USAGE, "the input is missing; see '%s --help'", command->called);
    if (!values->job.output)
        return message_fail(SUTRA_USAGE, "the output is missing; see '%s --help'", command->called);
    return SUTRA_OK;
}

static int check_files(const struct convert_values *values) {
    const char *output = values->job.output;
    if (paths_same(output, values->input))
        return message_fail(SUTRA_USAGE, "%s: the output is the input", output);
    if (!values->compat && path_ends_in(output, ".json"))
        return message_fail(SUTRA_USAGE,
                            "%s: convert writes protobuf, not JSON: use -o NAME.et, and 'sutra jsonize NAME.et -o %s' "
                            "for JSON",
                            output, output);
    if (values->faithful && (values->compat || values->lines))
        return message_fail(SUTRA_USAGE, "--faithful and --%s exclude each other", values->compat ? "compat" : "lines");
    if (faithful_is_asked(&values->how) && !values->faithful)
        return message_fail(SUTRA_USAGE, "--gpu and --rest are for --faithful");
    if (values->astra && values->compat)
        return message_fail(SUTRA_USAGE, "--astra and --compat exclude each other: ASTRA-sim refuses those files");
    if (job_check_stats(values->job.stats, output, &values->input, 1) != SUTRA_OK)
        return SUTRA_USAGE;
    return job_check_flags(&values->job);
}

/* Writes the .et file and what ASTRA-sim needs; a new folder for it is removed again if the file cannot be written. */
static enum sutra_status write_results(struct job *job, const struct convert_values *values,
                                       const struct sutra_converted *converted, struct sutra_error *error) {
    bool makes_folder = values->astra && !path_is_folder(values->astra);
    enum sutra_status status = values->astra ? folder_create(values->astra, error) : SUTRA_OK;
    if (status)
        return status;
    status = sutra_converted_write(job->context, converted, values->job.output, &job->figures.output_bytes, error);
    if (!status && values->astra)
        status = sutra_converted_write_astra(job->context, converted, values->astra, (uint32_t)values->n_ranks, error);
    if (status && makes_folder)
        rmdir(values->astra);
    return status;
}

static enum sutra_status convert(struct job *job, const struct convert_values *values,
                                 struct sutra_converted **converted, struct sutra_faithful_report *faithful,
                                 struct sutra_error *error) {
    const struct sutra_convert_options what = {.size = sizeof what,
                                               .compat = values->compat,
                                               .keep_absent = values->keep_absent,
                                               .keep_metadata = values->keep_metadata,
                                               .drop_rootless = values->drop_rootless,
                                               .keep_group_names = values->keep_group_names,
                                               .no_start_times = values->no_start_times,
                                               .no_peers = values->no_peers,
                                               .no_work = values->no_work,
                                               .refuse_types = values->refuse_types,
                                               .refuse_nested = values->refuse_nested,
                                               .keep_times = values->faithful};
    const struct sutra_faithful_options how = faithful_options(&values->how);
    enum sutra_status status = job_open(job, values->job.output, error);
    if (!status)
        status = sutra_convert(job->context, values->input, &what, converted, error);
    if (!status && values->faithful)
        status = sutra_converted_make_faithful(job->context, *converted, NULL, &how, faithful, error);
    return status ? status : write_results(job, values, *converted, error);
}

static int tell(struct job *job, const struct convert_values *values, const struct sutra_converted *converted,
                const struct sutra_faithful_report *faithful) {
    struct convert_result result = {
        .report.size = sizeof result.report, .figures = &job->figures, .faithful = values->faithful ? faithful : NULL};
    job_measure_inputs(job, &values->input, 1);
    sutra_converted_report(converted, &result.report);
    if (values->faithful)
        faithful_warn(faithful);
    if (!values->job.quiet)
        convert_summary_print(&result);
    return values->job.stats ? (int)convert_stats_write(&result, values->job.stats) : SUTRA_OK;
}

static int convert_file(const struct convert_values *values) {
    struct job job = job_start(&values->job, !values->job.quiet, true, values->job.verbose);
    struct sutra_converted *converted = NULL;
    struct sutra_faithful_report faithful = {.size = sizeof faithful};
    struct sutra_error error;
    enum sutra_status status = convert(&job, values, &converted, &faithful, &error);
    int told = status ? SUTRA_OK : tell(&job, values, converted, &faithful);
    sutra_converted_free(converted);
    int exit_code = job_end(&job, status, &error);
    return exit_code ? exit_code : told;
}

static int run(const struct command *command, int argc, char **argv) {
    struct convert_values values = {.job.where.device.choice = SUTRA_DEVICE_CPU, .job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (command == &converter_command && (operands.n == 0 || strcmp(operands.words[0], "PyTorch") != 0))
        return message_fail(SUTRA_USAGE, "the format is missing: PyTorch is the only one; see '%s --help'",
                            command->called);
    if ((exit_code = take_files(&values, &operands, command)) != SUTRA_OK)
        return exit_code;
    if ((exit_code = check_files(&values)) != SUTRA_OK || (exit_code = faithful_check(&values.how)) != SUTRA_OK)
        return exit_code;
    values.lines |= !values.compat && convert_lines_known(values.input);
    return values.lines ? convert_lines(&values.job, values.input) : convert_file(&values);
}

static const char *const synopses[] = {
    "ET+ -o OUT [OPTIONS]",
    "LINES -o OUT [OPTIONS]",
    "--input ET+ --output OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Makes a file for simulators of ET+, what 'sutra link' writes: Chakra's protobuf format, .et. Each operator and "
    "GPU operator becomes a node with its duration, and depends on what ran before it on its thread and on what it "
    "waited for on another one.",
    "With --compat, and with the options --input and --output, the rules are those of chakra_converter of MLCommons "
    "Chakra; where that program succeeds the output is the same, byte for byte. It names nodes that are not in the "
    "file, which ASTRA-sim refuses; without --compat it does not, nodes that only describe process groups are left "
    "out, those below no thread are kept, process groups have numbers, and rings of dependencies are opened.",
    "With --faithful the processor's time is one chain of nodes and kernels wait for what they waited for, so that a "
    "simulation takes the measured time. ET+ does not tell when kernels were launched, which calls waited for them "
    "(but for sync_dep and what times show), nor which streams wait for each other: a file made of both traces knows, "
    "and answers better what would be if something took longer or shorter.",
    "LINES, what 'sutra jsonize --lines' writes, become the .et file again that they were made of, with the same bytes, "
    "or with what was changed in them.",
    "A summary on standard error counts what was written and all that was left out. An old OUT stays as it is until "
    "the new one is whole.",
    NULL,
};
static const struct example examples[] = {
    {"sutra convert linked.json -o trace.0.et", "a file for ASTRA-sim, of rank 0"},
    {"sutra convert linked.json.gz --compat -o trace.0.et", "as chakra_converter writes it"},
    {"sutra convert linked.json --faithful -o trace.0.et", "the same with the measured times, as far as ET+ tells"},
    {"sutra convert linked.json -o job.0.et --astra astra --ranks 8", "the same, with what ASTRA-sim needs beside it"},
    {"sutra link host.json device.json -o - --quiet | sutra convert - -o trace.0.et", "in a pipe"},
    {"sutra jsonize a.0.et --lines | sed 's/\"aten::mm\"/\"mm\"/' | sutra convert --lines - -o b.0.et",
     "change a file by hand"},
    {0},
};

const struct command convert_command = {
    .name = "convert",
    .called = "sutra convert",
    .summary = "make a Chakra .et file, for simulators, of ET+",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};

static const char *const formats[] = {"PyTorch", NULL};
static const char *const converter_synopses[] = {
    "PyTorch --input ET+ --output OUT [OPTIONS]",
    NULL,
};
static const char *const converter_description[] = {
    "The program 'sutra' under another name: 'sutra convert --compat' with the command line of MLCommons Chakra's tool "
    "of this name.",
    NULL,
};
static const struct example converter_examples[] = {
    {"chakra_converter PyTorch --input linked.json --output trace.0.et", "make a file for simulators"},
    {0},
};

const struct command converter_command = {
    .name = "chakra_converter",
    .called = "chakra_converter",
    .summary = "make a Chakra .et file, for simulators, of ET+",
    .synopses = converter_synopses,
    .description = converter_description,
    .options = converter_options,
    .examples = converter_examples,
    .n_operands_max = 1,
    .operand_kind = OPERAND_WORD,
    .operand_words = formats,
    .run = run,
};
