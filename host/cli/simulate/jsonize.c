/*
 * jsonize.c - `sutra jsonize`: converts an .et file to JSON. Also chakra_jsonizer: the same work under that program's
 * name.
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
     .help = "write to OUT; - is standard output, .gz and .zst compress (default: -)"},
    {"input_filename", 'i', OPTION_FILE, "FILE", AT(input), .help = "another way to name the input"},
    {"lines", 'l', OPTION_FLAG, AT(lines), .help = "write an object a line, which 'sutra convert' takes back"},
    JOB_ROW_INPUT(job.most_input_bytes),
    JOB_ROW_FORCE(job.force),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "no progress and no warnings"},
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
        return message_fail(SUTRA_USAGE, "the input is named twice: '%s' and '%s'", values.input, operands.words[0]);
    if (operands.n == 1)
        values.input = operands.words[0];
    if (!values.input)
        return message_fail(SUTRA_USAGE, "the input is missing; see '%s --help'", command->called);
    if (paths_same(values.job.output, values.input))
        return message_fail(SUTRA_USAGE, "%s: the output is the input", values.job.output);
    return jsonize(&values);
}

static const char *const synopses[] = {"FILE [-o OUT] [OPTIONS]", "--input_filename FILE --output_filename OUT", NULL};
static const char *const description[] = {
    "Writes the Chakra file FILE (.et, plain or compressed with gzip or zstd) as JSON: the metadata, then each node, as "
    "chakra_jsonizer of MLCommons Chakra writes them, byte for byte. Its objects stand one right behind the other, "
    "indented, without anything between them.",
    "With --lines each object has a line of its own, for grep, jq and scripts; 'sutra convert' makes the .et file of "
    "such lines again.",
    NULL,
};
static const struct example examples[] = {
    {"sutra jsonize job.0.et -o job.0.json", "write what chakra_jsonizer would"},
    {"sutra jsonize job.0.et --lines | jq -c 'select(.type == \"COMM_COLL_NODE\")'", "look at the collectives"},
    {"sutra jsonize job.0.et --lines | sed 's/aten::mm/mm/' | sutra convert --lines - -o job.1.et",
     "change a file by hand"},
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
