/*
 * convert.c - `sutra convert`: converts ET+ to a Chakra .et file. Also chakra_converter: the same work with that
 * program's name and command line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/convert.h"
#include "cli/job.h"
#include "cli/link.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "sutra/convert.h"

/*
 * Converts JSON lines to an .et file, and prints the summary.
 */

struct lines_result {
    uint64_t n_nodes;
    const struct run_figures *figures;
};

/* Whether a file, not a stream and not compressed, begins as such lines do. */
static bool convert_lines_known(const char *input) {
    bool known = false;
    return path_size(input) > 0 && sutra_is_et_lines(input, &known, NULL) == SUTRA_OK && known;
}

static void print_stats(FILE *file, const void *data) {
    const struct lines_result *result = data;
    const struct named_count count = {"n_nodes", result->n_nodes};
    run_counts_print_json(file, &count, 1, NULL, 0);
    run_figures_print_json(file, result->figures);
}

static int tell_convert_lines(struct job *job, const char *input, const struct sutra_et *et) {
    const struct lines_result result = {sutra_et_nodes(et), &job->figures};
    const char *output = job->values->output;
    const struct summary_row row = {result.n_nodes, "nodes written", true};
    job_measure_inputs(job, &input, 1);
    if (!job->values->quiet) {
        fprintf(stderr, "sutra: converted into %s\n", path_is_stream(output) ? "standard output" : output);
        summary_print(&row, 1);
        run_figures_print(&job->figures);
    }
    return job->values->stats ? (int)stats_write(job->values->stats, print_stats, &result) : SUTRA_OK;
}

/* Makes the file; returns an exit code. */
static int convert_lines(const struct job_values *values, const char *input) {
    struct job job = job_start(values, !values->quiet, true, values->verbose);
    struct sutra_et *et = NULL;
    struct sutra_error error;
    enum sutra_status status = job_open(&job, values->output, &error);
    if (!status)
        status = sutra_et_read_lines(job.context, input, &et, &error);
    if (!status)
        status = sutra_et_write(job.context, et, values->output, &job.figures.output_bytes, &error);
    int told = status ? SUTRA_OK : tell_convert_lines(&job, input, et);
    sutra_et_free(et);
    int exit_code = job_end(&job, status, &error);
    return exit_code ? exit_code : told;
}

/*
 * Closing lines and --stats of `sutra convert`.
 */

struct convert_result {
    struct sutra_convert_report report;
    const struct run_figures *figures;
    const struct sutra_faithful_report *faithful; /* NULL: the file has no measured times */
};

/*
 * Prints the closing lines of `sutra convert`, one count per line, and --stats.
 */

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

/* Prints a few aligned lines on standard error. */
static void convert_summary_print(const struct convert_result *result) {
    const struct summary_row rows[] = {
#define ROW(field, words, always) {result->report.field, words, always},
        COUNTS(ROW)
#undef ROW
    };
    fprintf(stderr, "sutra: converted into %s\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (result->faithful) {
        faithful_summary_print(result->faithful);
        fputs("sutra: not modeled, because ET+ does not record them: launches, most synchronizing calls, and\n"
              "streams that wait for each other. 'sutra link HOST DEVICE -o X.et' reads them from the device trace\n",
              stderr);
    }
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct convert_result *result = data;
    const struct named_count counts[] = {
#define COUNT(field, words, always) {#field, result->report.field},
        COUNTS(COUNT)
#undef COUNT
    };
    _Static_assert(sizeof counts / sizeof *counts ==
                       (sizeof(struct sutra_convert_report) - sizeof(size_t)) / sizeof(uint64_t),
                   "every field of the report is printed");
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
static enum sutra_status convert_stats_write(const struct convert_result *result, const char *path) {
    return stats_write(path, print_all, result);
}

/*
 * Runs `dot`.
 */

/* What a program is started with instead of our standard streams; -1: ours. */
struct child_streams {
    int input, output;
    bool quiet; /* its complaints go nowhere */
};

static bool start_program(char *const *words, struct child_streams streams, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    if (streams.input >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.input, STDIN_FILENO);
    if (streams.output >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
    if (streams.quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 0, 0);
    int failed = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

/* A program's exit status. */
static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int layout_check(void) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-V"}, NULL};
    pid_t child;
    if (start_program(words, (struct child_streams){-1, -1, true}, &child) && wait_for(child) == 0)
        return SUTRA_OK;
    return message_fail(SUTRA_UNAVAILABLE,
                        "SVG output needs the program 'dot' (apt install graphviz); or write .dot or "
                        ".graphml");
}

static void on_temporary(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set(path);
}

/* Should dot end early, writing to it fails instead of ending us. */
static bool start_dot(struct svg_layout *layout) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-Tsvg"}, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    signal(SIGPIPE, SIG_IGN);
    bool started = start_program(words, (struct child_streams){ends[0], layout->beside.file, false}, &layout->dot);
    close(ends[0]);
    if (!started)
        close(ends[1]);
    layout->pipe = ends[1];
    snprintf(layout->graph, sizeof layout->graph, "/dev/fd/%d", ends[1]);
    return started;
}

int layout_begin(struct svg_layout *layout, const char *path, bool force) {
    struct sutra_error error;
    *layout = (struct svg_layout){.path = path, .beside.file = -1};
    if (!path_is_stream(path) &&
        beside_open(&layout->beside, path, &(struct beside_options){.force = force, .temporary = on_temporary}, &error))
        return message_error(&error);
    if (start_dot(layout))
        return SUTRA_OK;
    if (!path_is_stream(path))
        beside_close(&layout->beside, false);
    return message_fail(SUTRA_INTERNAL, "cannot start 'dot'");
}

int layout_end(struct svg_layout *layout, bool whole) {
    close(layout->pipe);
    int status = wait_for(layout->dot);
    bool keep = whole && status == 0;
    int failure = path_is_stream(layout->path) ? 0 : beside_close(&layout->beside, keep);
    if (status)
        return message_fail(SUTRA_INTERNAL, "'dot' failed with exit code %d", status);
    if (failure)
        return message_fail(SUTRA_IO, "%s: cannot write: %s", layout->path, strerror(failure));
    return SUTRA_OK;
}

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
     AT(compat_input), .help = "read ET+ from IN, as chakra_converter does; implies --compat"},                        \
        {"output",          0,                                                                                         \
         OPTION_FILE,       "OUT",                                                                                     \
         AT(compat_output), .help = "write the .et file to OUT, as chakra_converter does; implies --compat"},          \
        {"log-filename", 0,                                                                                            \
         OPTION_FILE,    "FILE",                                                                                       \
         AT(log_file),   .help = "accept this option of chakra_converter; sutra does not write to FILE"},              \
    {                                                                                                                  \
        "simulate", 0, OPTION_FLAG, AT(simulate), .help = "accept this option of chakra_converter; it has no effect"   \
    }
