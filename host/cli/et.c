/*
 * et.c - `sutra jsonize`: converts an .et file to JSON. Also `chakra_jsonizer`, with the same options.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/check.h"
#include "cli/command.h"
#include "cli/convert.h"
#include "cli/paths.h"
#include "text/quantities.h"

/*
 * `sutra draw`: draws a part of an .et file as a graph.
 */

struct draw_values {
    struct job_values job;
    uint64_t node, depth;
    int format;
    bool collectives;
};

/* dot needs minutes for larger drawings, which are unreadable. */
#define NODES_MANY 2000

#define NODE_NONE UINT64_MAX

enum picture { PICTURE_SVG, PICTURE_DOT, PICTURE_GRAPHML };
static const char *const formats[] = {"svg", "dot", "graphml", NULL};

static const struct stage_share stages_draw[] = {{"read .et", 90, false}, {"write", 10, false}, {0}};

#define AT(field) .offset = offsetof(struct draw_values, field)

static const struct option_row options_draw[] = {
    {"around", 'n', OPTION_NUMBER, "NODE", AT(node), .maximum = UINT64_MAX - 1,
     .help = "draw the node with id NODE, its dependencies and its dependents"},
    {"depth", 0, OPTION_NUMBER, "N", AT(depth), .maximum = UINT32_MAX,
     .help = "follow up to N dependencies in both directions (default: 2)"},
    {"collectives", 'c', OPTION_FLAG, AT(collectives),
     .help = "draw communication nodes and their ancestors by control dependencies"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = formats,
     .help = "write svg (needs Graphviz), dot or graphml (default: from the extension of OUT, else dot)"},
    JOB_ROW_OUTPUT(job),
    JOB_ROW_INPUT(job.most_input_bytes),
    {"quiet", 'q', OPTION_FLAG, AT(job.quiet), .help = "print no progress, no summary and no warnings"},
    {0},
};

static enum picture picture_of(const struct draw_values *values) {
    const char *name = values->job.output;
    if (values->format >= 0)
        return (enum picture)values->format;
    if (path_ends_in(name, ".svg"))
        return PICTURE_SVG;
    return path_ends_in(name, ".graphml") ? PICTURE_GRAPHML : PICTURE_DOT;
}

static void tell(const struct draw_values *values, const struct sutra_et_drawn *drawn) {
    if (values->job.quiet)
        return;
    fprintf(stderr, "sutra: %s and %s drawn\n", counted_text(drawn->n_nodes, "node", "nodes").text,
            counted_text(drawn->n_edges, "dependency", "dependencies").text);
    if (drawn->n_nodes > NODES_MANY)
        message_warn("drawings of more than %d nodes are hard to read; use a smaller --depth", NODES_MANY);
}

static enum sutra_status draw_to(struct et_job *job, const struct draw_values *values, const char *path,
                                 enum sutra_et_picture picture, struct sutra_error *error) {
    const struct sutra_et_draw_options how = {
        .size = sizeof how, .collectives = values->collectives, .node = values->node, .depth = values->depth};
    struct sutra_et_drawn drawn = {.size = sizeof drawn};
    enum sutra_status status = sutra_et_draw(job->job.context, job->et, &how, picture, path, &drawn, error);
    if (!status)
        tell(values, &drawn);
    return status;
}

/* *exit_code: exit code of the drawing. */
static enum sutra_status draw_svg(struct et_job *job, const struct draw_values *values, int *exit_code,
                                  struct sutra_error *error) {
    struct svg_layout layout;
    *exit_code = layout_begin(&layout, values->job.output, values->job.force);
    if (*exit_code)
        return SUTRA_OK;
    enum sutra_status status = draw_to(job, values, layout.graph, SUTRA_ET_DOT, error);
    *exit_code = layout_end(&layout, !status);
    return status;
}

