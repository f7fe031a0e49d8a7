/*
 * et.c - `sutra draw`: draws a part of an .et file as a graph; and `sutra jsonize`: converts an .et file to JSON. Also
 * chakra_jsonizer, with the same options.
 *
 *     .et file --> graph (dot, graphml) --> OUT
 *                  graph --pipe--> dot -Tsvg --> temporary file next to OUT --rename--> OUT
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
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "text/quantities.h"
#include "write/sink.h"

/* ---- sutra draw ---- */

struct draw_job {
    struct job job;
    struct sutra_et_draw_options options;
    int format; /* enum picture; -1: by the name of the output */
    struct sutra_et *et;
};

/* dot needs minutes for larger drawings, which are unreadable. */
#define NODES_MANY 2000

#define NODE_NONE UINT64_MAX

enum picture { PICTURE_SVG, PICTURE_DOT, PICTURE_GRAPHML };
static const char *const formats[] = {"svg", "dot", "graphml", NULL};

static const struct stage_share stages_draw[] = {{"read .et", 90, false}, {"write", 10, false}, {0}};

static const struct option_row options_draw[] = {
    {"around", 'n', OPTION_NUMBER, "NODE", AT(draw_job, options.node), .maximum = UINT64_MAX - 1,
     .help = "draw the node with id NODE, its dependencies and its dependents"},
    {"depth", 0, OPTION_NUMBER, "N", AT(draw_job, options.depth), .maximum = UINT32_MAX,
     .help = "follow up to N dependencies in both directions (default: 2)"},
    {"collectives", 'c', OPTION_FLAG, AT(draw_job, options.collectives),
     .help = "draw communication nodes and their ancestors by control dependencies"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(draw_job, format), .choices = formats,
     .help = "write svg (needs Graphviz), dot or graphml (default: from the extension of OUT, else dot)"},
    JOB_ROW_OUTPUT,
    JOB_ROW_INPUT,
    JOB_ROW_QUIET,
    {0},
};

/* Starts a program; `input`, `output`: file descriptors for its streams, -1: inherited. */
static bool start_program(char *const *words, int input, int output, bool quiet, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 0, 0);
    int failed = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

/* Waits for a program; returns its exit code. */
static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static int check_draw(struct job *job) {
    struct draw_job *draw = (struct draw_job *)job;
    if (draw->options.collectives == (draw->options.node != NODE_NONE))
        return message_fail(SUTRA_USAGE, "select what to draw with either --around NODE or --collectives");
    if (draw->format < 0)
        draw->format = path_ends_in(job->output, ".svg")       ? PICTURE_SVG
                       : path_ends_in(job->output, ".graphml") ? PICTURE_GRAPHML
                                                               : PICTURE_DOT;
    return SUTRA_OK;
}

/* Draws the part to `path`, and prints the summary. */
static enum sutra_status draw_to(struct draw_job *draw, const char *path, enum sutra_et_picture picture,
                                 struct sutra_error *error) {
    struct sutra_et_drawn drawn = {.size = sizeof drawn};
    enum sutra_status status = sutra_et_draw(draw->job.context, draw->et, &draw->options, picture, path, &drawn, error);
    if (status || draw->job.quiet)
        return status;
    fprintf(stderr, "sutra: %s and %s drawn\n", counted_text(drawn.n_nodes, "node", "nodes").text,
            counted_text(drawn.n_edges, "dependency", "dependencies").text);
    if (drawn.n_nodes > NODES_MANY)
        message_warn("drawings of more than %d nodes are hard to read; use a smaller --depth", NODES_MANY);
    return SUTRA_OK;
}

/* Writes the graph to a pipe to `dot`, whose output is renamed to the drawing when it is complete. */
static int draw_svg(struct draw_job *draw) {
    struct job *job = &draw->job;
    const struct temp_file_options file_options = {.force = job->options.force, .temporary = interrupt_guard_callback};
    bool to_stream = path_is_stream(job->output);
    struct temp_file file = {.file = -1};
    struct sutra_error error;
    char *const words[] = {(char[]){"dot"}, (char[]){"-Tsvg"}, NULL};
    char graph[32];
    pid_t dot;
    int ends[2];
    if (!to_stream && temp_file_open(&file, job->output, &file_options, &error))
        return job_fail(job, &error);
    bool started = pipe2(ends, O_CLOEXEC) == 0;
    if (started) {
        signal(SIGPIPE, SIG_IGN); /* if dot ends early, writing fails */
        started = start_program(words, ends[0], file.file, false, &dot);
        close(ends[0]);
        if (!started)
            close(ends[1]);
    }
    if (!started) {
        if (!to_stream)
            temp_file_close(&file, false);
        return message_fail(SUTRA_INTERNAL, "cannot start 'dot'");
    }
    snprintf(graph, sizeof graph, "/dev/fd/%d", ends[1]);
    enum sutra_status status = draw_to(draw, graph, SUTRA_ET_DOT, &error);
    close(ends[1]);
    int dot_status = wait_for(dot), failure = to_stream ? 0 : temp_file_close(&file, !status && dot_status == 0);
    if (dot_status)
        message_fail(SUTRA_INTERNAL, "'dot' failed with exit code %d", dot_status);
    else if (failure)
        message_fail(SUTRA_IO, "%s: cannot write: %s", job->output, strerror(failure));
    if (status)
        return job_fail(job, &error);
    return dot_status ? SUTRA_INTERNAL : failure ? SUTRA_IO : SUTRA_OK;
}

