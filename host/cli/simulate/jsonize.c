/*
 * jsonize.c - `sutra jsonize`: converts an .et file to JSON. Also `chakra_jsonizer`, with the same options.
 */
#include <stddef.h>

#include "cli/simulate/et_job.h"
#include "cli/tool/arguments.h"
#include "cli/tool/paths.h"

struct jsonize_values {
    struct job_values job;
    const char *input;
    bool lines;
};

static const struct stage_share stages[] = {{"read .et", 40, false}, {"write", 60, false}, {0}};

#define AT(field) .offset = offsetof(struct jsonize_values, field)

static const struct option_row options[] = {
    {"output_filename", 'o', OPTION_FILE, "OUT", AT(job.output),
     .help = "write to OUT, compressed if OUT ends in .gz or .zst; - is standard output (default: -)"},
    {"input_filename", 'i', OPTION_FILE, "FILE", AT(input), .help = "read FILE, as the operand FILE does"},
    {"lines", 'l', OPTION_FLAG, AT(lines),
     .help = "write one object per line; 'sutra convert' converts the lines back"},
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_FORCE(job.force),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress and no warnings"},
    {0},
};

static int jsonize(const struct jsonize_values *values) {
    struct et_job job;
    struct sutra_error error;
    enum sutra_et_layout layout = values->lines ? SUTRA_ET_LINES : SUTRA_ET_CHAKRA;
    enum sutra_status status = et_job_start(&job, &values->job, &error);
    if (!status)
        status = et_job_read(&job, values->input, NULL, &error);
    if (!status)
        status = sutra_et_write_json(job.job.context, job.et, layout, values->job.output, NULL, &error);
    return et_job_end(&job, status, &error);
}

static int run(const struct command *command, int argc, char **argv) {
    struct jsonize_values values = {.job.output = "-", .job.stages = stages};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 1 && values.input)
        return message_fail(SUTRA_USAGE, "two inputs: '%s' and '%s'; pass only one", values.input, operands.words[0]);
    if (operands.n == 1)
        values.input = operands.words[0];
    if (!values.input)
        return message_fail(SUTRA_USAGE, "missing input; see '%s --help'", command->called);
    if (paths_same(values.job.output, values.input))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", values.job.output);
    return jsonize(&values);
}

static const char *const synopses[] = {"FILE [-o OUT] [OPTIONS]", "--input_filename FILE --output_filename OUT", NULL};
static const char *const description[] = {
    "Writes the Chakra file FILE (.et, plain, gzip or zstd) as JSON: the metadata, then each node. The output is "
    "byte-identical to the output of chakra_jsonizer of MLCommons Chakra: indented objects without a separator.",
    "--lines writes each object on one line, for grep, jq and scripts. 'sutra convert' converts the lines back to the "
    ".et file.",
    NULL,
};
static const struct example examples[] = {
    {"sutra jsonize job.0.et -o job.0.json", "write the same bytes as chakra_jsonizer"},
    {"sutra jsonize job.0.et --lines | jq -c 'select(.type == \"COMM_COLL_NODE\")'", "list the collectives"},
    {"sutra jsonize job.0.et --lines | sed 's/aten::mm/mm/' | sutra convert --lines - -o job.1.et",
     "edit a file as text"},
    {0},
};

const struct command jsonize_command = {
    .name = "jsonize",
    .called = "sutra jsonize",
    .summary = "write a Chakra .et file as JSON",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};

const struct command jsonizer_command = {
    .name = "chakra_jsonizer",
    .called = "chakra_jsonizer",
    .summary = "write a Chakra .et file as JSON",
    .synopses = synopses + 1,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .run = run,
};