static int draw(const struct draw_values *values, const char *input) {
    enum picture picture = picture_of(values);
    struct et_job job;
    struct sutra_error error;
    int exit_code = picture == PICTURE_SVG ? layout_check() : SUTRA_OK;
    if (exit_code)
        return exit_code;
    enum sutra_status status = et_job_start(&job, &values->job, &error);
    if (!status)
        status = et_job_read(&job, input, NULL, &error);
    if (!status && picture == PICTURE_SVG)
        status = draw_svg(&job, values, &exit_code, &error);
    else if (!status)
        status =
            draw_to(&job, values, values->job.output, picture == PICTURE_DOT ? SUTRA_ET_DOT : SUTRA_ET_GRAPHML, &error);
    int ended = et_job_end(&job, status, &error);
    return ended ? ended : exit_code;
}

static int run_draw(const struct command *command, int argc, char **argv) {
    struct draw_values values = {
        .job.output = "-", .job.stages = stages_draw, .node = NODE_NONE, .depth = 2, .format = -1};
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, &values, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "missing FILE.et; see '%s --help'", command->called);
    if (values.collectives == (values.node != NODE_NONE))
        return message_fail(SUTRA_USAGE, "select what to draw with either --around NODE or --collectives");
    if (paths_same(values.job.output, operands.words[0]))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", values.job.output);
    return draw(&values, operands.words[0]);
}

static const char *const synopses_draw[] = {"FILE.et --around NODE [--depth N] -o OUT [OPTIONS]",
                                            "FILE.et --collectives -o OUT [OPTIONS]", NULL};
static const char *const description_draw[] = {
    "Draws a part of the Chakra file FILE: one node with its dependencies and dependents, or the communication nodes "
    "with the operators above them. Each arrow points from a node to its dependent. Solid arrows are control "
    "dependencies, dashed arrows are data dependencies. Colors distinguish CPU, GPU, communication and memory.",
    "Graphviz computes the layout of an SVG. OUT can also be a graph for Graphviz (.dot), or for Gephi, yEd and "
    "networkx (.graphml).",
    NULL,
};
static const struct example examples_draw[] = {
    {"sutra draw job.0.et --around 160 --depth 3 -o around.svg", "show why a node waits"},
    {"sutra draw job.0.et --collectives -o collectives.svg", "show which operators communicate"},
    {"sutra draw job.0.et --around 160 --depth 50 -o part.graphml", "export a larger part for another program"},
    {0},
};

const struct command draw_command = {
    .name = "draw",
    .called = "sutra draw",
    .summary = "draw a part of a Chakra .et file",
    .synopses = synopses_draw,
    .description = description_draw,
    .options = options_draw,
    .examples = examples_draw,
    .n_operands_max = 1,
    .run = run_draw,
};

struct jsonize_values {
    struct job_values job;
    const char *input;
    bool lines;
};

static const struct stage_share stages_jsonize[] = {{"read .et", 40, false}, {"write", 60, false}, {0}};

#undef AT
#define AT(field) .offset = offsetof(struct jsonize_values, field)

static const struct option_row options_jsonize[] = {
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

static int run_jsonize(const struct command *command, int argc, char **argv) {
    struct jsonize_values values = {.job.output = "-", .job.stages = stages_jsonize};
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

static const char *const synopses_jsonize[] = {"FILE [-o OUT] [OPTIONS]", "--input_filename FILE --output_filename OUT",
                                               NULL};
static const char *const description_jsonize[] = {
    "Writes the Chakra file FILE (.et, plain, gzip or zstd) as JSON: the metadata, then each node. The output is "
    "byte-identical to the output of chakra_jsonizer of MLCommons Chakra: indented objects without a separator.",
    "--lines writes each object on one line, for grep, jq and scripts. 'sutra convert' converts the lines back to the "
    ".et file.",
    NULL,
};
static const struct example examples_jsonize[] = {
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
    .synopses = synopses_jsonize,
    .description = description_jsonize,
    .options = options_jsonize,
    .examples = examples_jsonize,
    .n_operands_max = 1,
    .run = run_jsonize,
};

const struct command jsonizer_command = {
    .name = "chakra_jsonizer",
    .called = "chakra_jsonizer",
    .summary = "write a Chakra .et file as JSON",
    .synopses = synopses_jsonize + 1,
    .description = description_jsonize,
    .options = options_jsonize,
    .examples = examples_jsonize,
    .n_operands_max = 1,
    .run = run_jsonize,
};