static int draw(struct job *job) {
    struct draw_job *draw = (struct draw_job *)job;
    char *const words[] = {(char[]){"dot"}, (char[]){"-V"}, NULL};
    struct sutra_error error;
    pid_t child;
    if (draw->format == PICTURE_SVG && (!start_program(words, -1, -1, true, &child) || wait_for(child) != 0))
        return message_fail(SUTRA_UNAVAILABLE,
                            "SVG output needs the program 'dot' (apt install graphviz); or write .dot or "
                            ".graphml");
    if (job_open(job, job->output, &error) || sutra_et_read(job->context, job->inputs[0], NULL, &draw->et, &error))
        return job_fail(job, &error);
    progress_clear(&job->watch.progress);
    if (draw->format == PICTURE_SVG)
        return draw_svg(draw);
    enum sutra_et_picture picture = draw->format == PICTURE_DOT ? SUTRA_ET_DOT : SUTRA_ET_GRAPHML;
    return draw_to(draw, job->output, picture, &error) ? job_fail(job, &error) : SUTRA_OK;
}

static void release_draw(struct job *job) {
    sutra_et_free(((struct draw_job *)job)->et);
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
    .writes = ".svg, .dot or .graphml",
    .synopses = synopses_draw,
    .description = description_draw,
    .options = options_draw,
    .examples = examples_draw,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "missing FILE.et",
    .size = sizeof(struct draw_job),
    .defaults = &(
        const struct draw_job){.job = {.output = "-", .stages = stages_draw},
                               .options = {.size = sizeof(struct sutra_et_draw_options), .node = NODE_NONE, .depth = 2},
                               .format = -1},
    .check = check_draw,
    .work = draw,
    .release = release_draw,
};

/* ---- sutra jsonize ---- */

struct jsonize_job {
    struct job job;
    const char *input;
    bool lines;
    struct sutra_et *et;
};

static const struct stage_share stages_jsonize[] = {{"read .et", 40, false}, {"write", 60, false}, {0}};

static const struct option_row options_jsonize[] = {
    {"output_filename", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write to OUT, compressed if OUT ends in .gz or .zst; - is standard output (default: -)"},
    {"input_filename", 'i', OPTION_FILE, "FILE", AT(jsonize_job, input), .help = "read FILE, as the operand FILE does"},
    {"lines", 'l', OPTION_FLAG, AT(jsonize_job, lines), .help = "write one object per line"},
    JOB_ROW_INPUT,
    JOB_ROW_FORCE,
    JOB_ROW_QUIET,
    {0},
};

static int check_jsonize(struct job *job) {
    struct jsonize_job *jsonize = (struct jsonize_job *)job;
    if (job->operands.n == 1 && jsonize->input)
        return message_fail(SUTRA_USAGE, "two inputs: '%s' and '%s'; pass only one", jsonize->input,
                            job->operands.words[0]);
    if (job->operands.n == 1)
        jsonize->input = job->operands.words[0];
    if (!jsonize->input)
        return message_fail(SUTRA_USAGE, "missing input; see '%s --help'", job->command->called);
    job->inputs = &jsonize->input;
    job->n_inputs = 1;
    return SUTRA_OK;
}

static int jsonize(struct job *job) {
    struct jsonize_job *jsonize = (struct jsonize_job *)job;
    enum sutra_et_layout layout = jsonize->lines ? SUTRA_ET_LINES : SUTRA_ET_CHAKRA;
    struct sutra_error error;
    if (job_open(job, job->output, &error) || sutra_et_read(job->context, jsonize->input, NULL, &jsonize->et, &error))
        return job_fail(job, &error);
    progress_clear(&job->watch.progress);
    if (sutra_et_write_json(job->context, jsonize->et, layout, job->output, NULL, &error))
        return job_fail(job, &error);
    return SUTRA_OK;
}

static void release_jsonize(struct job *job) {
    sutra_et_free(((struct jsonize_job *)job)->et);
}

static const struct jsonize_job jsonize_defaults = {.job = {.output = "-", .stages = stages_jsonize}};

static const char *const synopses_jsonize[] = {"FILE [-o OUT] [OPTIONS]", "--input_filename FILE --output_filename OUT",
                                               NULL};
static const char *const description_jsonize[] = {
    "Writes the Chakra file FILE (.et, plain, gzip or zstd) as JSON: the metadata, then each node. The output is "
    "byte-identical to the output of chakra_jsonizer of MLCommons Chakra: indented objects without a separator.",
    "--lines writes each object on one line, for grep, jq and scripts.",
    NULL,
};
static const struct example examples_jsonize[] = {
    {"sutra jsonize job.0.et -o job.0.json", "write the same bytes as chakra_jsonizer"},
    {"sutra jsonize job.0.et --lines | jq -c 'select(.type == \"COMM_COLL_NODE\")'", "list the collectives"},
    {0},
};

/* Fields of the command under both names. */
#define JSONIZE_WORK                                                                                                   \
    .summary = "write a Chakra .et file as JSON", .description = description_jsonize, .options = options_jsonize,      \
    .examples = examples_jsonize, .n_operands_max = 1, .size = sizeof(struct jsonize_job),                             \
    .defaults = &jsonize_defaults, .check = check_jsonize, .work = jsonize, .release = release_jsonize

const struct command jsonize_command = {
    .name = "jsonize",
    .called = "sutra jsonize",
    .writes = ".json",
    .synopses = synopses_jsonize,
    JSONIZE_WORK,
};

const struct command jsonizer_command = {
    .name = "chakra_jsonizer",
    .called = "chakra_jsonizer",
    .synopses = synopses_jsonize + 1,
    JSONIZE_WORK,
};