#define ROWS_HOW                                                                                                       \
    {"threads",                                                                                                        \
     'T',                                                                                                              \
     OPTION_NUMBER,                                                                                                    \
     "N",                                                                                                              \
     AT(job.where.n_threads),                                                                                          \
     .maximum = 256,                                                                                                   \
     .help = "use N threads, 0 for one per available CPU (default: 0)"},                                               \
        JOB_ROW_INPUT(job.most_input_bytes), JOB_ROW_FORCE(job.force), JOB_ROW_STATS(job),                             \
        {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print only warnings and errors"}, JOB_ROW_VERBOSE(job)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job.output),
     .help = "write the .et file (protobuf) to OUT, compressed if OUT ends in .gz or .zst; - is standard output"},
    {"compat", 0, OPTION_FLAG, AT(compat),
     .help = "write the same bytes as chakra_converter, even if no simulator can read the file"},
    {"faithful", 0, OPTION_FLAG, AT(faithful),
     .help = "reproduce the measured time as far as ET+ allows; ET+ lacks launches and most waits, which "
             "'sutra link HOST DEVICE -o OUT.et' reads from the device trace"},
    FAITHFUL_ROWS(how, "--faithful output"),
    {"lines", 'l', OPTION_FLAG, AT(lines),
     .help = "read JSON lines of 'sutra jsonize --lines'; uncompressed JSON lines are detected without this option"},
    {"astra", 0, OPTION_FILE, "DIR", AT(astra),
     .help = "also write ASTRA-sim's comm_group.json, system.json, network.yml and memory.json to DIR"},
    {"ranks", 0, OPTION_NUMBER, "N", AT(n_ranks), .maximum = 1000000,
     .help = "write the files of --astra for N ranks, or for the ranks in the trace if N is 0 (default: 0)"},
    {"keep-absent", 0, OPTION_FLAG, AT(keep_absent),
     .help = "keep dependencies on absent nodes, which ASTRA-sim rejects"},
    {"keep-metadata", 0, OPTION_FLAG, AT(keep_metadata),
     .help = "keep nodes that define process groups, which stop ASTRA-sim"},
    {"drop-rootless", 0, OPTION_FLAG, AT(drop_rootless), .help = "omit nodes that are not below a thread"},
    {"keep-group-names", 0, OPTION_FLAG, AT(keep_group_names),
     .help = "keep names of process groups that are not numbers"},
    {"no-start-times", 0, OPTION_FLAG, AT(no_start_times), .help = "omit start times of nodes"},
    {"no-peers", 0, OPTION_FLAG, AT(no_peers), .help = "omit peers and tags of sends and receives"},
    {"no-flops", 0, OPTION_FLAG, AT(no_work), .help = "omit operations and bytes of kernels (num_ops, tensor_size)"},
    {"refuse-types", 0, OPTION_FLAG, AT(refuse_types),
     .help = "fail on collectives unknown to chakra_converter: reduce, gather, scatter, unknown names"},
    {"refuse-nested", 0, OPTION_FLAG, AT(refuse_nested),
     .help =
         "fail on communication of lists of lists of tensors, as chakra_converter does, instead of adding their sizes"},
    {"strict", 0, OPTION_FLAG, AT(job.strict), .help = "fail on a dependency cycle instead of removing a dependency"},
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
        return message_fail(SUTRA_USAGE, "two inputs: --input and '%s'; pass only one", values->input);
    if (values->compat_output && values->job.output)
        return message_fail(SUTRA_USAGE, "--output and --output-file exclude each other");
    if (values->compat_input)
        values->input = values->compat_input;
    if (values->compat_output)
        values->job.output = values->compat_output;
    if (!values->input)
        return message_fail(SUTRA_USAGE, "missing input; see '%s --help'", command->called);
    if (!values->job.output)
        return message_fail(SUTRA_USAGE, "missing output; see '%s --help'", command->called);
    return SUTRA_OK;
}

static int check_files(const struct convert_values *values) {
    const char *output = values->job.output;
    if (paths_same(output, values->input))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", output);
    if (!values->compat && path_ends_in(output, ".json"))
        return message_fail(SUTRA_USAGE,
                            "%s: convert writes protobuf, not JSON; use -o NAME.et, then 'sutra jsonize NAME.et -o %s'",
                            output, output);
    if (values->faithful && (values->compat || values->lines))
        return message_fail(SUTRA_USAGE, "--faithful and --%s exclude each other", values->compat ? "compat" : "lines");
    if (faithful_is_asked(&values->how) && !values->faithful)
        return message_fail(SUTRA_USAGE, "--gpu and --min-idle-us need --faithful");
    if (values->astra && values->compat)
        return message_fail(SUTRA_USAGE,
                            "--astra and --compat exclude each other: ASTRA-sim rejects the files of --compat");
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
        status = sutra_converted_run_faithful(job->context, *converted, NULL, &how, faithful, error);
    return status ? status : write_results(job, values, *converted, error);
}

static int tell_convert(struct job *job, const struct convert_values *values, const struct sutra_converted *converted,
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
    int told = status ? SUTRA_OK : tell_convert(&job, values, converted, &faithful);
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
        return message_fail(SUTRA_USAGE, "missing format: expected PyTorch; see '%s --help'", command->called);
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
    "Converts ET+, the output of 'sutra link', to a Chakra file for simulators (protobuf, .et). Each operator and GPU "
    "operator becomes a node with a duration. It depends on the previous node of its thread, and on the node of "
    "another thread that it waited for.",
    "--compat, --input and --output follow the rules of chakra_converter of MLCommons Chakra. Where chakra_converter "
    "succeeds, the output is byte-identical. Its files can have dependencies on absent nodes, which ASTRA-sim rejects. "
    "Without --compat, sutra drops these dependencies and nodes that only define process groups, keeps nodes that are "
    "not below a thread, numbers the process groups, and breaks dependency cycles.",
    "--faithful models CPU time as one chain of nodes, and the dependencies of kernels, so that a simulation takes the "
    "measured time. ET+ does not record launches, waits of streams for each other, and most synchronizing calls. A "
    "file that 'sutra link HOST DEVICE -o OUT.et' writes has these, and gives more accurate what-ifs.",
    "LINES is the output of 'sutra jsonize --lines'. Unchanged lines give the original .et file, byte for byte.",
    "A summary on standard error counts written and skipped nodes. The output file is written atomically.",
    NULL,
};
static const struct example examples[] = {
    {"sutra convert linked.json -o trace.0.et", "write a file of rank 0 for ASTRA-sim"},
    {"sutra convert linked.json.gz --compat -o trace.0.et", "write the same bytes as chakra_converter"},
    {"sutra convert linked.json --faithful -o trace.0.et", "reproduce the measured time as far as ET+ allows"},
    {"sutra convert linked.json -o job.0.et --astra astra --ranks 8", "also write the configuration of ASTRA-sim"},
    {"sutra link host.json device.json -o - --quiet | sutra convert - -o trace.0.et", "link and convert in a pipe"},
    {"sutra jsonize a.0.et --lines | sed 's/\"aten::mm\"/\"mm\"/' | sutra convert --lines - -o b.0.et",
     "edit a file as text"},
    {0},
};

const struct command convert_command = {
    .name = "convert",
    .called = "sutra convert",
    .summary = "convert ET+ to a Chakra .et file for simulators",
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
    .n_operands_max = 1,
    .operand_kind = OPERAND_WORD,
    .operand_words = formats,
    .run = run,
};
